"""Other people's clients against us beside the stores that they replace, in one run: medians, and their ratios.

    make bench-dropin                     COUNT=300: so many of each call; PARTS=mem0,langgraph chooses

mem0's `MemoryClient` over HTTP beside mem0's own `Memory` (`infer=False`, pgvector), and `KeepwordStore` over HTTP and
in process beside LangGraph's `PostgresStore`. Calls alternate, so that both meet the same machine. All use one
PostgreSQL. The service runs as `keepword serve` starts it, with its worker and its model; the others embed with the
same model inside the call. mem0's and LangGraph's packages are those of `make bench-peers`. Writes docs/benchmarks.md.
"""

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

import _page
from _service import Served, served
from run import OFF, python_of

HERE = Path(__file__).parent

FULL = 300
COUNT = int(os.environ.get("COUNT", str(FULL)))
PARTS = ("mem0", "langgraph")
_METHOD = """
{count} calls of each, one after the other, alternating between the stores, on one PostgreSQL; medians in ms. The
service is `keepword serve` with its defaults: a worker, the bundled model. The others embed by the same model inside
each call; of ours a search does. Reads begin 10 s after the last write, when the worker has embedded what was stored.
mem0 ran with `infer=False`. `bare HTTP` is `GET /healthz` by an `httpx.Client`: what a call over HTTP costs before it
does anything. In the process, Keepword is an `EmbeddedKeepwordStore`, beside the service and on its data.
"""


def main() -> None:
    wanted = [name for name in os.environ.get("PARTS", "").split(",") if name] or PARTS
    lines: list[str] = []
    with served() as ours:
        for name in wanted:
            lines += _shown(_measured(name, ours))
    text = "\n".join(["## Drop-in clients", "", _head(), _METHOD.format(count=COUNT), *lines])
    print(text, flush=True)
    if set(wanted) == set(PARTS) and COUNT >= FULL:
        _page.put("drop-in", text)


def _head() -> str:
    return f"`make bench-dropin`, {datetime.now(UTC).date().isoformat()}, {_page.machine()}."


def _measured(name: str, ours: Served) -> dict:
    """Run one part in a process with the other's packages; return what it says."""
    with psycopg.connect(ours.conninfo, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}")
    theirs = python_of(name)
    # our adapter needs our own packages as well
    python = sys.executable if name == "langgraph" else theirs
    with tempfile.TemporaryDirectory() as folder:
        env = {key: value for key, value in os.environ.items() if not key.startswith("KEEPWORD_")}
        env |= OFF | {
            "PYTHONPATH": str(HERE / "peers"), "MEM0_DIR": folder, "PEERS_FOLDER": folder,
            "PEERS_POSTGRES": make_conninfo(ours.conninfo, dbname=name), "PEERS_HOME": str(ours.home),
            "PEERS_PACKAGES": _packages(theirs),
        }  # fmt: skip
        command = [python, HERE / f"peers/drop_in_{name}.py", ours.url, str(COUNT)]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _packages(python: str) -> str:
    return str(next(Path(python).parents[1].glob("lib/python*/site-packages")))


def _shown(told: dict) -> list[str]:
    ours = told["columns"][: told["ours"]]
    columns = [told["title"], *told["columns"], *(f"ratio, {name.removeprefix('keepword ')}" for name in ours)]
    lines = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    for name, times in told["rows"].items():
        cells = [f"{one:.2f}" for one in (*times, *(time / times[-1] for time in times[: told["ours"]]))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, "", told["note"], ""]


if __name__ == "__main__":
    main()
