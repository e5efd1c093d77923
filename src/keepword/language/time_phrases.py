"""Phrases for time in questions, by language: what they look like, and which rule reads them.

A line is `phrase: rule`. `a|b` are alternatives, `a?` may be left out; {n} is a number, {weekday}, {month}, {day} and
{year} are what they say, {x} is any word. All words are folded; apostrophes and hyphens cut words. The rules, of which
a number in the line counts units back from now:

- `day`, `week`, `weekend`, `month`, `year` K: that calendar unit; `morning`, `afternoon`, `evening`, `night` K: of that
  day;
- `days`, `weeks`, `months`, `years`: {n} of them ago, `fewdays` and so on a few; `lastdays`, `lasthours`: the last {n};
- `weekday`: the last one before today; `date`: a day, month or year by name; `first`, `last`: the order of the results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from keepword.language.calendar import MONTHS, NUMBERS, WEEKDAYS, Forms
from keepword.language.names import Language, fold

_PHRASES: dict[Language, str] = {
    "en": """
today: day 0
yesterday: day 1
day before yesterday: day 2
this morning: morning 0
this afternoon: afternoon 0
this evening|tonight: evening 0
tonight: evening 0
yesterday morning: morning 1
yesterday afternoon: afternoon 1
yesterday evening|night: evening 1
last night: night 1
last week: week 1
week before last: week 2
this week: week 0
last|this weekend: weekend 0
over|at|on the weekend: weekend 0
last month: month 1
this month: month 0
last year: year 1
this year: year 0
{n} days|day ago: days
couple of? days ago: days 2
few days ago: fewdays
{n} weeks|week ago: weeks
couple of? weeks ago: weeks 2
few weeks ago: fewweeks
{n} months|month ago: months
few months ago: fewmonths
{n} years|year ago: years
in|over|during? the? last|past {n} days: lastdays
in|over|during? the? last|past {n} weeks: lastweeks
in|over|during? the? last|past {n} months: lastmonths
in|over|during? the? last|past {n} hours: lasthours
on|from|last {weekday}: weekday
on|last? {weekday} morning|afternoon|evening|night: weekday
in|during|of|from|last {month} {year}?: date
on|from? the? {day} of? {month} {year}?: date
on|from? {month} the? {day} {year}?: date
in|during {year}: date
did {x} first: first
did {x} {x} first: first
first time: first
did {x} last: last
did {x} {x} last: last
last time: last
most recent|recently: last
the latest: last
""",
    "de": """
heute: day 0
gestern: day 1
vorgestern: day 2
heute morgen|früh|vormittag: morning 0
heute nachmittag: afternoon 0
heute abend: evening 0
gestern morgen|früh|vormittag: morning 1
gestern nachmittag: afternoon 1
gestern abend: evening 1
gestern|letzte nacht: night 1
letzte|letzter|letzten|vorige|voriger|vergangene|vergangener|vergangenen woche: week 1
vorletzte|vorletzter woche: week 2
diese|dieser woche: week 0
letztes|letzten|dieses|am|vergangenes|vergangenen wochenende: weekend 0
letzten|letzter|vorigen|vergangenen monat: month 1
diesen|diesem monat: month 0
letztes|letzten|voriges|vergangenes|vergangenen jahr: year 1
dieses|diesem jahr: year 0
vor {n} tagen|tag: days
vor ein paar|einigen tagen: fewdays
vor einigen tagen: fewdays
vor {n} wochen|woche: weeks
vor ein paar|einigen wochen: fewweeks
vor {n} monaten|monat: months
vor {n} jahren|jahr: years
in den letzten|vergangenen {n} tagen: lastdays
in den letzten|vergangenen {n} wochen: lastweeks
in den letzten|vergangenen {n} monaten: lastmonths
am|vom|letzten|vorigen|diesen|vergangenen {weekday}: weekday
im|vom|letzten {month} {year}?: date
am|vom? {day} {month} {year}?: date
im jahr|jahre {year}: date
zum ersten mal: first
das erste mal: first
zuerst: first
erstmals: first
zum letzten mal: last
das letzte mal: last
zuletzt: last
""",
    "fr": """
aujourd hui: day 0
hier: day 1
avant hier: day 2
ce matin: morning 0
cet|cette après midi: afternoon 0
ce soir: evening 0
hier matin: morning 1
hier après midi: afternoon 1
hier soir: evening 1
cette|la nuit dernière?: night 1
la? semaine dernière|passée: week 1
cette semaine: week 0
le|ce week end dernier?: weekend 0
le? mois dernier|passé: month 1
ce mois ci?: month 0
l? an|année dernier|dernière|passé|passée: year 1
cette année: year 0
il y a {n} jours|jour: days
il y a quelques jours: fewdays
il y a {n} semaines|semaine: weeks
il y a quelques semaines: fewweeks
il y a {n} mois: months
il y a {n} ans|an|années: years
ces|les {n} derniers|dernières jours: lastdays
ces|les {n} derniers|dernières semaines: lastweeks
ces|les {n} derniers|dernières mois: lastmonths
le? {weekday} dernier|passé|matin|soir?: weekday
en|au|mois|d? de? {month} {year}?: date
le? {day} {month} {year}?: date
en {year}: date
première fois: first
en premier: first
dernière fois: last
dernièrement: last
""",
    "es": """
