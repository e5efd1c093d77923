"""One service over several PostgreSQL servers: a key reaches its own tenant, and a lost server stops its own alone."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest

from keepword.postgres import directory, migrate
from keepword.postgres.embedded import Cluster
from several import Resident, kill, processes, setting, settle

NAMES = ("north", "south", "west")
# TENANTS=900 settles more
TENANTS = int(os.environ.get("TENANTS", "300"))
AT_ONCE = 8
# a request of a tenant whose server is down is answered within this, whatever it waited for
AWAY_SECONDS = 2.0
# what this machine adds to it when it is busy
SLACK_SECONDS = 1.0


@pytest.fixture(scope="module")
def clusters(make_migrated_home) -> Iterator[dict[str, Cluster]]:
    made = {name: Cluster(make_migrated_home()) for name in NAMES}
    for cluster in made.values():
        cluster.start()
    yield made
    for cluster in made.values():
        cluster.stop()


@pytest.fixture(scope="module")
def residents(clusters) -> list[Resident]:
    each = TENANTS // len(NAMES)
    return [
        resident
        for name, cluster in clusters.items()
        for resident in settle(cluster.conninfo, name, [f"{name}-{number}" for number in range(each)])
    ]


@pytest.fixture(scope="module")
def start(service_type, make_home, clusters) -> Iterator:
    """Start services over all servers; each has a cache of its own, which is empty."""
    made = []

    def start_one(**settings: str):
        servers = setting({name: cluster.conninfo for name, cluster in clusters.items()})
        made.append(service_type(make_home(), **{"servers": servers, "embedding": "none"} | settings).start())
        return made[-1]

    yield start_one
    for service in made:
        service.stop()


@pytest.fixture(scope="module")
def told(start, residents):
    """Return a service in which every tenant said a word of its own in a conversation that all call alike."""
    service = start()

    def tell(resident: Resident) -> None:
        with service.client(resident.key) as client:
            client.put("/v1/conversations/diary", json={"title": "Diary"}).raise_for_status()
            said = {"role": "user", "content": f"The password of the garden is {word(resident)}."}
            client.post("/v1/conversations/diary/messages", json=said).raise_for_status()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(tell, residents))
    return service


def word(resident: Resident) -> str:
    return f"plum{resident.id.hex[:10]}"


def mismatches(service, residents: list[Resident]) -> list[str]:
    """Ask with every key who it is, what is there and what is found; return what is not exactly its own."""
    words = {word(one) for one in residents}

    def ask(resident: Resident) -> list[str]:
        with service.client(resident.key) as client:
            who = client.get("/v1/whoami").raise_for_status().json()
            messages = client.get("/v1/conversations/diary/messages").raise_for_status().text
            hits = client.post("/v1/search", json={"query": "password of the garden"}).raise_for_status().text
        wrong = [] if who["tenant"] == resident.name else [f"{resident.name} is {who['tenant']}"]
        for text in (messages, hits):
            seen = {one for one in words if one in text}
            wrong += [] if seen == {word(resident)} else [f"{resident.name} sees {sorted(seen)}"]
        return wrong

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [line for lines in pool.map(ask, residents) for line in lines]


def places(clusters) -> dict[str, str]:
    """Return what the directory says, by the key's public part."""
    with migrate.owner(clusters[NAMES[0]].conninfo) as conn:
        rows = conn.execute("SELECT key_id, server FROM key_places JOIN tenant_places USING (tenant_id)")
        return {str(key): str(server) for key, server in rows.fetchall()}


def test_every_key_reaches_its_own_tenant_and_no_other_s_words(told, residents, clusters, show):
    wrong = mismatches(told, residents)
    show(f"{len(residents)} tenants on {len(NAMES)} servers, {3 * len(residents)} answers: {len(wrong)} mismatches")
    assert wrong == []
    _wait_for(lambda: places(clusters) == {one.key_id: one.server for one in residents})


def test_a_directory_that_lies_about_every_tenant_leads_nobody_astray(told, start, residents, clusters, show):
    assert told
    with migrate.owner(clusters[NAMES[0]].conninfo) as conn:
        # each tenant stands where it is not, and half of the keys belong to somebody else's tenant
        conn.execute(
            "UPDATE tenant_places SET server = CASE server WHEN 'north' THEN 'south' WHEN 'south' THEN 'west' "
            "WHEN 'west' THEN 'nowhere' END"
        )
        for one, other in zip(residents[::2], reversed(residents[::2]), strict=True):
            conn.execute("UPDATE key_places SET tenant_id = %s WHERE key_id = %s", (other.id, one.key_id))
    true = {one.key_id: one.server for one in residents}
    assert not any(true[key] == server for key, server in places(clusters).items() if key in true)
    wrong = mismatches(start(), residents)
    show(f"the same with a directory that lies about each of them: {len(wrong)} mismatches")
    assert wrong == []
    _wait_for(lambda: places(clusters) == true)


