"""The deep space that searches use, and the model that makes its vectors."""

import asyncio
import time
from typing import Protocol

from keepword.embedding.embedders import Embedders
from keepword.embedding.ports import Embedder
from keepword.errors import KeepwordError
from keepword.recall.ports import DeepModel, DeepQuery

# how long after a switch searches may still use the old space
FRESH_SECONDS = 5.0
DEEP_SECONDS = 3.0


async def ask_in_time(
    model: DeepModel | None, query: str, seconds: float = DEEP_SECONDS
) -> tuple[DeepQuery | None, list[str]]:
    """Return the question's deep vector, or None and what is to be told in its place."""
    deep, reason = None, "no embedder for the space that is served is set up here"
    try:
        async with asyncio.timeout(seconds):
            deep = await model.ask(query) if model else None
    except (KeepwordError, TimeoutError) as exc:
        reason = str(exc) or "it took too long"
    return deep, [] if deep else [f"deep: {reason}; answered from words and the instant space"]


class Spaces(Protocol):
    async def serving(self) -> tuple[int, str] | None:
        """Return the number and name of the deep space that is served."""
        ...


class ServedModel:
    def __init__(self, spaces: Spaces, models: Embedders) -> None:
        self._spaces = spaces
        self._models = models
        self._known: tuple[int, str] | None = None
        self._known_at = float("-inf")

    async def space(self) -> int | None:
        """Return the number of the space that is served, or None if there is no space or no model for it."""
        number, model = await self._serving()
        return number if model else None

    async def ask(self, text: str) -> DeepQuery | None:
        """Return the vector of a question, or None if there is no space or no model for it. Raises Unavailable."""
        number, model = await self._serving()
        if model is None:
            return None
        space = await model.space()
        return DeepQuery(number, await model.embed_query(text), space.is_tuned)

    async def _serving(self) -> tuple[int, Embedder | None]:
        if time.monotonic() - self._known_at > FRESH_SECONDS:
            self._known = await self._spaces.serving()
            self._known_at = time.monotonic()
        if self._known is None:
            return 0, None
        number, name = self._known
        return number, await self._models.of(name)
