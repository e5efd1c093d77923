"""mem0 with `infer=False`: messages are stored as they are, no language model is asked."""

from pathlib import Path
from typing import Any

from mem0 import Memory

from embedder import DIMENSIONS, Embedder
from measure import Bench
from world import Doc


class Shared:
    """The embedder in the shape that mem0 wants; its own ones come from other packages or from the net."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, _action: str | None = None, **_: Any) -> list[float]:
        return self._embedder.one(text).tolist()

    def embed_batch(self, texts: list[str], _action: str | None = None) -> list[list[float]]:
        return [vector.tolist() for vector in self._embedder.embed(texts)]


class Mem0:
    """Ids are mem0's own: it says them in the order of the messages."""

    def __init__(self, bench: Bench, store: str, settings: dict[str, Any]) -> None:
        unused = {"api_key": "unused"}
        self.memory = Memory.from_config({
            "vector_store": {"provider": store, "config": settings | {"embedding_model_dims": DIMENSIONS}},
            "embedder": {"provider": "openai", "config": unused},
            "llm": {"provider": "openai", "config": unused},
            "history_db_path": str(Path(bench.folder) / "history.db"),
        })  # fmt: skip
        self.memory.embedding_model = Shared(bench.embedder)
        self._ids: dict[str, str] = {}

    def fill(self, docs: list[Doc]) -> None:
        for scope in dict.fromkeys(doc.scope for doc in docs):
            some = [doc for doc in docs if doc.scope == scope]
            told = [{"role": "user", "content": doc.text} for doc in some]
            made = self.memory.add(told, user_id=scope, infer=False)["results"]
            self._ids |= {each["id"]: doc.id for each, doc in zip(made, some, strict=True)}

    def append(self, doc: Doc) -> None:
        self.fill([doc])

    def search(self, scope: str, text: str, amount: int, _variant: str) -> list[str]:
        found = self.memory.search(text, top_k=amount, filters={"user_id": scope}, threshold=0.0)["results"]
        return [self._ids[each["id"]] for each in found]
