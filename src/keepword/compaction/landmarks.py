"""Landmarks, pinned word for word: decisions, specs, code, action items, links to specs, and what a caller pins."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

from keepword import patterns
from keepword.answers import LandmarkKind
from keepword.compaction.segment import sentences
from keepword.compaction.sentence_kinds import is_assignment, is_joint_decision
from keepword.errors import InvalidInput
from keepword.secret_text import has_secret

KINDS: tuple[LandmarkKind, ...] = get_args(LandmarkKind)

MIN_CODE_LINES = 20
MAX_TEXT_BYTES = 64 * 1024

# a message is read in pieces that end with a line
_PIECE_CHARS = 128 * 1024
_LABELLED = patterns.in_short(
    r"^[ \t>*_#-]*+(decision|decided|spec|specification|question)[*_]*+[ \t]*+:(?=[*_]|[ \t]*+\S)",
    _PIECE_CHARS,
    patterns.IGNORECASE | patterns.MULTILINE,
)
_LABELS: dict[str, LandmarkKind] = {
    "decision": "decision",
    "decided": "decision",
    "spec": "spec",
    "specification": "spec",
    "question": "question",
}
_PIN = patterns.anywhere(r"(?<!\S)!pin\b", patterns.IGNORECASE)
_FENCE = patterns.anywhere(r"^[ \t]*+(`{3,}+|~{3,}+)", patterns.MULTILINE)
_MENTION = patterns.in_short(
    r"(?<![^\s(,])@(?>[\w.-]*\w)(?:[ \t]*+[,:][ \t]++|[ \t]++)"
    r"(?:please[ \t]++|pls[ \t]++|can you[ \t]++|could you[ \t]++)?(\w++)",
    _PIECE_CHARS,
    patterns.IGNORECASE,
)
# no address is longer
_LINK_CHARS = 2_000
_LINK = patterns.anywhere(r"\bhttps?://[^\s<>\"')\]]*+", patterns.IGNORECASE)
_OF_SPEC = patterns.in_short(
    r"\b(?:spec|specs|specification|rfc|adr|prd|design|proposal|architecture)\b|rfc\d|datatracker\.ietf",
    _LINK_CHARS,
    patterns.IGNORECASE,
)
_URL = patterns.anywhere(r"https?://\S++")
_HAS_WORD = patterns.anywhere(r"\w")
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
class DetectedLandmark:
    """`text` is a part of the message, word for word."""

    kind: LandmarkKind
    text: str


def detect(content: str, *, keeps_secrets: bool = True) -> list[DetectedLandmark]:
    """Find at most one landmark of each kind, the first, in the order of KINDS.

    A landmark is word for word: one with a secret in it is left out, unless secrets are kept.
    """
    landmarks = _said(content) | _labelled(content)
    landmarks |= {kind: text for kind, find in _FINDERS.items() if (text := find(content)) is not None}
    return [
        DetectedLandmark(kind, landmarks[kind])
        for kind in KINDS
        if kind in landmarks and (keeps_secrets or not has_secret(landmarks[kind]))
    ]


def check_text(text: str) -> None:
    if not text.strip():
        raise InvalidInput("text is empty; a landmark pins at least a word", "text")
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise InvalidInput(f"text has {len(text.encode())} bytes; a landmark has at most {MAX_TEXT_BYTES}", "text")


def _labelled(content: str) -> dict[LandmarkKind, str]:
    landmarks: dict[LandmarkKind, str] = {}
    for piece in patterns.pieces(content, _PIECE_CHARS):
        for label in _LABELLED.finditer(piece):
            kind = _LABELS[label[1].lower()]
            if kind not in landmarks:
                landmarks[kind] = _paragraph(piece, label.start())
    return landmarks


def _said(content: str) -> dict[LandmarkKind, str]:
    """Find the first decision and the first commitment that carry no label, among the sentences as they stand there."""
    landmarks: dict[LandmarkKind, str] = {}
    for sentence in (one for piece in patterns.pieces(content, _PIECE_CHARS) for one in sentences(piece)):
        kind: LandmarkKind | None = (
            "decision" if is_joint_decision(sentence) else "action" if is_assignment(sentence) else None
        )
        # a wrapped line is no part of the message word for word
        if kind and kind not in landmarks and sentence in content:
            landmarks[kind] = sentence
    return landmarks


def _code(content: str) -> str | None:
    blocks = _code_blocks(content)
    return next((block for block in blocks if block.count("\n") - 1 >= MIN_CODE_LINES), None)


def _action(content: str) -> str | None:
    mentions = (one for piece in patterns.pieces(content, _PIECE_CHARS) for one in _MENTION.finditer(piece))
    imperative = next((mention for mention in mentions if mention[1].lower() in _IMPERATIVES), None)
    return _line(imperative.string, imperative.start()) if imperative else None


def _link(content: str) -> str | None:
    # a link without text is not worth pinning
    lines = (line for line in content.split("\n") if "://" in line and any(map(_leads_to_spec, _LINK.findall(line))))
    return next((line.strip() for line in lines if _HAS_WORD.search(_URL.sub("", line))), None)


def _leads_to_spec(link: str) -> bool:
    return _OF_SPEC.search(link.partition("//")[2][:_LINK_CHARS]) is not None


def _pin(content: str) -> str | None:
    return _PIN.sub("", content).strip() or None if _PIN.search(content) else None


def _paragraph(content: str, start: int) -> str:
    """Return the text after a label, up to an empty line or the next label."""
    end = content.find("\n\n", start)
    text = content[start : end if end >= 0 else len(content)]
    first, _, rest = text.partition("\n")
    following = _LABELLED.search(rest)
    return f"{first}\n{rest[: following.start() if following else len(rest)]}".strip()


def _line(content: str, at: int) -> str:
    start = content.rfind("\n", 0, at) + 1
    end = content.find("\n", at)
    return content[start : end if end >= 0 else len(content)].strip()


def _code_blocks(content: str) -> Iterator[str]:
    """Yield fenced blocks with their fences; one that is never closed goes to the end."""
    start, fence = None, ""
    for match in _FENCE.finditer(content):
        if start is None:
            start, fence = match.start(), match[1]
        elif match[1].startswith(fence) and not _line(content, match.end()).strip("`~"):
            yield content[start : match.end()].strip()
            start = None
    if start is not None:
        yield content[start:].rstrip() + "\n"


_FINDERS: dict[LandmarkKind, Callable[[str], str | None]] = {
    "code": _code,
    "action": _action,
    "link": _link,
    "pin": _pin,
}
