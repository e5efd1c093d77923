"""A turn that is cancelled takes what it asked for with it."""

import asyncio
import contextlib
import gc
from types import SimpleNamespace

import pytest

from keepword.compose import Composer
from keepword.errors import Unavailable

pytestmark = pytest.mark.anyio


async def test_what_fails_after_a_cancelled_turn_is_nobodys_failure():
    """Such as a search whose pool is closed, because the program that opened it goes away."""
    unheard, closed = [], asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))

    async def ask():
        await closed.wait()
        raise Unavailable("the pool is closed")

    composer = SimpleNamespace(layers=SimpleNamespace(together=contextlib.nullcontext), layer_seconds=60)
    turn = asyncio.ensure_future(Composer._ask(composer, {"recall": ask, "facts": ask}))
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    closed.set()
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    assert unheard == []
