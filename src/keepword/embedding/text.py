"""The searchable text of a message: its speaker and content, without encoded bytes."""

import json
from typing import Any

from keepword import patterns
from keepword.embedding.chunk import split

# a longer entry would match almost any query; parts end at paragraphs and sentences
PART_CHARS = 8_000
# runs of signs that encode bytes: base64, hex, keys; no word and no path is that long
_ENCODED = patterns.anywhere(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{200,}+")
_LETTER = patterns.anywhere(r"[^\W_]")
_MIN_PRINTABLE = 0.7


def message_parts(
    speaker: str | None, content: str | None, tool_name: str | None, tool_args: Any, tool_result: str | None
) -> list[str]:
    """Return the parts of a message to index. Each includes the speaker's name, because questions name people."""
    args = "" if tool_args is None else json.dumps(tool_args, ensure_ascii=False)
    body = _ENCODED.sub(" ", "\n".join(filter(None, (content, tool_name, args, tool_result))))
    if not _is_searchable(body):
        return []
    text = f"{speaker}: {body}" if speaker else body
    return split(text, PART_CHARS) if len(text) > PART_CHARS else [text]


def _is_searchable(text: str) -> bool:
    return _LETTER.search(text) is not None and _share_printable(text) >= _MIN_PRINTABLE


def _share_printable(text: str) -> float:
    if text.isascii() and text.isprintable():
        return 1
    return sum(c.isprintable() or c.isspace() for c in text) / len(text)
