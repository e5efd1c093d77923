"""mem0's client against a service beside mem0 itself; prints one line of JSON. Run by bench/drop_in.py.

python drop_in_mem0.py URL COUNT
"""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from mem0 import MemoryClient

from drop_in_calls import alternate, question, settle, text
from embedder import Embedder
from systems._mem0 import Mem0

USER = "ann"
TOP = 10


def main(url: str, count: int) -> None:
    client = MemoryClient(api_key="local", host=url)
    bench = SimpleNamespace(folder=Path(os.environ["PEERS_FOLDER"]), embedder=Embedder())
    settings = {"connection_string": os.environ["PEERS_POSTGRES"], "collection_name": "turns"}
    memory = Mem0(bench, "pgvector", settings).memory
    only = {"user_id": USER}
    rows = {
        "add": [
            lambda n: client.add([{"role": "user", "content": text(n)}], user_id=USER, infer=False),
            lambda _: client.client.get("/healthz").json(),
            lambda n: memory.add([{"role": "user", "content": text(n)}], user_id=USER, infer=False),
        ],
        "search": [
            lambda n: client.search(question(n), filters=only, top_k=TOP, threshold=0.0),
            lambda _: client.client.get("/healthz").json(),
            lambda n: memory.search(question(n), filters=only, top_k=TOP, threshold=0.0),
        ],
    }
    medians = {}
    for name, calls in rows.items():
        medians[name] = alternate(calls, count)
        settle()
    kept = client.get_all(filters=only, page_size=1)["count"]
    theirs = len(memory.get_all(filters=only, top_k=2 * count)["results"])
    right = [sum(_is_first(store, n, only) for n in range(count)) for store in (client, memory)]
    note = (
        f"{count} adds made {kept} memories here and {theirs} there. Of {count} questions, the memory that was meant "
        f"came among the first {TOP} for {right[0]} here and {right[1]} there."
    )
    columns = ["keepword over HTTP", "bare HTTP", "mem0 in the process"]
    told = {"title": "mem0's client", "columns": columns, "ours": 1, "rows": medians, "note": note}
    print(json.dumps(told), flush=True)


def _is_first(store: object, number: int, only: dict[str, str]) -> bool:
    results = store.search(question(number), filters=only, top_k=TOP, threshold=0.0)["results"]
    return text(number) in {one["memory"] for one in results}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
