"""Loaded into the runs of LangGraph's own tests of stores: their names for stores, and their fixtures, give ours.

Each store acts for an agent of its own, so that it is empty at first.
"""

import inspect
import os
import uuid
from contextlib import asynccontextmanager, contextmanager

import pytest

from keepword.adapters.langgraph import KeepwordStore

KEPT: list[KeepwordStore] = []


class StoreInstead(KeepwordStore):
    """Takes the arguments of InMemoryStore; of an index the fields alone count."""

    def __init__(self, *, index=None, ttl=None) -> None:
        fields = (index or {}).get("fields") or (index or {}).get("text_fields")
        super().__init__(os.environ["KEEPWORD_URL"], agent=f"test-{uuid.uuid4().hex}", fields=fields, ttl=ttl)
        KEPT.append(self)

    @classmethod
    @contextmanager
    def from_conn_string(cls, _, *, index=None, ttl=None, **__):
        yield cls(index=index, ttl=ttl)

    def setup(self) -> None:
        """There is nothing to set up."""

    def start_ttl_sweeper(self) -> None:
        """The service itself deletes what expired."""

    def stop_ttl_sweeper(self) -> None:
        """As above."""

    def sweep_ttl(self) -> int:
        return 0


class AsyncStoreInstead(StoreInstead):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, _, *, index=None, ttl=None, **__):
        yield cls(index=index, ttl=ttl)

    async def setup(self) -> None:
        """There is nothing to set up."""

    async def start_ttl_sweeper(self) -> None:
        """The service itself deletes what expired."""

    async def stop_ttl_sweeper(self) -> None:
        """As above."""

    async def sweep_ttl(self) -> int:
        return 0


@contextmanager
def create_vector_store(*_, text_fields=None, **__):
    yield StoreInstead(index={"fields": text_fields})


@asynccontextmanager
async def create_async_vector_store(*_, text_fields=None, **__):
    yield AsyncStoreInstead(index={"fields": text_fields})


class NoEmbeddings:
    dims = 0


@pytest.fixture
def fake_embeddings():
    return NoEmbeddings()


def pytest_collectstart(collector) -> None:
    """Before fixtures and tests of a module are found, put ours under their names."""
    if isinstance(collector, pytest.Module):
        module = collector.obj
        for name, ours in _ours(inspect.iscoroutinefunction(getattr(module, "test_no_running_loop", None))).items():
            if hasattr(module, name):
                setattr(module, name, ours)


def _ours(is_async):
    kind = AsyncStoreInstead if is_async else StoreInstead
    making = create_async_vector_store if is_async else create_vector_store
    return {
        "InMemoryStore": StoreInstead, "PostgresStore": StoreInstead, "SqliteStore": StoreInstead,
        "AsyncPostgresStore": AsyncStoreInstead, "AsyncSqliteStore": AsyncStoreInstead,
        "create_vector_store": making, "_create_vector_store": making,
        "store": _fixture("store", kind), "vector_store": _fixture("vector_store", kind),
        "fake_embeddings": _fixture("fake_embeddings", NoEmbeddings),
    }  # fmt: skip


def _fixture(name, kind):
    @pytest.fixture(name=name)
    def make():
        return kind()

    return make


def pytest_sessionfinish() -> None:
    for kept in KEPT:
        kept.close()
