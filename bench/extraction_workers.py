"""The same exchanges read for memories by one process and by many at once: what comes out must be the same.

EXCHANGES=1000 WORKERS=8 python bench/extraction_workers.py

`keepword jobs extract` reads every conversation that waits, so all processes read the same ones at the same time;
`keepword worker` shares them out by jobs. Half of the exchanges are in sessions, half in conversations of one room.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from _service import KEEPWORD, Connection, Served, served
from keepword.postgres import migrate

EXCHANGES = int(os.environ.get("EXCHANGES", "1000"))
WORKERS = int(os.environ.get("WORKERS", "8"))
SESSIONS = 10
ROOM_TALKS = 10
RUNS = {"sessions": "session", "room": "room"}
PEOPLE = ("ann", "bob", "cyd")
TOWNS = ("Kiel", "Bonn", "Jena", "Ulm", "Trier")
BEGAN = datetime(2026, 4, 13, 9, tzinfo=UTC)
SET = Path(__file__).parent / "extraction" / "exchanges.json"
_WAITING = "SELECT count(*) FROM extractions WHERE waiting"
# without ids; what it was superseded by and where it was said stand for them
_ALL = """
SELECT c.external_id, m.type, m.content, m.times, m.importance, m.valid_from, m.said_at, m.valid_to, n.content,
    ARRAY(SELECT o.external_id || ':' || s.seq FROM memory_sources h JOIN messages s ON s.id = h.message_id
          JOIN conversations o ON o.id = s.conversation_id WHERE h.memory_id = m.id ORDER BY 1)
FROM memories m JOIN conversations c ON c.id = m.conversation_id LEFT JOIN memories n ON n.id = m.superseded_by
WHERE m.run_id LIKE %s ORDER BY c.external_id, m.valid_from, m.content
"""
_TWINS = """
SELECT count(*) FROM (
    SELECT FROM memories WHERE valid_to IS NULL AND deleted_at IS NULL
    GROUP BY tenant_id, run_id, digest HAVING count(*) > 1)
"""
_PROFILES = "SELECT user_id, memory FROM profiles ORDER BY user_id"


def exchanges() -> Iterator[list[list[str]]]:
    """Yield what is said: the written set again and again, and every fifth time somebody moves house."""
    written = [one["said"] for one in json.loads(SET.read_text())["exchanges"]]
    for number in range(EXCHANGES):
        if number % 5 == 0:
            yield [["user", f"I live in {TOWNS[number // 5 % len(TOWNS)]}."], ["assistant", "Noted."]]
        else:
            yield written[number % len(written)]


def settle(connection: Connection) -> None:
    connection.json("PUT", "/v1/rooms/hall", {})
    connection.json("PUT", "/v1/agents/default", {})
    for user in PEOPLE:
        connection.json("PUT", f"/v1/users/{user}", {})
        connection.json("PUT", f"/v1/rooms/hall/participants/users/{user}")
    connection.json("PUT", "/v1/rooms/hall/participants/agents/default")
    for number in range(SESSIONS):
        connection.json("PUT", f"/v1/conversations/session-{number}", {"user": PEOPLE[number % len(PEOPLE)]})
    for number in range(ROOM_TALKS):
        connection.json("PUT", f"/v1/conversations/room-{number}", {"kind": "room", "room": "hall"})


def say(connection: Connection) -> int:
    settle(connection)
    bodies: dict[str, list[dict[str, Any]]] = {}
    for number, said in enumerate(exchanges()):
        place, user = number % (SESSIONS + ROOM_TALKS), PEOPLE[number % len(PEOPLE)]
        name = f"session-{place}" if place < SESSIONS else f"room-{place - SESSIONS}"
        user = PEOPLE[place % len(PEOPLE)] if place < SESSIONS else user
        for turn, (role, text) in enumerate(said):
            at = BEGAN + timedelta(minutes=number, seconds=turn)
            message = {"role": role, "created_at": at.isoformat()}
            message |= {"tool_name": "recall", "tool_result": text} if role == "tool" else {"content": text}
            bodies.setdefault(name, []).append(message | ({"user": user} if role == "user" else {}))
    for name, messages in bodies.items():
        for start in range(0, len(messages), 100):
            connection.json("POST", f"/v1/conversations/{name}/messages", messages[start : start + 100])
    return sum(map(len, bodies.values()))


@contextmanager
def running(service: Served, amount: int, *command: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
    env |= {"KEEPWORD_HOME": str(service.home), "KEEPWORD_EMBEDDING": "none"}
    made = [
        subprocess.Popen([KEEPWORD, *command], env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(amount)
    ]
    try:
        yield made
    finally:
        for process in made:
            process.terminate()
        for process in made:
            process.wait(30)
            process.stdout.close()


def read(owner: psycopg.Connection, amount: int, command: str, service: Served) -> float:
    began = time.perf_counter()
    with running(service, amount, *command.split()) as made:
        if command == "worker":
            while owner.execute(_WAITING).fetchone() != (0,):
                time.sleep(0.2)
        else:
            assert [process.wait() for process in made] == [0] * amount
    return time.perf_counter() - began


def outcome(amount: int, command: str) -> dict[str, Any]:
    with served(worker="false", embedding="none") as service, migrate.owner(service.conninfo) as owner:
        said = say(service.connect())
        took = read(owner, amount, command, service)
        found = {name: owner.execute(_ALL, (f"{run}:%",)).fetchall() for name, run in RUNS.items()}
        found |= {"profiles": owner.execute(_PROFILES).fetchall(), "twins": owner.execute(_TWINS).fetchone()[0]}
    print(
        f"{amount} x keepword {command}: {said:,} messages of {EXCHANGES:,} exchanges in {took:.1f} s; "
        f"{len(found['sessions'])} memories in sessions and {len(found['room'])} in the room with their history, "
        f"{len(found['profiles'])} profiles, {found['twins']} twins",
        flush=True,
    )
    return found


def main() -> None:
    alone = outcome(1, "worker")
    for command in ("worker", "jobs extract"):
        many = outcome(WORKERS, command)
        for name in (*RUNS, "profiles"):
            differ = sorted(set(map(str, many[name])) ^ set(map(str, alone[name])))
            print(f"  {name}: {'the same' if not differ else f'{len(differ)} rows DIFFER'}")
            print(*(f"    {row[:200]}" for row in differ[:6]), sep="\n" if differ else "", end="\n" if differ else "")
        assert not many["twins"]


if __name__ == "__main__":
    main()
