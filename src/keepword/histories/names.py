"""Ids of Keepword made of a source's: always the same, never too long, never without what tells them apart."""

import hashlib

MAX_NAME_CHARS = 200
MAX_SLUG_CHARS = 100
_DIGEST_CHARS = 16


def name(text: str, most_chars: int = MAX_NAME_CHARS) -> str:
    """Return an id that may stand in a path; what had to be changed keeps a digest of the whole."""
    clean = "".join(char if char.isprintable() and char not in "/\ufffd" else "_" for char in text).strip()
    if clean == text and 1 <= len(text) <= most_chars and text not in {".", ".."}:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_DIGEST_CHARS]
    return f"{clean[: most_chars - _DIGEST_CHARS - 1].strip()}~{digest}".lstrip("~")


def slug(text: str) -> str:
    """Return an agent's id: a name without a colon."""
    return name(text, MAX_SLUG_CHARS) if ":" not in text else name(text.replace(":", "\0"), MAX_SLUG_CHARS)


def event_id(text: str) -> str:
    """Return the id of an event, which may hold any sign."""
    clean = text.replace("\0", "")
    if clean == text and 1 <= len(text) <= MAX_NAME_CHARS and text.isprintable():
        return text
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
