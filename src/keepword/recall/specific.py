"""Of several summaries of the same messages, the most specific one."""

from collections.abc import Sequence
from typing import Protocol, TypeVar


class _Covering(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def conversation(self) -> str | None: ...

    @property
    def covers(self) -> tuple[int, int] | None: ...


_Hit = TypeVar("_Hit", bound=_Covering)


def most_specific(hits: Sequence[_Hit], most_summaries: int) -> list[_Hit]:
    """Leave out each summary that stands above another one here, and of equal ones all but the first.

    At most `most_summaries` stay, the first ones.
    """
    summaries = [hit for hit in hits if hit.kind == "summary"]
    kept = [
        hit
        for place, hit in enumerate(summaries)
        if not any(_is_above(hit, other, is_later=number < place) for number, other in enumerate(summaries))
    ]
    shown = {id(hit) for hit in kept[:most_summaries]}
    return [hit for hit in hits if hit.kind != "summary" or id(hit) in shown]


def _is_above(hit: _Covering, other: _Covering, *, is_later: bool) -> bool:
    """Tell whether a summary covers all that the other covers, and more; of two that cover the same, the later."""
    if hit is other or hit.covers is None or other.covers is None or hit.conversation != other.conversation:
        return False
    holds = hit.covers[0] <= other.covers[0] and other.covers[1] <= hit.covers[1]
    return holds and (hit.covers != other.covers or is_later)