hoy: day 0
ayer: day 1
anteayer|antier: day 2
antes de ayer: day 2
esta mañana: morning 0
esta tarde: afternoon 0
esta noche: evening 0
ayer por|en la mañana: morning 1
ayer por|en la tarde: afternoon 1
ayer por|en la noche: evening 1
anoche: night 1
la? semana pasada: week 1
la última semana: week 1
esta semana: week 0
el|este fin de semana pasado?: weekend 0
el? mes pasado: month 1
este mes: month 0
el? año pasado: year 1
este año: year 0
hace {n} días|día: days
hace unos días: fewdays
hace {n} semanas|semana: weeks
hace unas semanas: fewweeks
hace {n} meses|mes: months
hace {n} años|año: years
en? los últimos {n} días: lastdays
en? las últimas {n} semanas: lastweeks
en? los últimos {n} meses: lastmonths
el|este|del {weekday} pasado?: weekday
en|de {month} de|del? {year}?: date
el? {day} de {month} de|del? {year}?: date
en {year}: date
primera vez: first
última vez: last
""",
    "pt": """
hoje: day 0
ontem: day 1
anteontem: day 2
esta|hoje de? manhã: morning 0
esta|hoje à|a? tarde: afternoon 0
esta|hoje à|a? noite: evening 0
ontem de? manhã: morning 1
ontem à|a tarde: afternoon 1
ontem à|a noite: evening 1
na? semana passada: week 1
esta|nesta semana: week 0
no|este|neste fim de semana passado?: weekend 0
no? mês passado: month 1
este|neste mês: month 0
no? ano passado: year 1
este|neste ano: year 0
há {n} dias|dia: days
{n} dias|dia atrás: days
há alguns dias: fewdays
há {n} semanas|semana: weeks
{n} semanas|semana atrás: weeks
há {n} meses|mês: months
{n} meses|mês atrás: months
há {n} anos|ano: years
{n} anos|ano atrás: years
nos últimos {n} dias: lastdays
nas últimas {n} semanas: lastweeks
nos últimos {n} meses: lastmonths
na|no|da|do {weekday} feira? passada|passado?: weekday
em|de {month} de? {year}?: date
em|no? dia? {day} de {month} de? {year}?: date
em {year}: date
primeira vez: first
última vez: last
""",
    "it": """
oggi: day 0
ieri: day 1
altro ieri: day 2
l altro ieri: day 2
stamattina|stamani: morning 0
questa mattina: morning 0
oggi|questo pomeriggio: afternoon 0
stasera: evening 0
questa sera: evening 0
ieri mattina: morning 1
ieri pomeriggio: afternoon 1
ieri sera: evening 1
stanotte: night 1
la|questa notte scorsa?: night 1
la? settimana scorsa|passata: week 1
scorsa settimana: week 1
questa settimana: week 0
il|questo|nel? fine settimana scorso?: weekend 0
lo? scorso mese: month 1
il? mese scorso|passato: month 1
questo mese: month 0
l? anno scorso|passato: year 1
quest anno: year 0
{n} giorni|giorno fa: days
qualche giorno fa: fewdays
{n} settimane|settimana fa: weeks
qualche settimana fa: fewweeks
{n} mesi|mese fa: months
{n} anni|anno fa: years
negli|gli ultimi {n} giorni: lastdays
nelle|le ultime {n} settimane: lastweeks
negli|gli ultimi {n} mesi: lastmonths
{weekday} scorso|scorsa|mattina|sera?: weekday
a|ad|in|di|nel {month} del? {year}?: date
il|l|del? {day} {month} del? {year}?: date
nel {year}: date
prima volta: first
ultima volta: last
""",
    "nl": """
