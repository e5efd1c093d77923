"""Finds secrets in text: keys, tokens and passwords by published forms and by their labels, card numbers, IBANs.

The forms are those that the services publish for scanners, as the rules of gitleaks have them. A card number counts by
Luhn's checksum, an IBAN by its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from keepword import patterns

HIDDEN = "[secret]"
_PIECE_CHARS = 64 * 1024
_FLAGS = patterns.IGNORECASE
_LEAST_CARD_DIGITS, _MOST_CARD_DIGITS = 13, 19

# each names its service by its beginning
_TOKENS = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", r"gh[pousr]_[A-Za-z0-9]{30,255}", r"github_pat_[A-Za-z0-9_]{22,255}",
    r"gl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,64}", r"xox[abeoprs]-[\w-]{10,255}", r"xapp-\d-[\w-]{10,255}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,255}", r"whsec_[A-Za-z0-9+/=]{16,255}", r"sk-[\w-]{20,255}",
    r"AIza[\w-]{35}", r"ya29\.[\w-]{20,255}", r"GOCSPX-[\w-]{20,64}", r"SG\.[\w-]{16,64}\.[\w-]{16,64}",
    r"(?:SK|AC)[0-9a-f]{32}", r"npm_[A-Za-z0-9]{30,64}", r"pypi-[\w-]{16,512}", r"hf_[A-Za-z0-9]{20,64}",
    r"do[opr]_v1_[0-9a-f]{40,64}", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", r"key-[0-9a-f]{32}",
    r"lin_api_[A-Za-z0-9]{30,64}", r"dapi[0-9a-f]{32}", r"hv[sb]\.[\w-]{20,255}",
    r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", r"ATATT[\w=-]{20,512}",
    r"(?:secret|ntn)_[A-Za-z0-9]{40,64}", r"sq0[a-z]{3}-[\w-]{20,64}", r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}",
    r"\d{8,10}:AA[\w-]{32,35}", r"eyJ[\w-]{8,4096}\.[\w-]{8,4096}\.[\w-]{4,4096}", r"kw_[A-Za-z0-9_-]{20,255}",
    r"gsk_[A-Za-z0-9]{30,64}", r"r8_[A-Za-z0-9]{30,64}", r"nvapi-[\w-]{30,128}", r"pat-(?:na|eu)\d-[0-9a-f-]{30,40}",
)  # fmt: skip
_SAYS = r"(?:\s{0,3}(?:=|:|->|is now|is|was|are|to|ist jetzt|ist|est|es|é|è|lautet|luidt)\s{0,3}|\s)"
_NAMES = (
    r"pass ?words?|passwd|pwd|pass ?phrases?|pass ?codes?|kennwort|passwort|mot de passe|contraseña|senha|wachtwoord|"
    r"parola d'ordine"
)
# a word that may follow "the password is" and is none
_OTHER_WORDS = (
    r"(?:the|a|an|in|on|at|of|my|your|our|it|that|this|not|no|too|very|so|wrong|right|correct|incorrect|expired|"
    r"required|"
    r"safe|weak|strong|secure|saved|stored|here|there|still|now|new|old|always|never|only|also|different|same|empty|"
    r"missing|invalid|valid|being|been|for|and|or|but|with|from|by|reset|changed|written|gone|hidden|managed|shared|"
    r"needed|protected|manager|hint|policy|field|important|something|secret|long|short|hard|easy|case|what|because|"
    r"nicht|falsch|abgelaufen|sicher|das|der|die|le|la|un|une|el|una|o|um|uma|il|het|een|incorrecte?|errada?|verkeerd)"
)
_OF = r"(?: (?:for|of|to|on|at|from|für|vom|von|zum|pour|de|du|da|do|della?|voor|van) [^\n:=.!?;]{1,48}?)?"
_LABELS = (
    r"(?:api|access|secret|private|encryption|signing|master|license|licence|product|ssh|account|deploy|service|"
    r"decryption|recovery|root|admin|session|refresh|bearer|auth|bot|webhook|client)[-_ ]?(?:keys?|tokens?|secrets?)|"
    r"log-?in data|credentials?|zugangsdaten|tokens?|secrets?|one[- ]time codes?|otp|2fa codes?|"
    r"(?:door|gate|alarm|safe|entry|unlock|lock|security|verification|recovery|backup|access|garage|vault|bike lock)"
    r"[- ]?(?:codes?|combination)|pin(?:[- ]?(?:code|number))?s?|cvv2?|cvc2?|ssn|social security number|geheimzahl"
)
# at least one digit, and no plain number of one or two digits
_CODE = r"(?=[^\s\d]{0,64}\d)(?=[^\s]{3})[^\s,;\"'`<>]{3,512}"
_IN_QUOTES = r"[\"'`“”‘’]"


@dataclass(frozen=True, slots=True)
class _Detector:
    """`accepts` looks at the match; the group `secret`, or else the whole match, is what has to be hidden."""

    pattern: patterns.Short
    accepts: Callable[[str], bool] = bool


def _is_card(text: str) -> bool:
    digits = [int(sign) for sign in text if sign.isdigit()]
    if not _LEAST_CARD_DIGITS <= len(digits) <= _MOST_CARD_DIGITS or len(set(digits)) == 1:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    plain = "".join(text.split()).upper()
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1  # noqa: PLR2004 - ISO 13616


def _is_code(text: str) -> bool:
    """Tell a code from a time, a date, an amount or an address that stands behind such a label."""
    return not _NO_CODE.fullmatch(text)


_NO_CODE = patterns.at_start(
    r"\d{1,2}:\d\d(?:[ap]m)?|\d{4}-\d\d-\d\d|[$€£]\d[\d.,]*+[km]?|\d++(?:st|nd|rd|th|%|px|ms|"
    r"s|x|k)|\d{1,2}",
    _FLAGS,
)
_DETECTORS = (
    _Detector(patterns.in_short(rf"(?<![\w-])(?:{'|'.join(_TOKENS)})(?![\w])", _PIECE_CHARS)),
    _Detector(patterns.in_short(
        r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY(?: BLOCK)?-----[^-]{0,16384}(?:-----END [A-Z "
        r"]{0,40}-----)?", _PIECE_CHARS)),
    _Detector(patterns.in_short(r"(?<=://)[^\s:/@]{0,64}:(?P<secret>[^\s@/]{1,128})@", _PIECE_CHARS)),
    _Detector(patterns.in_short(r"\b(?:bearer|basic) (?P<secret>[\w.~+/-]{16,4096}=*+)", _PIECE_CHARS, _FLAGS)),
    _Detector(patterns.in_short(
        r"\b[A-Z_0-9]{0,40}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_KEY|ACCESS_KEY|ACCOUNTKEY)[A-Z_0-9]{0,20}"
        r"[\"']?\s?[=:]\s?(?P<secret>[^\s,;]{4,512})", _PIECE_CHARS)),
    _Detector(patterns.in_short(r"\b(?:AccountKey|SharedAccessKey|sig|Pwd|"
                                r"Password)=(?P<secret>[^\s;&]{4,512})", _PIECE_CHARS)),
    # a password of any form, after its name and a verb
    _Detector(patterns.in_short(
        rf"\b(?:{_NAMES})\b[\"']?{_OF}\s{{0,3}}(?:=|:|->|is now|is|was|ist|est|es|é|lautet)\s{{0,3}}"
        rf"(?!{_OTHER_WORDS}\b){_IN_QUOTES}?(?P<secret>[^\s\"'`“”‘’]{{3,128}})", _PIECE_CHARS, _FLAGS)),
    _Detector(patterns.in_short(
        rf"\b(?:{_NAMES})\b(?: to)? {_IN_QUOTES}?(?P<secret>{_CODE})", _PIECE_CHARS, _FLAGS), _is_code),
    _Detector(patterns.in_short(
        r"\b(?:log(?:ged)? in|sign in|anmelden|login) (?:with|as|mit) "
        r"[^\s/]{1,64}\s?/\s?(?P<secret>[^\s,;]{3,128})",
        _PIECE_CHARS, _FLAGS)),
    _Detector(patterns.in_short(
        rf"\b(?:{_LABELS})\b[\"']?{_OF}{_SAYS}{_IN_QUOTES}?(?P<secret>{_CODE})", _PIECE_CHARS, _FLAGS), _is_code),
    _Detector(patterns.in_short(
        r"\b(?:seed|recovery|mnemonic|backup) (?:phrase|words)\b[^\n:]{0,40}?(?::| is) (?P<secret>(?:[a-z]{3,8}[ "
        r",]{1,2}){5,23}[a-z]{3,8})",
        _PIECE_CHARS, _FLAGS)),
    _Detector(patterns.in_short(r"(?<![\w.-])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\w-])", _PIECE_CHARS), _is_card),
    _Detector(patterns.in_short(
        r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", _PIECE_CHARS), _is_iban),
    _Detector(patterns.in_short(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])", _PIECE_CHARS)),
)  # fmt: skip


def has_secret(text: str) -> bool:
    return any(True for _ in _spans(text))


def hide(text: str) -> str:
    """Return the text with `[secret]` in the place of each secret."""
    parts, at = [], 0
    for start, end in sorted(_spans(text)):
        if end > at:
            parts += [text[at : max(at, start)], HIDDEN if start >= at else ""]
            at = end
    return "".join((*parts, text[at:])) if parts else text


def _spans(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for piece in patterns.pieces(text, _PIECE_CHARS):
        for detector in _DETECTORS:
            for match in detector.pattern.finditer(piece):
                group = "secret" if "secret" in match.re.groupindex else 0
                # the end of the sentence is no part of it
                found = match[group].rstrip(".,!?;:)")
                if found and detector.accepts(found):
                    yield begin + match.start(group), begin + match.start(group) + len(found)
        begin += len(piece)
