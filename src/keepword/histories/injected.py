"""Cuts out of what a person typed all that programs put there: reminders, notices, and what Keepword injected."""

MEMORY_TAG = "keepword-memory"
_TAGS = (
    MEMORY_TAG, "system-reminder", "task-notification", "local-command-stdout", "local-command-stderr",
    "local-command-caveat", "bash-stdout", "bash-stderr", "user-prompt-submit-hook", "ide_opened_file", "ide_selection",
    "command-message",
)  # fmt: skip


def without_injected(text: str) -> str:
    """Return the text without such blocks; a block that is not closed stays, as nobody knows where it ends."""
    if "<" not in text:
        return text
    for tag in _TAGS:
        text = _without(text, tag)
    return _command(text).strip() if "<command-name>" in text else text.strip()


def _without(text: str, tag: str) -> str:
    opening, closing = f"<{tag}>", f"</{tag}>"
    if opening not in text:
        return text
    first, *pieces = text.split(opening)
    # what follows the last end that there is
    return first + "".join(piece.partition(closing)[2] if closing in piece else opening + piece for piece in pieces)


def _command(text: str) -> str:
    """Return a slash command as it was typed; one without words of the person's own says nothing."""
    arguments = _inside(text, "command-args").strip()
    name = _inside(text, "command-name").strip()
    rest = _without(_without(text, "command-name"), "command-args").strip()
    return "\n".join(part for part in (f"{name} {arguments}" if arguments else "", rest) if part)


def _inside(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
