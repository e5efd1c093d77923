"""KeepwordStore beside LangGraph's PostgresStore; prints one line of JSON. Run by bench/drop_in.py.

python drop_in_langgraph.py URL COUNT
"""

import json
import os
import sys

# our own packages go before theirs
sys.path.append(os.environ["PEERS_PACKAGES"])

import httpx
from langgraph.store.postgres import PostgresStore

from drop_in_calls import alternate, question, settle, text
from embedder import DIMENSIONS, Embedder
from keepword.adapters.langgraph import EmbeddedKeepwordStore, KeepwordStore

# the embedded store acts for nobody, as the other does: each has a namespace of its own in what both read
SPACES = {"KeepwordStore": "http", "EmbeddedKeepwordStore": "embedded", "PostgresStore": "theirs"}
TOP = 10


def main(url: str, count: int) -> None:
    embedder = Embedder()

    def embed(texts: list[str]) -> list[list[float]]:
        return [vector.tolist() for vector in embedder.embed(texts)]

    index = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}
    values = [{"text": text(number), "n": number} for number in range(count)]

    def space(store: object) -> str:
        return SPACES[type(store).__name__]

    steps = {
        "put": lambda store, n: store.put((space(store), "notes"), f"k{n}", values[n]),
        "get": lambda store, n: store.get((space(store), "notes"), f"k{n}"),
        "search by a query": lambda store, n: store.search((space(store),), query=question(n), limit=TOP),
        "search by a filter": lambda store, n: store.search((space(store),), filter={"n": n}, limit=TOP),
    }
    bare = httpx.Client(base_url=url)
    with (
        PostgresStore.from_conn_string(os.environ["PEERS_POSTGRES"], index=index) as theirs,
        KeepwordStore(url) as ours,
        # the service's own worker does the work behind
        EmbeddedKeepwordStore(data=os.environ["PEERS_HOME"], environment=False, worker=False) as inside,
    ):
        theirs.setup()
        medians = {}
        for name, step in steps.items():
            calls = [lambda n, step=step, store=store: step(store, n) for store in (ours, inside, theirs)]
            medians[name] = alternate([*calls[:2], lambda _: bare.get("/healthz").json(), calls[2]], count)
            if name == "put":
                settle()
        right = {
            store: sum(f"k{n}" in {one.key for one in steps["search by a query"](store, n)} for n in range(count))
            for store in (ours, inside, theirs)
        }
    note = (
        f"Of {count} questions, the item that was meant came among the first {TOP} for {right[ours]} over HTTP, "
        f"{right[inside]} in the process and {right[theirs]} in PostgresStore."
    )
    columns = ["keepword over HTTP", "keepword in the process", "bare HTTP", "PostgresStore"]
    told = {"title": "LangGraph's store", "columns": columns, "ours": 2, "rows": medians, "note": note}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
