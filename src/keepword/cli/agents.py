"""keepword agents: what belongs to agents."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from keepword.cli.service import read_pages, service
from keepword.cli.tables import minute, print_rows
from keepword.compose.files import check_file_name
from keepword.errors import InvalidInput
from keepword.terminal import shown

app = typer.Typer(
    help="What belongs to an agent: its files, and the users who are introduced to it.", no_args_is_help=True
)
files = typer.Typer(help="An agent's own files: SOUL.md, MEMORY.md, notes by date.", no_args_is_help=True)
app.add_typer(files, name="files")

Slug = Annotated[str, typer.Argument(help="The agent's slug.")]
Name = Annotated[str, typer.Argument(help="The file's name, such as SOUL.md; a name, not a path.")]


User = Annotated[str, typer.Argument(help="The user's id.")]
Limit = Annotated[int, typer.Option(help="How many at most.", min=1)]
_COLUMNS = {
    "user": lambda row: row["user"],
    "introduced by": lambda row: row["introduced_by"],
    "at": lambda row: minute(row["introduced_at"]),
}


@app.command()
def introduce(slug: Slug, user: User) -> None:
    """Introduce a user to an agent, so that the agent's own key may act with them."""
    with service() as kw:
        kw.agents.introduce(slug, user)


@app.command()
def withdraw(slug: Slug, user: User) -> None:
    """Take an introduction back; it counts from the agent's next call on."""
    with service() as kw:
        kw.agents.withdraw(slug, user)


@app.command()
def users(slug: Slug, limit: Limit = 1000) -> None:
    """List the users who are introduced to an agent, by which key and when."""
    with service() as kw:
        print_rows(read_pages(kw.agents.users, "users", limit, slug=slug), _COLUMNS)


@files.command()
def put(
    slug: Slug,
    name: Name,
    source: Annotated[Path | None, typer.Argument(help="Where to read it; without it, from a pipe.")] = None,
) -> None:
    """Write a file and print its version."""
    if source is None and sys.stdin.isatty():
        raise InvalidInput("say which file to read, or pipe the content in", "source")
    content = sys.stdin.read() if source is None else _read(source)
    with service() as kw:
        print(kw.agents.put_file(slug, check_file_name(name), content).version)


@files.command()
def get(slug: Slug, name: Name) -> None:
    """Print a file."""
    with service() as kw:
        sys.stdout.write(shown(kw.agents.file(slug, check_file_name(name)).content or ""))


@files.command("list")
def list_(slug: Slug) -> None:
    """List the files: name, version, bytes."""
    with service() as kw:
        for file in _all_files(kw, slug):
            print(f"{shown(file['name'])}\t{file['version']}\t{len((file['content'] or '').encode())}")


@files.command()
def sync(slug: Slug, folder: Annotated[Path, typer.Argument(help="A folder with *.md files.")]) -> None:
    """Write every *.md file of a folder that differs from what is kept; nothing is deleted."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder", "folder")
    with service() as kw:
        kept = {file["name"]: file["content"] for file in _all_files(kw, slug)}
        for source in sorted(folder.glob("*.md")):
            content = _read(source)
            if kept.get(source.name) != content:
                written = kw.agents.put_file(slug, check_file_name(source.name), content)
                print(json.dumps({"name": written.name, "version": written.version}))


def _all_files(kw: Any, slug: str) -> Iterator[dict[str, Any]]:
    return read_pages(kw.agents.files, "files", sys.maxsize, slug=slug)


def _read(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"can't read {source}: {exc}", "source") from exc
