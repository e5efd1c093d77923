"""The words for time in a question, at a clock that the test sets: Wednesday, 18 November 2026, 20:30 in Berlin."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.language.names import LANGUAGES
from keepword.language.time_phrases import PHRASES, Piece
from keepword.recall.time_words import understand

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 19, 30, tzinfo=UTC)


def read(question: str, now: datetime = NOW):
    found = understand(question, now, ZONE)
    if found is None:
        return None
    days = [
        edge and edge.astimezone(ZONE).strftime("%Y-%m-%d %H").removesuffix(" 00")
        for edge in (found.since, found.before)
    ]
    return (*days, found.order)


@pytest.mark.parametrize(
    ("question", "since", "before"),
    [
        ("What did Marco say on Wednesday?", "2026-11-11", "2026-11-12"),
        ("What did Marco say on Tuesday?", "2026-11-17", "2026-11-18"),
        ("what was said yesterday evening?", "2026-11-17 17", "2026-11-18"),
        ("What did we decide today?", "2026-11-18", "2026-11-19"),
        ("Who called last night?", "2026-11-17 18", "2026-11-18 06"),
        ("What did we agree on last week?", "2026-11-09", "2026-11-16"),
        ("Which bike did I buy two days ago?", "2026-11-16", "2026-11-17"),
        ("Which bike did I buy 3 weeks ago?", "2026-10-25", "2026-11-01"),
        ("What did Ann do in May?", "2026-05-01", "2026-06-01"),
        ("What did Ann do in December?", "2025-12-01", "2026-01-01"),
        ("What happened on 12 June 2025?", "2025-06-12", "2025-06-13"),
        ("What happened on Feb 29th?", "2024-02-29", "2024-03-01"),
        ("What did we ship last month?", "2026-10-01", "2026-11-01"),
        ("What did I read in the last 3 days?", "2026-11-15 20", "2026-11-18 20"),
        ("Was hat Marco am Mittwoch gesagt?", "2026-11-11", "2026-11-12"),
        ("Was haben wir gestern Abend besprochen?", "2026-11-17 17", "2026-11-18"),
        ("Wer hat vor zwei Tagen angerufen?", "2026-11-16", "2026-11-17"),
        ("Qu'avons-nous décidé la semaine dernière ?", "2026-11-09", "2026-11-16"),
        ("Que disait Marc mercredi dernier ?", "2026-11-11", "2026-11-12"),
        ("¿Qué dijo Marco ayer por la tarde?", "2026-11-17 12", "2026-11-17 18"),
        ("¿Qué hicimos hace tres días?", "2026-11-15", "2026-11-16"),
        ("O que disse a Ana na segunda-feira?", "2026-11-16", "2026-11-17"),
        ("O que aconteceu em maio de 2025?", "2025-05-01", "2025-06-01"),
        ("Cosa ha detto Marco due giorni fa?", "2026-11-16", "2026-11-17"),
        ("Wat zei Marco afgelopen dinsdag?", "2026-11-17", "2026-11-18"),
        ("Wat hebben we vorige week besproken?", "2026-11-09", "2026-11-16"),
    ],
)
def test_a_phrase_means_these_days(question: str, since: str, before: str) -> None:
    assert read(question) == (since, before, None)


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("When did we first talk about pottery?", "first"),
        ("When did Ann last go hiking?", "last"),
        ("Wann haben wir zuletzt über Wien gesprochen?", "last"),
        ("Quand avons-nous parlé de Lyon pour la première fois ?", "first"),
        ("¿Cuándo hablamos por última vez del alquiler?", "last"),
    ],
)
def test_the_first_and_the_last_are_an_order(question: str, order: str) -> None:
    assert read(question) == (None, None, order)


@pytest.mark.parametrize(
    "question",
    [
        "When is the meeting on Wednesday?", "What is planned for Friday?", "Who will be there on Monday?",
        "May I ask you something?", "What is the last name of Bob?", "Which hotel in Rio de Janeiro was it?",
        "Can you recommend a film for tonight?", "Wann ist die Besprechung am Freitag?", "", "on", "in the last",
        "99999 years ago", "on 31 June 2025", "What did Ann do in June 2031?",
    ],
)  # fmt: skip
def test_what_is_planned_and_what_only_looks_like_a_time_is_none(question: str) -> None:
    assert read(question) is None


def test_midnight_is_the_zones_and_a_day_may_have_25_hours() -> None:
    found = understand("What did we say yesterday?", datetime(2026, 10, 26, 9, tzinfo=UTC), ZONE)
    assert found is not None
    assert found.since is not None
    assert found.before is not None
    assert (found.since, found.before - found.since) == (datetime(2026, 10, 24, 22, tzinfo=UTC), timedelta(hours=25))


WORDS = "what did ann say on in last the first 3 days ago monday may 2025 31 june vor ieri".split()


def said(piece: Piece) -> str:
    slots = {"n": "3", "day": "4", "year": "2024", "x": "ann"}
    return slots.get(piece.slot or "", "") or min(piece.words)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_of_the_tables_is_understood(language) -> None:
    months = {"en": "june", "de": "juni", "fr": "juin", "es": "junio", "pt": "junho", "it": "giugno", "nl": "juni"}
    days = {
        "en": "monday",
        "de": "montag",
        "fr": "lundi",
        "es": "lunes",
        "pt": "sexta",
        "it": "lunedi",
        "nl": "maandag",
    }
    past = {"en": "did", "de": "wurde", "fr": "avons", "es": "hizo", "pt": "disse", "it": "hanno", "nl": "heeft"}
    for phrase in PHRASES[language]:
        named = {"month": months[language], "weekday": days[language]}
        words = [named.get(piece.slot or "") or said(piece) for piece in phrase.pieces]
        question = f"{past[language]} {' '.join(words)}"
        assert understand(question, NOW, ZONE) is not None, question


@given(
    st.lists(st.sampled_from(WORDS), max_size=14),
    st.integers(0, 36_500).map(lambda days: datetime(1990, 1, 1, 17, tzinfo=UTC) + timedelta(days=days)),
)
def test_a_window_is_never_empty_and_begins_in_the_past(words, now) -> None:
    found = understand(" ".join(words), now, ZONE)
    if found is not None and found.since is not None and found.before is not None:
        assert found.since < found.before
        assert found.since < now
        assert found.used <= set(words)


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    understand(text, NOW, ZONE)
