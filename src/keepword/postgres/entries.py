"""Index entries as columns, a list for each: what the functions of the database take that store them."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from keepword.embedding import Entry, TextIndexer, message_parts
from keepword.postgres.halfvec import Vectors


def entry_columns(entries: Iterable[Entry]) -> dict[str, Any]:
    each = list(entries)
    return {
        "parts": [entry.part for entry in each],
        "texts": [entry.text for entry in each],
        "words": [entry.words for entry in each],
        "pieces": [entry.pieces for entry in each],
        "lexemes": [entry.lexemes for entry in each],
        "instants": Vectors(entry.instant for entry in each),
    }


def index_texts(reader: TextIndexer, salts: tuple[str, str], texts: Sequence[tuple[UUID, str]]) -> dict[str, Any]:
    """Read texts for the index, long ones in parts, and return their columns, with the source of each part."""
    rows: list[tuple[UUID, Entry]] = []
    for id_, text in texts:
        parts = message_parts(None, text, None, None, None)
        rows += [(id_, reader.index_entry(part, salts, number, whole=False)) for number, part in enumerate(parts)]
    return {"source_ids": [id_ for id_, _ in rows]} | entry_columns(entry for _, entry in rows)
