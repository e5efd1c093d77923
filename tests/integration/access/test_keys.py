"""Keys: made, listed and revoked by the real command, and in force from the next request on."""

import json
import socket
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from keepword.postgres.keys import NewKey, make_key
from keepword.postgres.migrate import owner
from patience import HANG_SECONDS

PATH = "/v1/conversations"


def make(cli, service, *args):
    made = cli(service.home, "keys", "create", *args)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def status(service, key=None, **headers):
    with service.client(key, **headers) as client:
        return client.get(PATH).status_code


def test_a_key_is_made_listed_and_revoked_while_the_service_runs(keyed_service, cli):
    tenant = f"t-{uuid4().hex[:8]}"
    key = make(cli, keyed_service, "--tenant", tenant, "--role", "admin", "--expires", "90d")
    key_id = key.split("_")[1]
    assert status(keyed_service, key) == 200
    listed = cli(keyed_service.home, "keys", "list").stdout
    assert key_id in listed
    assert key.split("_", 2)[2] not in listed
    revoked = cli(keyed_service.home, "keys", "revoke", key_id)
    assert revoked.returncode == 0
    assert status(keyed_service, key) == 401
    assert cli(keyed_service.home, "keys", "revoke", key_id).returncode == 0
    assert "revoked" in cli(keyed_service.home, "keys", "list").stdout


def test_a_list_shows_whole_ids_however_long_the_names_are(keyed_service, cli):
    tenant = "a-tenant-with-quite-a-long-name-" + uuid4().hex
    user = "a-user-with-quite-a-long-name-" + uuid4().hex
    key = make(cli, keyed_service, "--tenant", tenant, "--role", "reader", "--agent", "helper", "--user", user)
    assert key.split("_")[1] in cli(keyed_service.home, "keys", "list").stdout


def test_a_key_that_expires_stops_at_once(keyed_service):
    with owner(keyed_service.conninfo) as conn:
        until = datetime.now(UTC) + timedelta(seconds=1)
        key = make_key(conn, NewKey(f"t-{uuid4().hex}", "admin", expires_at=until)).text
        old = make_key(conn, NewKey(f"t-{uuid4().hex}", "admin", expires_at=until - timedelta(days=1))).text
    assert status(keyed_service, old) == 401
    while datetime.now(UTC) < until:
        answered = status(keyed_service, key)
        assert answered == 200 or datetime.now(UTC) >= until
        time.sleep(0.05)
    assert status(keyed_service, key) == 401


def test_the_right_id_with_a_wrong_secret_does_not_work(keyed_service):
    key, other = (keyed_service.make_key(f"t-{uuid4().hex}") for _ in range(2))
    mixed = "_".join([*key.split("_", 2)[:2], other.split("_", 2)[2]])
    flipped = key[:-2] + ("A" if key[-2] != "A" else "B") + key[-1]
    for wrong in (mixed, flipped, key[:-1], key + "A", key.upper(), f" {key[3:]}", key.replace("kw_", "KW_")):
        assert status(keyed_service, wrong) == 401
    assert status(keyed_service, key) == 200


def test_a_key_that_does_not_work_says_no_more_than_that(keyed_service, cli):
    key = make(cli, keyed_service, "--tenant", f"t-{uuid4().hex}", "--role", "admin")
    cli(keyed_service.home, "keys", "revoke", key.split("_")[1])
    wrong = key[:-1] + ("A" if key[-1] != "A" else "B")
    unknown = f"kw_{uuid4().hex[:16]}_{'A' * 43}"
    with keyed_service.client() as client:
        answers = [
            client.get(PATH, headers={"Authorization": f"Bearer {sent}", "X-Request-Id": "same"})
            for sent in (key, wrong, unknown)
        ]
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].status_code == 401


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--tenant", "t", "--role", "king"), "role"),
        (("--tenant", "t", "--role", "admin", "--expires", "99999y"), "99999y"),
        (("--role", "admin"), "--tenant"),
    ],
)
def test_a_bad_key_is_not_made_and_the_reason_is_readable(keyed_service, cli, args, said):
    with psycopg.connect(keyed_service.conninfo) as conn:
        count = "SELECT count(*) FROM keepword.keys"
        before = conn.execute(count).fetchone()
        done = cli(keyed_service.home, "keys", "create", *args)
        assert done.returncode != 0
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert conn.execute(count).fetchone() == before


def test_who_makes_keys_is_told_before_they_lock_themselves_out(make_service, cli):
    home = make_service().start().home
    create = ("keys", "create", "--tenant", "default", "--role")
    first = cli(home, *create, "agent", "--agent", "helper")
    assert "It is the first: from now on every call needs a key, also on loopback." in first.stderr
    assert "keepword keys create --tenant default --role admin" in first.stderr
    second = cli(home, *create, "reader")
    assert "It is the first" not in second.stderr
    assert "--role admin" in second.stderr
    third = cli(home, *create, "admin")
    assert "--role admin" not in third.stderr
    assert "--role admin" not in cli(home, *create, "reader").stderr
    for line in cli(home, "keys", "list").stdout.splitlines():
        if "works" in line:
            revoked = cli(home, "keys", "revoke", line.split("│")[1].strip())
            assert revoked.returncode == 0, revoked.stderr
    assert "No key works any more, and calls without one stay refused" in revoked.stderr


