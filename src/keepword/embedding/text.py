"""What of a message is searched: who said it and what, without what nobody could search for."""

import json
import re
from typing import Any

from keepword.embedding.chunk import split

# past this, one entry's words would drown each other; parts end at paragraphs and sentences
PART_CHARS = 8_000
# runs of signs that encode bytes: base64, hex, keys; no word and no path is that long
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
_MIN_PRINTABLE = 0.7


def spoken(speaker: str | None, *said: str | None) -> str:
    """Return the text as it is indexed: the speaker's name is part of it, for questions name people."""
    text = "\n".join(part for part in said if part)
    return f"{speaker}: {text}" if speaker and text else text


def message_text(
    speaker: str | None, content: str | None, tool_name: str | None, tool_args: Any, tool_result: str | None
) -> str:
    """Return a message's text as it is indexed."""
    args = "" if tool_args is None else json.dumps(tool_args, ensure_ascii=False)
    return spoken(speaker, content, tool_name, args, tool_result)


def searchable_parts(text: str) -> list[str]:
    """Return the parts to index; none if there is nothing to search for."""
    text = _ENCODED.sub(" ", text)
    if not any(map(str.isalnum, text)) or _share_printable(text) < _MIN_PRINTABLE:
        return []
    return split(text, PART_CHARS) if len(text) > PART_CHARS else [text]


def _share_printable(text: str) -> float:
    if text.isascii() and text.isprintable():
        return 1
    return sum(c.isprintable() or c.isspace() for c in text) / len(text)
