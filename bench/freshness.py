"""How soon what is appended can be found: by words and the instant space at once, by the deep space with the worker.

SECONDS=60 python bench/freshness.py
"""

import json
import os
import statistics
import sys
import threading
import time
import uuid

from _service import Served, served, verdict
from keepword.postgres import migrate

SECONDS = float(os.environ.get("SECONDS", "60"))
RATE = 10
DEEP_SPACE = 2
AIM_SECONDS = 3.0
LOOK_SECONDS = 0.02
_SEEN = """
SELECT e.source_id FROM vectors v JOIN entries e ON e.tenant_id = v.tenant_id AND e.id = v.entry_id
WHERE v.space_id = %s AND v.entry_id > %s ORDER BY v.entry_id
"""


class Watcher(threading.Thread):
    """Notes when each message has its vector in the deep space."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(daemon=True)
        self.seen: dict[str, float] = {}
        self._conninfo = conninfo
        self.stopping = threading.Event()

    def run(self) -> None:
        with migrate.owner(self._conninfo) as conn:
            while not self.stopping.is_set():
                now = time.monotonic()
                for (source,) in conn.execute(_SEEN, (DEEP_SPACE, 0)):
                    self.seen.setdefault(str(source), now)
                time.sleep(LOOK_SECONDS)


def measure(service: Served) -> None:
    connection = service.connect()
    connection.json("PUT", "/v1/conversations/fresh", {})
    watcher = Watcher(service.conninfo)
    watcher.start()
    appended: dict[str, float] = {}
    missed = 0
    started = time.monotonic()
    for number in range(int(SECONDS * RATE)):
        time.sleep(max(0.0, started + number / RATE - time.monotonic()))
        word = f"word{uuid.uuid4().hex[:10]}"
        body = {"role": "user", "content": f"The {word} of harbour number {number} opens at dawn."}
        stored = connection.json("POST", "/v1/conversations/fresh/messages", body)["messages"][0]["id"]
        appended[stored] = time.monotonic()
        for query, mode in ((word, "words"), (body["content"], "meaning")):
            sent = {"query": query, "mode": mode, "recipe": "fast", "conversation": "fresh", "limit": 50}
            found = json.loads(connection.request("POST", "/v1/search", json.dumps(sent).encode())[1])
            missed += stored not in {hit["id"] for hit in found["results"]}
    deadline = time.monotonic() + 60
    while not appended.keys() <= watcher.seen.keys() and time.monotonic() < deadline:
        time.sleep(0.1)
    watcher.stopping.set()
    late = sorted(watcher.seen[stored] - appended[stored] for stored in appended if stored in watcher.seen)
    print(f"{len(appended)} appends, {RATE} a second; not found at once by words or instant meaning: {missed}")
    if missed or len(late) < len(appended):
        sys.exit(f"MISSED: {missed} not found at once, {len(appended) - len(late)} never embedded")
    print(f"found by the deep space after {statistics.median(late):.2f} s (median)")
    verdict("95th percentile, seconds", late[int(0.95 * len(late))], AIM_SECONDS)


if __name__ == "__main__":
    with served() as service:
        measure(service)
