"""What the commands of Claude's memory tool answer and write, as texts: exactly as Anthropic's own tool does."""

from collections.abc import Sequence
from itertools import islice

from keepword.answers import TreeFile
from keepword.errors import InvalidInput, NotFound

MAX_LINES = 999_999
_WIDTH = len(str(MAX_LINES))
_AROUND = 2
_LEVELS = 2
_KIB = 1024
# places that a refusal names, and lines of a folder that are shown
MAX_PLACES = 100
MAX_ENTRIES = 1000


def numbered(path: str, content: str, view_range: Sequence[int] | None) -> str:
    """Show a file, or some of its lines; an end of -1 is the last line."""
    lines = content.split("\n")
    if len(lines) > MAX_LINES:
        raise InvalidInput(f"File {path} exceeds maximum line limit of 999,999 lines.", "path")
    first, last = 1, len(lines)
    if view_range is not None:
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n" + _lines(lines[first - 1 : max(last, 0)], first)


def listed(path: str, folder: str, files: Sequence[TreeFile]) -> str:
    """Show a folder: what is up to two levels below it, a folder's size being that of all in it."""
    shown_path = path.rstrip("/")
    sizes: dict[str, int] = {}
    for file in files:
        names = file.path.removeprefix(f"{folder}/").split("/")
        for level in range(1, min(len(names), _LEVELS) + 1):
            entry = "/".join(names[:level]) + ("/" if level < len(names) else "")
            if not any(name.startswith(".") for name in names[:level]):
                sizes[entry] = sizes.get(entry, 0) + file.size
    entries = sorted(sizes, key=lambda entry: entry.rstrip("/").split("/"))
    lines = [f"{file_size(sum(file.size for file in files))}\t{path}"]
    lines += [f"{file_size(sizes[entry])}\t{shown_path}/{entry}" for entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        lines.append(f"... and {len(entries) - MAX_ENTRIES} more; view a folder by itself")
    heading = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([heading, *lines])


def replaced(path: str, content: str, old: str, new: str) -> tuple[str, str]:
    """Return the content with the one `old` replaced, and what to answer."""
    count = content.count(old) if old else 0
    if count == 0:
        raise NotFound(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(_places(content, old))}. Please ensure it is unique",
            "old_str",
        )
    before = content[: content.find(old)].count("\n")
    changed = content.replace(old, new)
    lines = changed.split("\n")
    begin = max(0, before - _AROUND)
    snippet = _lines(lines[begin : before + _AROUND + 1], begin + 1)
    said = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return changed, f"{said}\n{snippet}"


def inserted(content: str, line: int, text: str) -> str:
    """Return the content with a text after that many lines; lines end with LF alone."""
    lines = content.split("\n")
    if not lines[-1]:
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InvalidInput(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].", "insert_line"
        )
    lines.insert(line, text.rstrip("\n"))
    joined = "\n".join(lines)
    return joined if joined.endswith("\n") else f"{joined}\n"


def file_size(size: int) -> str:
    """Write bytes as Anthropic's tool does: 0B, 512B, 1.5K, 2M."""
    if size == 0:
        return "0B"
    power = min((size.bit_length() - 1) // 10, 3)
    scaled = size / _KIB**power
    unit = "BKMG"[power]
    return f"{int(scaled)}{unit}" if scaled == int(scaled) else f"{scaled:.1f}{unit}"


def _places(content: str, old: str) -> list[str]:
    places: list[str] = []
    line, seen, at = 1, 0, content.find(old)
    while at != -1 and len(places) <= MAX_PLACES:
        line += content.count("\n", seen, at)
        places.append(str(line))
        seen, at = at, content.find(old, at + 1)
    return [*islice(places, MAX_PLACES), *(["..."] if len(places) > MAX_PLACES else [])]


def _lines(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))
