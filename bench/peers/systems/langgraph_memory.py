"""LangGraph's InMemoryStore with an index."""

from langgraph.store.memory import InMemoryStore

from measure import Bench
from systems._langgraph import Namespaces, index
from systems._local import Local, versions_of


class InMemory(Namespaces, Local):
    kept = "no"

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        self.store = InMemoryStore(index=index(bench.embedder))


def open_system(bench: Bench, _phase: str) -> InMemory:
    return InMemory(bench)


def versions() -> dict[str, str]:
    return versions_of("langgraph", "langgraph-checkpoint")
