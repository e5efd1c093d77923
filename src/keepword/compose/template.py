"""Headings and lines: a template says how they look, and only what it says can begin a line."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from string import Template as Text
from typing import Any, get_args

from keepword.answers import SectionName
from keepword.compose.parts import ORDER, TITLES, Item
from keepword.compose.untrusted_text import indent_untrusted, sanitize, sanitize_label
from keepword.errors import InvalidInput
from keepword.model import Reach

_HEADING_FIELDS = {"title"}
_MINUTE_CHARS = len("2026-05-01 12:30")
_KEYS = {"heading", "line", "gutter", "reach", "sections"}


# the fields of a line: untrusted text is sanitised here, and only the fields that the template names are made
_FIELDS: Mapping[str, Callable[[Item, str], str]] = {
    "when": lambda item, _: "now" if item.kind == "invocation" else minute(item.when),
    "who": lambda item, _: sanitize_label(item.who) or item.kind,
    "where": lambda item, _: sanitize_label(item.where) or "here",
    "text": lambda item, gutter: indent_untrusted(item.text, gutter),
    "score": lambda item, _: f"{item.score:.2f}",
    # with its words: an item without a similarity shows none
    "similarity": lambda item, _: "" if item.similarity is None else f"(similarity: {item.similarity:.2f}) ",
    "kind": lambda item, _: item.kind,
    "id": lambda item, _: sanitize_label(item.id),
    "reason": lambda item, _: sanitize_label(item.reason),
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a section looks: `heading` stands above it, `line` is one of its lines: words and names of fields in turn."""

    heading: Text
    line: Text
    pieces: Sequence[str]

    def render(self, item: Item, gutter: str) -> str:
        words, names = self.pieces[::2], self.pieces[1::2]
        pieces = [
            part for word, name in zip(words, names, strict=False) for part in (word, _FIELDS[name](item, gutter))
        ]
        return "".join((*pieces, words[-1]))


@dataclass(frozen=True, slots=True)
class Template:
    """`gutter` begins every further line of a text that has several.

    `reach` is what a turn with this template reads in a session where the call names none.
    """

    name: str
    gutter: str
    style: Style
    sections: Mapping[SectionName, Style] = field(default_factory=dict)
    reach: Reach | None = None

    def heading(self, name: SectionName) -> str:
        return self._style(name).heading.substitute(title=TITLES[name])

    def line(self, name: SectionName, item: Item) -> str:
        """Render an item; its text can't leave its line."""
        if item.kind == "file":
            return self._file(item)
        return self._style(name).render(item, self.gutter)

    def _file(self, item: Item) -> str:
        """Render an agent's own file as it is, but for lines that would open a section."""
        headings = {self.heading(name).casefold() for name in ORDER}
        lines = plain_file(item.text).split("\n")
        kept = [self.gutter + line if line.strip().casefold() in headings else line for line in lines]
        return "\n".join([f"### {sanitize_label(item.who)}", *kept])

    def _style(self, name: SectionName) -> Style:
        return self.sections.get(name, self.style)


def plain_file(text: str) -> str:
    """Return a file's text without unseen characters; its fences and headings are its own."""
    return "\n".join(line if line.isascii() and line.isprintable() else sanitize(line) for line in text.splitlines())


def minute(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat(" ", "minutes")[:_MINUTE_CHARS] if at else "always"


def parse(name: str, source: str) -> Template:
    """Read a template from TOML. Raises InvalidInput that says what is wrong with it."""
    try:
        read = tomllib.loads(source)
    except tomllib.TOMLDecodeError as exc:
        raise _bad(name, f"it is not TOML: {exc}") from exc
    if unknown := set(read) - _KEYS:
        raise _bad(name, f"unknown {', '.join(sorted(unknown))}; it has heading, line, gutter, reach and sections")
    gutter = read.get("gutter", "  | ")
    if not isinstance(gutter, str) or not gutter.strip() or "\n" in gutter:
        raise _bad(name, "gutter must be a sign on one line that is no blank")
    reach = read.get("reach")
    if reach not in {None, *get_args(Reach)}:
        raise _bad(name, f"reach must be one of {', '.join(get_args(Reach))}")
    style = _style(name, read, None)
    sections = read.get("sections", {})
    if not isinstance(sections, dict) or not set(sections) <= set(ORDER):
        raise _bad(name, f"sections must be among {', '.join(ORDER)}")
    return Template(name, gutter, style, {key: _style(name, part, style) for key, part in sections.items()}, reach)


def _style(name: str, read: Any, default: Style | None) -> Style:
    if not isinstance(read, dict):
        raise _bad(name, "a section has heading and line")
    heading = _text(name, read.get("heading", default.heading.template if default else None), _HEADING_FIELDS)
    line = _text(name, read.get("line", default.line.template if default else None), set(_FIELDS))
    # a text at the edge could begin a section of its own
    if "text" not in line.get_identifiers() or line.template.lstrip().startswith(("$text", "${text}")):
        raise _bad(name, "line must hold $text, and something before it")
    return Style(heading, line, _pieces(line))


def _pieces(line: Text) -> list[str]:
    """Take a line apart once: substituting it anew for each costs more than all else about it."""
    pieces = [""]
    at = 0
    for match in line.pattern.finditer(line.template):
        pieces[-1] += line.template[at : match.start()]
        at = match.end()
        if field_ := match["named"] or match["braced"]:
            pieces += [field_, ""]
        else:
            pieces[-1] += "$"
    pieces[-1] += line.template[at:]
    return pieces


def _text(name: str, written: Any, allowed: set[str]) -> Text:
    if not isinstance(written, str) or not written.strip() or "\n" in written:
        raise _bad(name, "heading and line must each be one line of text")
    text = Text(written)
    if not text.is_valid() or not set(text.get_identifiers()) <= allowed:
        named = ", ".join(f"${field}" for field in sorted(allowed))
        raise _bad(name, f"{written!r} may hold {named}, and $$ for a dollar sign")
    return text


def _bad(name: str, reason: str) -> InvalidInput:
    return InvalidInput(f"template {name!r} can't be used: {reason}", "template")
