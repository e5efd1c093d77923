"""The running service, as commands call it: through the client that programs use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_jsonable_python

from keepword.client import Client, SyncClient
from keepword.config import Settings, read_settings
from keepword.errors import InvalidInput, Unauthenticated

AsAgent = Annotated[str | None, typer.Option("--agent", help="Act as this agent.")]
AsUser = Annotated[str | None, typer.Option("--user", help="Act for this user.")]

TIMEOUT_SECONDS = 60
_PAGE = 200


@contextmanager
def service(
    agent: str | None = None,
    user: str | None = None,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    key_file: Path | None = None,
) -> Iterator[SyncClient]:
    settings = read_settings().settings
    key = settings.key.get_secret_value() if settings.key else None
    if key_file is not None:
        key = _read_key(key_file)
    try:
        with Client.sync(address(settings), key, agent=agent, user=user, timeout_seconds=timeout_seconds) as kw:
            yield kw
    except Unauthenticated as exc:
        raise Unauthenticated(f"{exc} (the command line sends the key in KEEPWORD_KEY)") from exc


def _read_key(file: Path) -> str:
    try:
        return file.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"the key can't be read from {file}: {exc}", "key_file") from exc


def address(settings: Settings) -> str:
    """Return the url of the service: KEEPWORD_URL, or where one with these settings listens."""
    if settings.url:
        return str(settings.url).rstrip("/")
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def plain(answer: object) -> Any:
    """Return an answer as JSON values, as the service sent it."""
    return to_jsonable_python(answer)


def read_pages(read: Callable[..., object], items: str, limit: int, **options: Any) -> Iterator[dict[str, Any]]:
    """Yield up to `limit` items of a list that comes in pages, as JSON values."""
    cursor = None
    while limit > 0:
        page = plain(read(limit=min(limit, _PAGE), cursor=cursor, **options))
        yield from page[items]
        limit -= len(page[items])
        cursor = page["next"]
        if cursor is None:
            break
