"""Finding the few words of many for which an oracle says yes, and whether what was found is more than luck."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Oracle = Callable[[Sequence[str]], bool]


@dataclass(frozen=True)
class Guesses:
    """What an attack named, and how many of all words it had requests for."""

    named: list[str]
    tried: int


def find_by_groups(words: Sequence[str], oracle: Oracle, requests: int, largest: int) -> Guesses:
    """Ask about groups, and halve those with a yes until one word is left; each question is one request.

    What is still in a group with a yes when the requests are used up is not named.
    """
    groups = [list(words[start : start + largest]) for start in range(0, len(words), largest)][::-1]
    named: list[str] = []
    tried = 0
    for _ in range(requests):
        if not groups:
            break
        group = groups.pop()
        is_yes = oracle(group)
        if not is_yes or len(group) == 1:
            tried += len(group)
            named += group if is_yes else []
            continue
        half = len(group) // 2
        groups += [group[half:], group[:half]]
    return Guesses(named, tried)


def highest(values: dict[str, float], amount: int) -> Guesses:
    """Name the words with the highest values: for what has no yes and no, such as a time."""
    ordered = sorted(values, key=lambda word: -values[word])
    return Guesses(ordered[: min(amount, len(ordered) // 4)], len(values))


def chance_of(hits: int, named: int, said: int, words: int) -> float:
    """Return how likely so many hits or more are if `named` words are drawn blindly (hypergeometric)."""
    ways = sum(
        math.comb(said, right) * math.comb(words - said, named - right) for right in range(hits, min(said, named) + 1)
    )
    return ways / math.comb(words, named)
