"""Candidates made of texts, as the index would find them."""

import numpy as np

from keepword.embedding import TextIndexer
from keepword.embedding.entry_format import KINDS
from keepword.recall.question import ask
from keepword.recall.score import Candidates, share_embedded

READER = TextIndexer()


def candidates(rows, question, *, whole=False, deeps=None):
    """Make candidates of texts; each row is a text, or a text with what else is known of it."""
    known = [{"text": row} if isinstance(row, str) else row for row in rows]
    readings = [READER.read(row["text"]) for row in known]
    asked = ask(question, READER.table)
    count = len(known)
    return Candidates(
        ids=np.arange(1, count + 1),
        conversations=np.array([[0, row.get("talk", number)] for number, row in enumerate(known)], np.int64).reshape(
            -1, 2
        ),
        seqs=np.array([row.get("seq", 1) for row in known], np.int64),
        roles=np.array([ord(row.get("role", "user")[0]) for row in known], np.int64),
        fits=np.ones(count, np.bool_),
        mine=np.array([row.get("mine", False) for row in known], np.bool_),
        named=np.array([row.get("named", False) for row in known], np.bool_),
        kinds=np.array([KINDS.index(row.get("kind", "message")) for row in known], np.int64),
        times=np.array([row.get("day", "2024-01-01") for row in known], "datetime64[us]"),
        words=np.concatenate([np.zeros(0, np.int32), *(reading.words for reading in readings)]),
        word_counts=np.array([len(reading.words) for reading in readings], np.int64),
        pieces=np.concatenate([np.zeros(0, np.uint16), *(reading.pieces for reading in readings)]),
        piece_counts=np.array([len(reading.pieces) for reading in readings], np.int64),
        instants=np.array([reading.vector @ asked.vector for reading in readings], np.float32),
        deeps=np.array(deeps, np.float32) if deeps is not None else None,
        frequencies=np.full(len(asked.hashes), 4, np.float32),
        entries=10_000,
        is_whole=whole,
        literals={},
        embedded=share_embedded(np.array(deeps, np.float32)) if deeps is not None else 0.0,
    )
