"""What was acknowledged is there exactly once, however often the service or its database is killed."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from keepword.postgres.embedded import Cluster
from writers import RECOVERY_SECONDS, Writer, Writers, check_kept

WRITERS = 8
KILLS = int(os.environ.get("KILLS", "4"))
LIFE_SECONDS = (0, 0.5)  # how long a killed part may live before, once it works again


def kill_service(service) -> None:
    service.process.kill()
    service.process.wait()
    service.start()


def kill_database(service) -> None:
    os.kill(Cluster(service.home).postmaster_pid(), signal.SIGKILL)
    wait_until_ready(service)


def wait_until_ready(service) -> None:
    deadline = time.monotonic() + RECOVERY_SECONDS
    while not service.is_ready():
        assert time.monotonic() < deadline, service.log()
        time.sleep(0.02)


def kill_a_backend(service) -> None:
    """Kill the children alone: the postmaster lives and recovers, which is another path for the service."""
    postmaster = Cluster(service.home).postmaster_pid()
    # a child may have gone by itself, and after the death of one the postmaster itself may be between two lives
    with suppress(FileNotFoundError, ProcessLookupError):
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in random.sample(children, k=min(1, len(children))):
            os.kill(int(pid), signal.SIGKILL)
    wait_until_ready(service)


@pytest.mark.parametrize("kill", [kill_service, kill_database, kill_a_backend])
def test_every_acknowledged_message_is_there_exactly_once(make_service, find_port, show, kill):
    chance = random.Random(uuid4().int)
    service = make_service(port=str(find_port())).start()
    with service.client() as client:
        assert client.put("/v1/conversations/kept", json={}).status_code == 201
    over = threading.Event()
    with Writers([Writer(service, f"writer-{number}", over) for number in range(WRITERS)], over) as writers:
        for _ in range(KILLS):
            writers.wait_for_progress()
            time.sleep(chance.uniform(*LIFE_SECONDS))
            kill(service)
        writers.wait_for_progress()
    wait_until_ready(service)
    show(f"{kill.__name__}: {check_kept(service, writers.all)}")