@pytest.mark.parametrize("args", [("keys", "list"), ("keys", "revoke", "0123"), ("db", "status"), ("doctor",)])
def test_commands_on_an_empty_folder_end_without_a_trace(make_home, cli, args):
    done = cli(make_home(), *args)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout or done.stderr


def test_keyless_works_only_before_the_first_key_and_only_under_the_machines_own_names(make_service, cli):
    service = make_service().start()
    assert status(service) == 200
    for name in ("localhost", "localhost:8002", "127.0.0.1", "LOCALHOST", "[::1]:80"):
        assert status(service, Host=name) == 200, name
    for name in (
        "evil.example",
        "evil_name.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "evil@",
        "[",
        "[::1",
        ":",
        "a b",
    ):
        assert status(service, Host=name) in {400, 401}, name
    with service.client() as client:
        client.put(f"{PATH}/mine", json={"title": "made without a key"})
    key = make(cli, service, "--tenant", "default", "--role", "admin")
    assert status(service) == 401
    assert status(service, key) == 200
    with service.client(key) as client:
        assert client.get(f"{PATH}/mine").json()["title"] == "made without a key"
    cli(service.home, "keys", "revoke", key.split("_")[1])
    assert status(service, key) == 401
    assert status(service) == 401


def test_another_address_needs_a_key_to_start(make_service, cli, make_home):
    home = make_home()
    with pytest.raises(RuntimeError, match="keepword keys create"):
        make_service(home, host="0.0.0.0").start()
    revoked = cli(home, "keys", "create", "--tenant", "t", "--role", "admin").stdout.strip()
    cli(home, "keys", "revoke", revoked.split("_")[1])
    with pytest.raises(RuntimeError, match="keepword keys create"):
        make_service(home, host="0.0.0.0").start()
    key = cli(home, "keys", "create", "--tenant", "t", "--role", "admin").stdout.strip()
    service = make_service(home, host="0.0.0.0").start()
    service.url = service.url.replace("0.0.0.0", "127.0.0.1")
    assert status(service) == 401
    assert status(service, key) == 200


def test_no_secret_reaches_the_log_or_the_database(make_service, cli):
    service = make_service(log_level="debug").start()
    key = make(cli, service, "--tenant", "default", "--role", "admin")
    secret = key.split("_", 2)[2]
    assert status(service, key) == 200
    assert status(service, key + "x") == 401
    with service.client() as client:
        client.get(f"{PATH}?key={key}", headers={"Authorization": f"Basic {key}"})
    with psycopg.connect(service.conninfo) as conn:
        dump = str(conn.execute("SELECT k, digest::text, encode(digest, 'base64') FROM keepword.keys k").fetchall())
        assert key.split("_")[1] in dump
        assert secret not in dump
        for table in ("tenants", "conversations"):
            assert secret not in str(conn.execute(f"SELECT t::text FROM keepword.{table} t").fetchall())
    service.stop()
    assert secret not in service.log()
    assert secret not in (service.home / "postgres.log").read_text()
    lines = [json.loads(line) for line in service.log().splitlines() if line.startswith("{")]
    assert any(line.get("key") == key.split("_")[1] for line in lines)


def test_roles_bound_what_a_key_may_do(keyed_service):
    tenant = f"t-{uuid4().hex}"
    admin, agent, reader = (keyed_service.make_key(tenant, role) for role in ("admin", "agent", "reader"))
    with keyed_service.client(agent) as client:
        assert client.put(f"{PATH}/c", json={}).status_code == 201
        assert client.post(f"{PATH}/c/messages", json={"role": "user", "content": "x"}).status_code == 201
        assert client.put("/v1/users/u", json={}).status_code == 403
    with keyed_service.client(reader) as client:
        assert client.get(f"{PATH}/c/messages").status_code == 200
        for refused in (
            client.put(f"{PATH}/c", json={"title": "x"}),
            client.patch(f"{PATH}/c", json={"title": "x"}),
            client.post(f"{PATH}/c/messages", json={"role": "user", "content": "x"}),
            client.put("/v1/users/u", json={}),
        ):
            assert refused.status_code == 403
            assert refused.headers["content-type"] == "application/problem+json"
    with keyed_service.client(admin) as client:
        assert len(client.get(f"{PATH}/c/messages").json()["messages"]) == 1


def test_a_host_header_that_is_missing_or_doubled_does_not_open_the_door(service):
    address = urlsplit(service.url)
    for hosts in ([], ["evil.example", "localhost"], ["localhost", "evil.example"]):
        with socket.create_connection((address.hostname, address.port), timeout=HANG_SECONDS) as conn:
            lines = ["GET /v1/conversations HTTP/1.1", *(f"Host: {host}" for host in hosts), "Connection: close"]
            conn.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            answer = conn.recv(65536)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 ")), answer
