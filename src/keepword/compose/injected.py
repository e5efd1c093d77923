"""Injected context: working memory, facts, profiles and recall, which share one budget."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from keepword.answers import LeftOutReason, SectionName
from keepword.compose.budget import SectionNeed, allowance, fill
from keepword.compose.dedupe import ShownWords, flatten
from keepword.compose.draft import Draft, Pair
from keepword.compose.parts import Item, TurnMaterial
from keepword.compose.section_budgets import SectionBudgets
from keepword.compose.summaries import quoted_words

# shares of the budget for injected context; the next section may use what one leaves
SHARES: dict[SectionName, float] = {"session": 0.15, "facts": 0.2, "profile": 0.2, "recall": 0.45}


def put_injected(
    draft: Draft,
    material: TurnMaterial,
    turns: AbstractSet[str],
    summaries: Sequence[str],
    budgets: SectionBudgets,
    sections: AbstractSet[SectionName],
) -> None:
    """Fill section by section; each may take all but what the later ones need and have a share of.

    `turns` and `summaries` are the ids of those that are shown.
    """
    candidates: dict[SectionName, Sequence[Item]] = {
        "session": material.fields,
        "facts": material.facts,
        "profile": material.profiles,
        "recall": _recallable(draft, material.recall, turns | set(summaries)) if "recall" in sections else (),
    }
    names = [name for name in SHARES if name in sections]
    ready = {name: [draft.pair(name, item) for item in candidates[name]] for name in names}
    needs = {name: SectionNeed(SHARES[name], _need(draft, name, ready[name])) for name in names}
    left = budgets.injected
    for number, name in enumerate(names):
        room = allowance(left, budgets.injected, [needs[later] for later in names[number + 1 :]])
        before = draft.cost(name)
        if name == "profile":
            put_whole(draft, name, candidates[name], room, budgets.reason("injected"))
        else:
            _put_best(draft, name, ready[name], room, budgets.reason("injected"))
        left -= draft.cost(name) - before


def put_whole(draft: Draft, name: SectionName, items: Sequence[Item], room: int, reason: LeftOutReason) -> None:
    """Put texts of many lines, best first: without lines that are said already, and cut where the room ends."""
    room -= draft.heading_tokens(name)
    kept: list[tuple[int, Pair]] = []
    for number, item in sorted(enumerate(items), key=lambda one: (-one[1].score, one[0])):
        lines = item.text.split("\n")
        if item.kind != "file":
            lines = [line for line in lines if not draft.shown_words.holds(quoted_words(line))]
        if not "".join(lines).strip():
            continue
        shown, pair = _longest(draft, name, item, lines, room)
        if pair is None:
            draft.leave_out(name, item.kind, reason)
            continue
        draft.leave_out(name, "line", reason, len(lines) - shown)
        room -= pair[1].tokens
        kept.append((number, pair))
    draft.put(name, [pair for _, pair in sorted(kept, key=lambda one: one[0])])


def _longest(draft: Draft, name: SectionName, item: Item, lines: Sequence[str], room: int) -> tuple[int, Pair | None]:
    """Return the item with as many of the lines, from the first, as fit, and how many those are."""
    low, high = 1, len(lines)
    shown, best = 0, None
    while low <= high:
        # the whole first: it mostly fits
        amount = high if best is None and high == len(lines) else (low + high) // 2
        pair = draft.pair(name, replace(item, text="\n".join(lines[:amount])))
        if pair[1].tokens <= room:
            shown, best, low = amount, pair, amount + 1
        else:
            high = amount - 1
    return shown, best


def _need(draft: Draft, name: SectionName, pairs: Sequence[Pair]) -> int:
    return sum(line.tokens for _, line in pairs) + draft.heading_tokens(name) if pairs else 0


def _put_best(draft: Draft, name: SectionName, pairs: Sequence[Pair], room: int, reason: LeftOutReason) -> None:
    """Put the best by score; repetitions are passed over."""
    shown_words = ShownWords()
    repeated: set[int] = set()
    admitted: list[Item] = []

    def admit(number: int) -> bool:
        item = pairs[number][0]
        is_said = draft.shown_words.holds(item.text) or shown_words.holds(item.text)
        if name == "recall" and (is_said or any(_tell_of_each_other(item, other) for other in admitted)):
            repeated.add(number)
            return False
        shown_words.add(item.text)
        admitted.append(item)
        return True

    costs = [line.tokens for _, line in pairs]
    taken = fill([item.score for item, _ in pairs], costs, room - draft.heading_tokens(name), admit)
    for number in set(range(len(pairs))) - set(taken):
        draft.leave_out(name, pairs[number][0].kind, "repeated" if number in repeated else reason)
    if name == "recall":
        taken = sorted(taken, key=lambda number: _order(pairs[number][0]))
    draft.put(name, [pairs[number] for number in taken])


def _order(item: Item) -> tuple[bool, float, int]:
    """Order by time, and in the order of storing what has the same."""
    return item.when is None, item.when.timestamp() if item.when else 0, item.entry or 0


def _tell_of_each_other(one: Item, other: Item) -> bool:
    """Tell whether one is a summary or a memory, and the other a message that it was made from."""
    if one.id in other.memories or other.id in one.memories:
        return True
    summary, part = (one, other) if one.kind == "summary" else (other, one)
    if summary.kind != "summary" or part.kind == "summary" or summary.conversation != part.conversation:
        return False
    if summary.seqs is None or part.seqs is None:
        return False
    return summary.seqs[0] <= part.seqs[0] <= summary.seqs[1]


def _recallable(draft: Draft, items: Sequence[Item], shown: AbstractSet[str]) -> list[Item]:
    """Leave out items that other sections show, and the longer of two forms of one item; the shorter links to it."""
    fresh = [item for item in items if item.id not in shown and not draft.shown_words.is_shortened_by(item.text)]
    memories = {item.id: flatten(item.text) for item in fresh if item.kind == "memory"}
    links: dict[str, list[str]] = {}
    recallable: list[Item] = []
    for item in fresh:
        words = flatten(item.text)
        short = next((id_ for id_, memory in memories.items() if item.kind == "message" and memory in words), None)
        if short is None:
            recallable.append(item)
        else:
            links.setdefault(short, []).append(item.id)
    recallable_ids = {item.id for item in recallable}
    for item in items:
        if item.id not in recallable_ids:
            draft.leave_out("recall", item.kind, "repeated")
    return [replace(item, links=(*item.links, *links[item.id])) if item.id in links else item for item in recallable]
