"""Lets a model answer a question from search results, with a citation for each sentence."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from keepword import patterns, tokens
from keepword.answers import Cite, Hit, Inside, Sentence, Synthesis
from keepword.compaction.render import read_prompt
from keepword.compaction.sources import minute
from keepword.errors import ModelFailed
from keepword.faithfulness import Sources, named_items
from keepword.llm.port import Model, Prompt

# four sentences, and some thinking before them
BUDGET_TOKENS = 2_000
# of each finding, where not all fit into the window as they are
SHORTENED_CHARS = 2_000
_NOTHING = "NOTHING"
_CITED = patterns.anywhere(r"\[(\d{1,3})\]")
_BULLET = patterns.at_start(r"(?:[-*•]|\d++[.)])\s++")
_FAULTY = (
    "\n\nAn earlier answer was refused: {faults}. Write it again; every sentence needs the findings behind it and says "
    "only what they say."
)


class NoAnswer(ModelFailed):
    """The hits hold no answer, or the faithfulness check refused the one that the model gave."""


@dataclass(frozen=True, slots=True)
class _Finding:
    cited: Cite
    head: str
    said: str

    is_short: bool = False

    def __str__(self) -> str:
        return f"{self.head}: {self.said}{' ... (it goes on)' if self.is_short else ''}"

    def shortened(self) -> "_Finding":
        if len(self.said) <= SHORTENED_CHARS:
            return self
        return replace(self, said=self.said[:SHORTENED_CHARS], is_short=True)


class Synthesizer:
    """Asks a model, for `seconds` at most."""

    def __init__(self, model: Model, seconds: float) -> None:
        self._model = model
        self._seconds = seconds

    async def answer(self, query: str, hits: Sequence[Hit]) -> Synthesis:
        """Raise ModelFailed, saying why, if there is no answer that can be stood by."""
        try:
            async with asyncio.timeout(self._seconds):
                findings = _findings(hits)
                shown = _fitting(query, findings, self._model.context_tokens)
                synthesis = await self._answer(query, shown)
                shortened = tuple(finding.cited for finding in shown if finding.is_short)
                return replace(synthesis, shortened=shortened, left_out=len(findings) - len(shown))
        except TimeoutError as exc:
            raise NoAnswer(f"the model took longer than {self._seconds:g} s") from exc

    async def _answer(self, query: str, findings: Sequence[_Finding]) -> Synthesis:
        sentences, name, faults = await self._ask(query, findings, "")
        if faults:
            sentences, name, faults = await self._ask(query, findings, _FAULTY.format(faults="; ".join(faults)))
        if not sentences:
            raise NoAnswer("; ".join(faults) or "the findings do not answer the question")
        text = "\n".join(f"{one.text} {''.join(f'[{cite.number}]' for cite in one.cites)}" for one in sentences)
        return Synthesis(text, tuple(sentences), name, (), 0)

    async def _ask(
        self, query: str, findings: Sequence[_Finding], remark: str
    ) -> tuple[list[Sentence], str, list[str]]:
        """Return the sentences that pass the faithfulness check, and the faults of the others."""
        budget = min(BUDGET_TOKENS, self._model.context_tokens // 4)
        prompt = Prompt(read_prompt("answer"), _written(query, findings) + remark, budget)
        answer = await self._model.ask(prompt)
        if answer.text.strip().strip(".").upper() == _NOTHING:
            return [], answer.model, []
        findings_by_number = {finding.cited.number: finding for finding in findings}
        sentences, faults = [], []
        for line in filter(None, map(str.strip, answer.text.splitlines())):
            sentence, fault = _check(_without_bullet(line), query, findings_by_number)
            if sentence is not None:
                sentences.append(sentence)
            else:
                faults.append(fault)
        return sentences, answer.model, faults


def _without_bullet(line: str) -> str:
    match = _BULLET.match(line)
    return line[match.end() :] if match else line


def _check(line: str, query: str, findings_by_number: dict[int, _Finding]) -> tuple[Sentence | None, str]:
    numbers = list(dict.fromkeys(int(number) for number in _CITED.findall(line)))
    text = " ".join(_CITED.sub("", line).replace(" .", ".").split())
    cited = [findings_by_number[number] for number in numbers if number in findings_by_number]
    if not cited or len(cited) < len(numbers):
        return None, f"{text[:120]!r} names no finding" if not cited else f"{text[:120]!r} names findings that are not"
    if strange := _strange(text, query, cited):
        return None, f"{', '.join(strange)} is not in the findings of {text[:120]!r}"
    return Sentence(text, tuple(finding.cited for finding in cited)), ""


def _strange(text: str, query: str, cited: Sequence[_Finding]) -> list[str]:
    """Return the names and numbers of the sentence that no cited source has, by the faithfulness check of summaries.

    Who spoke, where and when may be named too, but the digits of a time are no numbers that were said.
    """
    texts, heads = Sources([query, *(one.said for one in cited)]), Sources([one.head for one in cited])
    return [
        item for kind, item in sorted(named_items.find(text).all())
        if not texts.contains(kind, item) and (kind == "number" or not heads.contains(kind, item))
    ]  # fmt: skip


def _findings(hits: Sequence[Hit]) -> list[_Finding]:
    """Return the hits as text, each summary followed by the matches inside it; no entry twice."""
    sources_by_id: dict[UUID, tuple[Hit | Inside, str | None]] = {}
    for hit in hits:
        sources_by_id.setdefault(hit.id, (hit, hit.conversation))
        for inner in hit.inside:
            sources_by_id.setdefault(inner.id, (inner, hit.conversation))
    return [
        _finding(number, thing, conversation) for number, (thing, conversation) in enumerate(sources_by_id.values(), 1)
    ]


def _finding(number: int, thing: Hit | Inside, conversation: str | None) -> _Finding:
    name = thing.user if thing.role == "user" else thing.agent
    # a summary tells what was said in a conversation, by whomever
    who = thing.kind if thing.kind == "summary" else name or thing.role or thing.kind
    where = f' in "{conversation}"' if conversation else ""
    text = " ".join(thing.text.split())
    cited = Cite(number, thing.kind, thing.id, conversation, thing.seq)
    return _Finding(cited, f"[{number}] {minute(thing.created_at)} {who}{where}", text)


def _fitting(query: str, findings: Sequence[_Finding], window: int) -> list[_Finding]:
    """Return as many as fit into three fifths of the window, the best first; shortened if not all fit whole."""
    room = window * 3 // 5 - tokens.count(query) - tokens.count(read_prompt("answer"))
    if sum(tokens.count(str(finding)) + 1 for finding in findings) > room:
        findings = [finding.shortened() for finding in findings]
    fitting: list[_Finding] = []
    for finding in findings:
        room -= tokens.count(str(finding)) + 1
        if room < 0 and fitting:
            break
        fitting.append(finding)
    return fitting


def _written(query: str, findings: Sequence[_Finding]) -> str:
    return f"Question: {query}\n\nFindings:\n" + "\n".join(map(str, findings))
