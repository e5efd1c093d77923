"""Makes src/keepword/recall/data/word-rates.npz: in what share of the turns of public talks each word stem occurs.

usage: make_word_rates.py TRAIN.npz    the tokenised talks: `t` tokens, `toff` where each turn begins, `sc` its scope,
                                       `ssrc` the source of each scope
The rates smooth the counts of a scope, so that no search needs the counts of what its caller may not read.
"""

import hashlib
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from keepword.embedding.words import hashed, stem, surfaces
from keepword.language.names import fold

DATA = Path(__file__).parents[1] / "src" / "keepword"
TOKENIZER = DATA / "embedding" / "data" / "minilm-tokenizer.json"
TARGET = DATA / "recall" / "data" / "word-rates.npz"
# answers that other vendors' models wrote
LEFT_OUT = frozenset({"arena", "mtb", "gpteacher"})
LEAST_TURNS = 3  # a stem that occurs in fewer says more about one talk than about the language


def words_of(pieces: list[str]) -> set[str]:
    """Return the stems of a turn, from its tokens."""
    text = " ".join(pieces).replace(" ##", "")
    return {stemmed for surface in surfaces(fold(text)) if (stemmed := stem(surface)) is not None}


def main() -> None:
    talks = dict(np.load(sys.argv[1]))
    vocabulary = Tokenizer.from_file(str(TOKENIZER)).get_vocab()
    names = sorted(vocabulary, key=lambda token: vocabulary[token])
    sources = talks["ssrc"][talks["sc"]]
    counts: Counter[str] = Counter()
    turns = 0
    for number, (first, last) in enumerate(zip(talks["toff"][:-1], talks["toff"][1:], strict=True)):
        if sources[number] in LEFT_OUT:
            continue
        counts.update(words_of([names[token] for token in talks["t"][first:last]]))
        turns += 1
    kept = sorted((hashed(stemmed), count) for stemmed, count in counts.items() if count >= LEAST_TURNS)
    hashes = np.array([one[0] for one in kept], np.int32)
    numbers = np.array([one[1] for one in kept], np.uint32)
    TARGET.parent.mkdir(exist_ok=True)
    np.savez_compressed(TARGET, hashes=hashes, counts=numbers, turns=np.uint32(turns))
    digest = hashlib.sha256(TARGET.read_bytes()).hexdigest()
    print(f"{len(kept)} stems of {turns} turns, {TARGET.stat().st_size} bytes, sha256 {digest}")


main()
