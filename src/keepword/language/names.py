"""The languages that have tables of their own, and the form in which words are looked up."""

import unicodedata
from typing import Literal, get_args

Language = Literal["en", "de", "fr", "es", "pt", "it", "nl"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


def fold(text: str) -> str:
    """Lower case, and without accents."""
    text = text.lower()
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
