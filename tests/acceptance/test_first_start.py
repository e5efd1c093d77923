"""The first start on a machine on which Keepword never ran, as root.

Each test has a machine of its own as far as accounts go: a mount namespace with its own copy of /etc.
"""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import environment
from keepword.errors import StartError
from keepword.postgres.embedded import Cluster, programs, running
from patience import HANG_SECONDS

KEEPWORD = Path(sys.executable).parent / "keepword"
ROUNDS = int(os.environ.get("FIRST_STARTS", "5"))
AT_ONCE = 3
FORGET = Path(__file__).parents[2] / ".ci" / "forget-account"
SYSTEM_ACCOUNT = "useradd --system --no-create-home --uid 979 --shell /usr/sbin/nologin keepword"
PROCESS = """
setpriv --reuid 979 sleep 20 >/dev/null 2>&1 &
until [ -n "$(find /proc -maxdepth 1 -name '[0-9]*' -uid 979 2>/dev/null)" ]; do true; done
"""
UNSHARE = ["unshare", "--mount", "--propagation", "private"]
ACCOUNT_FILES = ("passwd", "group", "shadow", "gshadow")

# starts the server of a data folder and says whose it is
START = """
import sys
from pathlib import Path
import psycopg
from keepword.postgres.embedded import running
with running(Path(sys.argv[1])) as cluster, psycopg.connect(cluster.conninfo) as conn:
    (name,) = conn.execute("SELECT current_database()").fetchone()
    owners = {cluster.data.stat().st_uid, (cluster.data / "PG_VERSION").stat().st_uid, cluster.log.stat().st_uid}
    print(name, *owners)
"""
# only chooses the account, which takes a tenth of the time
CHOOSE = "from keepword.postgres.embedded import account; print(account.choose().uid)"


def can_unshare() -> bool:
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    return subprocess.run([*UNSHARE, "true"], check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_unshare(), reason="only root with `unshare` can have an /etc of its own")


