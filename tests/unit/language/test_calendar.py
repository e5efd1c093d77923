"""The tables of calendar words are complete, folded and free of contradictions."""

import pytest

from keepword.language import calendar
from keepword.language.names import LANGUAGES, Language, fold

TABLES = [(calendar.MONTHS, 12, calendar.month_of), (calendar.WEEKDAYS, 7, calendar.weekday_of)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("table", "size", "find"), TABLES)
def test_every_form_of_a_calendar_word_is_folded_and_leads_to_its_number(table, size, find, language: Language) -> None:
    assert len(table[language]) == size
    for place, forms in enumerate(table[language], 1):
        assert forms
        for form in forms:
            assert form == fold(form)
            assert find(form, language) == place


@pytest.mark.parametrize(
    ("word", "language", "number"),
    [("dezember", "de", 12), ("aout", "fr", 8), ("setiembre", "es", 9), ("marco", "pt", 3), ("mei", "nl", 5)],
)
def test_months_are_known_with_and_without_accents(word: str, language: Language, number: int) -> None:
    assert calendar.month_of(word, language) == number


def test_numbers_are_read_in_words_and_in_digits_but_not_without_end() -> None:
    assert calendar.number_of("drei", "de") == 3
    assert calendar.number_of("tres", "fr") is None
    assert calendar.number_of("14", "it") == 14
    assert calendar.number_of("9" * 5000, "en") is None
