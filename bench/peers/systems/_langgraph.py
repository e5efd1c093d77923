"""LangGraph's stores: a namespace for each scope, the text embedded by the store's index."""

from langgraph.store.base import BaseStore, IndexConfig, PutOp

from embedder import DIMENSIONS, Embedder
from world import Doc


def index(embedder: Embedder) -> IndexConfig:
    def embed(texts: list[str]) -> list[list[float]]:
        return [vector.tolist() for vector in embedder.embed(texts)]

    return {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}


class Namespaces:
    store: BaseStore

    def fill(self, docs: list[Doc]) -> None:
        self.store.batch([PutOp(("turns", doc.scope), doc.id, self._value(doc)) for doc in docs])

    def append(self, doc: Doc) -> None:
        self.store.put(("turns", doc.scope), doc.id, self._value(doc))

    def search(self, scope: str, text: str, amount: int, _variant: str) -> list[str]:
        return [item.key for item in self.store.search(("turns", scope), query=text, limit=amount)]

    def _value(self, doc: Doc) -> dict[str, str]:
        return {"text": doc.text, "speaker": doc.speaker, "at": doc.at}