def test_a_tenant_that_moved_is_found_by_its_old_server_s_word(told, clusters):
    """The move is that of a tenant without words: what `keepword tenants move` does has tests of its own."""
    ((new_id, key),) = [(one.id, one.key) for one in settle(clusters["south"].conninfo, "south", ["mover"])]
    with told.client(key) as client:
        assert client.get("/v1/whoami").json()["tenant"] == "mover"
        with migrate.owner(clusters["south"].conninfo) as old, migrate.owner(clusters["west"].conninfo) as new:
            row = old.execute("SELECT * FROM keys WHERE tenant_id = %s", (new_id,)).fetchone()
            directory.give_away(new, new_id, "south")
            new.execute("INSERT INTO tenants (id, name) VALUES (%s, 'mover')", (new_id,))
            new.execute(f"INSERT INTO keys VALUES ({', '.join(['%s'] * len(row))})", row)
            assert client.get("/v1/whoami").json()["tenant"] == "mover"
            directory.give_away(old, new_id, "west")
            done = threading.Timer(0.3, directory.take_in, (new, new_id))
            done.start()
            assert client.get("/v1/whoami").status_code == 200, "it waits while both servers refuse the tenant"
            done.join()
            assert client.put("/v1/conversations/there", json={}).is_success
            assert new.execute("SELECT count(*) FROM conversations WHERE tenant_id = %s", (new_id,)).fetchone() == (1,)


def test_without_a_key_nothing_is_answered(told):
    answer = httpx.get(f"{told.url}/v1/whoami")
    assert answer.status_code == 401
    answer = httpx.get(f"{told.url}/v1/whoami", headers={"Authorization": f"Bearer kw_{'0' * 16}_{'a' * 43}"})
    assert answer.status_code == 401


@contextmanager
def callers(service, residents: list[Resident]) -> Iterator[list[tuple[Resident, int, float, float]]]:
    """Append and search for all of them during the context; each line is who, the answer's status, when, how long."""
    lines: list[tuple[Resident, int, float, float]] = []
    stop = threading.Event()

    def call(some: list[Resident]) -> None:
        with httpx.Client(base_url=service.url, timeout=60) as client:
            while not stop.is_set():
                for one in some:
                    headers = {"Authorization": f"Bearer {one.key}"}
                    for path, body in (
                        ("/v1/conversations/diary/messages", {"role": "user", "content": "It rains again."}),
                        ("/v1/search", {"query": "garden"}),
                    ):
                        started = time.monotonic()
                        answer = client.post(path, json=body, headers=headers)
                        lines.append((one, answer.status_code, started, time.monotonic() - started))
                        if answer.status_code == 503:
                            assert answer.headers["content-type"] == "application/problem+json"
                            assert answer.headers["retry-after"]
                    time.sleep(0.01)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        calls = [pool.submit(call, residents[number::AT_ONCE]) for number in range(AT_ONCE)]
        try:
            yield lines
        finally:  # the pool waits for them, also when the test failed
            stop.set()
    for one in calls:
        one.result()


def test_a_killed_server_stops_its_own_tenants_alone_and_comes_back(told, residents, clusters, show):
    some = [one for name in NAMES for one in [each for each in residents if each.server == name][:8]]
    for name in ("south", "north"):  # the second of them holds the directory
        with callers(told, some) as lines:
            time.sleep(1)
            kill(clusters[name])
            killed = time.monotonic()
            _wait_for(lambda name=name: _readiness(told) == {"status": "ready", "servers_down": [name]})
            time.sleep(2)
            launching = time.monotonic()
            clusters[name].launch()
            launched = time.monotonic()
            _wait_for(lambda: _readiness(told) == {"status": "ready", "servers_down": []})
            back = time.monotonic()
            time.sleep(1)
        others = Counter(status for one, status, _, _ in lines if one.server != name)
        own = Counter(
            status for one, status, started, _ in lines if one.server == name and killed < started < launching
        )
        slowest = max(took for one, status, _, took in lines if one.server == name and status == 503)
        after = Counter(status for one, status, started, _ in lines if one.server == name and started > back + 0.5)
        show(
            f"{name} killed: others {dict(others)}, its own {dict(own)}, the slowest 503 after {slowest:.2f} s; "
            f"back {back - launched:.2f} s after its start, then {dict(after)}"
        )
        assert set(others) <= {200, 201}
        assert set(own) == {503}
        assert slowest < AWAY_SECONDS + SLACK_SECONDS
        assert set(after) <= {200, 201}
        assert after


