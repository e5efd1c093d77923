"""A tenant moves by the command while callers of one service over both servers write to it."""

import subprocess
import threading
import time
from collections import Counter
from uuid import uuid4

import pytest

from conftest import KEEPWORD, Service, environment
from faults.test_move_under_load import Appender, FactSetter
from integration.postgres.test_moving import client, fill, search, settle
from moving import Pair, make_server
from several import setting

ONLY_CLOSED = {503}


@pytest.fixture(scope="module")
def pair(make_migrated_home):
    made = Pair({name: make_server(make_migrated_home()) for name in ("north", "south")})
    yield made
    made.stop()


@pytest.fixture(scope="module")
def service(pair, make_home):
    servers = setting({name: cluster.conninfo for name, cluster in pair.clusters.items()})
    started = Service(make_home(), servers=servers, worker="true", embedding="local").start()
    yield started
    started.stop()


def keepword(service, *words):
    env = environment(service.home, servers=service.settings["servers"])
    return subprocess.run([KEEPWORD, *words], env=env, capture_output=True, text=True, check=False)


@pytest.mark.timeout(400)
def test_a_tenant_moves_by_the_command_behind_one_service(pair, service, show):
    name = f"moving-{uuid4().hex[:8]}"
    tenant, key = pair.make_tenant(name)
    with client(service, key) as kw:
        fill(kw)
        settle(pair, tenant)
    over = threading.Event()
    callers = [
        kind([service], key, f"{kind.__name__.lower()}{n}", over) for kind in (Appender, FactSetter) for n in (1, 2)
    ]
    for caller in callers:
        caller.start()
    time.sleep(1)
    moved = keepword(service, "tenants", "move", name, "--to", "south")
    assert (moved.returncode, moved.stdout[: len(name)]) == (0, name), moved.stderr
    time.sleep(2)
    over.set()
    for caller in callers:
        caller.join()
    assert [caller.unexpected for caller in callers] == [[]] * len(callers)
    refused = sum((caller.refused for caller in callers), Counter())
    assert refused.keys() <= ONLY_CLOSED
    rows = pair.ask("south", "SELECT event_id, seq FROM messages WHERE tenant_id = %s AND event_id IS NOT NULL", tenant)
    sent = {event for caller in callers if isinstance(caller, Appender) for event in caller.acknowledged}
    assert sent <= {event for event, _ in rows}
    assert len(rows) == len({event for event, _ in rows})
    with client(service, key) as kw:
        assert any("Pump" in text for text in search(kw, "which pump is blue?"))
    again = keepword(service, "tenants", "move", name, "--to", "south")
    assert again.returncode == 0
    assert "nothing to do" in again.stderr
    cleaned = keepword(service, "tenants", "clean", name, "--now")
    assert (cleaned.returncode, cleaned.stdout) == (0, "dropped 1 old copies\n"), cleaned.stderr
    assert pair.ask("north", "SELECT id FROM tenants WHERE id = %s", tenant) == []
    show(
        f"a move by the command behind one service: {sum(len(caller.acknowledged) for caller in callers)} "
        f"acknowledged, 0 lost, 0 twice, {refused[503]} answered 503; {moved.stdout.strip()}; longest gap "
        f"{max(caller.longest_gap() for caller in callers):.2f} s"
    )
