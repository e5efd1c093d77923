"""The database's disk is full: callers are told so, nothing is lost, and once there is room all goes on by itself."""

import os
import re
import subprocess
import threading
import time

import pytest

from conftest import Service
from faults.matrix import PARTS, count_leaks, settle_worlds
from keepword.postgres.embedded import Cluster, running
from writers import RECOVERY_SECONDS, Writer, Writers, check_kept, read_all

DISK = "192m"
LEFT_BYTES = 256 << 10
TEXT = "Nothing of this may be lost. " * 2_000


@pytest.fixture
def disk(make_home):
    """A small disk of its own; only root can make one."""
    if os.geteuid() != 0:
        pytest.skip("a small disk can be mounted by root only")
    folder = make_home()
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=711", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def full(disk, make_migrated_home, find_port):
    home = disk / "home"
    subprocess.run(["cp", "-a", make_migrated_home(), home], check=True)
    with running(home) as cluster:
        worlds = settle_worlds(cluster.conninfo)
    service = Service(home, port=str(find_port()), request_timeout_seconds="20").start()
    yield service, worlds
    service.process.kill()
    service.process.wait()
    Cluster(home).stop()


def fill(folder) -> None:
    with (folder / "other people's data").open("wb") as file:
        room = os.statvfs(folder)
        file.write(bytes(max(0, room.f_bavail * room.f_bsize - LEFT_BYTES)))


def test_a_full_disk_is_said_and_nothing_is_lost_and_with_room_it_goes_on(full, disk, show_row):
    service, worlds = full
    with service.client() as client:
        for name in ("kept", "long"):
            client.put(f"/v1/conversations/{name}", json={}).raise_for_status()
        over = threading.Event()
        with Writers([Writer(service, "writer", over, timeout=30, pause=0.02)], over) as writers:
            writers.wait_for_progress()
            fill(disk)
            told, stored = until_refused(client)
            time.sleep(1)
            (disk / "other people's data").unlink()
            freed = time.monotonic()
            served = writers.wait_for_answer_to(freed) - freed
    kept = check_kept(service, writers.all)
    assert [message["event_id"] for message in read_all(service, "long")][: len(stored)] == stored
    cells, leaks = count_leaks(service.conninfo, worlds, 0, PARTS)
    assert leaks == []
    assert told.headers["content-type"] == "application/problem+json"
    assert int(told.headers["retry-after"]) >= 1
    show_row("disk full", *kept.cells, f"{cells:,}", len(leaks), f"{served:.2f} s", "")


def until_refused(client):
    """Append long messages until one is refused; return that answer and what was acknowledged before it."""
    stored = []
    deadline = time.monotonic() + RECOVERY_SECONDS
    while time.monotonic() < deadline:
        event = f"long-{len(stored)}"
        said = {"role": "user", "content": os.urandom(20_000).hex() + TEXT, "event_id": event}
        answer = client.post("/v1/conversations/long/messages", json=said)
        if answer.status_code == 503 and re.search("disk|away", answer.json()["detail"]):
            return answer, stored
        if answer.status_code == 503:
            continue  # the machine is busy
        assert answer.status_code == 201, answer.text
        stored.append(event)
    pytest.fail("the disk never became full")
