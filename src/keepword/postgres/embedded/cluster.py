"""One data folder's PostgreSQL server: made, started and stopped.

It listens on a Unix socket in a folder that only its account can enter, so that trust needs no password.
"""

import hashlib
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
from typing import IO, Any, Literal

from keepword.errors import StartError
from keepword.postgres.embedded.account import Account, choose, owner_of
from keepword.postgres.embedded.folder import make_home
from keepword.postgres.embedded.memory import buffers_mb, memory_bytes
from keepword.postgres.embedded.programs import environment, programs_for, remove_older, shorten
from keepword.postgres.embedded.reach import open_home, require_no_links, require_reachable
from keepword.postgres.logins import embedded_conninfo

START_SECONDS = 120  # crash recovery of a large database takes its time
RETRY_SECONDS = 10
# together with draining requests and closing the pool it has to fit into five seconds
STOP_SECONDS = {"fast": 2, "immediate": 1}
ABANDON_SECONDS = 1  # from the birth of a server to its pid in a file: a few milliseconds on an idle machine
MAX_SOCKET_PATH = 100  # the kernel's limit is 107 with the socket's own name
MAX_LOG_BYTES = 16_384
UNFINISHED = "postgres.new"
_PLAIN_PATH = re.compile(r"[\w/. +-]+")  # PostgreSQL takes commas and quotes in a socket's path for its own syntax

# fsync and full_page_writes stay on: a 201 means that the message is on disk
SERVER_OPTIONS = {
    "listen_addresses": "",
    "max_connections": "120",
    "max_wal_size": "2GB",
    "jit": "off",
    # an error is one line: its statement would add 1.6 KB for each pattern that is stopped
    "log_min_error_statement": "fatal",
}
# beyond that the server's log begins anew, and the one before is kept
MAX_LOG_BYTES = 10 * 1024 * 1024


