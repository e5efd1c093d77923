"""Turns text into index entries: words, tokens and vectors. The instant space needs no model at run time."""

from keepword.embedding.text_indexer import Entry, TextFeatures, TextIndexer, message_parts, text_indexer

__all__ = ["Entry", "TextFeatures", "TextIndexer", "message_parts", "text_indexer"]
