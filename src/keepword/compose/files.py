"""An agent's own files: who it is and how it works, kept with all their versions."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from keepword import patterns
from keepword.access import Grant
from keepword.answers import AgentFile
from keepword.errors import InvalidInput, NotFound, TooLarge

# in the order in which they are composed; today's notes follow
WORKSPACE = ("SOUL.md", "IDENTITY.md", "USER.md", "AGENTS.md", "TOOLS.md", "MEMORY.md")
MAX_FILE_BYTES = 256 * 1024
MAX_VERSIONS = 200
MAX_FILES = 200
LAST_VERSION = 2**31 - 1
_NAME = patterns.at_start(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


class Files(Protocol):
    async def current(self, grant: Grant, agent: str, names: Sequence[str] | None = None) -> list[AgentFile]:
        """Return the newest version of all files, or of those named, by name; deleted ones are left out."""
        ...

    async def page(self, grant: Grant, agent: str, after: str, limit: int) -> list[AgentFile]:
        """Return the newest version of files after that name, by name; deleted ones are left out."""
        ...

    async def history(
        self, grant: Grant, agent: str, name: str, limit: int, before: int = LAST_VERSION
    ) -> list[AgentFile]:
        """Return the versions before that one, newest first."""
        ...

    async def put(self, grant: Grant, agent: str, name: str, content: str | None) -> bool:
        """Write a version, None to delete; False if the newest version is the same."""
        ...


def composed_names(today: date) -> tuple[str, ...]:
    return (*WORKSPACE, f"{today:%Y-%m-%d}.md")


def check_file_name(name: str) -> str:
    """Names are names: no folder, no way up."""
    if not _NAME.match(name) or ".." in name:
        raise InvalidInput(
            f"{name[:100]!r} is no file name; it has 1 to 100 of A-Z, a-z, 0-9, '.', '_' and '-', begins with a letter "
            f"or digit and has no two dots in a row; composed are {', '.join(WORKSPACE)} and notes "
            "such as 2026-01-31.md",
            "name",
        )
    return name


async def find(store: Files, grant: Grant, agent: str, name: str) -> AgentFile:
    files = await store.current(grant, agent, [check_file_name(name)])
    if not files:
        raise NotFound(f"agent {agent!r} has no file {name!r}")
    return files[0]


async def write(store: Files, grant: Grant, agent: str, name: str, content: str) -> tuple[AgentFile, bool]:
    """Write a file and tell whether that changed it. Every version before it stays."""
    check_file_name(name)
    if (size := len(content.encode())) > MAX_FILE_BYTES:
        raise TooLarge(f"the file has {size} bytes; at most {MAX_FILE_BYTES}", "content")
    changed = await store.put(grant, agent, name, content)
    return await find(store, grant, agent, name), changed


async def remove(store: Files, grant: Grant, agent: str, name: str) -> None:
    await find(store, grant, agent, name)
    await store.put(grant, agent, name, None)
