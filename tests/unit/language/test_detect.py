"""The language of a text: told by its function words, and English where they do not tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.embedding.words import read_words, surfaces
from keepword.language.detect import MAX_LANGUAGES, languages_of
from keepword.language.names import LANGUAGES, fold


def told(text: str) -> tuple[str, ...]:
    return languages_of(surfaces(fold(text)), text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("We moved the review to Friday because of the release.", "en"),
        ("Wo ist mein Wagen?", "de"),
        ("Où est-ce que j'ai garé la voiture ?", "fr"),
        ("¿Cuándo llega mi hermana?", "es"),
        ("Quando é que a minha irmã chega?", "pt"),
        ("Dov'è la mia macchina?", "it"),
        ("Waar heb ik de auto geparkeerd?", "nl"),
        ("wo finde ich die schluessel", "de"),
    ],
)
def test_a_short_question_tells_its_language(text: str, language: str) -> None:
    assert told(text)[0] == language


@pytest.mark.parametrize(
    "text",
    [
        "See ya, Jon!",
        "Go get 'em",
        "Come on, man!",
        "Ha ha, die hard.",
        "Leonardo da Vinci, Van Gogh",
        "ok",
        "",
        "🎉",
    ],
)
def test_english_and_what_tells_nothing_are_no_other_language(text: str) -> None:
    assert set(told(text)) <= {"en"}
    assert read_words(text).languages == ()


@given(st.text(max_size=300))
def test_any_text_has_few_languages_and_its_words_have_few_stems(text: str) -> None:
    assert len(told(text)) <= MAX_LANGUAGES
    assert set(told(text)) <= set(LANGUAGES)
    for word, stems in read_words(text).stems.items():
        assert word
        assert len(set(stems)) == len(stems) <= 1 + MAX_LANGUAGES


@given(st.sampled_from(["Wir haben die Schlüssel gefunden.", "Nous avons perdu les clés.", "He lost the keys."]))
def test_a_word_keeps_its_english_stem_beside_that_of_its_language(text: str) -> None:
    """So a text and a question still meet where the language of one of them could not be told."""
    for word, stems in read_words(text).stems.items():
        english = read_words(f"{word} {word}").stems[word]
        assert not stems or not english or set(english) <= set(stems)


def test_forms_of_a_word_share_a_stem_in_its_language() -> None:
    pairs = [
        ("Die Küchen sind fertig und die Schlüssel da.", "Ist die Küche fertig?", "kuch"),
        ("Nous avons réservé les places.", "Qui va réserver une place pour nous ?", "reserv"),
        ("والمفاتيح تحت الباب", "أين المفتاح؟", "مفتح"),
        ("회의는 금요일이다", "회의가 언제야?", "회의"),
    ]
    for one, other, shared in pairs:
        stems = [{stem for stems in read_words(text).stems.values() for stem in stems} for text in (one, other)]
        assert fold(shared) in stems[0] & stems[1], (one, other)


def test_function_words_of_the_language_are_no_terms() -> None:
    assert {word for word, stems in read_words("Wo finde ich die Schlüssel?").stems.items() if stems} == {
        "finde",
        "schlussel",
    }