class Cluster:
    """One data folder's server. Several handles may exist; only the lock's holder starts and stops it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "postgres"
        self.log = home / "postgres.log"
        self._gate = threading.Lock()
        self._abandoned = False
        self._found_programs: Path | None = None
        self._underway: tuple[str, subprocess.Popen[bytes]] | None = None

    @property
    def conninfo(self) -> str:
        return embedded_conninfo(str(self._socket_folder()))

    def start(self) -> None:
        """Start it, or adopt the one that a killed service left running."""
        self._prepare_folders()
        if not self._has_database():
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
                raise StartError(
                    f"PostgreSQL did not accept connections within {START_SECONDS} s: {self._refusal()}, which ends: "
                    f"{self._log_since(0)}"
                )
            time.sleep(0.05)

    def abandon(self) -> None:
        """Cancel a start that runs in another thread, for good, so that its server can be stopped."""
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

    def answers(self) -> bool:
        """Tell whether the server is up and has the database; it is made a moment after the server's first start."""
        with suppress(StartError):
            return self.is_running() and bool(self._ask("keepword", "SELECT 1"))
        return False

    def is_running(self) -> bool:
        pid = self.postmaster_pid()
        return pid is not None and _is_postgres(pid)

    def postmaster_pid(self) -> int | None:
        with suppress(FileNotFoundError, ValueError, IndexError):
            return int((self.data / "postmaster.pid").read_text().splitlines()[0])
        return None

    def _prepare_folders(self) -> None:
        try:
            make_home(self.home)
            require_no_links(self.data, self.log)
            self._remove_leftovers()
            self._make_folders()
        except OSError as exc:
            raise StartError(f"can't prepare the data folder {self.home}: {exc}") from exc

    def _remove_leftovers(self) -> None:
        for leftover in self.home.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _make_folders(self) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        if not self._has_database():
            self._require_empty()
            if os.geteuid() == 0:
                choose().take(self.data)
        account = owner_of(self.data)
        self._make_socket_folder(account)
        self._open_log("ab").close()
        if account is None:
            self.home.chmod(0o700)
            return
        account.take(self.log)
        open_home(self.home)
        require_reachable(account, self.data)
        if not self.is_running():
            remove_older(self.home)

    def _has_database(self) -> bool:
        return (self.data / "PG_VERSION").exists()

    def _require_empty(self) -> None:
        if any(self.data.iterdir()):
            raise StartError(
                f"{self.data} holds files, but no database (there is no PG_VERSION in it); move the folder away, or "
                "name another data folder with KEEPWORD_HOME"
            )

    def _make_socket_folder(self, account: Account | None) -> None:
        folder = self._socket_folder()
        if folder == self.data:
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(folder, account):
            # a start that failed under another account left it; rmdir removes nothing that is in use
            with suppress(OSError):
                folder.rmdir()
                folder.mkdir(mode=0o700)
        if not _is_own(folder, account):
            # in /tmp anyone can make one, and would then own the socket
            raise StartError(f"{folder} is not Keepword's own folder; remove it, or choose a shorter KEEPWORD_HOME")
        if account:
            account.take(folder)

    def _socket_folder(self) -> Path:
        path = str(self.data)
        if len(path.encode()) <= MAX_SOCKET_PATH - len("/.s.PGSQL.5432") and _PLAIN_PATH.fullmatch(path):
            return self.data
        name = hashlib.sha256(str(self.data).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"keepword-{os.geteuid()}-{name}"

    def _init(self) -> None:
        # built beside and renamed, so that a kill in the middle leaves nothing half made; under a name of its own,
        # because the initdb of a start that was killed may still be writing
        unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self.home))
        if account := owner_of(self.data):
            account.take(unfinished)
        self._run(
            "initdb", "-D", unfinished, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
            "--data-checksums",
        )  # fmt: skip
        unfinished.rename(self.data)  # takes the place of the empty folder in one step

    def _launch(self) -> None:
        self.rotate_log()
        chosen = SERVER_OPTIONS | {"shared_buffers": f"{buffers_mb(memory_bytes())}MB"}
        options = " ".join(f"-c {name}='{value}'" for name, value in chosen.items())
        options += f" -k '{self._socket_folder()}'"
        # pg_ctl hands -D and -l to a shell in double quotes; this way no name of a folder can break out of them
        with self._open_log("ab") as log:
            self._run("pg_ctl", "-w", "-t", str(START_SECONDS), "-o", options, "start", log=log)

    def rotate_log(self) -> None:
        """Begin the log anew if it is long. The server appends to the file that it has: it is emptied, not renamed."""
        if not self.log.exists() or self.log.stat().st_size <= MAX_LOG_BYTES:
            return
        older = os.open(f"{self.log}.1", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with self._open_log("r+b") as log, os.fdopen(older, "wb") as older_log:
            shutil.copyfileobj(log, older_log)
            log.truncate(0)

    def _open_log(self, mode: Literal["rb", "r+b", "ab"]) -> IO[bytes]:
        flags = {"rb": os.O_RDONLY, "r+b": os.O_RDWR, "ab": os.O_WRONLY | os.O_APPEND | os.O_CREAT}[mode]
        return os.fdopen(os.open(self.log, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), mode)

    def _accepts(self) -> bool:
        return not self._refusal()

    def _refusal(self) -> str:
        try:
            self._run("pg_isready", "-h", self._socket_folder(), "-U", "postgres")
        except StartError as exc:
            return str(exc)
        return ""

    def _make_database(self) -> None:
        if not self._ask("postgres", "SELECT 1 FROM pg_database WHERE datname = 'keepword'").strip():
            self._ask("postgres", "CREATE DATABASE keepword")

    def _ask(self, database: str, query: str) -> str:
        return self._run("psql", "-h", self._socket_folder(), "-U", "postgres", "-d", database, "-qtA", "-c", query)

    def _run(self, program: str, *args: str | Path, log: IO[bytes] | None = None, is_start: bool = True) -> str:
        """Run it to its end and return its output, unless that goes to the log."""
        # through a file: a server that pg_ctl started keeps the handle open, and a pipe would never end
        with tempfile.TemporaryFile() as output:
            log_begins = log.tell() if log else 0
            status = self._wait(program, *args, output=log or output, is_start=is_start)
            output.seek(0)
            text = output.read().decode(errors="replace")
        if status:
            words = self._log_since(log_begins) if log else shorten(text)
            raise StartError(f"{program} failed for {self.data} (status {status}): {words}; the log is {self.log}")
        return text

    def _wait(self, program: str, *args: str | Path, output: IO[bytes], is_start: bool) -> int:
        with self._gate:
            if is_start and self._abandoned:
                raise StartError(f"the start of PostgreSQL in {self.data} was abandoned")
            process = self._spawn(program, *args, output=output)
            self._underway = (program, process)
        status = process.wait()
        self._underway = None
        return status

    def _spawn(self, program: str, *args: str | Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
        path = Path(program)
        try:
            account = owner_of(self.data)
            path = self._programs(account) / program
            as_account: dict[str, Any] = (
                {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
            )
            return subprocess.Popen(  # noqa: S603
                [path, *args], cwd="/", stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True, env=environment() | {"PGDATA": str(self.data)},
                **as_account,
            )  # fmt: skip
        except OSError as exc:
            raise StartError(f"can't run {path}: {exc}") from exc

    def _programs(self, account: Account | None) -> Path:
        if self._found_programs is None:
            self._found_programs = programs_for(account, self.home)
        return self._found_programs

    def _log_since(self, start: int) -> str:
        try:
            with self._open_log("rb") as log:
                log.seek(max(start, log.seek(0, os.SEEK_END) - MAX_LOG_BYTES))
                return shorten(log.read().decode(errors="replace"))
        except OSError as exc:
            return f"it can't be read: {exc.strerror}"


def _is_own(folder: Path, account: Account | None) -> bool:
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid in {os.geteuid(), account.uid if account else os.geteuid()}


def _is_postgres(pid: int) -> bool:
    # a pid alone is no proof after a reboot or a crash: another program may have got it
    try:
        return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    return subprocess.run(["/bin/ps", "-p", str(pid)], check=False, capture_output=True).returncode == 0  # noqa: S603
