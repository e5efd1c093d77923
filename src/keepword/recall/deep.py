"""The deep space that searches use, and the model that makes its vectors."""

import time
from typing import Protocol

from keepword.embedding.embedders import Embedders
from keepword.embedding.ports import Embedder
from keepword.recall.ports import DeepQuery

# how long after a switch searches may still use the old space
FRESH_SECONDS = 5.0


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
