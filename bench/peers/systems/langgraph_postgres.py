"""LangGraph's PostgresStore with an index: pgvector, HNSW, as is its default."""

from contextlib import ExitStack

from langgraph.store.postgres import PostgresStore

from measure import Bench
from systems._langgraph import Namespaces, index
from systems._local import versions_of
from systems._postgres import OnPostgres


class InPostgres(Namespaces, OnPostgres):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.folder)
        self._open = ExitStack()
        opened = PostgresStore.from_conn_string(self.conninfo, index=index(bench.embedder))
        self.store = self._open.enter_context(opened)
        self.store.setup()

    def close(self) -> None:
        self._open.close()


def open_system(bench: Bench, _phase: str) -> InPostgres:
    return InPostgres(bench)


def versions() -> dict[str, str]:
    return versions_of("langgraph", "langgraph-checkpoint-postgres")