class Machine:
    """Commands that see an /etc of their own, without the account `keepword`."""

    def __init__(self, etc: Path, prepare: str = "true") -> None:
        self.etc = etc
        self.prepare = prepare

    def start(self, *command: str | Path, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        script = f'set -e\nmount --bind "{self.etc}" /etc\n{self.prepare}\nexec "$@"'
        return subprocess.Popen(
            [*UNSHARE, "bash", "-c", script, "bash", *command], cwd="/", env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def first_start(self, home: Path) -> "subprocess.Popen[str]":
        return self.start(sys.executable, "-c", START, home)

    def choose(self) -> "subprocess.Popen[str]":
        return self.start(sys.executable, "-c", CHOOSE)

    def uid_of(self, name: str) -> int | None:
        lines = (line.split(":") for line in (self.etc / "passwd").read_text().splitlines())
        return next((int(line[2]) for line in lines if line[0] == name), None)


@pytest.fixture
def make_machine() -> Iterator[Callable[..., Machine]]:
    made: list[Path] = []

    def make(prepare: str = "true") -> Machine:
        made.append(Path(tempfile.mkdtemp(prefix="kw-etc-")))
        etc = made[-1] / "etc"
        subprocess.run(["cp", "-a", "/etc", etc], check=True)
        etc.parent.chmod(0o755)
        remove_account(etc, "keepword")
        return Machine(etc, prepare)

    yield make
    for folder in made:
        shutil.rmtree(folder)


def remove_account(etc: Path, name: str) -> None:
    for file in (etc / file for file in ACCOUNT_FILES):
        if file.exists():
            lines = file.read_text().splitlines(keepends=True)
            file.write_text("".join(line for line in lines if not line.startswith(f"{name}:")))


def outcome(process: "subprocess.Popen[str]") -> str:
    """Return what a start said, in one line."""
    out, err = process.communicate(timeout=HANG_SECONDS)
    return (out if process.returncode == 0 else err).strip().splitlines()[-1]


@pytest.mark.timeout(900 + 60 * ROUNDS)
def test_several_first_starts_at_once_all_succeed_as_the_account_that_one_of_them_makes(make_machine, make_home, show):
    for _ in range(ROUNDS):
        machine = make_machine()
        assert machine.uid_of("keepword") is None
        homes = [make_home() for _ in range(AT_ONCE)]
        starts = [machine.first_start(home) for home in homes]
        said = [outcome(start) for start in starts]
        assert said == [f"keepword {machine.uid_of('keepword')}"] * AT_ONCE
        for home in homes:
            shutil.rmtree(home)
    show(f"first starts: {ROUNDS} x {AT_ONCE} at once without an account, 0 failed")


def test_without_a_way_to_make_the_account_all_first_starts_run_as_nobody(make_machine, make_home):
    nobody = pwd.getpwnam("nobody").pw_uid
    useradd = shutil.which("useradd")
    hidden = f"mount --bind /dev/null {useradd}" if useradd else "true"
    for prepare in (hidden, "mount -o remount,bind,ro /etc"):
        machine = make_machine(prepare)
        starts = [machine.first_start(make_home()), machine.choose()]
        assert [outcome(start) for start in starts] == [f"keepword {nobody}", str(nobody)]
        assert machine.uid_of("keepword") is None


def test_a_start_waits_for_another_program_that_is_changing_accounts(make_machine):
    machine = make_machine()
    # what useradd respects: a lock file with the number of a process that lives
    lock = machine.etc / "passwd.lock"
    lock.write_text(str(os.getpid()))
    start = machine.choose()
    with pytest.raises(subprocess.TimeoutExpired):
        start.wait(3)
    lock.unlink()
    assert outcome(start) == str(machine.uid_of("keepword"))


def test_a_group_of_that_name_without_an_account_is_used(make_machine):
    machine = make_machine()
    with (machine.etc / "group").open("a") as groups:
        groups.write("keepword:x:4711:\n")
    assert outcome(machine.choose()) == str(machine.uid_of("keepword"))


def test_a_database_keeps_its_owner_when_accounts_come_and_go(make_machine, make_home):
    machine = make_machine("mount --bind /dev/null $(command -v useradd || echo /bin/true)")
    home = make_home()
    nobody = outcome(machine.first_start(home))
    machine.prepare = "true"
    assert outcome(machine.choose()) == str(machine.uid_of("keepword"))
    assert outcome(machine.first_start(home)) == nobody
    remove_account(machine.etc, "nobody")
    (machine.etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\n")
    assert outcome(machine.first_start(home)) == nobody


def test_without_any_account_it_says_what_to_do(make_machine):
    machine = make_machine("mount -o remount,bind,ro /etc")
    remove_account(machine.etc, "nobody")
    (machine.etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\n")  # systemd makes up a nobody
    said = outcome(machine.choose())
    assert "useradd --system keepword" in said
    assert "ordinary user" in said


def test_service_worker_and_commands_may_start_for_the_first_time_in_one_folder_at_once(
    make_machine, make_home, find_port
):
    machine, home, port = make_machine(), make_home(), find_port()
    env = environment(home, port=str(port))
    key = ["keys", "create", "--tenant", "default", "--role", "admin"]
    starts = [machine.start(KEEPWORD, *words, env=env) for words in (["worker"], ["serve"], key, key)]
    worker, service, *commands = starts
    try:
        assert "worker runs" in worker.stdout.readline()
        assert "listens on" in service.stdout.readline()
        assert [command.wait(HANG_SECONDS) for command in commands] == [0, 0]
        worker.terminate()
        assert worker.wait(HANG_SECONDS) == 0
        service.terminate()
        assert service.wait(HANG_SECONDS) == 0
    finally:
        for start in starts:
            start.kill()
            start.communicate()
    assert not Cluster(home).is_running()


def test_a_folder_that_a_failed_start_left_to_nobody_is_made_whole(make_home):
    home = make_home()
    nobody = pwd.getpwnam("nobody")
    for folder in (home / "postgres", home / "postgres.new", home / "postgres.new" / "base"):
        folder.mkdir(parents=True)
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    with running(home) as cluster:
        assert cluster.answers()
    assert [path.name for path in home.iterdir() if path.name.startswith("postgres.new")] == []


def test_the_next_start_is_not_disturbed_by_an_initdb_that_outlived_its_start(make_home):
    home = make_home()
    first = subprocess.Popen([sys.executable, "-c", START, home], cwd="/", stdout=subprocess.PIPE, text=True)
    while not list(home.glob("postgres.new*/base")):
        assert first.poll() is None
    first.kill()
    first.wait()
    first.stdout.close()
    with running(home) as cluster:
        assert cluster.answers()


def test_files_without_a_database_are_not_touched_and_the_error_says_what_to_do(make_home):
    home = make_home()
    (home / "postgres").mkdir(parents=True)
    (home / "postgres" / "notes").write_text("mine")
    with pytest.raises(StartError, match=r"no PG_VERSION.*move the folder away.*KEEPWORD_HOME"), running(home):
        pass
    assert (home / "postgres" / "notes").stat().st_uid == 0


def test_what_initdb_says_is_in_the_error(make_machine, make_home):
    catalogue = programs.binaries().parent / "share/postgres.bki"
    machine = make_machine(f"mount --bind /dev/null {catalogue}")
    assert re.search(r"initdb failed for .*initdb: error: .*postgres\.bki", outcome(machine.first_start(make_home())))


def test_a_database_that_belongs_to_root_is_refused_with_the_command_that_helps(make_migrated_home):
    home = make_migrated_home()
    subprocess.run(["chown", "-R", "root:", home / "postgres"], check=True)
    with pytest.raises(StartError, match=r"chown -R keepword: '.*postgres'"), running(home):
        pass
    subprocess.run(["chown", "-R", "keepword:", home / "postgres"], check=True)
    with running(home) as cluster:
        assert cluster.answers()


@pytest.mark.parametrize(
    ("prepare", "said", "is_there"),
    [
        ("true", "no account keepword", False),
        (SYSTEM_ACCOUNT, "was removed", False),
        ("useradd --uid 4979 --shell /usr/sbin/nologin keepword", "not one that Keepword made", True),
        (SYSTEM_ACCOUNT.replace("/usr/sbin/nologin", "/bin/bash"), "not one that Keepword made", True),
        (f"{SYSTEM_ACCOUNT}; mount -t tmpfs none /var/lib; mkdir /var/lib/keepword", "in use (there is a data", True),
        (f"{SYSTEM_ACCOUNT}; {PROCESS}".replace("979", "978"), "in use (it has processes)", True),
        (f"{SYSTEM_ACCOUNT}; mount -o remount,bind,ro /etc", "userdel failed", True),
    ],
)
def test_ci_begins_without_the_account_unless_somebody_uses_it(make_machine, prepare, said, is_there):
    machine = make_machine(prepare)
    process = machine.start(FORGET)
    (line,) = process.stdout.read().splitlines()
    assert said in line
    process.communicate()
    assert process.returncode == 0
    assert (machine.uid_of("keepword") is not None) == is_there
