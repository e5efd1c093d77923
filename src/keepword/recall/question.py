"""Parses a query: words, dates, speaker, and literals such as paths and ids."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keepword import patterns
from keepword.embedding.instant import Floats, InstantTable
from keepword.embedding.words import Hashes, WordForms, hashed, read_words, surfaces
from keepword.language.names import fold
from keepword.language.persons import Person, person_in
from keepword.recall.rates import word_rates
from keepword.recall.time_words import NamedDate

# only the beginning of a longer text is read: its question rarely stands later
MAX_QUESTION_CHARS = 8_000
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE = patterns.in_short(rf"\b(?:{_DAY}\s++(?:of\s++)?)?{_MONTH}\b\.?(?:\s++{_DAY}\b)?", MAX_QUESTION_CHARS)
_YEAR = patterns.anywhere(r"\b(?:19|20)\d\d\b")
# "can you suggest" asks for something now, "can you remind me" for what was said; the group is there in the first alone
_YOU = patterns.in_short(
    r"\b(?:((?:can|could|would|will|do)\s++)(?!you\s++(?:please\s++)?(?:remind|remember|recall|repeat)\b))?+(?:you|your)\b",
    MAX_QUESTION_CHARS,
    patterns.IGNORECASE,
)
_I = patterns.in_short(r"\b(I|[Mm]y|[Mm]e|[Mm]ine)\b", MAX_QUESTION_CHARS)
# literals: paths, ids, versions, dotted and snake names, mixed letters and digits
_LITERAL = patterns.anywhere(r"[\w@#$~./:\\+-]++")
_AFTER_LITERAL = "@#$~.:\\+-"
_INSIDE = patterns.in_short(r"\w[._/:\\@#-]\w|[A-Za-z]\d|\d[A-Za-z]|^[/.~]\w", MAX_QUESTION_CHARS)
# words of everyday language: dairy-free, week-long, 5-day
_COMPOUND = patterns.at_start(r"(?:\d++|[^\W\d_]++)(?:-[^\W\d_]++)++\Z")
_ORDINAL = patterns.at_start(r"\d++(st|nd|rd|th|s|am|pm)\Z", patterns.IGNORECASE)
# the first word of a user's id, as 52_packing.sql cuts it
_FIRST_NAME = patterns.anywhere(r"[^ ._@:/+-]++")
# no names: ids such as user-42 begin with them
_NOBODY = frozenset({"user", "users", "customer", "client", "guest"})
MIN_LITERAL_CHARS = 4
MAX_LITERALS = 3
MAX_TERMS = 48

Window = tuple[datetime, datetime]
Speaker = Literal["agent", "user"]
_SPEAKERS: Mapping[Person, Speaker] = {"you": "agent", "me": "user"}


@dataclass(frozen=True, slots=True)
class Question:
    """`terms` are stems, `surfaces` the words that they are of, by stem; `pieces` and `directions` belong to terms.

    `pieces`: how many tokens the term's word is cut into. `vector` is the whole question's. `window`: when what it asks
    for was said.

    A word may have a stem in each language that it can be of: `hashes` are those of all stems, `owners` says to which
    term each belongs, in order. `rates`: the share of turns of public talk in which each of these stems occurs.

    `names`: words that may be the first names of people who spoke.
    """

    text: str
    terms: tuple[str, ...]
    surfaces: Mapping[str, str]
    hashes: Hashes
    owners: NDArray[np.int64]
    rates: Floats
    pieces: NDArray[np.int64]
    directions: Floats
    vector: Floats
    dates: tuple[NamedDate, ...]
    speaker: Speaker | None
    literals: tuple[str, ...]
    window: Window | None = None
    names: tuple[str, ...] = ()

    def without(self, words: Collection[str]) -> "Question":
        """Leave out the terms of these folded words; the vector stays that of the whole text."""
        stays = np.array([self.surfaces[term] not in words for term in self.terms], np.bool_)
        kept = stays[self.owners]
        return replace(
            self, terms=tuple(term for term, is_in in zip(self.terms, stays, strict=True) if is_in),
            hashes=self.hashes[kept], owners=(np.cumsum(stays) - 1)[self.owners[kept]], rates=self.rates[kept],
            pieces=self.pieces[stays], directions=self.directions[stays],
        )  # fmt: skip

    def by_term(self, values: Floats) -> Floats:
        """Return the largest of the values of each term's stems."""
        if len(self.terms) == len(self.hashes):
            return values
        most = np.zeros(len(self.terms), np.float32)
        np.maximum.at(most, self.owners, values)
        return most


