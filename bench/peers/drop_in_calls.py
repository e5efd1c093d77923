"""Texts that are all different, and calls that alternate between stores: for both parts of bench/drop_in.py."""

import statistics
import time
from collections.abc import Callable, Sequence

WARM = 10
SETTLE_SECONDS = 10
_PEOPLE = ("Ann", "Bob", "Chloe", "Dev", "Elif", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mira")
_THINGS = (
    "drinks {} tea in the morning", "keeps a {} bicycle in the cellar", "plans a trip along the {} coast",
    "wrote a letter about the {} bridge", "is allergic to {} walnuts", "bought a {} lamp for the kitchen",
    "sings in the choir of the {} church", "repairs {} radios on Sundays", "reads {} novels on the train",
)  # fmt: skip
_KINDS = ("green", "old", "northern", "stone", "roasted", "copper", "little", "broken", "Russian", "quiet", "painted")


def text(number: int) -> str:
    person = _PEOPLE[number % len(_PEOPLE)]
    thing = _THINGS[number // len(_PEOPLE) % len(_THINGS)]
    return f"{person} {thing.format(_KINDS[number // 7 % len(_KINDS)])}, as told at meeting {number}."


def question(number: int) -> str:
    said = text(number).removesuffix(".").split(", ")[0].split(" ")
    return f"Which {said[-3]} {said[-2]} {said[-1]} was it that {said[0]} spoke of?"


def settle() -> None:
    """Give the service's worker time to embed what was just stored."""
    time.sleep(SETTLE_SECONDS)


def alternate(calls: Sequence[Callable[[int], object]], count: int) -> list[float]:
    """Return each call's median in ms; the first few of each do not count."""
    taken: list[list[float]] = [[] for _ in calls]
    for number in range(count):
        for call, times in zip(calls, taken, strict=True):
            started = time.perf_counter()
            call(number)
            times.append(1000 * (time.perf_counter() - started))
    return [statistics.median(times[WARM:] or times) for times in taken]
