"""From text to what can be searched: words, tokens and vectors. The instant space needs no model at run time."""

from keepword.embedding.reading import Entry, Reader, Reading
from keepword.embedding.text import message_parts

__all__ = ["Entry", "Reader", "Reading", "message_parts"]
