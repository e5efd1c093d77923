"""A whole Keepword: a service, a worker apart, PostgreSQL, Redis, a model and a clock that can be moved."""

import asyncio
import json
import os
import shutil
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from conftest import KEEPWORD, RedisServer, Service, environment
from crooked_model import CrookedModel, crooked_model, hang, says
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from leaks.world import World
from writers import RECOVERY_SECONDS, Writer, Writers

WRITERS = 4
CALLER_SECONDS = 2  # a caller waits so long for an answer, and then sends the same again
LIMITS = {"request_timeout_seconds": "10", "statement_timeout_seconds": "2", "llm_timeout_seconds": "2"}
HERE = Path(__file__).parent

_BEHIND = """
SELECT (SELECT count(*) FROM outbox),
    (SELECT count(*) FROM backlog WHERE space_id = 1 AND NOT failed),
    (SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'
        OR status = 'todo' AND (scheduled_at IS NULL OR scheduled_at > now() + interval '1 hour'))
"""
_FAILED = "SELECT task_name, attempts FROM procrastinate_jobs WHERE status = 'failed'"


def wait_for(condition: Callable[[], object], what: str, seconds: float = RECOVERY_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen: {what}"
        time.sleep(0.02)


class Clock:
    """The wall clock of the house's processes, PostgreSQL's included; nobody else's."""

    def __init__(self, folder: Path) -> None:
        self.compiler = shutil.which("cc") or shutil.which("gcc")
        self._file, self._library = folder / "clock", folder / "clock.so"
        self._file.write_bytes(struct.pack("q", 0))
        self._file.chmod(0o644)
        if self.compiler:
            # PostgreSQL's programs get few of our variables: the file's name is compiled in
            options = ["-shared", "-fPIC", "-O1", f'-DKW_CLOCK_FILE="{self._file}"']
            command = [self.compiler, *options, "-o", self._library, HERE / "clock.c", "-ldl"]
            subprocess.run(command, check=True)
            self._library.chmod(0o755)

    @property
    def variables(self) -> dict[str, str]:
        if not self.compiler:
            return {}
        return {"LD_PRELOAD": str(self._library)}

    def move(self, seconds: int) -> None:
        """Set it so far from the true time."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))


class Model:
    """A language model in a thread of its own, that answers or hangs."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._context = crooked_model(says("It was said."))
        self.model: CrookedModel = self._run(self._context.__aenter__())

    @property
    def url(self) -> str:
        return self.model.url

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        before, self.model.replies = self.model.replies, [hang]
        try:
            yield
        finally:
            self.model.replies = before

    def stop(self) -> None:
        self._run(self._context.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Noter(Writer):
    """Writes a number into working memory, one after the other."""

    def _post(self, message: dict) -> tuple[int, str]:
        data = {"data": {"event": message["event_id"], "number": len(self.sent)}}
        status, answer = self.request("PUT", f"/working-memory/{self.conversation}", data)
        # as if it were a message: what counts is when it was acknowledged
        return status, json.dumps({"messages": [data["data"]]}) if status == 200 else answer

    def check(self) -> None:
        """Check that the last one that was acknowledged is there, or one that was sent after it."""
        status, answer = self.request("GET", f"/working-memory/{self.conversation}", None)
        assert status == 200
        assert self.unexpected == []
        assert max(line["number"] for line in self.acknowledged.values()) <= json.loads(answer)["number"]


class House:
    def __init__(self, home: Path, folder: Path, port: int, worlds: list[World]) -> None:
        self.folder = folder
        self.worlds = worlds
        self.clock = Clock(folder)
        self.model = Model()
        kept = ("--appendonly", "yes", "--appendfsync", "always", "--dir", str(folder))
        self.redis = RedisServer(*kept).start()
        self._settings = LIMITS | {"redis_url": self.redis.url, "llm_url": self.model.url, "embedding": "none"}
        self.service = Service(home, port=str(port), **self._settings)
        self.service.variables = self.clock.variables
        self.worker: subprocess.Popen[bytes] | None = None

    def start(self) -> "House":
        self.service.start()
        self.start_worker()
        return self

    def start_worker(self) -> None:
        env = environment(self.service.home, **self._settings) | self.clock.variables
        with (self.folder / "worker.log").open("ab") as log:
            self.worker = subprocess.Popen([KEEPWORD, "worker"], env=env, cwd="/", stdout=log, stderr=log)

    def stop(self) -> None:
        for process in (self.worker, self.service.process):
            if process:
                process.kill()
                process.wait()
        Cluster(self.service.home).stop()
        self.redis.kill()
        self.model.stop()

    @property
    def postgres(self) -> list[int]:
        """Return all of its processes; none of a server that is just being started again."""
        postmaster = Cluster(self.service.home).postmaster_pid()
        try:
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
        except FileNotFoundError:
            return []
        return [postmaster, *map(int, children.split())]

    def writers(self) -> Writers:
        """Make writers, each in a direct conversation of its own."""
        over, made = threading.Event(), []
        with self.service.client() as client:
            client.put("/v1/agents/ada", json={}).raise_for_status()
            for _ in range(WRITERS):
                name = f"w{uuid4().hex[:10]}"
                client.put(f"/v1/users/{name}", json={}).raise_for_status()
                talk = {"kind": "direct", "user": name, "agent": "ada"}
                client.put(f"/v1/conversations/{name}", json=talk).raise_for_status()
                made.append(Writer(self.service, name, over, conversation=name, timeout=CALLER_SECONDS, pause=0.03))
        made.append(
            Noter(self.service, made[0].writer, over, conversation=made[0].writer, timeout=CALLER_SECONDS, pause=0.1)
        )
        return Writers(made, over)

    def check_nothing_is_stuck(self) -> None:
        """Wait until all background work that is due is done, and nothing of it failed for good."""
        with migrate.owner(self.service.conninfo) as conn:
            wait_for(lambda: conn.execute(_BEHIND).fetchone() == (0, 0, 0), "the queues are empty")
            assert conn.execute(_FAILED).fetchall() == []
        with self.service.client() as client:
            wait_for(lambda: "keepword_requests_in_flight 0.0" in client.get("/metrics").text, "nobody is in flight")

    def check_each_sees_its_own(self, writers: list[Writer]) -> None:
        with self.service.client() as client:
            for writer in writers:
                asked = {"conversation": writer.conversation, "limit": 200, "order": "desc"}
                page = client.get("/v1/browse", params=asked)
                said = [message["content"] for message in page.json()["messages"]]
                assert said
                assert all(text.startswith(f"said {writer.writer}-") for text in said)

    def signal(self, number: int, pids: list[int]) -> None:
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    @contextmanager
    def stopped(self, pids: list[int]) -> Iterator[None]:
        self.signal(signal.SIGSTOP, pids)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT, pids)
