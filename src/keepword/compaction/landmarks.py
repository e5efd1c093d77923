"""What is pinned word for word: decisions, specs, code, action items, links to specs, and what somebody pins."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from keepword.errors import InvalidInput

Kind = Literal["decision", "spec", "code", "action", "question", "link", "pin"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MIN_CODE_LINES = 20
MAX_TEXT_BYTES = 64 * 1024

_LABELLED = re.compile(
    r"^[ \t>*_#-]*(decision|decided|spec|specification|question)[*_]*[ \t]*:[*_]*[ \t]*\S", re.IGNORECASE | re.MULTILINE
)
_LABELS: dict[str, Kind] = {
    "decision": "decision",
    "decided": "decision",
    "spec": "spec",
    "specification": "spec",
    "question": "question",
}
# said of what was settled, not of what might be: at the start of a sentence, and no question
_DECIDED = re.compile(
    r"(?:^|(?<=[.!?] )|(?<=\n))(?:we|the team)(?:'ve| have| has)?(?: finally| just)? "
    r"(?:decided|agreed) (?:to|on|that|against) [^\n.!?][^\n]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)")
_PIN = re.compile(r"(?:^|(?<=\s))!pin\b", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_MENTION = re.compile(
    r"(?:^|(?<=[\s(,]))@[\w.-]*\w[ \t]*[,:]?[ \t]+(?:please[ \t]+|pls[ \t]+|can you[ \t]+|could you[ \t]+)?(\w+)",
    re.IGNORECASE,
)
_SPEC_LINK = re.compile(
    r"\bhttps?://[^\s<>\"')\]]*?(?:\b(?:spec|specs|specification|rfc|adr|prd|design|proposal|architecture)\b|"
    r"rfc\d+|datatracker\.ietf)[^\s<>\"')\]]*",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://\S+")
_IMPERATIVES = frozenset(
    (
        "add ask build bump call cancel change check clean close commit confirm convert create debug decide "
        "delete deploy document draft email enable ensure escalate estimate explain file find finish fix "
        "follow get give implement install investigate invite keep look make merge migrate move notify open "
        "order pay ping plan post prepare prioritize publish push read rebase refactor release remove rename "
        "replace reply report request research reset restart restore review revert rewrite roll rotate run "
        "schedule send set share ship sign start stop submit switch sync take talk tell test track translate "
        "try turn update upgrade upload use verify wait watch write "
    ).split()
)


@dataclass(frozen=True, slots=True)
class Landmark:
    """`text` is a part of the message, word for word."""

    kind: Kind
    text: str


def detect(content: str) -> list[Landmark]:
    """Find at most one landmark of each kind, the first, in the order of KINDS."""
    found = _decided(content) | _labelled(content)
    found |= {kind: text for kind, find in _FINDERS.items() if (text := find(content)) is not None}
    return [Landmark(kind, found[kind]) for kind in KINDS if kind in found]


def check_text(text: str) -> None:
    if not text.strip():
        raise InvalidInput("text is empty; a landmark pins at least a word", "text")
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise InvalidInput(f"text has {len(text.encode())} bytes; a landmark has at most {MAX_TEXT_BYTES}", "text")


def _labelled(content: str) -> dict[Kind, str]:
    found: dict[Kind, str] = {}
    for label in _LABELLED.finditer(content):
        kind = _LABELS[label[1].lower()]
        if kind not in found:
            found[kind] = _paragraph(content, label.start())
    return found


def _decided(content: str) -> dict[Kind, str]:
    for found in _DECIDED.finditer(content):
        end = _SENTENCE_END.search(found[0])
        sentence = found[0][: end.end()] if end else found[0].rstrip()
        if not sentence.endswith("?"):
            return {"decision": sentence}
    return {}


def _code(content: str) -> str | None:
    blocks = _code_blocks(content)
    return next((block for block in blocks if block.count("\n") - 1 >= MIN_CODE_LINES), None)


def _action(content: str) -> str | None:
    mentions = _MENTION.finditer(content)
    found = next((mention for mention in mentions if mention[1].lower() in _IMPERATIVES), None)
    return _line(content, found.start()) if found else None


def _link(content: str) -> str | None:
    # a link alone says nothing that is worth pinning
    lines = (line for line in content.split("\n") if _SPEC_LINK.search(line))
    return next((line.strip() for line in lines if re.search(r"\w", _URL.sub("", line))), None)


def _pin(content: str) -> str | None:
    return _PIN.sub("", content).strip() or None if _PIN.search(content) else None


def _paragraph(content: str, start: int) -> str:
    """Return what a label introduces: up to an empty line or the next label."""
    end = content.find("\n\n", start)
    text = content[start : end if end >= 0 else len(content)]
    following = _LABELLED.search(text, text.find("\n") + 1) if "\n" in text else None
    return text[: following.start() if following else len(text)].strip()


def _line(content: str, at: int) -> str:
    start = content.rfind("\n", 0, at) + 1
    end = content.find("\n", at)
    return content[start : end if end >= 0 else len(content)].strip()


def _code_blocks(content: str) -> Iterator[str]:
    """Yield fenced blocks with their fences; one that is never closed goes to the end."""
    start, fence = None, ""
    for found in _FENCE.finditer(content):
        if start is None:
            start, fence = found.start(), found[1]
        elif found[1].startswith(fence) and not _line(content, found.end()).strip("`~"):
            yield content[start : found.end()].strip()
            start = None
    if start is not None:
        yield content[start:].rstrip() + "\n"


_FINDERS: dict[Kind, Callable[[str], str | None]] = {"code": _code, "action": _action, "link": _link, "pin": _pin}
