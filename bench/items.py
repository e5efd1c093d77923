"""Items beside LangGraph's PostgresStore in one run: put, get and search, turn by turn, medians in ms.

    COMPAT=folder .venv/bin/python bench/items.py

The folder has the packages of LangGraph, as `make test-compat` keeps them in its cache. Both stores are on one
PostgreSQL: ours is called over HTTP by KeepwordStore, theirs by psycopg in this process. Theirs searches by the vectors
of our instant table, so that neither waits for a model; ours also by words.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import psycopg
from psycopg.conninfo import make_conninfo

from _service import Served, served
from keepword.embedding import TextIndexer

if folder := os.environ.get("COMPAT"):
    sys.path.insert(0, folder)

from langgraph.store.postgres import PostgresStore

from keepword.adapters.langgraph import KeepwordStore

ITEMS = 300
NOTES = (
    "Ann drinks green tea",
    "the flight to Lisbon",
    "an invoice over 8431",
    "walnuts make Bob ill",
    "a boat in the port",
)
READER = TextIndexer()


def main() -> None:
    with ExitStack() as open_, served(embedding="none", worker="false", processes="1") as ours:
        theirs = open_.enter_context(_theirs(ours))
        theirs.setup()
        with KeepwordStore(ours.url) as store:
            _compare(store, theirs)


def _theirs(service: Served) -> "PostgresStore":
    with psycopg.connect(service.conninfo, autocommit=True) as conn:
        conn.execute("CREATE DATABASE theirs")
    index = {"dims": 256, "embed": _embed, "fields": ["text"]}
    return PostgresStore.from_conn_string(make_conninfo(service.conninfo, dbname="theirs"), index=index)


def _embed(texts: list[str]) -> list[list[float]]:
    return [READER.read(text).vector.tolist() for text in texts]


def _compare(ours: KeepwordStore, theirs: "PostgresStore") -> None:
    value = [{"text": f"{NOTES[n % len(NOTES)]}, note {n}", "n": n} for n in range(ITEMS)]
    steps: dict[str, Callable[[KeepwordStore, int], object]] = {
        "put": lambda store, n: store.put(("bench", "notes"), f"k{n}", value[n]),
        "get": lambda store, n: store.get(("bench", "notes"), f"k{n}"),
        "search by a query": lambda store, n: store.search(("bench",), query=f"what does Ann drink in note {n}?"),
        "search by a filter": lambda store, n: store.search(("bench",), filter={"n": n}),
    }
    print(f"| {ITEMS} items, medians in ms | keepword | PostgresStore | ratio |\n| --- | --- | --- | --- |")
    for name, step in steps.items():
        times: tuple[list[float], list[float]] = ([], [])
        for n in range(ITEMS):
            for store, taken in zip((ours, theirs), times, strict=True):
                started = time.perf_counter()
                step(store, n)
                taken.append(1000 * (time.perf_counter() - started))
        a, b = map(statistics.median, times)
        print(f"| {name} | {a:.2f} | {b:.2f} | {a / b:.2f} |", flush=True)


if __name__ == "__main__":
    main()
