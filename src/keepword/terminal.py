"""Text on a terminal: stored and sent text must not carry escape sequences there."""

import sys


def escaped(text: str, keep: str = "") -> str:
    """Return the text on one line, with every character that does not print written as in Python's source."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text)


def visible(text: str) -> str:
    """Return the text with its lines and tabs, and every other character that does not print escaped."""
    return escaped(text, "\n\t")


def shown(text: str) -> str:
    """Return what may be printed to stdout: the text itself into a pipe or file, the visible form on a terminal."""
    return visible(text) if sys.stdout.isatty() else text
