"""keepword memories: what was worth keeping of what was said, a sentence each."""

import json
from typing import Annotated, Any

import typer

from keepword.cli.service import AsAgent, AsUser, plain, read_pages, service
from keepword.cli.tables import minute, print_row, print_rows
from keepword.errors import InvalidInput

app = typer.Typer(help="Memories: what was worth keeping of what was said, with its sources.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="The memory's id.")]
Place = Annotated[str | None, typer.Option("--in", help="Read in this conversation's place; default: the tenant.")]
Type = Annotated[str | None, typer.Option("--type", help="Only this type, such as preference.")]
AsOf = Annotated[str | None, typer.Option(help="Those that were valid at this ISO time or day.")]

_COLUMNS = {
    "id": lambda row: row["id"],
    "type": lambda row: row["type"],
    "where": lambda row: row["run_id"],
    "said": lambda row: minute(row["said_at"]),
    "memory": lambda row: row["content"],
}


@app.command("list")
def list_(
    place: Place = None,
    kind: Type = None,
    as_of: AsOf = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 1000,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """List the memories that are valid, oldest first: a table on a terminal, JSON lines in a pipe."""
    with service(agent, user) as kw:
        rows = read_pages(kw.memories.list, "memories", limit, conversation=place, type=kind, as_of=as_of)
        print_rows(rows, _COLUMNS)


@app.command()
def show(memory: Id, place: Place = None, agent: AsAgent = None, user: AsUser = None) -> None:
    """Show a memory with the ids of the messages that it came from, and what it said before."""
    with service(agent, user) as kw:
        memory_fields = plain(kw.memories.get(memory, conversation=place))
        history = read_pages(lambda **page: kw.memories.history(memory, conversation=place, **page), "versions", 1000)
        versions = [f"{minute(row['written_at'])} {row['event']}: {row['content']}" for row in history]
    print_row(memory_fields | {"history": versions})


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    place: Place = None,
    kind: Annotated[list[str] | None, typer.Option("--type", help="Only these types; may be repeated.")] = None,
    as_of: AsOf = None,
    limit: Annotated[int, typer.Option(help="How many, 1 to 50.")] = 10,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Find memories, best first. `keepword search` looks through everything that was said."""
    options: dict[str, Any] = {"types": kind or None, "as_of": as_of, "limit": limit}
    with service(agent, user) as kw:
        hits = plain(kw.memories.search(query, conversation=place, **options))["results"]
    rows = [{"score": hit["score"], **hit["memory"]} for hit in hits]
    print_rows(rows, {"score": lambda row: f"{row['score']:.3f}", **_COLUMNS})


@app.command()
def delete(memory: Id, place: Place = None, agent: AsAgent = None, user: AsUser = None) -> None:
    """Delete a memory. Its history and the messages that it came from stay."""
    with service(agent, user) as kw:
        kw.memories.delete(memory, conversation=place)
    print(f"deleted {memory}")


@app.command()
def restore(memory: Id, place: Place = None, agent: AsAgent = None, user: AsUser = None) -> None:
    """Bring a deleted memory back as it was."""
    with service(agent, user) as kw:
        print(f"restored: {kw.memories.restore(memory, conversation=place).content}")


Filters = Annotated[str, typer.Argument(help='A tree as JSON, such as {"user": "ann", "NOT": {"category": "work"}}.')]


@app.command()
def query(
    filters: Filters,
    place: Place = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 1000,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """List the memories that pass filters, also deleted ones: a table on a terminal, JSON lines in a pipe."""
    tree = _tree(filters)
    with service(agent, user) as kw:
        rows = read_pages(lambda **page: kw.memories.query(tree, conversation=place, **page), "memories", limit)
        print_rows(rows, _COLUMNS)


@app.command("delete-matching")
def delete_matching(
    filters: Filters,
    place: Place = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    agent: AsAgent = None,
    user: AsUser = None,
) -> None:
    """Delete all memories that pass filters. `keepword memories restore` brings each back."""
    tree = _tree(filters)
    deleted = 0
    with service(agent, user) as kw:
        while True:
            answer = kw.memories.delete_matching(tree, conversation=place, dry_run=dry_run)
            deleted += answer.deleted
            if dry_run or answer.deleted in {0, answer.matched}:
                break
    print(f"{answer.matched} would be deleted" if dry_run else f"deleted {deleted}")


def _tree(filters: str) -> dict[str, Any]:
    try:
        tree = json.loads(filters)
    except ValueError as exc:
        raise InvalidInput(f"the filters are not JSON: {exc}", "filters") from exc
    if not isinstance(tree, dict):
        raise InvalidInput('the filters must be an object, such as {"user": "ann"}', "filters")
    return tree
