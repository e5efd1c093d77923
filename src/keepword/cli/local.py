"""What commands on this machine use without asking the service."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from keepword.config import Settings, read_settings
from keepword.postgres.embedded import database_for_command


@contextmanager
def database(settings: Settings | None = None) -> Iterator[str]:
    """Lend the database, starting the embedded one if it is down."""
    chosen = settings or read_settings().settings
    with database_for_command(chosen.home, chosen.database_url) as conninfo:
        yield conninfo


def load(part: Literal["main", "background"]) -> Any:
    """Load a part of the composition root: that takes a second, which commands that ask the service need not wait."""
    return importlib.import_module(f"keepword.{part}")
