"""The summaries of one turn: the newest first to stay, whole or down to their key decisions."""

from collections.abc import Sequence
from dataclasses import replace

from keepword.compose.draft import Draft, Pair
from keepword.compose.parts import SummaryItem, TranscriptMessage
from keepword.compose.section_budgets import SectionBudgets
from keepword.compose.shorten import shorten


def without_summary(
    draft: Draft, digests: Sequence[SummaryItem], turns: Sequence[TranscriptMessage]
) -> list[SummaryItem]:
    """Leave out the summaries whose messages the transcript shows as a whole."""
    firsts: dict[str, int] = {}
    for turn in turns:
        firsts[turn.conversation] = min(turn.seq, firsts.get(turn.conversation, turn.seq))
    kept = [
        digest
        for digest in digests
        if digest.first_seq is None or digest.first_seq < firsts.get(digest.conversation, digest.first_seq + 1)
    ]
    if len(kept) < len(digests):
        draft.leave_out("summary", "summary", "repeated", len(digests) - len(kept))
    return kept


def put_summaries(draft: Draft, digests: Sequence[SummaryItem], budgets: SectionBudgets) -> list[str]:
    """Put the summaries and return the ids of those shown.

    Those that messages gave way to come first and may take all of the room, others a part of it.
    """
    room = budgets.summary - draft.heading_tokens("summary")
    older = budgets.older - draft.heading_tokens("summary")
    kept: list[tuple[int, Pair]] = []
    for number, digest in sorted(enumerate(digests), key=lambda one: (not one[1].replaces, -one[1].item.score)):
        pair = _fitted(draft, digest, room if digest.replaces else min(room, older), budgets)
        if pair is not None:
            room -= pair[1].tokens
            older -= 0 if digest.replaces else pair[1].tokens
            kept.append((number, pair))
    draft.put("summary", [pair for _, pair in sorted(kept, key=lambda one: one[0])])
    return [item.id for _, (item, _) in kept]


def _fitted(draft: Draft, digest: SummaryItem, room: int, budgets: SectionBudgets) -> Pair | None:
    """Return the summary without lines that are said already; shortened where it does not fit as a whole."""

    def pair(text: str) -> Pair:
        return draft.pair("summary", replace(digest.item, text=text))

    every = digest.item.text.split("\n")
    lines = [line for line in every if not draft.shown_words.holds(quoted_words(line))]
    if not "".join(lines).strip():
        draft.leave_out("summary", "summary", "repeated")
        return None
    draft.leave_out("summary", "line", "repeated", len(every) - len(lines))
    whole = pair("\n".join(lines))
    if whole[1].tokens <= room:
        return whole
    short = shorten(lines, digest.decisions, room, lambda text: pair(text)[1].tokens)
    reason = budgets.reason("summary" if digest.replaces else "older")
    if short is None:
        draft.leave_out("summary", "summary", reason)
        return None
    draft.leave_out("summary", "line", reason, short.lines_left_out)
    shortened_reason = (
        f"{digest.item.reason}; {short.lines_left_out} of its {len(lines)} lines left out, {short.lines_cut} cut"
    )
    return draft.pair("summary", replace(digest.item, text=short.text, reason=shortened_reason))


def quoted_words(line: str) -> str:
    """Return the quoted words of a line of an extractive summary, without its time and speaker."""
    head, colon, rest = line.partition(": ")
    return rest if colon and head.startswith("- ") else line