def ask(text: str, table: InstantTable) -> Question:
    """Read a question; of a text that is longer than `MAX_QUESTION_CHARS`, its beginning."""
    text = text[:MAX_QUESTION_CHARS]
    forms = read_words(text)
    by_stem: dict[str, str] = {}
    stems: dict[str, tuple[str, ...]] = {}
    for surface in dict.fromkeys(forms.stems):
        if found := forms.stems[surface]:
            by_stem.setdefault(found[0], surface)
            stems[found[0]] = tuple(dict.fromkeys((*stems.get(found[0], ()), *found)))
    terms = tuple(by_stem)[:MAX_TERMS]
    owners = np.array([place for place, term in enumerate(terms) for _ in stems[term]], np.int64)
    hashes = np.array([hashed(stemmed) for term in terms for stemmed in stems[term]], np.int32)
    return Question(
        text,
        terms,
        by_stem,
        hashes,
        owners,
        word_rates().of(hashes),
        np.array([len(table.tokens(by_stem[term])) for term in terms], np.int64),
        _directions([by_stem[term] for term in terms], table),
        table.vector(table.distinct_tokens(forms.telling)),
        named_dates(text),
        speaker_asked_for(text, forms),
        literals(text),
        names=names_in(text, [by_stem[term] for term in terms]),
    )


def _directions(words: list[str], table: InstantTable) -> Floats:
    vectors = [table.vector(np.array(sorted(set(table.tokens(word))), np.uint16)) for word in words]
    return (
        np.array(vectors, np.float32)
        if vectors
        else np.zeros((0, len(table.vector(np.zeros(0, np.uint16)))), np.float32)
    )


def names_in(text: str, telling: Collection[str]) -> tuple[str, ...]:
    """Return the words that may name who spoke, in lower case, with and without accents."""
    known = set(telling) - _NOBODY
    return tuple(sorted({one for word in surfaces(text.lower()) if fold(word) in known for one in (word, fold(word))}))


def first_name(user: str) -> str:
    """Return the first word of a user's id in lower case: "anna" of "Anna.Schmidt"."""
    found = _FIRST_NAME.search(user)
    return found[0].lower() if found else ""


def named_dates(question: str) -> tuple[NamedDate, ...]:
    """Return the dates that it names with a month or a year; months only when capitalised ("May", not "may")."""
    years = [int(year) for year in _YEAR.findall(question)]
    dates = []
    for match in _DATE.finditer(question):
        before, name, after = match.groups()
        if match.start() == 0 and name in {"May", "March"} and not after:
            continue  # "May I ...", "March to ..."
        day = int(before or after or 0)
        dates.append(NamedDate(years[0] if years else None, _MONTHS.index(name[:3].lower()) + 1, day or None))
    return tuple(dates) or tuple(NamedDate(year, None, None) for year in years)


def speaker_asked_for(question: str, forms: WordForms | None = None) -> Speaker | None:
    if forms and forms.languages:
        person = person_in(forms.stems, forms.languages)
        return _SPEAKERS[person] if person else None
    if any(match[1] is None for match in _YOU.finditer(question)):
        return "agent"
    return "user" if _I.search(question) else None


def literals(question: str) -> tuple[str, ...]:
    """Return the literals of a query: `src/main.py`, `KW-1204`, `user_id`, `v2.3.1`."""
    texts = dict.fromkeys(
        token for run in _LITERAL.findall(question) if (token := run.rstrip(_AFTER_LITERAL))
        if len(token) >= MIN_LITERAL_CHARS and _INSIDE.search(token)
        and not _ORDINAL.match(token) and not _COMPOUND.match(token)
    )  # fmt: skip
    return tuple(texts)[:MAX_LITERALS]
