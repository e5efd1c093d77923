"""Whoever moves a tenant may be killed at any moment: run again it is moved, undone it is not, and it is never half."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from conftest import Service
from integration.postgres.test_moving import client, fill, settle
from keepword.errors import Conflict, NotFound
from keepword.postgres import moving
from moving import Pair, make_server
from patience import HANG_SECONDS

# KILLS=20 kills more often at random moments
KILLS = int(os.environ.get("KILLS", "2"))
# what the mover reports after, and in the middle of, each of its steps
STEPS = (
    "prepare: the new server refuses", "prepare: fence on the new", "prepare: fence on the old", "noted: prepared",
    "publish", "subscribe", "copy: ", "copy: all", "noted: copied", "close: ", "close: the last write",
    "close: the new server", "flip: given", "flip: taken", "noted: flipped", "detach: no longer", "noted: detached",
    "noted: moved",
)  # fmt: skip
OTHER = {"north": "south", "south": "north"}
# rows that some server serves and takes writes for
_SERVED = """
SELECT EXISTS (SELECT FROM tenants WHERE id = %s) AND NOT EXISTS (SELECT FROM moved_tenants WHERE tenant_id = %s)
"""


@pytest.fixture(scope="module")
def pair(make_migrated_home):
    made = Pair({name: make_server(make_migrated_home()) for name in ("north", "south")})
    yield made
    made.stop()


@pytest.fixture(scope="module")
def moved(pair, make_home):
    """Return a tenant with something of most kinds, on the first server, where no service runs any more."""
    name = f"moving-{uuid4().hex[:8]}"
    tenant, key = pair.make_tenant(name)
    service = Service(make_home(), database_url=pair.url("north"), worker="true", embedding="local").start()
    with client(service, key) as kw:
        fill(kw)
        settle(pair, tenant)
    service.stop()
    return tenant, name


def start(pair, name, to, last):
    addresses = [(one.name, one.conninfo) for one in pair.servers.addresses.values()]
    command = [sys.executable, Path(__file__).parent / "move.py", json.dumps([addresses, name, to, last])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


class Hall:
    """One tenant that is moved back and forth, by movers that are killed."""

    def __init__(self, pair, tenant, name) -> None:
        self.pair, self.tenant, self.name = pair, tenant, name
        (self.home,) = self.served_by()
        self.rows = pair.digests(self.home, tenant)
        self.outcomes = {"done": 0, "undone": 0}

    def served_by(self):
        return [n for n in self.pair.clusters if self.pair.ask(n, _SERVED, self.tenant, self.tenant) == [(True,)]]

    def go_on(self, *, undo: bool) -> None:
        """Finish what a killed mover left, one way or the other, and check that it is whole."""
        to = OTHER[self.home]
        assert self.served_by() in ([self.home], [to], [])
        if undo and self.served_by() != [to]:
            try:
                moving.undo(self.pair.servers, self.name, lambda _: None)
            except NotFound:
                assert self.served_by() == [self.home]  # it was killed before it noted anything
            self.outcomes["undone"] += 1
        else:
            if undo:
                with pytest.raises(Conflict, match="move it back"):
                    moving.undo(self.pair.servers, self.name, lambda _: None)
            moving.move(self.pair.servers, self.name, to, 7, lambda _: None)
            self.outcomes["done"] += 1
            self.home = to
            moving.clean(self.pair.servers, self.name, now=True, report=lambda _: None)
        self.check()

    def check(self) -> None:
        assert self.served_by() == [self.home]
        assert self.pair.digests(self.home, self.tenant) == self.rows
        elsewhere = self.pair.digests(OTHER[self.home], self.tenant)
        assert {table: digest for table, digest in elsewhere.items() if not digest.startswith("0 ")} == {}
        for name in self.pair.clusters:
            assert self.pair.ask(name, "SELECT slot_name FROM pg_replication_slots") == []
            assert self.pair.ask(name, "SELECT pubname FROM pg_publication") == []
            assert self.pair.ask(name, "SELECT tgname FROM pg_trigger WHERE starts_with(tgname, 'moving_')") == []
            assert self.pair.ask(name, "SELECT tenant_id FROM closed_tenants") == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("undo", [False, True], ids=["run again", "undone"])
def test_a_killed_move_is_done_or_undone_and_never_half(pair, moved, show, undo):
    hall = Hall(pair, *moved)
    for step in STEPS:
        mover = start(pair, hall.name, OTHER[hall.home], step)
        lines = mover.communicate(timeout=HANG_SECONDS)[0].splitlines()
        assert mover.returncode == -signal.SIGKILL, (step, lines)
        hall.go_on(undo=undo)
    show(f"a mover killed after each of {len(STEPS)} steps: {hall.outcomes['done']} times done by running it again, "
         f"{hall.outcomes['undone']} times undone, 0 half")  # fmt: skip


@pytest.mark.timeout(900)
def test_a_killed_undo_is_finished_by_undoing_or_moving_again(pair, moved):
    hall = Hall(pair, *moved)
    for step, again in (("undo: no longer", "move"), ("dropped", "undo")):
        start(pair, hall.name, OTHER[hall.home], "copy: all").communicate(timeout=HANG_SECONDS)
        undoing = start(pair, hall.name, None, step)
        undoing.communicate(timeout=HANG_SECONDS)
        assert undoing.returncode == -signal.SIGKILL
        if again == "undo":
            moving.undo(pair.servers, hall.name, lambda _: None)
        else:
            with pytest.raises(Conflict, match="was being undone"):
                moving.move(pair.servers, hall.name, OTHER[hall.home], 7, lambda _: None)
        hall.check()


@pytest.mark.timeout(900)
def test_a_move_killed_at_random_moments_is_done_or_undone(pair, moved, show):
    hall, moments = Hall(pair, *moved), random.Random(19)
    for number in range(KILLS):
        mover = start(pair, hall.name, OTHER[hall.home], None)
        mover.stdout.readline()
        time.sleep(moments.uniform(0, 8))
        mover.kill()
        mover.communicate()
        hall.go_on(undo=number % 2 == 0)
    show(f"a mover killed at {KILLS} random moments: {hall.outcomes['done']} times done, "
         f"{hall.outcomes['undone']} times undone, 0 half")  # fmt: skip
