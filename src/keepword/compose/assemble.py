"""Makes the context of one turn from the layers' items. Pure: the same input gives the same bytes."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from keepword import tokens
from keepword.answers import ComposedContext, LeftOut, QuotesIn, SectionName
from keepword.compose import section_budgets
from keepword.compose.chat import QUOTES_NOTE, as_anthropic, as_openai, render
from keepword.compose.draft import Draft, Pair
from keepword.compose.injected import SHARES, put_injected, put_whole
from keepword.compose.parts import Item, Limits, TranscriptMessage, TurnMaterial
from keepword.compose.section_budgets import MOST_OF_WINDOW, NeededTokens, SectionBudgets, UsedTokens
from keepword.compose.summaries import put_summaries, without_summary
from keepword.compose.template import Template
from keepword.errors import InvalidInput

# the most tokens of the line that names missing messages
GAP_TOKENS = 80
_MOST_RANGES = 3
_GAP_REASONS = {
    "over the window": "do not fit the window",
    "older": "came before the last messages, and no summary tells of them yet",
}


@dataclass(frozen=True, slots=True)
class _TurnInput:
    """The input of one turn: the layers' items, the message, and the limits."""

    material: TurnMaterial
    invocation: Item
    limits: Limits
    template: Template
    sections: AbstractSet[SectionName]
    quotes_in: QuotesIn = "user"


@dataclass(frozen=True, slots=True)
class _Filling:
    """A draft with the turns that it shows, and the line that tells of those that it does not show."""

    draft: Draft
    turns: Sequence[TranscriptMessage]
    gap: Item | None


def assemble(
    material: TurnMaterial,
    invocation: Item,
    limits: Limits,
    template: Template,
    sections: AbstractSet[SectionName],
    quotes_in: QuotesIn = "user",
) -> tuple[ComposedContext, list[Item]]:
    """Fill the wanted sections; also return the items that were injected.

    Raises InvalidInput if the window is too small for what must be there.
    """
    turn = _TurnInput(material, invocation, limits, template, sections, quotes_in)
    fixed = _begin(turn)
    rest = max(0, _rest(fixed, limits.window) - _note_tokens(turn))
    filled = _fill(turn, section_budgets.uncut(limits, rest))
    proposed = filled.draft.total
    if proposed > limits.window:
        needs = _needs(turn, filled.draft)
        budgets = section_budgets.cut(limits, rest, needs)
        used = _used(_fill(turn, budgets).draft, fixed)
        filled = _fill(turn, section_budgets.refined(budgets, used, rest, needs))
    return _composed(turn, filled, fixed, proposed), filled.draft.used((*SHARES, "summary"))


def count_newest(material: TurnMaterial, invocation: Item, limits: Limits, template: Template) -> int:
    """Return how many of the newest turns fit into the part of a full window that is the transcript's for sure."""
    draft = _begin(_TurnInput(material, invocation, limits, template, frozenset()))
    room = int(_rest(draft, limits.window) * MOST_OF_WINDOW) - draft.heading_tokens("transcript")
    return len(_newest(draft, material.turns, room))


def turn_tokens(turn: TranscriptMessage, template: Template) -> int:
    return Draft(template).pair("transcript", turn.item)[1].tokens


def _composed(turn: _TurnInput, filled: _Filling, fixed: Draft, proposed: int) -> ComposedContext:
    sections = filled.draft.sections()
    total = sum(section.tokens for section in sections)
    chat = as_openai(sections, filled.turns, turn.invocation, filled.gap, turn.quotes_in)
    window = turn.limits.window
    return ComposedContext(
        render(sections), chat, as_anthropic(chat), tuple(sections), total, _used(filled.draft, fixed).injected, window,
        round(total / window, 4), turn.template.name, (), 0, proposed,
        (*turn.material.left_out, *filled.draft.left_out()),
    )  # fmt: skip


def _begin(turn: _TurnInput) -> Draft:
    """Put the parts that every context must have."""
    draft = Draft(turn.template)
    draft.put("session", [draft.pair("session", item) for item in turn.material.place])
    draft.put("invocation", [draft.pair("invocation", turn.invocation)])
    return draft


