"""The embedders that this process can run: the chosen one first, then those that old spaces may still need."""

from collections.abc import Sequence

from keepword.embedding.ports import Embedder
from keepword.errors import Unavailable


class Embedders:
    def __init__(self, embedders: Sequence[Embedder]) -> None:
        self.all = tuple(embedders)

    @property
    def chosen(self) -> Embedder | None:
        return self.all[0] if self.all else None

    async def of(self, space: str) -> Embedder | None:
        """Return the one that makes vectors of the space. Raises Unavailable if one that can't be asked might."""
        away: Unavailable | None = None
        for embedder in self.all:
            try:
                embedder_space = await embedder.space()
            except Unavailable as exc:
                away = exc
            else:
                if embedder_space.name == space:
                    return embedder
        if away:
            raise away
        return None

    def forget(self) -> None:
        """Let no process of theirs keep a text that it embedded."""
        for embedder in self.all:
            embedder.forget()

    async def aclose(self) -> None:
        for embedder in self.all:
            await embedder.close()
