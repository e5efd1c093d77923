"""The gate of a model's summary: nothing invented, no more lost than by quoting, nothing done that is still to do.

And no longer than a good part of what it summarises: a copy tells nothing new, and what is longer is made up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from keepword import faithfulness, patterns, tokens
from keepword.compaction import extractive, render
from keepword.compaction.attribution import attribute_lines, stems_of
from keepword.compaction.loss import Keepsake, Keepsakes, LossVerdict
from keepword.compaction.quoted import read_units
from keepword.compaction.sources import SummarySource
from keepword.faithfulness import Sources, Verdict
from keepword.faithfulness.tense import EarlyClaim, OpenDeeds

_TIME = patterns.at_start(r"[-*• ]*+[*_[(]{0,3}(\d{4}-\d\d-\d\dT\d\d:\d\dZ)")
_INVENTED = (
    "An earlier version of these notes was refused because it named things that are not in the input: {items}. "
    "Write the notes again with only what the input says, letter by letter."
)
_LOST = "An earlier version of these notes left out what must not be lost: {items}. Write the notes again with these."
_EARLY = (
    "An earlier version of these notes told as done what the input says is still to be done: {items}. "
    "Write the notes again and say who is to do it."
)
_UNSAID = (
    "An earlier version of these notes told what nobody says in the input: {items}. "
    "Write the notes again with only what the input says."
)
_TOO_LONG = "An earlier version of these notes was too long. Write the notes again, in at most {words} words."
# a line with fewer of its words in the sources tells what nobody said; of so few words nothing can be told
_LEAST_WORDS = 0.5
_FEWEST_WORDS = 7
_SHOWN_LINES = 5
# of the sources with their headers; a short talk may be told at length
_MOST_SHARE = 0.8
_SHORT_TOKENS = 200
_TOKENS_A_WORD = 1.5


@dataclass(frozen=True, slots=True)
class JudgedSummary:
    """A model's text, each line with its time and speaker, and what the gate says of it.

    `unsaid` are the lines with words that the sources do not have.
    """

    text: str
    model: str
    faithful: Verdict
    kept: LossVerdict
    early: Sequence[EarlyClaim]
    unsaid: Sequence[str] = ()
    too_long: bool = False


class Gate:
    def __init__(self, source: SummarySource, sources: Sources, message_tokens: int) -> None:
        """Read what a summary of the source should keep; `sources` are what it may name."""
        self._source = source
        self._sources = sources
        self._keepsakes = Keepsakes(source)
        self._deeds = OpenDeeds(unit.text for unit in read_units(source))
        blocks = render.blocks(source)
        self._vocabulary = stems_of("\n".join([render.preamble(source), *map(str, blocks)]))
        self._most_tokens = max(_SHORT_TOKENS, int(_MOST_SHARE * sum(tokens.count(str(block)) for block in blocks)))
        self._quoted = extractive.summarize(source, message_tokens)
        self.least_share = self._keepsakes.judge(self._quoted).share

    def judge(self, text: str, model: str) -> JudgedSummary:
        verdict = faithfulness.check_faithful(text, self._sources)
        attributed = attribute_lines(text, self._source)
        early = self._deeds.find_claims(attributed)
        unsaid = [line for line in attributed.split("\n") if self._is_unsaid(line)]
        kept, too_long = self._keepsakes.judge(attributed), self._is_too_long(attributed)
        return JudgedSummary(attributed, model, verdict, kept, early, unsaid, too_long)

    def passes(self, one: JudgedSummary) -> bool:
        faultless = not (one.early or one.unsaid or one.too_long)
        return one.faithful.passes and faultless and one.kept.share >= self.least_share

    def _is_unsaid(self, line: str) -> bool:
        # of a span, the later time ends the head
        told = line.partition("Z ")[2] if _TIME.match(line) else line
        words = stems_of(told)
        return len(words) >= _FEWEST_WORDS and len(words & self._vocabulary) < _LEAST_WORDS * len(words)

    def _is_too_long(self, text: str) -> bool:
        return tokens.count(text) > self._most_tokens

    def remark(self, one: JudgedSummary) -> str:
        """Say to the model what was wrong."""
        remarks = []
        if not one.faithful.passes:
            remarks.append(_INVENTED.format(items=", ".join(one.faithful.offending)))
        if one.kept.share < self.least_share:
            remarks.append(_LOST.format(items=", ".join(one.kept.missing)))
        if one.early:
            said = "; ".join(f'"{claim.form}", where the input says: {claim.said}' for claim in one.early)
            remarks.append(_EARLY.format(items=said))
        if one.unsaid:
            remarks.append(_UNSAID.format(items="; ".join(f'"{line}"' for line in one.unsaid[:_SHOWN_LINES])))
        if one.too_long:
            remarks.append(_TOO_LONG.format(words=int(self._most_tokens / _TOKENS_A_WORD)))
        return "\n\n" + " ".join(remarks)

    def complete(self, one: JudgedSummary) -> JudgedSummary:
        """Take out lines that tell too early or what nobody said, and add the quotes that hold most of what is lost."""
        wrong = {*(claim.line for claim in one.early), *one.unsaid}
        lines = [line for line in one.text.split("\n") if line not in wrong]
        quotes = [line for line in self._quotes if line not in lines]
        # a quote says rightly what a line that was taken out said wrongly
        added = [quote for quote in quotes if any(claim.said in quote for claim in one.early)]
        held = self._keepsakes.held("\n".join([*lines, *added]))
        while self._keepsakes.verdict(held).share < self.least_share:
            best = self._best([quote for quote in quotes if quote not in added], held)
            if best is None:
                break
            added.append(best)
            held |= self._quotes[best]
        text = "\n".join(_in_time_order(lines, added))
        model = f"{one.model}+{extractive.NAME}" if added else one.model
        verdict = faithfulness.check_faithful(text, self._sources)
        return JudgedSummary(text, model, verdict, self._keepsakes.judge(text), (), (), self._is_too_long(text))

    @cached_property
    def _quotes(self) -> dict[str, frozenset[Keepsake]]:
        """Return the lines that quoting would make, each with what it keeps."""
        return {line: self._keepsakes.held(line) for line in self._quoted.split("\n") if line}

    def _best(self, quotes: Sequence[str], held: frozenset[Keepsake]) -> str | None:
        """Return the quote that saves most for its length; None if no quote saves anything."""
        weights = self._keepsakes.weights
        saved = {
            quote: sum(weights[key] for key in self._quotes[quote] - held) / (1 + tokens.count(quote))
            for quote in quotes
        }
        best = max(saved, key=lambda quote: saved[quote], default=None)
        return best if best is not None and saved[best] > 0 else None


def _in_time_order(lines: Sequence[str], added: Sequence[str]) -> list[str]:
    """Put each added line before the first that is of a later time."""
    merged = list(lines)
    for line in added:
        at = _time(line)
        later = (number for number, other in enumerate(merged) if (_time(other) or at) > at)
        merged.insert(next(later, len(merged)), line)
    return merged


def _time(line: str) -> str:
    match = _TIME.match(line)
    return match[1] if match else ""