def _rest(fixed: Draft, window: int) -> int:
    message_tokens = fixed.cost("invocation")
    if message_tokens > window:
        raise InvalidInput(
            f"message has {message_tokens} tokens with its attribution, but the window has {window}; "
            "shorten the message",
            "message",
        )
    if fixed.total > window:
        raise InvalidInput(
            f"window_tokens is {window}, but the place and the message alone take {fixed.total}; that is the minimum",
            "window_tokens",
        )
    return window - fixed.total


def _note_tokens(turn_input: _TurnInput) -> int:
    """Return the tokens of the chat beyond the sections: the note above the quotes, and working memory's heading."""
    if turn_input.quotes_in == "system":
        return 0
    again = tokens.count(turn_input.template.heading("session") + "\n") + 1 if turn_input.material.fields else 0
    return tokens.count(QUOTES_NOTE + "\n") + again


def _needs(turn: _TurnInput, uncut: Draft) -> NeededTokens:
    draft = Draft(turn.template)
    digests = turn.material.digests if "summary" in turn.sections else ()
    summaries = [draft.pair("summary", digest.item)[1].tokens for digest in digests]
    summary = sum(summaries) + draft.heading_tokens("summary") if summaries else 0
    gap = GAP_TOKENS + draft.heading_tokens("transcript") if "transcript" in turn.sections else 0
    return NeededTokens(uncut.cost("workspace"), summary, uncut.cost("transcript") + gap)


def _used(draft: Draft, fixed: Draft) -> UsedTokens:
    # working memory stands in the session's section but counts as injected; the place itself does not
    injected = sum(draft.cost(name) for name in SHARES) - fixed.cost("session")
    return UsedTokens(
        draft.cost("workspace"), draft.cost("landmarks"), injected, draft.cost("summary"), draft.cost("transcript")
    )


def _fill(turn_input: _TurnInput, budgets: SectionBudgets) -> _Filling:
    draft, material, sections = _begin(turn_input), turn_input.material, turn_input.sections
    turns: list[TranscriptMessage] = []
    left = 0
    if "transcript" in sections:
        turns, left = _put_turns(draft, material, budgets.transcript)
    if "landmarks" in sections:
        _put_landmarks(draft, material, turns, turn_input.invocation, budgets)
    if "workspace" in sections:
        put_whole(draft, "workspace", material.files, budgets.workspace, budgets.reason("workspace"))
    digests = without_summary(draft, material.digests, turns) if "summary" in sections else []
    shown = put_summaries(draft, digests, budgets)
    put_injected(draft, material, {turn.item.id for turn in turns}, shown, budgets, sections)
    gap = _put_gap(draft, _gaps(draft, material, turns, shown), turns, left) if "transcript" in sections else None
    return _Filling(draft, turns, gap)


def _put_turns(draft: Draft, material: TurnMaterial, room: int) -> tuple[list[TranscriptMessage], int]:
    """Put the last messages, as many as fit; return them with their landmarks, and the tokens that are left."""
    pins: dict[str, list[Item]] = {}
    for pin in material.pinned:
        pins.setdefault(str(pin.message), []).append(pin.item)
    turns = [_with_pins(turn, pins.get(turn.item.id, ())) for turn in material.turns]
    heading = draft.heading_tokens("transcript")
    shown_pairs = _newest(draft, turns, room - heading)
    if len(shown_pairs) < len(turns) or any(one.reason == "older" for one in material.left_out):
        shown_pairs = _newest(draft, turns, room - heading - GAP_TOKENS)
    draft.put("transcript", [pair for _, pair in shown_pairs])
    used = sum(line.tokens for _, (_, line) in shown_pairs) + (heading if shown_pairs else 0)
    return [turn for turn, _ in shown_pairs], room - used