def send(number: int, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a server's processes come and go
            os.kill(pid, number)


def test_a_server_that_hangs_is_left_out_within_two_seconds(told, residents, clusters, show):
    some = [one for name in NAMES for one in [each for each in residents if each.server == name][:8]]
    with callers(told, some) as lines:
        time.sleep(0.5)
        frozen = processes(clusters["west"])
        try:
            send(signal.SIGSTOP, frozen)
            _wait_for(lambda: _readiness(told) == {"status": "ready", "servers_down": ["west"]})
            time.sleep(1)
        finally:
            send(signal.SIGCONT, frozen)
        _wait_for(lambda: _readiness(told) == {"status": "ready", "servers_down": []})
    others = Counter(status for one, status, _, _ in lines if one.server != "west")
    own = Counter(status for one, status, _, _ in lines if one.server == "west")
    slowest = max(took for one, status, _, took in lines if one.server == "west")
    show(f"west hangs: others {dict(others)}, its own {dict(own)}, the slowest after {slowest:.2f} s")
    assert set(others) <= {200, 201}
    assert own[503]
    assert slowest < AWAY_SECONDS + SLACK_SECONDS


def test_metrics_tell_each_server(told):
    text = httpx.get(f"{told.url}/metrics").text
    for name in NAMES:
        assert f'keepword_server_up{{server="{name}"}} 1.0' in text
        assert f'keepword_server_pool_connections{{server="{name}",state="open"}}' in text
        assert f'keepword_server_backlog_entries{{server="{name}",' in text


def test_a_service_starts_beside_a_server_that_is_down_and_takes_it_in_when_it_comes(start, residents, clusters):
    kill(clusters["north"])
    service = start()
    assert _readiness(service) == {"status": "ready", "servers_down": ["north"]}
    by_server = {one.server: one for one in residents}
    for name, status in (("south", 200), ("west", 200), ("north", 503)):
        with httpx.Client(headers={"Authorization": f"Bearer {by_server[name].key}"}) as client:
            assert client.get(f"{service.url}/v1/whoami").status_code == status
    clusters["north"].launch()
    _wait_for(lambda: _readiness(service) == {"status": "ready", "servers_down": []})
    with service.client(by_server["north"].key) as client:
        assert client.get("/v1/whoami").json()["tenant"] == by_server["north"].name


def _readiness(service) -> dict:
    return httpx.get(f"{service.url}/readyz", timeout=30).json()


def _wait_for(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_workers_do_the_work_of_every_server_that_is_up(start, residents, clusters):
    """Vectors and jobs; a killed server stops its own alone, and catches up when it is back."""
    by_server = {one.server: one for one in residents}
    kill(clusters["south"])
    try:
        service = start(worker="true", embedding="local")
        for name in ("north", "west"):
            _say(service, by_server[name])
            _wait_for(lambda name=name: _is_worked_off(clusters[name], by_server[name]))
    finally:
        clusters["south"].launch()
    _wait_for(lambda: _readiness(service) == {"status": "ready", "servers_down": []})
    _say(service, by_server["south"])
    _wait_for(lambda: _is_worked_off(clusters["south"], by_server["south"]))


def _say(service, resident: Resident) -> None:
    with service.client(resident.key) as client:
        client.put("/v1/conversations/work", json={}).raise_for_status()
        said = {"role": "user", "content": "The plumber comes on Tuesday."}
        client.post("/v1/conversations/work/messages", json=said).raise_for_status()


def _is_worked_off(cluster: Cluster, resident: Resident) -> bool:
    """Tell whether what it said has a vector, and was read for memories."""
    query = (
        "SELECT EXISTS (SELECT FROM vectors WHERE tenant_id = %(tenant)s) "
        "AND EXISTS (SELECT FROM extractions WHERE tenant_id = %(tenant)s AND done_seq > 0)"
    )
    with migrate.owner(cluster.conninfo) as conn:
        return conn.execute(query, {"tenant": resident.id}).fetchone() == (True,)
