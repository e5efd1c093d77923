"""A baseline: every vector of the scope compared with the question's, in one numpy array."""

import numpy as np

from measure import Bench
from systems._local import Local, versions_of
from world import Doc


class Vectors(Local):
    kept = "no"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        self._embedder = bench.embedder
        self._ids: dict[str, list[str]] = {}
        self._rows: dict[str, np.ndarray] = {}

    def fill(self, docs: list[Doc]) -> None:
        for scope in dict.fromkeys(doc.scope for doc in docs):
            some = [doc for doc in docs if doc.scope == scope]
            made = np.array(self._embedder.embed([doc.text for doc in some]), np.float32)
            held = self._ids.setdefault(scope, [])
            self._make_room(scope, len(held) + len(some))
            self._rows[scope][len(held) : len(held) + len(some)] = made
            held += [doc.id for doc in some]

    def append(self, doc: Doc) -> None:
        self.fill([doc])

    def search(self, scope: str, text: str, amount: int, _variant: str) -> list[str]:
        ids = self._ids[scope]
        scores = self._rows[scope][: len(ids)] @ self._embedder.one(text)
        best = np.argpartition(-scores, min(amount, len(ids) - 1))[:amount]
        return [ids[place] for place in best[np.argsort(-scores[best], kind="stable")]]

    def _make_room(self, scope: str, wanted: int) -> None:
        rows = self._rows.get(scope, np.empty((0, 384), np.float32))
        if wanted > len(rows):
            larger = np.zeros((max(wanted, 2 * len(rows)), rows.shape[1]), np.float32)
            larger[: len(rows)] = rows
            self._rows[scope] = larger


def open_system(bench: Bench, _phase: str) -> Vectors:
    return Vectors(bench)


def versions() -> dict[str, str]:
    return versions_of("numpy")
