"""Real processes that read the same conversations for memories at once leave what one of them leaves."""

import os
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from conftest import KEEPWORD, environment
from keepword.postgres import migrate
from patience import HANG_SECONDS

READERS = 4
START = datetime(2026, 4, 13, 9, tzinfo=UTC)
TOWNS = ("Kiel", "Bonn", "Jena")
LEFT = """
SELECT c.external_id, m.type, m.content, m.times, m.valid_from, m.valid_to, n.content
FROM memories m JOIN conversations c ON c.id = m.conversation_id LEFT JOIN memories n ON n.id = m.superseded_by
ORDER BY c.external_id, m.valid_from, m.content
"""


def talk(service):
    with service.client() as client:
        client.put("/v1/users/ann", json={}).raise_for_status()
        for number in range(5):
            client.put(f"/v1/conversations/talk-{number}", json={"user": "ann"}).raise_for_status()
            said = [f"I live in {TOWNS[n % 3]}." if n % 2 else f"I like hill {n // 4}." for n in range(60)]
            body = [
                {"role": "user", "user": "ann", "content": text, "created_at": f"{START + timedelta(minutes=n)}"}
                for n, text in enumerate(said)
            ]
            client.post(f"/v1/conversations/talk-{number}/messages", json=body).raise_for_status()


def read(service, readers):
    command = [KEEPWORD, "jobs", "extract"]
    made = [
        subprocess.Popen(command, env=environment(service.home), cwd="/", stderr=subprocess.DEVNULL)
        for _ in range(readers)
    ]
    assert [process.wait(HANG_SECONDS) for process in made] == [0] * readers
    with migrate.owner(service.conninfo) as owner:
        return owner.execute(LEFT).fetchall()


@pytest.mark.skipif("READERS" not in os.environ, reason="READERS=1 runs it; bench/extraction_workers.py does more")
def test_several_processes_leave_what_one_leaves(make_service):
    alone, together = make_service().start(), make_service().start()
    for service in (alone, together):
        talk(service)
    left = read(alone, 1)
    assert read(together, READERS) == left
    assert len([row for row in left if row[5] is None]) == 5 * (1 + 15)
    assert len([row for row in left if row[6] is not None]) == 5 * 29
