"""Starting and stopping, as people and machines really do it."""

import os
import pwd
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from keepword.postgres.embedded import Cluster
from patience import HANG_SECONDS, stretched

ROOT = Path(__file__).parents[2]
KEEPWORD = Path(sys.executable).parent / "keepword"
STOP_SECONDS = 5


def wait_for(condition, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def put_one(service):
    with service.client() as client:
        assert client.put("/v1/conversations/c", json={"title": "kept"}).status_code in {200, 201}


def title(service):
    with service.client() as client:
        return client.get("/v1/conversations/c").json()["title"]


def postgres_of(home: Path) -> list[int]:
    """Return the server's processes that run on this folder, whether or not it admits to them."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            cwd = (entry / "cwd").readlink() if b"postgres" in line else None
        except OSError:
            continue
        if cwd == home / "postgres":
            found.append(int(entry.name))
    return found


def holder_of(home: Path) -> int | None:
    with suppress(FileNotFoundError, IndexError):
        return int((home / "lock").read_text().split()[0])
    return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_its_database_within_five_seconds(make_service, number):
    service = make_service().start()
    put_one(service)
    assert postgres_of(service.home)
    with service.client() as client:
        client.get("/healthz")  # an idle connection that is kept alive must not hold it up
        started = time.monotonic()
        assert service.stop(number) == 0
        assert time.monotonic() - started < stretched(STOP_SECONDS)
    assert not Cluster(service.home).is_running()
    assert postgres_of(service.home) == []
    assert "Traceback" not in service.log()
    assert title(service.start()) == "kept"


def test_two_signals_do_not_cut_the_stop_short(make_service):
    service = make_service().start()
    service.process.send_signal(signal.SIGINT)
    for _ in range(12):
        time.sleep(0.01)
        service.process.send_signal(signal.SIGINT)
    assert service.process.wait(stretched(STOP_SECONDS)) == 0
    assert postgres_of(service.home) == []


def test_a_signal_during_the_start_leaves_nothing_running(make_service, make_home):
    chance = random.Random()
    home = make_home()
    for _ in range(6):
        service = make_service(home)
        with service.output.open("w") as output:
            env = os.environ | {"KEEPWORD_HOME": str(home), "KEEPWORD_PORT": "0"}
            service.process = subprocess.Popen([KEEPWORD, "serve"], env=env, cwd="/", stdout=output, stderr=output)
        wait_for(lambda: holder_of(home) == service.process.pid)  # noqa: B023
        time.sleep(chance.uniform(0, 1.2))
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(stretched(2 * STOP_SECONDS)) == 0, service.log()
        assert "Traceback" not in service.log()
        wait_for(lambda: postgres_of(home) == [], stretched(STOP_SECONDS))
    service = make_service(home).start()
    put_one(service)


def catches(pid: int, number: int) -> bool:
    (caught,) = re.findall(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_still_loads_it_ends_it_without_a_word(make_service, number):
    service = make_service()
    with service.output.open("w") as output:
        env = os.environ | {"KEEPWORD_HOME": str(service.home), "KEEPWORD_PORT": "0"}
        service.process = subprocess.Popen([KEEPWORD, "serve"], env=env, cwd="/", stdout=output, stderr=output)
    # Python itself catches SIGINT, a little before we do; nobody but us catches SIGTERM
    wait_for(lambda: catches(service.process.pid, signal.SIGTERM))
    service.process.send_signal(number)
    assert service.process.wait(stretched(STOP_SECONDS)) == 0
    assert service.log() == ""
    assert postgres_of(service.home) == []


def test_make_serve_stops_when_its_group_gets_ctrl_c(make_home):
    home = make_home()
    output = Path(tempfile.mkstemp(prefix="kw-make-")[1])
    env = os.environ | {"KEEPWORD_HOME": str(home), "KEEPWORD_PORT": "0"}
    with output.open("w") as out:
        # what is installed is old enough: the test must not install anything
        command = ["make", "-o", ".venv/run", "serve"]
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=out, start_new_session=True)
    wait_for(lambda: "Ctrl-C stops it" in output.read_text())
    started = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    limit = stretched(STOP_SECONDS)
    process.wait(limit)
    wait_for(lambda: postgres_of(home) == [], limit - (time.monotonic() - started))
    output.unlink()


def test_only_a_first_start_says_that_it_makes_a_database(make_service, make_home):
    service = make_service(make_home())
    said = f"Making a database in {service.home} (once, some seconds) ..."
    assert service.start().log().startswith(said)
    service.stop()
    assert said not in service.start().log()


def test_a_second_serve_on_the_same_folder_says_so_and_exits_1(make_service, cli):
    service = make_service().start()
    second = cli(service.home, "serve", port="0")
    assert second.returncode == 1
    assert "already running" in second.stderr
    assert str(service.process.pid) in second.stderr
    assert service.is_ready()


def test_a_port_that_is_taken_is_named(make_service, make_home, cli):
    service = make_service().start()
    home = make_home()
    refused = cli(home, "serve", port=service.url.rpartition(":")[2])
    assert refused.returncode == 1
    assert "KEEPWORD_PORT" in refused.stderr
    assert not (home / "postgres").exists(), "a database was made for nothing"
    assert postgres_of(home) == []


def test_a_second_serve_with_the_same_settings_names_the_first(make_service, cli):
    service = make_service().start()
    second = cli(service.home, "serve", port=service.url.rpartition(":")[2])
    assert second.returncode == 1
    assert f"already running on {service.home} (process {service.process.pid})" in second.stderr


def test_after_a_kill_of_the_service_the_next_start_adopts_the_database(make_service):
    service = make_service().start()
    put_one(service)
    postmaster = Cluster(service.home).postmaster_pid()
    service.process.kill()
    service.process.wait()
    assert postmaster in postgres_of(service.home)
    assert title(service.start()) == "kept"
    assert service.stop() == 0
    assert postgres_of(service.home) == []


def test_after_a_kill_of_both_the_next_start_recovers(make_service):
    service = make_service().start()
    put_one(service)
    service.process.kill()
    os.kill(Cluster(service.home).postmaster_pid(), signal.SIGKILL)
    service.process.wait()
    assert title(service.start()) == "kept"


def test_after_a_kill_of_postgres_the_running_service_recovers_and_so_does_the_next_start(make_service):
    service = make_service().start()
    put_one(service)
    first = Cluster(service.home).postmaster_pid()
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: Cluster(service.home).postmaster_pid() not in {None, first} and service.is_ready())
    assert title(service) == "kept"
    os.kill(Cluster(service.home).postmaster_pid(), signal.SIGKILL)
    assert service.stop() == 0
    assert title(service.start()) == "kept"


def test_a_signal_while_postgres_restarts_stops_it_too(make_service):
    service = make_service().start()
    for delay in (0.0, 0.6):
        os.kill(Cluster(service.home).postmaster_pid(), signal.SIGKILL)
        time.sleep(delay)
        started = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - started < stretched(STOP_SECONDS)
        wait_for(lambda: postgres_of(service.home) == [], stretched(STOP_SECONDS))
        service.start()


@pytest.mark.parametrize(
    "name",
    [
        'it\'s "quoted", $HOME `id` \\ ; & commas, and=signs',
        "Grüße 世界 [bold]x[/y]",
        "l" * 120,
    ],
)
def test_odd_names_of_data_folders_work(make_service, make_home, cli, name):
    service = make_service(make_home() / name).start()
    put_one(service)
    doctor = cli(service.home, "doctor")
    assert "Traceback" not in doctor.stderr
    assert doctor.returncode == 0, doctor.stdout
    assert service.stop() == 0


def test_a_folder_that_can_not_be_used_is_named(cli, tmp_path):
    (tmp_path / "file").write_text("")
    refused = cli(tmp_path / "file" / "home", "serve", port="0")
    assert refused.returncode == 1
    assert "KEEPWORD_HOME" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": "x"}, "KEEPWORD_PORT is 'x'"),
        ({"nonsense": "1"}, "unknown setting KEEPWORD_NONSENSE"),
        ({"database_url": "postgresql://127.0.0.1:1/none"}, "can't connect"),
        ({"database_url": "postgresql://%%%"}, "can't connect"),
        ({"host": "no.such.host.invalid"}, "KEEPWORD_HOST"),
    ],
)
def test_what_keeps_it_from_starting_is_said_in_a_line(cli, make_home, settings, said):
    refused = cli(make_home(), "serve", **({"port": "0"} | settings))
    assert refused.returncode == 1
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def may_run(account, program: Path) -> bool:
    """Tell whether an account can reach a program at all: a Python below root's home is not for others."""
    as_account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    try:
        return (
            subprocess.run([program, "version"], cwd="/", capture_output=True, check=False, **as_account).returncode
            == 0
        )
    except PermissionError:
        return False


@pytest.mark.skipif(os.geteuid() != 0, reason="the whole suite runs as an ordinary user already")
def test_it_works_as_an_ordinary_user():
    nobody = pwd.getpwnam("nobody")
    if not may_run(nobody, KEEPWORD):
        pytest.skip("an ordinary user can't reach this Python")
    home = Path(tempfile.mkdtemp(prefix="kw-nobody-"))
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    output, data = home / "output", home / ".local/share/keepword"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "KEEPWORD_PORT": "0"}
    as_nobody = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    with output.open("w") as out:
        process = subprocess.Popen([KEEPWORD, "serve"], env=env, cwd="/", stdout=out, stderr=out, **as_nobody)
    try:
        wait_for(lambda: "listens on" in output.read_text() or process.poll() is not None)
        url = output.read_text().split("listens on ")[1].split()[0]
        wait_for(lambda: httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).status_code == 200)
        assert httpx.put(f"{url}/v1/conversations/c", json={}, timeout=HANG_SECONDS).status_code == 201
        assert (data / "postgres/PG_VERSION").stat().st_uid == nobody.pw_uid
        assert data.stat().st_mode & 0o077 == 0
        process.terminate()
        assert process.wait(stretched(STOP_SECONDS)) == 0
        assert postgres_of(data) == []
    finally:
        process.kill()
        process.wait()
        for pid in postgres_of(data):
            os.kill(pid, signal.SIGQUIT)
        shutil.rmtree(home, ignore_errors=True)


