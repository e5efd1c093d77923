"""The binary format of an entry, written down once: sql/code/52_packing.sql is written from these constants.

All numbers are in the network's byte order. The table `entries` holds

- `words`: the hash of the stem of each distinct word, a WORD each;
- `pieces`: the number of each token of the instant table, a PIECE each;
- `instant`: a vector of INSTANT_DIMENSIONS, a COMPONENT each, behind four bytes that say how many there are;
- `lexemes`: the hashes of `words`, once salted with the tenant and once with the run_id, as numbers.

A search gets a column of many entries as one text of bytes: `ids` and `seqs` (ID), `conversations` (two IDs each: a
UUID), `times` (ID: microseconds since EPOCH), `flags` (FLAGS), `words` and `pieces` one after the other with how many
each entry has (COUNT), `instants` (nearness as NEARNESS, or the vectors themselves without their head).

`flags` adds up the first letter of the role (ROLE_MASK), FITS if the entry passes the filter, MINE if the caller said
it, KIND times the place of its kind in KINDS, and NAMED if a person said it whom the query names.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ID = ">i8"
WORD = ">i4"
PIECE = ">u2"
COUNT = ">i4"
FLAGS = ">i2"
COMPONENT = ">f2"
NEARNESS = ">f4"
WORD_BYTES = np.dtype(WORD).itemsize
PIECE_BYTES = np.dtype(PIECE).itemsize
INSTANT_DIMENSIONS = 256
VECTOR_HEAD_BYTES = 4
EPOCH = np.datetime64("2000-01-01T00:00:00", "us")

ROLE_MASK = 255
FITS = 256
MINE = 512
KIND = 1024
KINDS = ("message", "summary", "memory", "landmark")
NAMED = KIND * len(KINDS)

# how long an entry is, for the arms that look by words: full weight up to SHORT_WORDS, half of it LENGTH_WORDS later
SHORT_WORDS = 20
LENGTH_WORDS = 80
# candidates of each arm in a scope that is not scored whole
HITS_PER_ARM = 60


def unpack(packed: bytes | None, kind: str) -> NDArray[Any]:
    """Unpack numbers of one kind: the network's byte order in, the machine's out."""
    values = np.frombuffer(packed or b"", kind)
    return values.astype(values.dtype.newbyteorder("="))


def for_sql() -> dict[str, str]:
    """Return the constants for the templates of scripts/generate_sql.py, by name."""
    kinds = " ".join(f"WHEN '{kind}' THEN {KIND * place}" for place, kind in enumerate(KINDS))
    return {
        "fits": str(FITS),
        "mine": str(MINE),
        "named": str(NAMED),
        "kind": f"CASE e.kind {kinds} END",
        "word_bytes": str(WORD_BYTES),
        "piece_bytes": str(PIECE_BYTES),
        "after_head": str(VECTOR_HEAD_BYTES + 1),
        "length_share": f"1 / (1 + GREATEST(words - {SHORT_WORDS}, 0) / {LENGTH_WORDS}.0)",
    }
