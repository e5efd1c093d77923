"""keepword agents: what belongs to agents."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from keepword.cli.remote import Remote, segment
from keepword.compose.files import check_file_name
from keepword.errors import InvalidInput
from keepword.model import check_slug
from keepword.terminal import shown

app = typer.Typer(help="What belongs to an agent: the files that say who it is and how it works.", no_args_is_help=True)
files = typer.Typer(help="An agent's own files: SOUL.md, MEMORY.md, notes by date.", no_args_is_help=True)
app.add_typer(files, name="files")

Slug = Annotated[str, typer.Argument(help="The agent's slug.")]
Name = Annotated[str, typer.Argument(help="The file's name, such as SOUL.md; a name, not a path.")]


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
    print(Remote().call("PUT", _path(slug, name), {"content": content})["version"])


@files.command()
def get(slug: Slug, name: Name) -> None:
    """Print a file."""
    sys.stdout.write(shown(Remote().call("GET", _path(slug, name))["content"]))


@files.command("list")
def list_(slug: Slug) -> None:
    """List the files: name, version, bytes."""
    for file in Remote().call("GET", _path(slug))["files"]:
        print(f"{shown(file['name'])}\t{file['version']}\t{len(file['content'].encode())}")


@files.command()
def sync(slug: Slug, folder: Annotated[Path, typer.Argument(help="A folder with *.md files.")]) -> None:
    """Write every *.md file of a folder that differs from what is kept; nothing is deleted."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder", "folder")
    remote = Remote()
    kept: dict[str, Any] = {file["name"]: file for file in remote.call("GET", _path(slug))["files"]}
    for source in sorted(folder.glob("*.md")):
        content = _read(source)
        if source.name not in kept or kept[source.name]["content"] != content:
            written = remote.call("PUT", _path(slug, source.name), {"content": content})
            print(json.dumps({"name": source.name, "version": written["version"]}))


def _path(slug: str, *name: str) -> str:
    # a slash would make another path of it, and the answer would be about that
    return "/".join((f"/v1/agents/{segment(check_slug(slug, 'slug'))}/files", *map(check_file_name, name)))


def _read(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"can't read {source}: {exc}", "source") from exc