def test_the_greeting_of_a_first_start_says_where_and_its_curl_works(make_service, make_home):
    service = make_service(make_home()).start()
    said = service.log()
    assert str(service.home) in said
    (line,) = [line.strip() for line in said.splitlines() if line.strip().startswith("curl ")]
    done = subprocess.run([*shlex.split(line), "-sf"], check=True, capture_output=True, text=True)
    assert '"title":"Hello"' in done.stdout


def test_a_worker_that_was_there_first_does_not_keep_the_service_from_starting(make_service, make_worker):
    service = make_service()
    worker = make_worker(service.home)
    first = Cluster(service.home).postmaster_pid()
    put_one(service.start())
    assert Cluster(service.home).postmaster_pid() == first
    worker.terminate()
    assert worker.wait(stretched(10)) == 0
    # the server is the service's now
    assert title(service) == "kept"
    assert service.stop() == 0
    assert postgres_of(service.home) == []


def test_a_worker_alone_stops_the_server_that_it_started(make_service, make_worker):
    home = make_service().home
    worker = make_worker(home)
    assert postgres_of(home)
    worker.terminate()
    assert worker.wait(stretched(10)) == 0
    assert postgres_of(home) == []


def test_service_and_worker_may_start_at_the_same_moment(make_service, make_worker):
    service = make_service()
    with ThreadPoolExecutor(1) as threads:
        starting = threads.submit(make_worker, service.home)
        put_one(service.start())
        assert starting.result().poll() is None
    assert title(service) == "kept"


def test_a_command_leaves_the_server_to_the_worker_that_uses_it(make_service, make_worker, cli):
    home = make_service().home
    worker = make_worker(home)
    first = Cluster(home).postmaster_pid()
    assert cli(home, "keys", "list").returncode == 0
    assert Cluster(home).postmaster_pid() == first
    worker.terminate()
    assert worker.wait(stretched(10)) == 0
    assert postgres_of(home) == []


def test_what_the_server_says_when_it_does_not_start_is_in_the_error(make_service, cli):
    home = make_service().home
    (home / "postgres/postgresql.conf").write_text("nonsense is no setting\n")
    refused = cli(home, "keys", "list")
    assert refused.returncode == 1
    assert "pg_ctl failed" in refused.stderr
    assert 'syntax error in file "' in refused.stderr
    assert "Traceback" not in refused.stderr
