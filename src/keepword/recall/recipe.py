"""Recipes: how much each signal counts. They are data; a new one needs no code."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from keepword.errors import InvalidInput
from keepword.recall.calibration import MIN_WEIGHT, Calibration


@dataclass(frozen=True, slots=True)
class Recipe:
    """The weights of the signals and their parameters. docs/recall.md says how they were chosen."""

    name: str
    words: float = 1.0
    instant: float = 0.2
    deep: float = 0.0
    # an entry without a deep vector gets so much of its instant similarity in its place
    stand_in: float = 1.0
    # the instant weight where too little is embedded in the deep space; None: any share will do
    without_deep: float | None = None
    temporal: float = 0.0
    importance: float = 0.0
    literal: float = 1.0
    # a word of a message is worth 1 up to `short` distinct words, then less: half at `short + length`
    short: float = 20
    length: float = 90
    # the share of a word's weight that a message gets from a neighbouring turn, by distance (negative: earlier)
    reach: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({-2: 0.4, -1: 0.6, 1: 0.4, 2: 0.3}))
    # the factors of that share between people, with an agent's turn between them, from an agent to a person and back:
    # people answer one another in few words, an agent's long turn holds many words that the person never meant
    people: float = 1.2
    across_agent: float = 1.0
    from_agent: float = 0.6
    to_agent: float = 1.0
    # a similar word counts as `soft` of the word itself at most; below this cosine it does not count
    soft: float = 0.8
    soft_floor: float = 0.2
    # the instant weight by which the rows are chosen whose words are compared
    likely: float = 0.2
    # the words of a question weigh no less than this together: one common word says less than the likeness of the whole
    min_weight: float = MIN_WEIGHT
    # in units of a word's weight: a date in the question that fits the day of a message, and its speaker
    year: float = 1.0
    month: float = 4.0
    day: float = 4.0
    person: float = 2.0
    # added to a message that was said by somebody whom the question names
    named: float = 0.1
    # added to a message inside the window that the question's words for time mean
    window: float = 0.5
    # the factor of a summary's score: below 1, so that the messages that it repeats come before it
    summary: float = 0.5
    # the factor of a memory's score: below 1, because short texts that name their speaker score above messages
    memory: float = 0.7
    # where an agent is preferred, what was said with another agent counts this much: both know the room, but what was
    # said to the one that answers was meant for it
    other_agent: float = 0.85
    # below this sum an entry has next to nothing to do with the question; nothing is a better answer. Of LoCoMo's and
    # LongMemEval's answers among the first ten the lowest has .21 (best: .29); made-up words reach .13 (best: .24)
    floor: float = 0.15
    # the curve that turns the sum of shares into a score; None: the sum is the score
    calibration: Calibration | None = None
    # scaled to the best candidate instead of to the question: how the seed's formula compares words
    relative: bool = False


_SEED = Recipe(
    "seed", words=0.3, instant=0.0, deep=0.3, temporal=0.3, importance=0.1, literal=0.0, reach=MappingProxyType({}),
    soft=0.0, year=0.0, month=0.0, day=0.0, person=0.0, named=0.0, window=0.0, summary=1.0, memory=1.0, other_agent=1.0,
    floor=0.05, relative=True,
)  # fmt: skip
_OF_FAST = Calibration(total=7.65, weight=2.031, offset=-14.223)
_FAST = Recipe("fast", calibration=_OF_FAST)
_BEST = Recipe(
    "best", instant=0.15, deep=0.7, stand_in=0.5, across_agent=0.8, to_agent=0.85, min_weight=8.0, floor=0.35,
    calibration=Calibration(total=6.191, weight=1.573, offset=-13.3),
)  # fmt: skip
# in a deep space whose model was not tuned for conversation, and where too little is embedded
_BEST_UNTUNED = Recipe("best", deep=0.2, calibration=_OF_FAST)
_BEST_WITHOUT_DEEP = replace(_FAST, name="best")
RECIPES: Mapping[str, Recipe] = MappingProxyType({one.name: one for one in (_FAST, _BEST, _SEED)})
DEFAULT = "best"
# where a smaller share of the scope is in the deep space, `best` would find less than `fast`
MIN_EMBEDDED = 0.95


def recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise InvalidInput(f"recipe {name!r} is not known; there are: {', '.join(sorted(RECIPES))}", "recipe")
    return RECIPES[name]


def for_space(chosen: Recipe, *, is_tuned: bool, embedded: float) -> Recipe:
    """Return the recipe with its weights for a deep space: whether its model is tuned, how much of the scope it has."""
    if chosen == _BEST and embedded and not is_tuned:
        return _BEST_UNTUNED
    if chosen == _BEST and embedded < MIN_EMBEDDED:
        return _BEST_WITHOUT_DEEP
    if chosen.without_deep is not None and embedded < MIN_EMBEDDED:
        return replace(chosen, instant=chosen.without_deep, deep=0.0)
    return chosen
