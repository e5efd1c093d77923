"""Keepword beside the systems that people would use instead: one run, the same turns, questions and embedder.

    make bench-peers                     PARTS=keepword,chroma chooses systems, PHASES=recall,bulk,size:600 phases
    make bench-peers QUICK=1             two conversations and small sizes, to try it out; prints, writes no page
    make bench-peers FRESH=1             forget what was measured before; else only what is missing is measured

Each system runs in an environment of its own, each phase in a process of its own. What was measured is kept in
.bench/peers, so that a run can be interrupted and called again.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from _sets import LOCOMO, find, locomo
from embedder import Embedder
from keepword.postgres.embedded import Cluster
from measure import Plan
from page import Measured, report
from world import Doc, Question, Vectors, World, write

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".bench/peers"
QUICK = bool(os.environ.get("QUICK"))
LIMIT_SECONDS = float(os.environ.get("LIMIT", "3600"))
SIZES = (200, 2_000) if QUICK else (600, 50_000)
PHASES = ("recall", "bulk", *(f"size:{size}" for size in SIZES))
OFF = {
    "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "POSTHOG_DISABLED": "1", "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A system, the environment that it runs in, and whether it wants a PostgreSQL."""

    name: str
    module: str
    environment: str | None
    on_postgres: bool = False


PARTS = (
    Part("keepword", "keepword_http", None),
    Part("mem0 (Qdrant)", "mem0_qdrant", "mem0"),
    Part("mem0 (pgvector)", "mem0_pgvector", "mem0", on_postgres=True),
    Part("LangGraph PostgresStore", "langgraph_postgres", "langgraph", on_postgres=True),
    Part("LangGraph InMemoryStore", "langgraph_memory", "langgraph"),
    Part("Chroma", "chroma", "chroma"),
    Part("txtai hybrid", "txtai_hybrid", "txtai"),
    Part("BM25 alone (bm25s)", "bm25", "bm25s"),
    Part("vectors alone", "vectors", None),
)


class Failed(Exception):
    """A system could not be measured; the text says why."""


def load(data: Path) -> World:
    path = find(data, LOCOMO)
    if path is None:
        sys.exit(f"no {LOCOMO} in {data}; name the folder with DATA=")
    docs, questions = [], []
    for scope in list(locomo(path))[: 2 if QUICK else None]:
        (turns,) = scope.talks
        docs += [
            Doc(f"{scope.name}:{each.id}", scope.name, each.speaker, each.text, each.at.isoformat()) for each in turns
        ]
        for asked in scope.questions:
            evidence = tuple(f"{scope.name}:{id_}" for id_ in sorted(asked.evidence))
            questions.append(Question(scope.name, asked.text, evidence))
    return World(docs, questions)


def prepare(world: World, kept: Path) -> Path:
    """Write what every process reads, and embed once what systems are filled with."""
    plan = Plan(kept / "world.json", CACHE, grown=SIZES[-1], searches=200, appends=100, bulk=2_000, batch=1_000)
    if QUICK:
        plan = replace(plan, searches=20, appends=10, bulk=200)
    write(plan.world, world)
    Vectors(CACHE, plan.texts(world)).fill(Embedder())
    path = kept / "plan.json"
    path.write_text(
        json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in vars(plan).items()})
    )
    return path


def python_of(environment: str | None) -> str:
    """Return the environment's Python; make the environment if it is not there or wants something else."""
    if environment is None:
        return sys.executable
    lists = [HERE / "requirements" / f"{name}.txt" for name in ("embedder", environment)]
    wanted = hashlib.sha256("".join(path.read_text() for path in lists).encode()).hexdigest()
    folder = CACHE / "envs" / environment
    mark = folder / "made"
    if not mark.exists() or mark.read_text() != wanted:
        print(f"making the environment {environment} (once) ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        options = [part for path in lists for part in ("-r", path)]
        command = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *options]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise Failed("it could not be installed: " + _last_line(made.stderr))
        mark.write_text(wanted)
    return str(folder / "bin/python")


@contextlib.contextmanager
def surroundings(part: Part) -> Iterator[dict[str, str]]:
    """Give a phase an empty folder, and if it wants one a PostgreSQL of its own: the same that Keepword starts."""
    root = Path(tempfile.mkdtemp(prefix="kw-peers-"))
    root.chmod(0o711)
    (root / "data").mkdir()
    cluster = Cluster(root / "home")
    env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
    env |= OFF | {"PEERS_FOLDER": str(root / "data"), "MEM0_DIR": str(root / "mem0"), "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent)])
    try:
        if part.on_postgres:
            cluster.start()
            with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
                conn.execute("CREATE DATABASE peers")
            env["PEERS_POSTGRES"] = make_conninfo(cluster.conninfo, dbname="peers")
            env["PEERS_POSTMASTER"] = str(cluster.postmaster_pid())
        yield env
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


def measure(part: Part, phase: str, plan: Path, result: Path) -> None:
    command = [python_of(part.environment), str(HERE / "measure.py"), part.module, phase, str(plan), str(result)]
    with surroundings(part) as env:
        process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        try:
            _, errors = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired as exc:
            raise Failed(f"{phase} took more than {LIMIT_SECONDS:.0f} s") from exc
        finally:
            process.terminate()
            process.wait()
        if process.returncode:
            raise Failed(f"{phase}: {_last_line(errors)}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"]
    # no path of this machine belongs on the page
    return re.sub(r"(/[\w.+-]+){2,}", "…", lines[-1])[:200]


def results(kept: Path) -> dict[str, Measured]:
    return {part.name: _measured(kept, part) for part in PARTS}


def _measured(kept: Path, part: Part) -> Measured:
    paths = {phase: _result(kept, part, phase) for phase in PHASES}
    told = {phase: json.loads(path.read_text()) for phase, path in paths.items() if path.exists()}
    failed = [each["failed"] for each in told.values() if "failed" in each]
    return Measured({phase: each for phase, each in told.items() if "failed" not in each}, failed)


def _result(kept: Path, part: Part, phase: str) -> Path:
    return kept / f"{part.module}-{phase.replace(':', '-')}.json"


def chosen(setting: str, every: list[str]) -> list[str]:
    wanted = [name for name in os.environ.get(setting, "").split(",") if name]
    if unknown := set(wanted) - set(every):
        sys.exit(f"{setting} names {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    return wanted or every


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # what was started is stopped and removed as well
    kept = CACHE / ("quick" if QUICK else "results")
    if os.environ.get("FRESH"):
        shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True, exist_ok=True)
    modules = chosen("PARTS", [part.module for part in PARTS])
    phases = chosen("PHASES", list(PHASES))
    plan = prepare(load(Path(os.environ.get("DATA", "../shared/data"))), kept)
    for part in (part for part in PARTS if part.module in modules):
        for phase in phases:
            path = _result(kept, part, phase)
            if path.exists() and "failed" not in json.loads(path.read_text()):
                continue
            started = time.monotonic()
            try:
                measure(part, phase, plan, path)
                outcome = "measured"
            except Failed as exc:
                path.write_text(json.dumps({"failed": str(exc)}))
                outcome = f"FAILED: {exc}"
            print(f"{part.name}, {phase}: {outcome} in {time.monotonic() - started:.0f} s", flush=True)
    report(results(kept), SIZES, is_page=not QUICK)


if __name__ == "__main__":
    main()