def _newest(draft: Draft, turns: Sequence[TranscriptMessage], room: int) -> list[tuple[TranscriptMessage, Pair]]:
    shown_pairs: list[tuple[TranscriptMessage, Pair]] = []
    for turn in reversed(turns):
        pair = draft.pair("transcript", turn.item)
        if pair[1].tokens > room:
            break
        room -= pair[1].tokens
        shown_pairs.append((turn, pair))
    return shown_pairs[::-1]


def _with_pins(turn: TranscriptMessage, of_it: Sequence[Item]) -> TranscriptMessage:
    pins = [pin for pin in of_it if pin.text in turn.item.text]
    if not pins:
        return turn
    reason = "; ".join([turn.item.reason, *(pin.reason for pin in pins)])
    return replace(turn, item=replace(turn.item, reason=reason, links=tuple(pin.id for pin in pins)))


def _gaps(
    draft: Draft, material: TurnMaterial, turns: Sequence[TranscriptMessage], shown: Sequence[str]
) -> list[LeftOut]:
    """Name the messages that are not shown; return those that no summary here stands for, oldest first."""
    there = {turn.item.id for turn in turns}
    digests = [digest for digest in material.digests if digest.item.id in shown]
    summarised = [turn for turn in material.replaced if any(digest.covers(turn) for digest in digests)]
    draft.leave_out_turns(summarised, "summarised")
    told_ids = {turn.item.id for turn in summarised}
    missing = [turn for turn in (*material.replaced, *material.turns) if turn.item.id not in there | told_ids]
    older = [one for one in material.left_out if one.reason == "older"]
    return [*older, *draft.leave_out_turns(missing, "over the window")]


def _put_gap(draft: Draft, gaps: Sequence[LeftOut], turns: Sequence[TranscriptMessage], room: int) -> Item | None:
    """Put a line before the transcript that tells which messages are missing, as far as there is room for it."""
    if not gaps:
        return None
    count = sum(gap.count for gap in gaps)
    ranges = [f"#{gap.first_seq} to #{gap.last_seq} {_GAP_REASONS[gap.reason]}" for gap in gaps[:_MOST_RANGES]]
    brief = f"{count} messages are not shown here"
    when = turns[0].item.when if turns else None
    for text in (f"{brief}: {'; '.join(ranges)}", brief):
        gap = Item("more", "transcript", text, 0, "over the window", "keepword", when=when)
        pair = draft.pair("transcript", gap)
        if pair[1].tokens + draft.heading_tokens("transcript") <= room:
            draft.put_first("transcript", pair)
            return gap
    return None


def _put_landmarks(
    draft: Draft, material: TurnMaterial, turns: Sequence[TranscriptMessage], invocation: Item, budgets: SectionBudgets
) -> None:
    """Put landmarks in order, and count those left out; landmarks of shown messages stay in the transcript."""
    there = {id_ for turn in turns for id_ in turn.item.links}
    there |= {pin.item.id for pin in material.pinned if pin.item.text in invocation.text}
    missing = [pin.item for pin in material.pinned if pin.item.id not in there]
    total = max(material.pinned_total, len(material.pinned)) - len(there)
    pairs = [draft.pair("landmarks", item) for item in missing]
    room = budgets.landmarks - draft.heading_tokens("landmarks")
    if total > len(pairs) or sum(line.tokens for _, line in pairs) > room:
        room -= draft.pair("landmarks", _more_landmarks(total))[1].tokens
    shown_pairs: list[Pair] = []
    for pair in pairs:
        if pair[1].tokens <= room:
            room -= pair[1].tokens
            shown_pairs.append(pair)
    if (more := total - len(shown_pairs)) > 0:
        draft.leave_out("landmarks", "landmark", budgets.reason("landmarks"), more)
        if room >= 0:
            shown_pairs.append(draft.pair("landmarks", _more_landmarks(more)))
    draft.put("landmarks", shown_pairs)


def _more_landmarks(count: int) -> Item:
    note = f"{count} more landmarks are pinned here and do not fit; GET /v1/landmarks lists them"
    return Item("more", "landmarks", note, 0, "over the budget", "keepword")
