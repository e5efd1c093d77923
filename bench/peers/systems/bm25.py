"""A baseline: bm25s with stemming and its longer list of stop words, which finds more.

It can't take a document more, so an append indexes all again.
"""

import bm25s
import Stemmer

from measure import Bench
from systems._local import Local, versions_of
from world import Doc


class Bm25(Local):
    kept = "no"
    findable_at_once = False
    appends = 3  # each indexes the whole scope

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        self._docs: dict[str, list[Doc]] = {}
        self._indexes: dict[str, bm25s.BM25] = {}
        self._stemmer = Stemmer.Stemmer("english")

    def fill(self, docs: list[Doc]) -> None:
        for doc in docs:
            self._docs.setdefault(doc.scope, []).append(doc)

    def settle(self) -> None:
        for scope in self._docs:
            self._index(scope)

    def append(self, doc: Doc) -> None:
        self.fill([doc])
        self._index(doc.scope)

    def search(self, scope: str, text: str, amount: int, _variant: str) -> list[str]:
        docs = self._docs[scope]
        (places,), _ = self._indexes[scope].retrieve(
            self._tokens([text]), k=min(amount, len(docs)), show_progress=False
        )
        return [docs[place].id for place in places]

    def _index(self, scope: str) -> None:
        made = bm25s.BM25()
        made.index(self._tokens([doc.text for doc in self._docs[scope]]), show_progress=False)
        self._indexes[scope] = made

    def _tokens(self, texts: list[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(texts, stopwords="en_plus", stemmer=self._stemmer, show_progress=False)


def open_system(bench: Bench, _phase: str) -> Bm25:
    return Bm25(bench)


def versions() -> dict[str, str]:
    return versions_of("bm25s")
