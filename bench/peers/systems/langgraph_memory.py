"""LangGraph's InMemoryStore with an index."""

from langgraph.store.memory import InMemoryStore

from measure import Bench
from systems._langgraph import Namespaces, index
from systems._local import Local, versions_of
from world import Doc


class InMemory(Namespaces, Local):
    kept = "no"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        self.store = InMemoryStore(index=index(bench.embedder))

    def fill(self, docs: list[Doc]) -> None:
        # a batch that holds the same text twice is refused
        first = {doc.text: doc for doc in docs}
        super().fill(list(first.values()))
        if again := [doc for doc in docs if first[doc.text] is not doc]:
            self.fill(again)


def open_system(bench: Bench, _phase: str) -> InMemory:
    return InMemory(bench)


def versions() -> dict[str, str]:
    return versions_of("langgraph", "langgraph-checkpoint")
