"""Whom a text speaks of: the words for "I" and "you" in each language, folded."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from keepword.language.names import Language, fold

Person = Literal["me", "you"]

# English is not here: there `I` is told by its case. A formal "you" that is also "she" or "they" (Sie, Lei) is left out
_ME: dict[Language, str] = {
    "de": "ich mich mir mein meine meinem meinen meiner meines",
    "fr": "je j me moi mon ma mes mien mienne",
    "es": "yo me mí mi mis mío mía míos mías conmigo",
    "pt": "eu me mim meu meus minha minhas comigo",
    "it": "io me mi mio mia miei mie",
    "nl": "ik me mij mijn",
}
_YOU: dict[Language, str] = {
    "de": "du dich dir dein deine deinem deinen deiner euch euer eure",
    "fr": "tu te t toi ton ta tes vous votre vos",
    "es": "tú te ti tu tus contigo usted ustedes vuestro vuestra",
    "pt": "tu te ti teu teus tua tuas você vocês contigo",
    "it": "tu ti te tuo tua tuoi tue voi vostro vostra",
    "nl": "jij je jou jouw jullie u uw",
}


def _folded(tables: dict[Language, str]) -> Mapping[Language, frozenset[str]]:
    return MappingProxyType({language: frozenset(fold(words).split()) for language, words in tables.items()})


ME, YOU = _folded(_ME), _folded(_YOU)


def person_in(words: Iterable[str], languages: Sequence[Language]) -> Person | None:
    """Return whom folded words speak of, in the likeliest of the languages; "you" wins over "me"."""
    if not languages or languages[0] not in ME:
        return None
    present = set(words)
    if present & YOU[languages[0]]:
        return "you"
    return "me" if present & ME[languages[0]] else None
