"""Loads models and code for the first turns while the database starts. A part of the composition root."""

import asyncio
import contextlib
from concurrent.futures import Future
from functools import cache
from uuid import UUID

from keepword import access, tokens
from keepword.access import Place, Viewer
from keepword.compose import ORDER, Composer, ComposeRequest
from keepword.compose.template_loader import built_in
from keepword.daemon import run_in_daemon
from keepword.errors import KeepwordError

# the database plans its statements on each connection anew, and a pool begins with two
TURNS = 2
_NO_TENANT = UUID(int=0)
_NOBODY = "preload"
# reading these may refresh or refill something
_READ_ONLY = frozenset(ORDER) - {"session", "transcript"}


@cache
def begin() -> "Future[None]":
    """Load the tables in a thread, once a process.

    Nobody waits for the thread when the process ends: loading takes most of a second, and a signal must not wait.
    """
    return run_in_daemon(_load_tables, "preload")


def _load_tables() -> None:
    tokens.load()
    built_in()


class Preload:
    """Composes turns of a conversation that nobody has, until all that a turn uses was used; then `is_done` is set."""

    def __init__(self, composer: Composer, recipe: str) -> None:
        self._composer = composer
        self._request = ComposeRequest(
            "Is everything loaded?", _NOBODY, sections=_READ_ONLY, dry_run=True, recipe=recipe
        )
        self.done = asyncio.Event()

    async def run(self) -> None:
        try:
            await asyncio.wrap_future(begin())
            place = Place("session", _NOBODY, _NOBODY)
            grant = access.grant(Viewer(_NO_TENANT, "reader"), place)
            # a layer that fails here is asked again by a turn, which reports it
            with contextlib.suppress(KeepwordError):
                for _ in range(TURNS):
                    await self._composer.compose(grant, place, self._request)
        finally:
            self.done.set()
