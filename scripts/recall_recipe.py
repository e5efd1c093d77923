"""Recall scoring: signals of the candidates in, a ranked list out. Pure functions over arrays; no I/O, no model.

One candidate is one message (turn). Nothing here depends on which other candidates were fetched: no z-scores, no
min-max, so the score of a message is the same whatever N was, and it can be explained term by term.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Recipe:
    """Weights as data. `reach[d]` is the share of a term that only the turn d places away has (d < 0: earlier)."""

    short: float = 20.0  # distinct lexemes up to which a message is short: each of its words counts fully
    length: float = 80.0  # so many more, and a word counts half
    reach: Mapping[int, float] = field(default_factory=lambda: {-1: 0.6, -2: 0.4, 1: 0.4, 2: 0.3})
    soft: float = 0.8  # share of a term for which the turn has only a similar word
    soft_floor: float = 0.2  # cosine from which a word is similar
    year: float = 1.0  # weights of the date in the question, in units of idf
    month: float = 4.0
    day: float = 4.0
    person: float = 2.0  # "I, my" in the question: said by the user; "you, your": said by the agent
    instant: float = 0.2
    deep: float = 0.0


FAST = Recipe()
BEST = Recipe(deep=0.2)


# --- the question ------------------------------------------------------------------------------------------------

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE = re.compile(rf"\b(?:{_DAY}\s+(?:of\s+)?)?{_MONTH}\b\.?(?:\s+{_DAY}\b)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


@dataclass(frozen=True)
class NamedDate:
    year: int | None
    month: int | None
    day: int | None


def named_dates(question: str) -> list[NamedDate]:
    """Dates that the question names with a month or a year; months only when capitalised ("May", not "may")."""
    years = [int(y) for y in _YEAR.findall(question)]
    found = []
    for match in _DATE.finditer(question):
        before, name, after = match.groups()
        if match.start() == 0 and name in ("May", "March") and not after:
            continue  # "May I ...", "March to ..."
        day = int(before or after or 0)
        found.append(NamedDate(years[0] if years else None, MONTHS.index(name[:3].lower()) + 1, day or None))
    return found or [NamedDate(year, None, None) for year in years]


def speaker_asked_for(question: str) -> str | None:
    """'agent' when the question says "you", else 'user' when it says "I" or "my", else nobody in particular."""
    if re.search(r"\b(you|your)\b", question, re.IGNORECASE):
        return "agent"
    return "user" if re.search(r"\b(I|[Mm]y|[Mm]e|[Mm]ine)\b", question) else None


def idf(df: float, entries: int) -> float:
    return math.log(1 + (entries - df + 0.5) / (df + 0.5))


# --- signals -----------------------------------------------------------------------------------------------------


def length_share(lexemes: Floats, recipe: Recipe) -> Floats:
    """What one word of a message is worth, by the number of its distinct lexemes: 1 in a short one, less in a long."""
    over = np.maximum(lexemes - recipe.short, 0)
    return np.asarray(1.0 / (1.0 + over / recipe.length), np.float32)


def soft_matches(query_words: Floats, vocabulary: Floats, pieces: Sequence[NDArray[np.uint16]]) -> Floats:
    """Cosine of each question word to the most similar word of each message (messages by words).

    `query_words`: unit vectors, one per question term (its word pieces' table rows summed);
    `vocabulary`: unit vectors of all tokens; `pieces`: each message's distinct tokens that are whole words and
    no stop words.
    """
    out = np.zeros((len(pieces), len(query_words)), np.float32)
    filled = [i for i, p in enumerate(pieces) if len(p)]
    if not filled or not len(query_words):
        return out
    joined = np.concatenate([pieces[i] for i in filled])
    starts = np.cumsum([0] + [len(pieces[i]) for i in filled[:-1]])
    row = np.full(len(vocabulary), -1, np.intp)  # each distinct token is compared once
    row[joined] = 0
    distinct = np.flatnonzero(row == 0)
    row[distinct] = np.arange(len(distinct))
    similar = query_words @ vocabulary[distinct].T
    out[filled] = np.maximum.reduceat(similar[:, row[joined]], starts, axis=1).T
    return out


def term_matches(
    has: Bools, share: Floats, similar: Floats, beside: Mapping[int, NDArray[np.intp]], recipe: Recipe
) -> Floats:
    """How far each message has each term of the question: itself, by a similar word, or by the turns beside it.

    `has`, `similar`: messages by terms; `share`: messages; `beside[d]`: row of the turn d places away in the same
    conversation and session, -1 if there is none. Rows that are only neighbours may be among the messages.
    """
    own = has * share[:, None]
    near = np.clip((similar - recipe.soft_floor) / (1 - recipe.soft_floor), 0, 1)
    best = np.maximum(own, recipe.soft * near * share[:, None])
    for distance, weight in recipe.reach.items():
        row = beside[distance]
        best = np.maximum(best, weight * np.where((row >= 0)[:, None], own[row], 0))
    return np.asarray(best, np.float32)


def date_match(named: Sequence[NamedDate], said_on: date, recipe: Recipe) -> float:
    """How well the day of a message fits the best of the dates that the question names."""
    best = 0.0
    for want in named:
        if want.year is not None and want.year != said_on.year:
            continue
        value = recipe.year if want.year is not None else 0.0
        if want.month == said_on.month:
            value += recipe.month
            if want.day is not None:
                value += recipe.day * max(0.0, 1 - abs(said_on.day - want.day) / 7)
        best = max(best, value)
    return best


def score(
    matches: Floats,
    idfs: Floats,
    dates: Floats,
    speaker_fits: Bools,
    instant: Floats,
    deep: Floats | None,
    recipe: Recipe,
) -> Floats:
    """One number per message. `instant`, `deep`: cosines (deep: the best chunk's; the instant one where not embedded)."""
    words = matches @ idfs + dates + recipe.person * speaker_fits
    total = words / max(float(idfs.sum()), 4.0) + recipe.instant * np.maximum(instant, 0)
    if deep is not None and recipe.deep:
        total = total + recipe.deep * np.maximum(deep, 0)
    return total.astype(np.float32)


def ranked(ids: Sequence[int], scores: Floats, limit: int) -> list[tuple[int, float]]:
    order = np.argsort(-scores, kind="stable")[:limit]
    return [(ids[i], float(scores[i])) for i in order]
