"""JSON read piece by piece: a file of a gigabyte needs the memory of its largest element."""

import json
from collections.abc import Iterator
from typing import IO, Any

import ijson

from keepword.histories.records import Omission

MAX_LINE_BYTES = 64 << 20
TORN = "the file is torn: imported up to there"
_NOT_JSON = "a line that is no JSON"


def elements(file: IO[bytes], where: str, path: str) -> Iterator[Any | Omission]:
    """Yield the elements of the list at `path` ("item" is a list at the top); then a word if the file is torn."""
    try:
        yield from ijson.items(file, path, use_float=True)
    except (ijson.JSONError, UnicodeDecodeError) as exc:
        yield torn(where, exc)


def members(file: IO[bytes], where: str, lists: frozenset[str]) -> Iterator[tuple[str, Any] | Omission]:
    """Yield the elements of several lists, and the plain values around them, as (path, value) in their order.

    The end of an object around them is yielded as (path, END).
    """
    builder: Any = None
    depth = 0
    try:
        for path, event, value in ijson.parse(file, use_float=True):
            if builder is None and path in lists and event in {"start_map", "start_array"}:
                builder, depth = ijson.ObjectBuilder(), 0
            if builder is not None:
                builder.event(event, value)
                depth += {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}.get(event, 0)
                if depth == 0:
                    yield path, builder.value
                    builder = None
            elif event in {"string", "number", "boolean"}:
                yield path, value
            elif event == "end_map":
                yield path, END
    except (ijson.JSONError, UnicodeDecodeError) as exc:
        yield torn(where, exc)


END = object()


def lines(file: IO[bytes], where: str) -> Iterator[tuple[int, dict[str, Any]] | Omission]:
    """Yield the objects of a file of JSON lines, each with the offset of its end; the last line may be torn."""
    offset = 0
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        offset += len(line)
        is_whole = line.endswith(b"\n")
        if not is_whole and len(line) == MAX_LINE_BYTES:
            offset += _skip_line(file)
            yield Omission(f"a line over {MAX_LINE_BYTES >> 20} MiB", f"{where}:{number}")
            continue
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield Omission(_NOT_JSON if is_whole else TORN, f"{where}:{number}")
            continue
        if isinstance(value, dict):
            yield offset, value
        else:
            yield Omission("a line that is no object", f"{where}:{number}")


def torn(where: str, exc: Exception) -> Omission:
    return Omission(TORN, f"{where}: {str(exc).splitlines()[0] if str(exc) else type(exc).__name__}")


def _skip_line(file: IO[bytes]) -> int:
    skipped = 0
    while piece := file.readline(MAX_LINE_BYTES):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped
