"""One call before each answer: all layers asked at once under one grant, and put together within the budget."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from keepword.access import Grant, Place
from keepword.answers import ComposedContext, LeftOut, QuotesIn, SectionName, ToolsAs
from keepword.compose import section_items
from keepword.compose.degraded import abandon, reason_of
from keepword.compose.files import composed_names
from keepword.compose.inline import InlineCompactor
from keepword.compose.overflow import SUMMARIES, ContextShape, Overflow, name_older
from keepword.compose.parts import ORDER, Item, Limits, TurnMaterial
from keepword.compose.ports import TurnStores
from keepword.compose.template import Template
from keepword.compose.template_loader import DEFAULT, TemplateLoader
from keepword.errors import InvalidInput
from keepword.period import Calendar
from keepword.recall import RecallRequest as Search
from keepword.recall.recipe import DEFAULT as DEFAULT_RECIPE
from keepword.recall.recipe import recipe
from keepword.slices import Runner, in_thread
from keepword.working import InjectionLedger
from keepword.working.ledger import MAX_KEY_CHARS

LAST_MESSAGES = 40
DEFAULT_WINDOW_TOKENS = 128_000
# longer than recall itself waits for the deep model, and than a database takes that many agents ask at once
LAYER_SECONDS = 8.0
RECALL_HITS = 60
FACTS = 200
# of each profile, the most important first
PROFILE_LINES = 60
LANDMARKS = 100
# characters of a message that are searched for: its question rarely stands later
_QUERY_CHARS = 8_000
# the kinds of items that the ledger injects once; landmarks are always there
_INJECTED_ONCE = frozenset({"fact", "profile", "message", "summary", "memory"})


@dataclass(frozen=True, slots=True)
class ComposeRequest:
    """`window_tokens` None takes the agent's. A `dry_run` counts no use, marks nothing and compacts nothing.

    `quotes_in` names the chat message that holds what is quoted; what stands in "system" is read as instructions.
    `tools_as` says how the chat shows the agent's tool calls: as calls, or told in words.
    """

    message: str
    agent: str
    user: str | None = None
    window_tokens: int | None = None
    budget_tokens: int = 4_000
    landmark_tokens: int = 1_000
    workspace_tokens: int = 8_000
    sections: frozenset[SectionName] = frozenset(ORDER)
    ledger: bool = False
    dry_run: bool = False
    template: str = DEFAULT
    recipe: str = DEFAULT_RECIPE
    summary_tokens: int = 8_000
    quotes_in: QuotesIn = "user"
    tools_as: ToolsAs = "calls"

    def limits(self, window: int) -> Limits:
        return Limits(window, self.budget_tokens, self.landmark_tokens, self.workspace_tokens, self.summary_tokens)


@dataclass(frozen=True, slots=True)
class Composer:
    """`note` is told which entries were given to the agent; `run` puts long turns together."""

    layers: TurnStores
    shelf: TemplateLoader
    note: Callable[[Grant, Iterable[int]], None]
    clock: Callable[[], datetime]
    zone: ZoneInfo
    inline: InlineCompactor | None = None
    layer_seconds: float = LAYER_SECONDS
    run: Runner = in_thread

    def template(self, name: str) -> Template:
        """Raise InvalidInput if there is none of that name, or if it can't be used."""
        return self.shelf.get(name)

    async def compose(self, grant: Grant, place: Place, request: ComposeRequest) -> ComposedContext:
        """Compose one turn. A layer that is late or fails is left out and named; bad input raises InvalidInput."""
        template = self.template(request.template)
        check(request)
        ledger = InjectionLedger(self.layers.working.ledger, grant, place)
        answers, degraded = await self._ask(self._questions(grant, place, request, ledger))
        window = request.window_tokens or answers["agent"] or DEFAULT_WINDOW_TOKENS
        material, invocation = self._material(place, request, answers)
        marked: Mapping[str, str] = answers["ledger"] or {}
        is_new = _novelty(marked)
        shape = ContextShape(
            place, invocation, request.limits(window), template, request.sections, is_new, request.quotes_in, self.run
        )
        overflow = Overflow(self.layers.summaries, self.inline if grant.writes and not request.dry_run else None)
        fitting = await overflow.fit(grant, shape, _without(material, is_new), answers["summary"])
        degraded += fitting.degraded
        if not request.dry_run:
            self.note(grant, [item.entry for item in fitting.used if item.entry is not None])
            if request.ledger and "ledger" not in {name for name, _ in degraded}:
                await ledger.mark_all(_marks(fitting.material, fitting.used))
        reasons = [f"{name}: {reason}" for name, reason in degraded]
        reach = place.reach if place.kind == "session" else None
        return replace(fitting.composed, degraded=(*reasons, *answers["recall_degraded"]), reach=reach)

    def _questions(
        self, grant: Grant, place: Place, request: ComposeRequest, ledger: InjectionLedger
    ) -> dict[str, Callable[[], Awaitable[Any]]]:
        """Return the question to each layer; a section that is off costs nothing."""
        ask, sections = self.layers, request.sections
        questions: dict[str, Callable[[], Awaitable[Any]]] = {
            "facts": lambda: ask.facts.in_place(grant, ("", ""), FACTS),
            "profile": lambda: ask.profiles.lines(grant, PROFILE_LINES),
            "recall": lambda: self._search(grant, place, request),
            "landmarks": lambda: ask.landmarks.latest(grant, LANDMARKS),
            "summary": lambda: ask.summaries.tops(grant, place, SUMMARIES),
            "transcript": lambda: ask.working.buffer.read(grant, place, LAST_MESSAGES),
            "workspace": lambda: ask.files.current(grant, request.agent, composed_names(self._today(place))),
            "session": lambda: ask.working.fields.get(grant, place),
        }
        selected = {name: question for name, question in questions.items() if name in set[str](sections)}
        if request.ledger:
            selected["ledger"] = ledger.get
        if request.window_tokens is None:
            selected["agent"] = lambda: self._window(grant, request.agent)
        return selected

    async def _search(self, grant: Grant, place: Place, request: ComposeRequest) -> Any:
        search_request = Search(
            request.message[:_QUERY_CHARS],
            recipe=request.recipe,
            zone=_zone(place),
            limit=RECALL_HITS,
            explain="arms",
            expand=False,
            prefer=request.agent,
        )
        return await self.layers.recall.search(grant, search_request, request.user)

    async def _window(self, grant: Grant, slug: str) -> int | None:
        agent = await self.layers.agents.agent(grant, slug)
        return agent.context_window if agent else None

    async def _ask(
        self, questions: dict[str, Callable[[], Awaitable[Any]]]
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Ask all at once; return the answers that came in time, and the reasons why the others did not."""
        # a search has statements of its own, one after the other, and the longest way to go
        tasks = {"recall": asyncio.ensure_future(questions.pop("recall")())} if "recall" in questions else {}
        with self.layers.together():
            tasks |= {name: asyncio.ensure_future(question()) for name, question in questions.items()}
        try:
            if tasks:
                await asyncio.wait(tasks.values(), timeout=self.layer_seconds)
        except asyncio.CancelledError:
            # nobody waits for their answers or errors any more
            for task in tasks.values():
                abandon(task)
            raise
        answers: dict[str, Any] = dict.fromkeys((*ORDER, "ledger", "agent"))
        degraded: list[tuple[str, str]] = []
        for name, task in tasks.items():
            if not task.done():
                abandon(task)
                degraded.append((name, f"it took longer than {self.layer_seconds:g} s and was left out"))
            elif (failed := task.exception()) is not None:
                degraded.append((name, f"{reason_of(name, failed)}; it was left out"))
            else:
                answers[name] = task.result()
        recalled = answers["recall"]
        answers["recall_degraded"] = list(recalled.degraded) if recalled else []
        return answers, degraded

    def _material(self, place: Place, request: ComposeRequest, answers: Mapping[str, Any]) -> tuple[TurnMaterial, Item]:
        landmarks, total = answers["landmarks"] or ((), 0)
        turns = section_items.transcript_messages(answers["transcript"] or (), place, request.agent, request.tools_as)
        invocation = Item("invocation", "now", request.message, 1.0, "said now", request.user or "user", place.run_id)
        # a client may have appended the message before it asked
        if turns and turns[-1].role == "user" and turns[-1].item.text == request.message:
            invocation = replace(invocation, id=turns.pop().item.id)
        material = TurnMaterial(
            section_items.place_items(place, request.agent, request.user, self._today(place)),
            section_items.field_items(answers["session"] or {}),
            section_items.file_items(answers["workspace"] or (), self._today(place)),
            section_items.fact_items(answers["facts"] or (), request.message),
            section_items.profile_items(answers["profile"] or (), request.user, place),
            [item for item in self._recalled(answers["recall"], request.agent) if item.id != invocation.id],
            section_items.pinned_items(landmarks, place),
            total,
            section_items.summary_items(answers["summary"] or (), place),
            turns,
            left_out=name_older(place, turns, answers["summary"] or ()),
        )
        return material, invocation

    def _today(self, place: Place) -> date:
        """Return the day in the tenant's zone."""
        return self.clock().astimezone(Calendar(self.clock, self.zone).of(_zone(place)).zone).date()

    def _recalled(self, results: Any, agent: str) -> Sequence[Item]:
        return section_items.recall_items(results.results, agent) if results else ()


def _zone(place: Place) -> str | None:
    return place.settings.time_zone if place.settings else None


def check(request: ComposeRequest) -> None:
    if not request.message.strip():
        raise InvalidInput("message is empty; say what the agent is asked", "message")
    for name in ("budget_tokens", "landmark_tokens", "workspace_tokens", "summary_tokens"):
        if getattr(request, name) < 0:
            raise InvalidInput(f"{name} is {getattr(request, name)}; it must be 0 or more", name)
    if request.window_tokens is not None and request.window_tokens < 1:
        raise InvalidInput(f"window_tokens is {request.window_tokens}; it must be 1 or more", "window_tokens")
    recipe(request.recipe)
    if unknown := set(request.sections) - set(ORDER):
        raise InvalidInput(f"unknown section {', '.join(sorted(unknown))}; there are {', '.join(ORDER)}", "sections")


def item_key(item: Item) -> str:
    """Return the ledger's key of an item: evicting it brings the item back."""
    key = f"{item.kind}:{item.id}"
    return key if len(key) <= MAX_KEY_CHARS else f"{key[:100]}:{hashlib.sha256(key.encode()).hexdigest()}"


def _digest(item: Item) -> str:
    return hashlib.sha256(item.text.encode()).hexdigest()[:16]


def _novelty(marked: Mapping[str, str]) -> Callable[[Item], bool]:
    """Return a test of whether an item is new to this conversation's ledger, or changed since."""
    return lambda item: item.kind not in _INJECTED_ONCE or marked.get(item_key(item)) != _digest(item)


def _without(material: TurnMaterial, is_new: Callable[[Item], bool]) -> TurnMaterial:
    """Leave out items that are not new, and name them."""
    parts: dict[SectionName, Sequence[Item]] = {
        "facts": material.facts,
        "profile": material.profiles,
        "recall": material.recall,
        "summary": [digest.item for digest in material.digests],
    }
    again = Counter((name, item.kind) for name, items in parts.items() for item in items if not is_new(item))
    return replace(
        material,
        facts=[item for item in material.facts if is_new(item)],
        profiles=[item for item in material.profiles if is_new(item)],
        recall=[item for item in material.recall if is_new(item)],
        digests=[digest for digest in material.digests if is_new(digest.item)],
        left_out=[
            *material.left_out,
            *(LeftOut(name, kind, count, "injected before") for (name, kind), count in again.items()),
        ],
    )


def _marks(material: TurnMaterial, used: Iterable[Item]) -> dict[str, str]:
    """Return the ledger's key and value of each injected item: of its whole text, also if only a part has room."""
    whole = {item_key(item): _digest(item) for item in (*material.facts, *material.profiles, *material.recall)}
    whole |= {item_key(digest.item): _digest(digest.item) for digest in material.digests}
    return {key: whole[key] for key in (item_key(item) for item in used if item.kind in _INJECTED_ONCE)}
