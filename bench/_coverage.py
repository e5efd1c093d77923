"""Evidence coverage: how often all the turns that answer a question are in the context composed for it."""

import statistics
import time
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import UUID

from _sets import Asked
from keepword.access import Grant, Place
from keepword.answers import ComposedContext
from keepword.compose import Composer, ComposeRequest
from keepword.config import Settings
from keepword.http.services import Services
from keepword.wiring import services

AIM = 0.87
AGENT = "assistant"


class Coverage:
    """Of one set, by category: whether all evidence is shown, and whether the transcript's last turns were needed."""

    def __init__(self) -> None:
        self.shown: dict[str, list[bool]] = {}
        self.recalled: list[bool] = []
        self.tokens: list[int] = []
        self.seconds: list[float] = []

    def add(self, asked: Asked, composed: ComposedContext, turns: dict[UUID, str], seconds: float) -> None:
        recalled = turns_in(composed, "recall", turns)
        shown = recalled | turns_in(composed, "transcript", turns)
        self.shown.setdefault(asked.category, []).append(asked.evidence <= shown)
        self.recalled.append(asked.evidence <= recalled)
        self.tokens.append(composed.injected_tokens)
        self.seconds.append(seconds)

    def report(self, name: str) -> None:
        every = [each for some in self.shown.values() for each in some]
        share = statistics.mean(every)
        parts = ", ".join(f"{key} {statistics.mean(some):.3f}" for key, some in sorted(self.shown.items()))
        print(f"\n## {name}: evidence in what is composed\n")
        print(f"{len(every)} questions, {statistics.mean(self.tokens):.0f} of 4,000 tokens injected on average, "
              f"median {statistics.median(self.seconds) * 1000:.1f} ms")  # fmt: skip
        print(f"by category: {parts}")
        print(f"without the transcript's last turns: {statistics.mean(self.recalled):.3f}")
        print(f"all evidence is there: {share:.3f} (aim {AIM}): {'met' if share >= AIM else 'MISSED'}", flush=True)


def turns_in(composed: ComposedContext, section: str, turns: dict[UUID, str]) -> AbstractSet[str]:
    """Return the turns that a section shows as their own line, word for word; a summary's line counts for nothing."""
    lines = [line for one in composed.sections if one.name == section for line in one.lines]
    return {turns[UUID(line.id)] for line in lines if line.kind == "message"}


async def compose_all(
    composer: Composer, grant: Grant, place: Place, questions: list[Asked], turns: dict[UUID, str], into: Coverage
) -> None:
    for asked in questions:
        started = time.perf_counter()
        composed = await composer.compose(grant, place, ComposeRequest(asked.text, AGENT, dry_run=True))
        into.add(asked, composed, turns, time.perf_counter() - started)


def product(conninfo: str, home: Path, *, deep: bool) -> AbstractAsyncContextManager[Services]:
    """Put the service together as `keepword serve` does, without its worker."""
    settings = Settings(home=home, worker=False, embedding="local" if deep else "none")
    return services(settings, conninfo)
