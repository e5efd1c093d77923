"""How people say what is worth keeping in German, French, Spanish, Portuguese, Italian and Dutch: tables of forms.

Each row is a type and how a clause of it begins; what follows must say something. Main forms only: what is in no table
stays in the transcript, and search finds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepword import patterns
from keepword.answers import MemoryType

FORM_CHARS = 420
_FLAGS = patterns.IGNORECASE

_GERMAN: Sequence[tuple[MemoryType, str]] = (
    ("decision", (r"(?:entscheidung|beschluss|beschlossen): |wir haben (?:uns (?:für|gegen|auf) |beschlossen,? |"
                 r"entschieden,? )|"
                 r"wir (?:nehmen|verwenden|nutzen) (?:ab jetzt|künftig|ab sofort) |wir steigen auf ")),
    ("task", (r"(?:bitte )?erinner(?:e|n sie)? mich (?:bitte )?(?:daran|an) |ich muss (?=.*(?:bis|am|morgen|heute|"
             r"nächste))")),
    ("preference", (r"ich (?:mag|liebe|hasse|bevorzuge|trinke|esse|rauche)(?: (?:keine?n?|nur|gerne?|lieber|nie|"
                   r"sehr))* |"
                   r"mein(?:e|en)? lieblings?\w+ (?:ist|sind) |(?:bitte )?(?:antworte|schreib|sprich|rede)(?:e|en sie)?"
                   r"(?: mir| mit mir| bitte| immer| nur)* (?=(?:auf|in|kurz)\b)|"
                   r"(?:bitte )?(?:verwende|benutze|nutze|nimm|schick)(?:e|en sie)? (?:bitte )?(?=keine?|nie|immer|"
                   r"nur)|"
                   r"nenn(?:e|en sie)? mich (?:bitte )?")),
    ("fact", (r"ich (?:wohne|lebe|arbeite|studiere|heiße|spreche)(?: jetzt| nicht mehr)? |ich bin (?:\w+ )?(?=nach "
              r"[^,.]+ (?:gezogen|umgezogen)|\d+ geworden|umgezogen)|ich habe (?=meine? (?:nummer|adresse|e-?mail|"
              r"mailadresse) geändert)|(?:der|die|das) [\w-]+(?: [\w-]+){0,3} (?:verschiebt sich |beträgt |wurde "
              r"verschoben )(?=.*\d)|ich bin (?:jetzt |nicht mehr "
             r")?"
             r"(?=allerg|vegetar|vegan|schwanger|verheiratet|geschieden|diabetik|linkshänd|\d|in \w+ geboren)|"
             r"ich habe (?=diabetes|asthma|migräne|epilepsie|(?:eine|zwei|drei|vier) (?:\w+allergie|töchter|söhne|"
             r"kinder|"
             r"katzen?|hunde?|tochter|schwester|brüder)|einen (?:sohn|hund|bruder)|keine? )|"
             r"mein(?:e)? (?!lieblings)[\w-]+(?: [\w-]+)? (?:ist|heißt|hat|wohnt|arbeitet|wird|wurde|lautet) |"
             r"(?:der|die|das) [\w-]+(?: [\w-]+){0,4} (?:ist|liegt|läuft|wurde|beginnt|endet|kostet) (?=.*\d)")),
)  # fmt: skip
_FRENCH: Sequence[tuple[MemoryType, str]] = (
    ("decision", (r"décision ?: |(?:nous avons|on a) (?:décidé|convenu|choisi) (?:de |d'|que )?|on (?:part sur|passe "
                 r"à) ")),
    ("task", (r"rappelle[- ]moi (?:de |d')|rappelez-moi (?:de |d')|je dois (?=.*(?:avant|pour|demain|d'ici|lundi|mardi|"
             r"mercredi|jeudi|vendredi))")),
    ("preference", (r"j'(?:aime|adore)(?: bien| beaucoup| pas)? |je (?:préfère|déteste|ne bois (?:pas|jamais|plus)|ne "
                   r"mange "
                   r"(?:pas|jamais|plus)|n'aime pas) |(?:s'il te plaît,? )?(?:réponds|répondez|écris|écrivez|parle|"
                   r"parlez)"
                   r"(?:[- ]moi)?(?: toujours)? (?=en\b)|(?:n'utilise|n'utilisez) (?:pas|jamais) |appelle[- ]moi |"
                   r"appelez-moi |m(?:on|a|es) [\w-]+ préférée?s? (?:est|sont) ")),
    ("fact", (r"j'habite (?:maintenant )?|j'ai (?=déménagé (?:à|en|au|aux) )|je (?=travaille|ne travaille plus|"
              r"prends)\w+ |j'ai changé de (?=numéro|adresse|travail)|(?:le|la) [\w-]+(?: [\w'-]+){0,4} (?:passe|est "
              r"reportée?) (?=.*\d)|je (?:vis|travaille|m'appelle|suis né|suis née|parle)(?: maintenant)? |"
             r"je (?:suis|ne suis plus) (?=allergique|végétarien|végan|enceinte|marié|divorcé|diabétique|gaucher)|"
             r"j'ai (?=\d+ ans|du diabète|de l'asthme|une allergie|(?:une?|deux|trois) (?:fille|fils|enfant|chat|"
             r"chien|sœur|"
             r"frère))|m(?:on|a|es) [\w-]+(?: [\w-]+)? (?:est|sont|s'appelle|a|habite|travaille) |"
             r"(?:le|la) [\w-]+(?: [\w'-]+){0,4} (?:est|commence|finit|coûte) (?=.*\d)")),
)  # fmt: skip
_SPANISH: Sequence[tuple[MemoryType, str]] = (
    ("decision", (r"decisión: |(?:hemos |nosotros )?(?:decidimos|decidido|acordamos|acordado) (?:que )?|"
                  r"vamos a usar ")),
    ("task", (r"recuérdame (?:que )?|(?:tengo que|debo) (?=.*(?:antes|para el|mañana|lunes|martes|miércoles|jueves|"
             r"viernes))")),
    ("preference", (r"(?:no )?me (?:gustan?|encantan?) (?:mucho |más )?|(?:yo )?(?:prefiero|odio|detesto) |(?:ya "
                    r")?no (?:como|"
                   r"bebo|fumo) |"
                   r"(?:por favor,? )?(?:responde|contesta|escribe|habla)(?:me)?(?: siempre| por favor)* (?=en\b)|"
                   r"(?:por favor,? )?no (?:uses|utilices|me llames) |llámame |mi \w+ favorit[oa] es ")),
    ("fact", (r"(?:ahora )?vivo en |me (?:he mudado|mudé) (?=a )|(?:la|el) [\w-]+(?: [\w-]+){0,4} se (?:pasa|aplaza|"
              r"mueve|traslada) (?=.*\d)|(?:ahora )?trabajo (?=en|como|para)|me llamo |(?:ya no )?soy (?=alérgic|"
              r"vegetarian|"
             r"vegan|"
             r"diabétic|zurd|de [A-Z])|estoy (?=embarazada|casad|divorciad)|tengo (?=\d+ años|diabetes|asma|una "
             r"alergia|"
             r"(?:un|una|dos|tres) (?:hij|gat|perr|herman))|(?:mi|mis|nuestra|nuestro) (?!\w+ favorit)[\w-]+(?: "
             r"[\w-]+)? "
             r"(?:es|son|se llama|tiene|vive|trabaja|está) |(?:el|la) [\w-]+(?: [\w-]+){0,4} (?:es|está|empieza|"
             r"cuesta) (?=.*\d)")),
)  # fmt: skip
_PORTUGUESE: Sequence[tuple[MemoryType, str]] = (
    ("decision", (r"decisão: |(?:nós )?(?:decidimos|combinamos|concordamos) (?:que |em )?|vamos usar ")),
    ("task", (r"(?:me lembre|lembre-me|lembra-me) (?:de |que )|(?:eu )?(?:tenho que|preciso|devo) (?=.*(?:até|antes|"
             r"amanhã|"
             r"segunda|terça|quarta|quinta|sexta))")),
    ("preference", (r"(?:eu )?(?:não )?(?:gosto (?:muito |mais )?de |prefiro |adoro |amo |odeio |detesto )|(?:eu )?não "
                   r"(?:como|bebo|"
                   r"fumo) |(?:por favor,? )?(?:responda|responde|escreva|escreve|fale|fala)(?: sempre| comigo)* "
                   r"(?=em\b)|"
                   r"(?:por favor,? )?não (?:use|uses|me chame) |me chame de |chama-me |(?:o meu|a minha|meu|minha) "
                   r"\w+ favorit[oa] é ")),
    ("fact", (r"(?:eu )?(?:agora )?moro (?=em|no|na)|(?:eu )?(?:mudei-me|me mudei) (?=para )|[oa] [\w-]+(?: "
              r"[\w-]+){0,4} (?:passa para|foi adiad[oa] para) (?=.*\d)|(?:eu )?(?:agora )?trabalho (?=em|no|na|como|"
              r"para)|(?:eu )?me "
             r"chamo |chamo-me |"
             r"(?:eu )?(?:já não )?sou (?=alérgic|vegetarian|vegan|diabétic|canhot|de [A-Z])|estou (?=grávida|casad|"
             r"divorciad)|"
             r"(?:eu )?tenho (?=\d+ anos|diabetes|asma|uma? alergia|(?:um|uma|dois|duas|três) (?:filh|gat|cachorr|"
             r"irm))|"
             r"(?:o meu|a minha|meu|minha|nosso|nossa) (?!\w+ favorit)[\w-]+(?: [\w-]+)? (?:é|são|se chama|chama-se|"
             r"tem|mora|"
             r"trabalha|está) |[oa] [\w-]+(?: [\w-]+){0,4} (?:é|está|começa|custa) (?=.*\d)")),
)  # fmt: skip
_ITALIAN: Sequence[tuple[MemoryType, str]] = (
    ("decision", (r"decisione: |(?:noi )?abbiamo (?:deciso|concordato|scelto) (?:di |che )?|usiamo (?:d'ora in poi|da "
                 r"oggi) ")),
    ("task", (r"ricordami (?:di |che )|(?:devo) (?=.*(?:entro|prima|domani|lunedì|martedì|mercoledì|giovedì|"
              r"venerdì))")),
    ("preference", (r"(?:non )?mi (?:piace|piacciono) (?:molto |di più )?|(?:io )?(?:preferisco|odio|adoro|amo) |non "
                   r"(?:mangio|bevo|"
                   r"fumo) |(?:per favore,? )?(?:rispondi|scrivi|parla)(?:mi)?(?: sempre)? (?=in\b)|(?:per favore,? "
                   r")?non (?:usare|"
                   r"chiamarmi) |chiamami |(?:il mio|la mia) \w+ preferit[oa] è ")),
    ("fact", (r"(?:ora |adesso )?(?:vivo|abito) (?=a|in)|mi sono (?=trasferit[oa] (?:a|in) )|(?:ora |adesso )?lavoro "
              r"(?=a|in|come|per|da|alla)|mi chiamo |"
             r"(?:non )?sono (?:più )?(?=allergic|vegetarian|vegan|diabetic|mancin|incinta|sposat|divorziat|di [A-Z])|"
             r"ho (?=\d+ anni|il diabete|l'asma|un'allergia|(?:un|una|due|tre) (?:figli|gatt|can[ei]|sorell|fratell))|"
             r"(?:il mio|la mia|mio|mia|il nostro|la nostra) (?!\w+ preferit)[\w-]+(?: [\w-]+)? (?:è|sono|si chiama|"
             r"ha|vive|abita|"
             r"lavora) |(?:il|la) [\w-]+(?: [\w'-]+){0,4} (?:è|inizia|comincia|costa) (?=.*\d)")),
)  # fmt: skip
_DUTCH: Sequence[tuple[MemoryType, str]] = (
    ("decision", (r"besluit: |we hebben (?:besloten|afgesproken|gekozen) |we (?:gaan|gebruiken) (?:voortaan |vanaf nu "
                 r")")),
    ("task", (r"herinner me (?:eraan|aan) |ik moet (?=.*(?:voor|morgen|vandaag|maandag|dinsdag|woensdag|donderdag|"
             r"vrijdag|uiterlijk))")),
    ("preference", (r"ik (?:hou|houd) (?:niet )?(?:erg )?van |ik (?:haat|drink|eet|rook|heb liever|wil liever)(?: geen|"
                   r" alleen| nooit| graag)* |"
                   r"mijn favoriete \w+ is |(?:antwoord|schrijf|praat)(?: me| altijd| alsjeblieft)* (?=in|kort)|"
                   r"(?:gebruik|stuur) (?:alsjeblieft )?(?=geen|nooit|altijd)|noem me ")),
    ("fact", (r"ik (?:woon|werk|studeer|heet|spreek)(?: nu| niet meer)? |ik ben (?=verhuisd naar )|ik ben (?:nu |"
              r"niet meer |geen )?(?=allergisch|"
             r"vegetari|"
             r"veganist|zwanger|getrouwd|gescheiden|linkshandig|\d)|ik heb (?=diabetes|astma|migraine|een \w*allergie|"
             r"(?:een|twee|drie) (?:dochter|zoon|zonen|kind|kat|hond|zus|broer))|(?:mijn|onze|ons) "
             r"(?!favoriete)[\w-]+(?: [\w-]+)? "
             r"(?:is|heet|heeft|woont|werkt|wordt) |(?:de|het) [\w-]+(?: [\w-]+){0,4} (?:is|begint|eindigt|kost) "
             r"(?=.*\d)")),
)  # fmt: skip
# what may be, is asked or was said by others
_SUPPOSED = patterns.in_short(
    r"\b(?:wenn|falls|vielleicht|könnte|würde|hätte|sagte?|meinte|angeblich|si j'|si je|si on|peut-être|pourrais|"
    r"serait|dit que|"
    r"a dit|quizás|tal vez|podría|sería|dijo|dice que|se eu|talvez|poderia|seria|disse|diz que|se fossi|forse|"
    r"potrebbe|sarebbe|"
    r"ha detto|dice|als ik|misschien|zou|zei|zegt)\b",
    FORM_CHARS,
    _FLAGS,
)
# words that stand for something said elsewhere
_VAGUE = patterns.at_start_of_short(
    r"(?:es|das|dies(?:e[rsmn]?)?|ihn|sie|ihm|ça|cela|ceci|eso|esto|ello|isso|isto|aquilo|questo|quello|ciò|dat|dit|"
    r"het|hem|haar|"
    r"la|lo|le|les|o|a)[\s.!]*\Z|(?:das|ça|cela|eso|esto|isso|isto|questo|quello|ciò|dat|dit)\b",
    FORM_CHARS,
    _FLAGS,
)
RELATIVE = patterns.in_short(
    r"\b(?:heute|morgen|gestern|jetzt|nächste[nrs]?|aujourd'hui|demain|hier|maintenant|prochaine?|hoy|mañana|ayer|"
    r"ahora|próxim[oa]|"
    r"hoje|amanhã|ontem|agora|oggi|domani|ieri|adesso|ora|prossim[oa]|vandaag|gisteren|nu|volgende)\b",
    FORM_CHARS,
    _FLAGS,
)
_ROWS = (*_GERMAN, *_FRENCH, *_SPANISH, *_PORTUGUESE, *_ITALIAN, *_DUTCH)
_FORMS = [
    (type_, patterns.at_start_of_short(rf"(?:{begin})(?P<rest>.+)", FORM_CHARS, _FLAGS)) for type_, begin in _ROWS
]
# of one value each, in a memory's text: "ann: Ich wohne in Bonn"
_WHO = r"(?P<who>[\w.@-]{1,200}): "
_SLOTS = [
    (name, patterns.at_start_of_short(
        rf"{_WHO}(?:{begin}) (?P<value>[^,]+?)(?= (?:um)?gezogen\b|,|\Z)", FORM_CHARS, _FLAGS))
    for name, begin in (
        ("home", (r"ich (?:wohne|lebe)(?: jetzt)? in|j'habite(?: maintenant)? (?:à|en|au)|je vis (?:maintenant )?(?:à|"
                 r"en|au)|"
                 r"(?:ahora )?vivo en|(?:eu )?(?:agora )?moro (?:em|no|na)|(?:ora |adesso )?(?:vivo|abito) (?:a|in)|"
                 r"ik woon(?: nu)? in|j'ai déménagé (?:à|en|au)|me (?:he mudado|mudé) a|(?:eu )?(?:mudei-me|me "
                 r"mudei) para|mi sono trasferit[oa] (?:a|in)|ik ben verhuisd naar")),
        ("home", r"ich bin (?:\w+ )?nach(?! hause\b)(?=[^,.]+ (?:um)?gezogen\b)"),
        ("work", (r"ich arbeite(?: jetzt)? (?:bei|für)|je travaille(?: maintenant)? (?:chez|pour)|(?:ahora )?trabajo "
                 r"(?:en|para)|"
                 r"(?:eu )?(?:agora )?trabalho (?:na|no|em|para)|(?:ora |adesso )?lavoro (?:per|da|alla|in)|ik "
                 r"werk(?: nu)? (?:bij|voor)")),
        ("phone", (r"(?:meine (?:neue )?|mon (?:nouveau )?|mi (?:nuevo )?|(?:o )?meu (?:novo )?|il mio (?:nuovo )?|"
                   r"mijn (?:nieuwe )?)"
                  r"(?:(?:telefon|handy|mobil)?nummer|numéro(?: de téléphone)?|(?:número|numero)(?: de (?:teléfono|"
                  r"telefone|"
                  r"móvil)| di telefono)?|telefoonnummer) (?:ist|est|es|é|è|is)(?: jetzt| maintenant| ahora| agora| "
                  r"ora| nu)?")),
        ("address", (r"(?:meine (?:neue )?|ma (?:nouvelle )?|mon |mi (?:nueva )?|(?:a )?minha (?:nova )?|(?:o )?meu |"
                     r"il mio "
                    r"(?:nuovo )?|mijn (?:nieuwe )?)(?:adresse|dirección|endereço|indirizzo|adres) (?:ist|lautet|est|"
                    r"es|é|è|is)"
                    r"(?: jetzt| maintenant| ahora| agora| ora| nu)?")),
        ("manner", (r"(?:(?:bitte|por favor,?|per favore,?|s'il te plaît,?|alsjeblieft) )?(?:antworte|schreib|sprich|"
                   r"réponds|"
                   r"répondez|écris|parle|responde|contesta|escribe|habla|responda|escreva|fale|rispondi|scrivi|parla|"
                   r"antwoord|"
                   r"schrijf|praat)(?:n sie|mir| mir| mit mir| bitte| immer| nur| toujours| siempre| sempre| altijd|"
                   r"[- ]moi|me|mi)*"
                   r" (?:auf|en|em|in)")),
    )
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    type: MemoryType
    confidence: float = 0.75


def find_form(clause: str) -> Form | None:
    """Return the type of a clause of one of these languages; None if it is none, or supposes or reports something."""
    if len(clause) > FORM_CHARS or _SUPPOSED.search(clause):
        return None
    for type_, pattern in _FORMS:
        if match := pattern.match(clause):
            rest = match["rest"].strip(" .!,;:")
            return Form(type_) if len(rest) > 1 and not _VAGUE.match(rest) else None
    return None


def find_value(text: str) -> tuple[str, str, str] | None:
    """Return attribute, speaker and value of a memory's text that gives one."""
    if len(text) > FORM_CHARS:
        return None
    matches = ((name, pattern.match(text)) for name, pattern in _SLOTS)
    return next(((name, match["who"], match["value"]) for name, match in matches if match), None)
