"""What an append costs over HTTP, beside the bare prepared INSERT of the same rows into the same table, in one run.

MESSAGES=1000000 sets how many messages are stored before the service's memory is read (default 100,000).
"""

import itertools
import json
import os
import statistics
from datetime import UTC, datetime
from typing import Any

import psycopg

from _service import Connection, Served, milliseconds, served, timed, verdict
from keepword.ids import new_id

SINGLES = 2000
BATCHES = 200
BATCH = 100
TEXT = "We agreed to move the launch to the second week of March, and Priya will tell the partners on Monday. "

INSERT = """
INSERT INTO keepword.messages (tenant_id, id, conversation_id, seq, run_id, visibility, private_to, role, user_id,
    agent, content, tool_name, tool_args, tool_result, attachments, metadata, event_id, digest, created_at)
VALUES (%s, %s, %s, %s, %s, 'public', NULL, 'user', NULL, 'default', %s, NULL, NULL, NULL, '[]', '{}', NULL, NULL, %s)
"""


class Bare:
    """psycopg and nothing else."""

    def __init__(self, conninfo: str, external_id: str) -> None:
        self.conn = psycopg.connect(conninfo, autocommit=True, prepare_threshold=0)
        row = self.conn.execute(
            "SELECT tenant_id, id, run_id FROM keepword.conversations WHERE external_id = %s", (external_id,)
        ).fetchone()
        self.tenant_id, self.conversation_id, self.run_id = row
        self.seq = 0

    def row(self) -> tuple[Any, ...]:
        self.seq += 1
        return (self.tenant_id, new_id(), self.conversation_id, self.seq, self.run_id, TEXT, datetime.now(UTC))

    def single(self) -> None:
        self.conn.execute(INSERT, self.row())

    def batch(self) -> None:
        with self.conn.transaction(), self.conn.cursor() as cursor:
            cursor.executemany(INSERT, [self.row() for _ in range(BATCH)])


def post(connection: Connection, path: str, body: bytes) -> None:
    status, answer = connection.request("POST", path, body)
    if status != 201:
        raise RuntimeError(f"{status}: {answer.decode()}")


def compare(service: Served) -> None:
    connection = service.connect()
    for name in ("http", "bare"):
        connection.json("PUT", f"/v1/conversations/{name}", {})
    bare = Bare(service.conninfo, "bare")
    path = "/v1/conversations/http/messages"
    message = {"role": "user", "content": TEXT}
    one, many = json.dumps(message).encode(), json.dumps([message] * BATCH).encode()
    for _ in range(200):
        post(connection, path, one)
        bare.single()
    sent = itertools.count()

    def event() -> bytes:
        return json.dumps(message | {"event_id": f"e{next(sent)}"}).encode()

    # in turns, so that whatever else the machine does falls on both
    singles = [(timed(post, connection, path, one), timed(bare.single)) for _ in range(SINGLES)]
    events = [timed(post, connection, path, event()) for _ in range(SINGLES)]
    batches = [(timed(post, connection, path, many), timed(bare.batch)) for _ in range(BATCHES)]
    report(singles, batches)
    print(f"  single append with event_id {milliseconds(events)}")


def report(singles: list[tuple[float, float]], batches: list[tuple[float, float]]) -> None:
    over_http, bare = [list(column) for column in zip(*singles, strict=True)]
    print(f"  single append over HTTP   {milliseconds(over_http)}")
    print(f"  single bare INSERT        {milliseconds(bare)}")
    many_http, many_bare = [list(column) for column in zip(*batches, strict=True)]
    rates = [BATCH * len(batches) / sum(column) for column in (many_http, many_bare)]
    print(f"  batches of {BATCH} over HTTP  {rates[0]:10,.0f} messages/s   {milliseconds(many_http)}")
    print(f"  batches of {BATCH} bare       {rates[1]:10,.0f} messages/s   {milliseconds(many_bare)}")
    verdict("single append's median / bare commit's", statistics.median(over_http) / statistics.median(bare), 4)
    verdict("batch rate / bare rate", rates[0] / rates[1], 0.5, at_least=True)


def fill(service: Served, messages: int) -> None:
    connection = service.connect()
    connection.json("PUT", "/v1/conversations/fill", {})
    before = service.resident_mb()
    body = json.dumps([{"role": "user", "content": TEXT}] * 1000).encode()
    seconds = timed(
        lambda: [post(connection, "/v1/conversations/fill/messages", body) for _ in range(messages // 1000)]
    )
    print(f"  {messages:,} messages in batches of 1,000: {messages / seconds:,.0f} messages/s")
    print(f"  the service's memory: {before:.0f} MB before, {service.resident_mb():.0f} MB after")
    verdict(f"memory after {messages:,} messages in MB", service.resident_mb(), 300)


def main() -> None:
    with served() as service:
        compare(service)
        fill(service, int(os.environ.get("MESSAGES", "100000")))


if __name__ == "__main__":
    main()
