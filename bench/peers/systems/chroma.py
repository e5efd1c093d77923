"""Chroma, persistent, a collection for each scope, cosine."""

import chromadb
from chromadb.config import Settings

from measure import Bench
from systems._local import Local, versions_of
from world import Doc


class Chroma(Local):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        self._embedder = bench.embedder
        self._client = chromadb.PersistentClient(str(bench.folder), settings=Settings(anonymized_telemetry=False))
        self._collections: dict[str, chromadb.Collection] = {}

    def fill(self, docs: list[Doc]) -> None:
        for scope in dict.fromkeys(doc.scope for doc in docs):
            some = [doc for doc in docs if doc.scope == scope]
            self._collection(scope).add(
                ids=[doc.id for doc in some],
                documents=[doc.text for doc in some],
                embeddings=self._embedder.embed([doc.text for doc in some]),
                metadatas=[{"speaker": doc.speaker, "at": doc.at} for doc in some],
            )

    def append(self, doc: Doc) -> None:
        self.fill([doc])

    def search(self, scope: str, text: str, amount: int, _variant: str) -> list[str]:
        found = self._collection(scope).query(query_embeddings=[self._embedder.one(text)], n_results=amount)
        return found["ids"][0]

    def _collection(self, scope: str) -> chromadb.Collection:
        if scope not in self._collections:
            self._collections[scope] = self._client.get_or_create_collection(
                scope, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collections[scope]


def open_system(bench: Bench, _phase: str) -> Chroma:
    return Chroma(bench)


def versions() -> dict[str, str]:
    return versions_of("chromadb")
