"""What a sentence does, in German, French, Spanish, Portuguese, Italian and Dutch: tables of how it begins."""

from keepword import patterns
from keepword.statements.forms import FORM_CHARS, find_form

_FLAGS = patterns.IGNORECASE

# who says so does it by a time
_PROMISES = (
    r"ich (?:werde|schicke|sende|mache|erledige|kümmere|rufe|schreibe|buche|bringe|liefere|prüfe|übernehme|muss) |"
    r"wir (?:werden|schicken|liefern|müssen) |"
    r"je (?:vais|(?:t'|vous |te |m'en )?(?:envoie|appelle|occupe)|m'occupe|réserve|vérifie|écris|dois|ferai|enverrai) |"
    r"(?:yo )?(?:voy a|(?:te|le|os|les) (?:envío|mando|llamo)|me encargo|enviaré|haré|llamaré|reservo|reviso|tengo "
    r"que) |"
    r"(?:eu )?(?:vou|mando|envio|ligo|trato|farei|enviarei|reservo|verifico|tenho que) |"
    r"(?:io )?(?:(?:ti|vi|le) (?:mando|invio|chiamo)|me ne occupo|mando|invio|prenoto|controllo|chiamo|farò|devo) |"
    r"ik (?:stuur|zal|bel|boek|maak|regel|controleer|schrijf|moet) |"
    r"(?-i:[A-ZÀ-Þ])[\w'-]{1,30} (?:schreibt|schickt|macht|muss|wird|va|doit|envoie|va a|tiene que|vai|tem que|deve|"
    r"manda|scrive|schrijft|stuurt|moet|zal) "
)
_BY_WHEN = patterns.in_short(
    r"\b(?:bis|vor|am|avant|pour|d'ici|antes del?|para el|hasta|até|antes de|entro|prima di|voor|tegen|op|el|il|le)"
    r"(?: (?:zum|dem|den|le|el|il|de|à|a))? (?:\d|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|morgen|heute|lundi|"
    r"mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|lunes|martes|miércoles|jueves|viernes|sábado|domingo|mañana|"
    r"segunda|terça|quarta|quinta|sexta|amanhã|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|domani|"
    r"maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag)|"
    r"\b(?:morgen|demain|mañana|amanhã|domani)\b|\b\d{1,2}(?::\d\d| uhr| h\b)",
    FORM_CHARS,
    _FLAGS,
)
_PROMISE = patterns.at_start_of_short(rf"(?:{_PROMISES})(?=\S)", FORM_CHARS, _FLAGS)
_CORRECTION = patterns.at_start_of_short(
    r"(?:korrektur|correction|corrección|correção|correzione|correctie) ?: |"
    r"[^.!?]{3,120}? (?:verschiebt sich (?:um [^.!?]{1,40} )?auf|(?:wird|wurde|ist) (?:verschoben|verlegt) auf|ist "
    r"jetzt|"
    r"est (?:reportée?|avancée?|déplacée?) (?:au|à)|est maintenant(?=.*\d)|passe (?:au|à)|se (?:pasa|aplaza|mueve|"
    r"traslada) "
    r"al?|"
    r"ahora es(?=.*\d)|passa para|(?:foi|é) adiad[oa] para|agora é(?=.*\d)|è (?:stat[oa] )?(?:spostat|rinviat)[oa] "
    r"al?|adesso è(?=.*\d)|ora è(?=.*\d)|"
    r"is (?:verplaatst|uitgesteld|verschoven) naar|is nu(?=.*\d)) ",
    FORM_CHARS,
    _FLAGS,
)
SMALL_WORDS = (
    r"hallo|moin|servus|guten (?:morgen|tag|abend)|gute nacht|danke(?: schön| sehr)?|vielen dank|bitte(?: schön)?|"
    r"gern geschehen|wie geht(?:'s| es)(?: dir| euch| ihnen)?|bis (?:dann|bald|morgen|später)|tschüss|alles klar|genau|"
    r"prima|super|passt|bonjour|bonsoir|salut|merci(?: beaucoup| bien)?|ça va(?: bien)?|bonne (?:journée|soirée|nuit)|"
    r"à (?:bientôt|demain|plus)|de rien|d'accord|hola|buen[oa]s (?:días|tardes|noches)|(?:muchas )?gracias|muy amable|"
    r"¿?qué tal|hasta (?:luego|mañana|pronto)|de nada|vale|olá|oi|bom dia|boa (?:tarde|noite)|(?:muito )?obrigad[oa]|"
    r"tudo bem|até (?:logo|amanhã|já)|ciao|salve|buongiorno|buonasera|buonanotte|grazie(?: mille)?|come (?:stai|va)|"
    r"a (?:presto|domani|dopo)|prego|va bene|hoi|goede(?:morgen|middag|navond)|dank (?:je|u)(?: wel)?|bedankt|"
    r"graag gedaan|hoe gaat het(?: met je)?|tot (?:ziens|morgen|straks|later)"
)


def is_decision(sentence: str) -> bool:
    form = find_form(sentence) if len(sentence) <= FORM_CHARS else None
    return form is not None and form.type == "decision"


def is_commitment(sentence: str) -> bool:
    """Tell whether somebody says to do something by a time."""
    if len(sentence) > FORM_CHARS or _PROMISE.match(sentence) is None:
        return False
    return _BY_WHEN.search(sentence) is not None


def is_correction(sentence: str) -> bool:
    return len(sentence) <= FORM_CHARS and _CORRECTION.match(sentence) is not None
