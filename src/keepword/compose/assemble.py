"""From what the layers found to what the agent reads. Pure: the same input gives the same bytes."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from keepword import tokens
from keepword.compose.budget import Need, allowance, fill
from keepword.compose.chat import as_anthropic, as_openai, render
from keepword.compose.dedupe import Said, flatten
from keepword.compose.header import Template
from keepword.compose.parts import ORDER, Composed, Digest, Found, Item, Limits, Line, Section, SectionName, Turn
from keepword.errors import InvalidInput

# of the budget for injected context; what one does not need, the next may use
SHARES: dict[SectionName, float] = {"session": 0.1, "facts": 0.15, "profile": 0.15, "recall": 0.4, "summary": 0.2}
# no part of a small window may push the others out of it
MOST_OF_WINDOW = 0.25
_MORE_TOKENS = 40

Pair = tuple[Item, Line]


class _Draft:
    """The sections of one turn while they are filled."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._pairs: dict[SectionName, list[Pair]] = {}
        self.said = Said()

    def pair(self, name: SectionName, item: Item) -> Pair:
        text = self._template.line(name, item)
        cost = tokens.count(text + "\n")
        return item, Line(item.kind, item.id, text, cost, round(item.score, 4), item.reason, item.links)

    def heading_tokens(self, name: SectionName) -> int:
        # with the blank line that ends a section; a section that has lines has paid for it
        return 0 if self._pairs.get(name) else tokens.count(self._template.heading(name) + "\n") + 1

    def put(self, name: SectionName, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            self._pairs.setdefault(name, []).append(pair)
            self.said.add(pair[0].text, stands_alone=pair[0].kind == "landmark")

    def cost(self, name: SectionName) -> int:
        lines = self._pairs.get(name, ())
        heading = tokens.count(self._template.heading(name) + "\n") + 1
        return sum(line.tokens for _, line in lines) + heading if lines else 0

    def sections(self) -> list[Section]:
        return [
            Section(name, self._template.heading(name), self.cost(name), [line for _, line in self._pairs[name]])
            for name in ORDER
            if name in self._pairs
        ]

    def used(self, names: Iterable[SectionName]) -> list[Item]:
        return [item for name in names for item, _ in self._pairs.get(name, ())]


def assemble(
    found: Found, invocation: Item, limits: Limits, template: Template, wanted: AbstractSet[SectionName]
) -> tuple[Composed, list[Item]]:
    """Fill the wanted sections; also return the items that were injected.

    Raises InvalidInput if the window is too small for what must be there.
    """
    draft = _Draft(template)
    draft.put("session", [draft.pair("session", item) for item in found.place])
    draft.put("invocation", [draft.pair("invocation", invocation)])
    rest = _left(draft, limits.window)
    part = int(rest * MOST_OF_WINDOW)
    budget = min(limits.injected, part)
    fixed = draft.cost("session")
    turns: list[Turn] = []
    if "transcript" in wanted:
        room = rest - min(limits.workspace, part) - min(limits.landmarks, part) - budget
        turns = _put_turns(draft, found, room)
    if "landmarks" in wanted:
        _put_landmarks(draft, found, turns, invocation, min(limits.landmarks, part))
    if "workspace" in wanted:
        _put_whole(draft, "workspace", found.files, min(limits.workspace, part))
    _put_injected(draft, found, turns, budget, wanted)
    sections = draft.sections()
    total = sum(section.tokens for section in sections)
    # working memory stands in the session's section but counts as injected; the place itself does not
    injected = sum(section.tokens for section in sections if section.name in SHARES) - fixed
    chat = as_openai(sections, turns, invocation)
    composed = Composed(
        render(sections), chat, as_anthropic(chat), sections,
        total, injected, limits.window, round(total / limits.window, 4), template.name,
    )  # fmt: skip
    return composed, draft.used(SHARES)


def _left(draft: _Draft, window: int) -> int:
    asked, place = draft.cost("invocation"), draft.cost("session")
    if asked > window:
        raise InvalidInput(
            f"message has {asked} tokens with its attribution, but the window has {window}; shorten the message",
            "message",
        )
    if asked + place > window:
        raise InvalidInput(
            f"window_tokens is {window}, but the place and the message alone take {asked + place}; that is the minimum",
            "window_tokens",
        )
    return window - asked - place


def _put_turns(draft: _Draft, found: Found, room: int) -> list[Turn]:
    """Put the last messages, as many as fit, and return them with what is pinned of them."""
    room -= draft.heading_tokens("transcript")
    kept: list[tuple[Turn, Pair]] = []
    pins: dict[str, list[Item]] = {}
    for pin in found.pinned:
        pins.setdefault(str(pin.message), []).append(pin.item)
    for turn in (_with_pins(turn, pins.get(turn.item.id, ())) for turn in reversed(found.turns)):
        pair = draft.pair("transcript", turn.item)
        if pair[1].tokens > room:
            break
        room -= pair[1].tokens
        kept.append((turn, pair))
    kept.reverse()
    draft.put("transcript", [pair for _, pair in kept])
    return [turn for turn, _ in kept]


def _with_pins(turn: Turn, of_it: Sequence[Item]) -> Turn:
    pins = [pin for pin in of_it if pin.text in turn.item.text]
    if not pins:
        return turn
    reason = "; ".join([turn.item.reason, *(pin.reason for pin in pins)])
    return replace(turn, item=replace(turn.item, reason=reason, links=tuple(pin.id for pin in pins)))


def _put_landmarks(draft: _Draft, found: Found, turns: Sequence[Turn], invocation: Item, cap: int) -> None:
    """Put what is pinned, in the order given, and say how many more there are; the transcript's own stay there."""
    there = {id_ for turn in turns for id_ in turn.item.links}
    there |= {pin.item.id for pin in found.pinned if pin.item.text in invocation.text}
    missing = [pin.item for pin in found.pinned if pin.item.id not in there]
    total = max(found.pinned_total, len(found.pinned)) - len(there)
    pairs = [draft.pair("landmarks", item) for item in missing]
    room = cap - draft.heading_tokens("landmarks")
    if total > len(pairs) or sum(line.tokens for _, line in pairs) > room:
        room -= _MORE_TOKENS
    kept: list[Pair] = []
    for pair in pairs:
        if pair[1].tokens <= room:
            room -= pair[1].tokens
            kept.append(pair)
    if (more := total - len(kept)) > 0 and room >= 0:
        said = f"{more} more landmarks are pinned here and do not fit; GET /v1/landmarks lists them"
        kept.append(draft.pair("landmarks", Item("more", "landmarks", said, 0, "over the budget", "keepword")))
    draft.put("landmarks", kept)


def _put_injected(
    draft: _Draft, found: Found, turns: Sequence[Turn], budget: int, wanted: AbstractSet[SectionName]
) -> None:
    """Fill section by section; each may take all but what the later ones need and have a share of."""
    digests = _untold(found.digests, turns)
    candidates: dict[SectionName, Sequence[Item]] = {
        "session": found.fields,
        "facts": found.facts,
        "profile": found.profiles,
        "recall": _recallable(draft, found.recall, turns, digests if "summary" in wanted else ()),
        "summary": [digest.item for digest in digests],
    }
    names = [name for name in SHARES if name in wanted]
    ready = {name: [draft.pair(name, item) for item in candidates[name]] for name in names}
    needs = {name: Need(SHARES[name], _need(draft, name, ready[name])) for name in names}
    left = budget
    for number, name in enumerate(names):
        room = allowance(left, budget, [needs[later] for later in names[number + 1 :]])
        before = draft.cost(name)
        if name in {"profile", "summary"}:
            _put_whole(draft, name, candidates[name], room)
        else:
            _put_best(draft, name, ready[name], room)
        left -= draft.cost(name) - before


def _need(draft: _Draft, name: SectionName, pairs: Sequence[Pair]) -> int:
    return sum(line.tokens for _, line in pairs) + draft.heading_tokens(name) if pairs else 0


def _put_best(draft: _Draft, name: SectionName, pairs: Sequence[Pair], room: int) -> None:
    """Put the best by score; what is said already is passed over."""
    said = Said()

    def admit(number: int) -> bool:
        text = pairs[number][0].text
        if name == "recall" and (draft.said.holds(text) or said.holds(text)):
            return False
        said.add(text)
        return True

    costs = [line.tokens for _, line in pairs]
    taken = fill([item.score for item, _ in pairs], costs, room - draft.heading_tokens(name), admit)
    draft.put(name, [pairs[number] for number in taken])


def _put_whole(draft: _Draft, name: SectionName, items: Sequence[Item], room: int) -> None:
    """Put texts of many lines, best first: without lines that are said already, and cut where the room ends."""
    room -= draft.heading_tokens(name)
    kept: list[tuple[int, Pair]] = []
    for number, item in sorted(enumerate(items), key=lambda one: (-one[1].score, one[0])):
        lines = item.text.split("\n")
        if item.kind != "file":
            lines = [line for line in lines if not draft.said.holds(_words(line))]
        pair = _longest(draft, name, item, lines, room)
        if pair is not None:
            room -= pair[1].tokens
            kept.append((number, pair))
    draft.put(name, [pair for _, pair in sorted(kept, key=lambda one: one[0])])


def _longest(draft: _Draft, name: SectionName, item: Item, lines: Sequence[str], room: int) -> Pair | None:
    """Return the item with as many of the lines, from the first, as fit; None if not even one does."""
    low, best = 1, None
    high = len(lines)
    if "\n".join(lines).strip():
        while low <= high:
            # the whole first: it mostly fits
            amount = high if best is None and high == len(lines) else (low + high) // 2
            pair = draft.pair(name, replace(item, text="\n".join(lines[:amount])))
            if pair[1].tokens <= room:
                best, low = pair, amount + 1
            else:
                high = amount - 1
    return best


def _words(line: str) -> str:
    """Return what a line of an extractive summary quotes, without its time and speaker."""
    head, colon, rest = line.partition(": ")
    return rest if colon and head.startswith("- ") else line


def _untold(digests: Sequence[Digest], turns: Sequence[Turn]) -> list[Digest]:
    """Return the summaries of what the transcript does not show as a whole."""
    firsts: dict[str, int] = {}
    for turn in turns:
        firsts[turn.conversation] = min(turn.seq, firsts.get(turn.conversation, turn.seq))
    return [
        digest
        for digest in digests
        if digest.first_seq is None or digest.first_seq < firsts.get(digest.conversation, digest.first_seq + 1)
    ]


def _recallable(draft: _Draft, items: Sequence[Item], turns: Sequence[Turn], digests: Sequence[Digest]) -> list[Item]:
    """Leave out what other sections show, and the longer of two forms of the same; the shorter one links to it."""
    shown = {turn.item.id for turn in turns} | {digest.item.id for digest in digests}
    fresh = [item for item in items if item.id not in shown and not draft.said.is_shortened_by(item.text)]
    memories = {item.id: flatten(item.text) for item in fresh if item.kind == "memory"}
    links: dict[str, list[str]] = {}
    kept: list[Item] = []
    for item in fresh:
        words = flatten(item.text)
        short = next((id_ for id_, memory in memories.items() if item.kind == "message" and memory in words), None)
        if short is None:
            kept.append(item)
        else:
            links.setdefault(short, []).append(item.id)
    return [replace(item, links=(*item.links, *links[item.id])) if item.id in links else item for item in kept]
