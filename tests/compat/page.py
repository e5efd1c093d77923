"""Writes docs/compat.md: a section for each suite of other people, replaced by the run of that suite alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "compat.md"


@dataclass(frozen=True)
class Suite:
    """Whose tests or programs ran: `id` names the section, `version` is the pinned one, `how` a sentence on the run."""

    id: str
    title: str
    version: str
    how: str


@dataclass
class Outcome:
    """What a run of a suite gave. `left_out` has a reason for each test or call that was not run."""

    suite: Suite
    run: int = 0
    passed: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)


def write(outcome: Outcome, page: Path = PAGE) -> None:
    """Replace the suite's section, or add it where its id belongs in the order of ids."""
    sections = _sections(page.read_text(encoding="utf-8"))
    head = sections.pop("", "")
    sections[outcome.suite.id] = _section(outcome)
    page.write_text(head + "".join(text for _, text in sorted(sections.items())), encoding="utf-8")


def _sections(text: str) -> dict[str, str]:
    """Split the page at the marks of suites; what is before the first has the empty id."""
    head, *rest = re.split(r"(?m)^<!-- suite: ([a-z0-9-]+) -->\n", text)
    ids, texts = rest[::2], rest[1::2]
    return {"": head} | {id_: f"<!-- suite: {id_} -->\n{body}" for id_, body in zip(ids, texts, strict=True)}


def _section(outcome: Outcome) -> str:
    suite = outcome.suite
    lines = [
        f"<!-- suite: {suite.id} -->", f"## {suite.title}", "", suite.how, "",
        "| suite | version | run | passed | left out |", "| --- | --- | --- | --- | --- |",
        f"| {suite.title} | {suite.version} | {outcome.run} | {outcome.passed} | {len(outcome.left_out)} |", "",
    ]  # fmt: skip
    if outcome.left_out:
        lines += ["| left out | reason |", "| --- | --- |"]
        lines += [f"| {_cell(test)} | {_cell(reason)} |" for test, reason in outcome.left_out.items()]
        lines.append("")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
