"""Months, weekdays and small numbers in the languages that have tables. All words are folded: `marz`, `samedi`."""

from collections.abc import Mapping
from types import MappingProxyType

from keepword.language.names import Language, fold

# January first, Monday first; the first form of each is its full name
_MONTHS: dict[Language, str] = {
    "en": "january jan, february feb, march mar, april apr, may, june jun, july jul, august aug, september sept sep, "
    "october oct, november nov, december dec",
    "de": "januar jänner jan, februar feber feb, märz mär mrz, april apr, mai, juni jun, juli jul, august aug, "
    "september sept sep, oktober okt, november nov, dezember dez",
    "fr": "janvier janv, février févr fév, mars, avril avr, mai, juin, juillet juil, août, septembre sept, "
    "octobre oct, novembre nov, décembre déc",
    "es": "enero ene, febrero feb, marzo mar, abril abr, mayo may, junio jun, julio jul, agosto ago, "
    "septiembre setiembre sept sep, octubre oct, noviembre nov, diciembre dic",
    "pt": "janeiro jan, fevereiro fev, março mar, abril abr, maio mai, junho jun, julho jul, agosto ago, "
    "setembro set, outubro out, novembro nov, dezembro dez",
    "it": "gennaio gen, febbraio feb, marzo mar, aprile apr, maggio mag, giugno giu, luglio lug, agosto ago, "
    "settembre sett set, ottobre ott, novembre nov, dicembre dic",
    "nl": "januari jan, februari feb, maart mrt, april apr, mei, juni jun, juli jul, augustus aug, "
    "september sept sep, oktober okt, november nov, december dec",
}
_WEEKDAYS: dict[Language, str] = {
    "en": "monday mon, tuesday tue tues, wednesday wed, thursday thu thur thurs, friday fri, saturday sat, sunday sun",
    "de": "montag, dienstag, mittwoch, donnerstag, freitag, samstag sonnabend, sonntag",
    "fr": "lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche",
    "es": "lunes, martes, miércoles, jueves, viernes, sábado, domingo",
    "pt": "segunda segunda-feira, terça terça-feira, quarta quarta-feira, quinta quinta-feira, sexta sexta-feira, "
    "sábado, domingo",
    "it": "lunedì, martedì, mercoledì, giovedì, venerdì, sabato, domenica",
    "nl": "maandag, dinsdag, woensdag, donderdag, vrijdag, zaterdag, zondag",
}
# one to twelve, each with its other genders
_NUMBERS: dict[Language, str] = {
    "en": "one a an, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve",
    "de": "ein einem einer eine einen, zwei, drei, vier, fünf, sechs, sieben, acht, neun, zehn, elf, zwölf",
    "fr": "un une, deux, trois, quatre, cinq, six, sept, huit, neuf, dix, onze, douze",
    "es": "un una uno, dos, tres, cuatro, cinco, seis, siete, ocho, nueve, diez, once, doce",
    "pt": "um uma, dois duas, três, quatro, cinco, seis, sete, oito, nove, dez, onze, doze",
    "it": "un una uno, due, tre, quattro, cinque, sei, sette, otto, nove, dieci, undici, dodici",
    "nl": "een, twee, drie, vier, vijf, zes, zeven, acht, negen, tien, elf, twaalf",
}

_MAX_DIGITS = 4
Forms = tuple[tuple[str, ...], ...]


def _forms(tables: dict[Language, str]) -> Mapping[Language, Forms]:
    return MappingProxyType(
        {
            language: tuple(tuple(fold(forms).split()) for forms in table.split(","))
            for language, table in tables.items()
        }
    )


MONTHS = _forms(_MONTHS)
WEEKDAYS = _forms(_WEEKDAYS)
NUMBERS = _forms(_NUMBERS)


def _numbered(tables: Mapping[Language, Forms]) -> Mapping[Language, Mapping[str, int]]:
    return MappingProxyType(
        {
            language: MappingProxyType({form: place for place, forms in enumerate(table, 1) for form in forms})
            for language, table in tables.items()
        }
    )


_MONTH_OF, _WEEKDAY_OF, _NUMBER_OF = _numbered(MONTHS), _numbered(WEEKDAYS), _numbered(NUMBERS)


def month_of(folded: str, language: Language) -> int | None:
    """Return the number of a month, 1 for January."""
    return _MONTH_OF[language].get(folded)


def weekday_of(folded: str, language: Language) -> int | None:
    """Return the number of a weekday as in ISO 8601: 1 for Monday, 7 for Sunday."""
    return _WEEKDAY_OF[language].get(folded)


def number_of(folded: str, language: Language) -> int | None:
    """Return the value of a number up to twelve in words, or up to 9999 in digits."""
    if folded.isdecimal():
        return int(folded) if len(folded) <= _MAX_DIGITS else None
    return _NUMBER_OF[language].get(folded)
