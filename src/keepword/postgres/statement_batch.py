"""Sends statements of concurrent tasks in one round trip, over one connection."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, LiteralString

from keepword.postgres.rows import Row

# after this each statement is sent alone: a stuck one must not block the others
SECONDS = 2.0

Values = Mapping[str, Any] | Sequence[Any]
Statement = tuple[LiteralString, Values]
Rows = list[Row]


class StatementBatch:
    """Collects the statements of tasks in one turn of the loop. They share a viewer: a grant lasts a transaction."""

    def __init__(
        self,
        all_of: Callable[[Sequence[Statement]], Coroutine[Any, Any, list[Rows]]],
        one: Callable[..., Coroutine[Any, Any, Rows]],
    ) -> None:
        self._all_of = all_of
        self._one = one
        self._asked: list[tuple[Statement, asyncio.Future[Rows]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self.is_gone = False

    async def fetch(self, query: LiteralString, values: Values) -> Rows:
        loop = asyncio.get_running_loop()
        if not self._asked:
            # tasks that were made together all run before a callback that is scheduled now
            loop.call_soon(self._go)
        waiting: asyncio.Future[Rows] = loop.create_future()
        self._asked.append(((query, values), waiting))
        return await waiting

    def _go(self) -> None:
        self.is_gone = True
        # the loop itself would let it be collected
        running = asyncio.create_task(self._run())
        self._running.add(running)

    async def _run(self) -> None:
        statements = [statement for statement, _ in self._asked]
        together = asyncio.create_task(self._all_of(statements))
        await asyncio.wait({together}, timeout=SECONDS)
        if together.done() and together.exception() is None:
            for (_, waiting), rows in zip(self._asked, together.result(), strict=True):
                if not waiting.done():
                    waiting.set_result(rows)
            return
        # not awaited: a stuck statement may be slow to give up as well
        together.cancel()
        await asyncio.gather(*(self._alone(statement, waiting) for statement, waiting in self._asked))

    async def _alone(self, statement: Statement, waiting: "asyncio.Future[Rows]") -> None:
        """Answer one by itself, and stop when nobody waits for it any more."""
        alone = asyncio.create_task(self._one(*statement))
        waiting.add_done_callback(lambda _: alone.cancel())
        await asyncio.wait({alone})
        if waiting.done() or alone.cancelled():
            return
        failed = alone.exception()
        if failed is None:
            waiting.set_result(alone.result())
        else:
            waiting.set_exception(failed)
