"""txtai's hybrid index (BM25 and vectors, half and half, its default weights), an index for each scope."""

import numpy as np
from txtai import Embeddings

from measure import Bench
from systems._local import Local, versions_of
from usage import disk_mb
from world import Doc


class Hybrid(Local):
    kept = "when saved"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        # txtai calls anything but a plain function to get one
        self._embed = lambda texts: np.array(bench.embedder.embed(texts), np.float32)
        self._indexes: dict[str, Embeddings] = {}

    def fill(self, docs: list[Doc]) -> None:
        for scope in dict.fromkeys(doc.scope for doc in docs):
            self._index(scope).upsert([(doc.id, doc.text, None) for doc in docs if doc.scope == scope])

    def append(self, doc: Doc) -> None:
        self.fill([doc])

    def search(self, scope: str, text: str, amount: int, _variant: str) -> list[str]:
        return [id_ for id_, _ in self._index(scope).search(text, amount)]

    def disk_mb(self) -> float:
        for scope, index in self._indexes.items():
            index.save(str(self.folder / scope))
        return disk_mb(self.folder)

    def _index(self, scope: str) -> Embeddings:
        if scope not in self._indexes:
            self._indexes[scope] = Embeddings(method="external", transform=self._embed, hybrid=True)
        return self._indexes[scope]


def open_system(bench: Bench, _phase: str) -> Hybrid:
    return Hybrid(bench)


def versions() -> dict[str, str]:
    return versions_of("txtai", "torch")