vandaag: day 0
gisteren: day 1
eergisteren: day 2
vanmorgen|vanochtend: morning 0
vanmiddag: afternoon 0
vanavond: evening 0
gisteren|gister ochtend|morgen: morning 1
gisterochtend|gistermorgen: morning 1
gistermiddag: afternoon 1
gisteravond: evening 1
gisteren avond: evening 1
afgelopen|vannacht nacht?: night 1
vorige|afgelopen week: week 1
deze week: week 0
vorig|afgelopen|dit weekend: weekend 0
in het weekend: weekend 0
vorige|afgelopen maand: month 1
deze maand: month 0
vorig|afgelopen jaar: year 1
dit jaar: year 0
{n} dagen|dag geleden: days
paar dagen geleden: fewdays
{n} weken|week geleden: weeks
paar weken geleden: fewweeks
{n} maanden|maand geleden: months
{n} jaar|jaren geleden: years
afgelopen|laatste {n} dagen: lastdays
afgelopen|laatste {n} weken: lastweeks
afgelopen|laatste {n} maanden: lastmonths
op|afgelopen|vorige|deze {weekday}: weekday
in|van {month} {year}?: date
op|van? {day} {month} {year}?: date
in {year}: date
eerste keer: first
voor het eerst: first
laatste keer: last
voor het laatst: last
""",
}
# a bare weekday or month is no time to look in where a question asks for what comes; unless it tells of the past
_AHEAD: dict[Language, str] = {
    "en": "is are can should will shall next upcoming coming tomorrow going plan plans planned due does do until by",
    "de": "ist sind wird werden werde nächste nächsten nächster nächstes kommenden kommende kommt findet steht bis",
    "fr": "sera seront va vont aura auront prochain prochaine demain jusqu",
    "es": "será serán va van habrá próximo próxima viene tendrá hasta",
    "pt": "será serão vai vão haverá próximo próxima amanhã terá até",
    "it": "sarà saranno va vanno avrà prossimo prossima domani fino",
    "nl": "is zijn wordt worden zal zullen gaat volgende komende komt tot",
}
_PAST: dict[Language, str] = {
    "en": "did was were had said told mentioned talked discussed decided agreed wrote asked happened went came",
    "de": "hat habe haben hatte hatten war waren wurde wurden sagte gesagt",
    "fr": "a ai as avons avez ont avait était étaient",
    "es": "dijo dijeron hizo hicieron fue era había dijimos hablamos hablé pasó",
    "pt": "disse disseram fez fizeram foi era tinha dissemos falamos falei aconteceu",
    "it": "ha ho hai abbiamo avete hanno era erano detto fatto",
    "nl": "heeft heb hebben had hadden was waren werd zei gezegd",
}


NUMBER = "#"
_TABLES: Mapping[str | None, Mapping[Language, Forms]] = MappingProxyType(
    {"weekday": WEEKDAYS, "month": MONTHS, "n": NUMBERS}
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One place of a phrase: a slot, or words of which one stands there."""

    slot: str | None
    words: frozenset[str]
    optional: bool


@dataclass(frozen=True, slots=True)
class Phrase:
    pieces: tuple[Piece, ...]
    rule: str
    back: int | None


def _piece(written: str) -> Piece:
    optional, written = written.endswith("?"), written.removesuffix("?")
    slot = written[1:-1] if written.startswith("{") else None
    return Piece(slot, frozenset() if slot else frozenset(written.split("|")), optional)


def _phrase(line: str) -> Phrase:
    written, _, rule = line.partition(": ")
    name, _, back = rule.partition(" ")
    return Phrase(tuple(_piece(piece) for piece in fold(written).split()), name, int(back) if back else None)


def _folded(tables: dict[Language, str]) -> Mapping[Language, frozenset[str]]:
    return MappingProxyType({language: frozenset(fold(words).split()) for language, words in tables.items()})


def _beginnings(phrase: Phrase, language: Language) -> Iterator[str]:
    """Yield the words that a phrase can begin with; NUMBER stands for all digits."""
    for piece in phrase.pieces:
        yield from _words_of(piece, language)
        if not piece.optional:
            return


def _words_of(piece: Piece, language: Language) -> Iterator[str]:
    yield from piece.words
    if piece.slot in _TABLES:
        yield from (form for forms in _TABLES[piece.slot][language] for form in forms)
    if piece.slot in {"n", "day", "year"}:
        yield NUMBER


PHRASES: Mapping[Language, tuple[Phrase, ...]] = MappingProxyType(
    {language: tuple(_phrase(line) for line in lines.strip().split("\n")) for language, lines in _PHRASES.items()}
)


def _by_beginning() -> Mapping[str, tuple[tuple[Language, Phrase], ...]]:
    found: dict[str, list[tuple[Language, Phrase]]] = {}
    for language, phrases in PHRASES.items():
        for phrase in phrases:
            for word in dict.fromkeys(_beginnings(phrase, language)):
                found.setdefault(word, []).append((language, phrase))
    return MappingProxyType({word: tuple(known) for word, known in found.items()})


_PHRASES_BY_BEGINNING = _by_beginning()
AHEAD, PAST = _folded(_AHEAD), _folded(_PAST)


def phrases_from(word: str) -> tuple[tuple[Language, Phrase], ...]:
    """Return the phrases of all languages that can begin with a folded word."""
    return _PHRASES_BY_BEGINNING.get(NUMBER if word[:1].isdecimal() else word, ())
