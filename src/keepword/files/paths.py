"""Paths inside a tree: every one begins with /memories, and none leads out of it."""

import unicodedata
from urllib.parse import unquote

from keepword.errors import InvalidInput

ROOT = "/memories"
MAX_PATH_BYTES = 1024
MAX_SEGMENTS = 20
MAX_SEGMENT_BYTES = 255
# where an agent's own files, such as SOUL.md, stand in its tree
WORKSPACE = f"{ROOT}/workspace"
# a path is decoded no more often than this to look for a way up
_DECODINGS = 3


def check_path(path: str, field: str = "path") -> str:
    """Return the one name of a path: without `.`, `..` and doubled slashes, in Unicode's composed form.

    Raises InvalidInput for one that leaves /memories, plainly or percent-encoded, and for one that is no text.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {_shown(path)}", field)
    segments = _resolved(path, path.removeprefix(ROOT).split("/"), field)
    _refuse_encoded_ascent(path, field)
    for segment in segments:
        _check_segment(path, segment, field)
    name = "/".join([ROOT, *(unicodedata.normalize("NFC", segment) for segment in segments)])
    if len(segments) > MAX_SEGMENTS or len(name.encode()) > MAX_PATH_BYTES:
        raise InvalidInput(
            f"Path {_shown(path)} is too long: it has at most {MAX_SEGMENTS} names and {MAX_PATH_BYTES} bytes", field
        )
    return name


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _resolved(path: str, segments: list[str], field: str) -> list[str]:
    resolved: list[str] = []
    for segment in segments:
        if segment == "..":
            if not resolved:
                raise _escapes(path, field)
            resolved.pop()
        elif segment not in {"", "."}:
            resolved.append(segment)
    return resolved


def _refuse_encoded_ascent(path: str, field: str) -> None:
    """Refuse a way up that a program behind this one might decode."""
    decoded = path
    for _ in range(_DECODINGS):
        if "%" not in decoded:
            return
        decoded = unquote(decoded)
        if ".." in decoded.replace("\\", "/").split("/"):
            raise _escapes(path, field)


def _check_segment(path: str, segment: str, field: str) -> None:
    is_text = segment.isprintable() and not {"\ufffd", "\\"} & set(segment)
    if not is_text or len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise InvalidInput(
            f"Path {_shown(path)} has a name that can't be one: a name has at most {MAX_SEGMENT_BYTES} bytes, no "
            "control character and no backslash",
            field,
        )


def _escapes(path: str, field: str) -> InvalidInput:
    return InvalidInput(f"Path {_shown(path)} would escape {ROOT} directory", field)


def _shown(path: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in path[:200])
