"""Through every fault: nothing acknowledged is lost, nothing is there twice, nothing is stuck, nothing leaks."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from faults.faults import FAULTS
from faults.house import House, Noter
from faults.matrix import LONG, PARTS, count_leaks, settle_worlds
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from writers import check_kept

# ONLY="model hangs,clock jumps" tries these alone
ONLY = [name for name in os.environ.get("ONLY", "").split(",") if name]
# the short form: what no other test does; others kill the service, workers, PostgreSQL and Redis in every run
SHORT = frozenset({"connections cut", "model hangs"})
# ROUNDS=3 goes through them three times, each time in another order
ROUNDS = int(os.environ.get("ROUNDS", "1"))
SECONDS = 8.0 if LONG else 1.0
_TWICE = """
SELECT count(*) FROM summaries a JOIN summaries b ON b.tenant_id = a.tenant_id AND b.conversation_id = a.conversation_id
    AND a.tier = 'thread' AND b.tier = 'thread' AND a.id < b.id
    AND a.leaf_first <= b.leaf_last AND b.leaf_first <= a.leaf_last
"""


@pytest.fixture
def house(make_migrated_home, find_port):
    home = make_migrated_home()
    cluster = Cluster(home)
    cluster.start()
    worlds = settle_worlds(cluster.conninfo)
    cluster.stop()
    folder = home.with_name(f"{home.name}-beside")
    folder.mkdir()
    made = House(home, folder, find_port(), worlds)
    try:
        yield made.start()
    finally:
        made.stop()


def go_through(house: House, name: str, number: int) -> list[str]:
    """Let one fault happen to a house at work; check everything, and return the row of the table."""
    with house.writers() as writers:
        writers.wait_for_all(time.monotonic())
        began = FAULTS[name](house, SECONDS)
        served = writers.wait_for_all(began) - began
    appending = [writer for writer in writers.all if not isinstance(writer, Noter)]
    kept = check_kept(house.service, appending)
    for noter in set(writers.all) - set(appending):
        noter.check()
    house.check_each_sees_its_own(appending)
    house.check_nothing_is_stuck()
    done = time.monotonic() - began
    with migrate.owner(house.service.conninfo) as conn:
        assert conn.execute(_TWICE).fetchone() == (0,), "a message is in two summaries"
    cells, leaks = count_leaks(house.service.conninfo, house.worlds, number, PARTS)
    assert leaks == []
    return [name, *map(str, kept.cells), f"{cells:,}", str(len(leaks)), f"{served:.2f} s", f"{done:.1f} s"]


@contextmanager
def explained(name: str, house: House) -> Iterator[None]:
    """Let a failure say in which fault it was, and what was logged last."""
    try:
        yield
    except Exception as exc:
        exc.add_note(f"in the fault: {name}; the service's last lines:\n{house.service.log()[-3000:]}")
        exc.add_note(f"the worker's:\n{(house.folder / 'worker.log').read_text()[-3000:]}")
        raise


@pytest.mark.timeout(1800 if LONG else 600)
def test_a_house_comes_through_its_faults(house, show_row):
    chance = random.Random()
    for _ in range(ROUNDS):
        names = [name for name in FAULTS if name in (ONLY or (FAULTS if LONG else SHORT))]
        if LONG:
            chance.shuffle(names)
        for number, name in enumerate(names):
            if name == "clock jumps" and not house.clock.compiler:
                show_row(name, *[""] * 7, "not tried: it takes a C compiler", "")
                continue
            with explained(name, house):
                show_row(*go_through(house, name, number))
