"""One call before each answer: all layers asked at once under one grant, and put together within the budget."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import structlog

from keepword.access import Grant, Place
from keepword.compaction.ports import StoredSummary
from keepword.compose import layers
from keepword.compose.assemble import assemble
from keepword.compose.files import composed_names
from keepword.compose.inline import Inline
from keepword.compose.parts import ORDER, Composed, Found, Item, Limits, SectionName
from keepword.compose.ports import Layers
from keepword.compose.shelf import DEFAULT, Shelf
from keepword.errors import InvalidInput, KeepwordError
from keepword.profiles import Selection
from keepword.recall import Request as Search
from keepword.recall.recipe import DEFAULT as DEFAULT_RECIPE
from keepword.recall.recipe import recipe
from keepword.working import InjectionLedger
from keepword.working.ledger import MAX_KEY_CHARS

_log = structlog.get_logger()

LAST_MESSAGES = 40
DEFAULT_WINDOW_TOKENS = 128_000
# longer than recall itself waits for the deep model, and than a database takes that many agents ask at once
LAYER_SECONDS = 8.0
# of the window; beyond it the oldest messages give way to a summary
COMPACT_ABOVE = 0.7
RECALLED = 60
FACTS = 200
PROFILES = 50
LANDMARKS = 100
SUMMARIES = 12
# the words of a question; what follows in a long message is rarely what it asks for
_QUERY_CHARS = 8_000
# what the ledger keeps from being injected again; landmarks are always there
_ONCE = frozenset({"fact", "profile", "message", "summary", "memory"})


@dataclass(frozen=True, slots=True)
class Request:
    """`window_tokens` None takes the agent's. A `dry_run` counts no use, marks nothing and compacts nothing."""

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


@dataclass(frozen=True, slots=True)
class Composer:
    """`note` is told which entries were given to the agent."""

    layers: Layers
    shelf: Shelf
    note: Callable[[Grant, Iterable[int]], None]
    clock: Callable[[], datetime]
    zone: ZoneInfo
    inline: Inline | None = None
    layer_seconds: float = LAYER_SECONDS

    async def compose(self, grant: Grant, place: Place, request: Request) -> Composed:
        """Compose one turn. What a layer can't tell in time is left out and named; bad input raises InvalidInput."""
        template = self.shelf.get(request.template)
        check(request)
        ledger = InjectionLedger(self.layers.working.ledger, grant, place)
        answers, degraded = await self._ask(self._questions(grant, place, request, ledger))
        window = request.window_tokens or answers["agent"] or DEFAULT_WINDOW_TOKENS
        limits = Limits(window, request.budget_tokens, request.landmark_tokens, request.workspace_tokens)
        found, invocation = self._found(place, request, answers)
        marked: Mapping[str, str] = answers["ledger"] or {}
        found = _without(found, marked)
        composed, used = assemble(found, invocation, limits, template, request.sections)
        if composed.share > COMPACT_ABOVE and self.inline and grant.writes and not request.dry_run:
            taken = await self.inline.compact(grant, place, await self._known(grant, place, answers))
            found = await self._shortened(grant, place, found)
            composed, used = assemble(found, invocation, limits, template, request.sections)
            composed = replace(composed, compacted=taken)
        if not request.dry_run:
            self.note(grant, [item.entry for item in used if item.entry is not None])
            if request.ledger and "ledger" not in {name for name, _ in degraded}:
                await ledger.mark_all(_marks(found, used))
        said = [f"{name}: {reason}" for name, reason in degraded]
        return replace(composed, degraded=[*said, *answers["recall_degraded"]])

    async def _known(self, grant: Grant, place: Place, answers: Mapping[str, Any]) -> int | None:
        """Return up to where summaries reached when this turn began; None if it did not see all of them."""
        tops: Sequence[StoredSummary] | None = answers["summary"]
        if tops is None:
            tops = await self.layers.summaries.tops(grant, place, SUMMARIES)
        return _covered(tops) if len(tops) < SUMMARIES else None

    async def _shortened(self, grant: Grant, place: Place, found: Found) -> Found:
        """Let the summaries stand for the messages that they cover."""
        tops = await self.layers.summaries.tops(grant, place, SUMMARIES)
        covered = _covered(tops)
        turns = [turn for turn in found.turns if turn.conversation != place.external_id or turn.seq > covered]
        return replace(found, turns=turns, digests=layers.digests(tops, place))

    def _questions(
        self, grant: Grant, place: Place, request: Request, ledger: InjectionLedger
    ) -> dict[str, Callable[[], Awaitable[Any]]]:
        """Return what to ask which layer; a section that is off costs nothing."""
        ask, wanted = self.layers, request.sections
        questions: dict[str, Callable[[], Awaitable[Any]]] = {
            "facts": lambda: ask.facts.in_place(grant, ("", ""), FACTS),
            "profile": lambda: ask.profiles.page(grant, Selection(size=PROFILES)),
            "recall": lambda: self._search(grant, request),
            "landmarks": lambda: ask.landmarks.latest(grant, LANDMARKS),
            "summary": lambda: ask.summaries.tops(grant, place, SUMMARIES),
            "transcript": lambda: ask.working.buffer.read(grant, place, LAST_MESSAGES),
            "workspace": lambda: ask.files.current(grant, request.agent, composed_names(self._today())),
            "session": lambda: ask.working.fields.get(grant, place),
        }
        asked = {name: question for name, question in questions.items() if name in set[str](wanted)}
        if request.ledger:
            asked["ledger"] = ledger.get
        if request.window_tokens is None:
            asked["agent"] = lambda: self._window(grant, request.agent)
        return asked

    async def _search(self, grant: Grant, request: Request) -> Any:
        wanted = Search(
            request.message[:_QUERY_CHARS],
            recipe=request.recipe,
            limit=RECALLED,
            explain="arms",
            expand=False,
            prefer=request.agent,
        )
        return await self.layers.recall.search(grant, wanted, request.user)

    async def _window(self, grant: Grant, slug: str) -> int | None:
        found = await self.layers.agents.agent(grant, slug)
        return found.context_window if found else None

    async def _ask(
        self, questions: dict[str, Callable[[], Awaitable[Any]]]
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Ask all at once; return what was answered in time, and the names of the others with what was wrong."""
        # a search has statements of its own, one after the other, and the longest way to go
        tasks = {"recall": asyncio.ensure_future(questions.pop("recall")())} if "recall" in questions else {}
        with self.layers.together():
            tasks |= {name: asyncio.ensure_future(question()) for name, question in questions.items()}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=self.layer_seconds)
        answers: dict[str, Any] = dict.fromkeys((*ORDER, "ledger", "agent"))
        degraded: list[tuple[str, str]] = []
        for name, task in tasks.items():
            if not task.done():
                # not awaited: a stuck layer may be slow to give up as well
                task.add_done_callback(_forget)
                task.cancel()
                degraded.append((name, f"it took longer than {self.layer_seconds:g} s and was left out"))
            elif (failed := task.exception()) is not None:
                degraded.append((name, f"{_said(name, failed)}; it was left out"))
            else:
                answers[name] = task.result()
        recalled = answers["recall"]
        answers["recall_degraded"] = list(recalled.degraded) if recalled else []
        return answers, degraded

    def _found(self, place: Place, request: Request, answers: Mapping[str, Any]) -> tuple[Found, Item]:
        profiles, _ = answers["profile"] or ((), 0)
        landmarks, total = answers["landmarks"] or ((), 0)
        turns = layers.turns(answers["transcript"] or (), place, request.agent)
        invocation = Item("invocation", "now", request.message, 1.0, "said now", request.user or "user", place.run_id)
        # a client may have appended the message before it asked
        if turns and turns[-1].role == "user" and turns[-1].item.text == request.message:
            invocation = replace(invocation, id=turns.pop().item.id)
        found = Found(
            layers.place_items(place, request.agent, request.user, self._today()),
            layers.field_items(answers["session"] or {}),
            layers.file_items(answers["workspace"] or (), self._today()),
            layers.fact_items(answers["facts"] or (), request.message),
            layers.profile_items(profiles, request.user),
            [item for item in self._recalled(answers["recall"], request.agent) if item.id != invocation.id],
            layers.pinned_items(landmarks, place),
            total,
            layers.digests(answers["summary"] or (), place),
            turns,
        )
        return found, invocation

    def _today(self) -> date:
        return self.clock().astimezone(self.zone).date()

    def _recalled(self, results: Any, agent: str) -> Sequence[Item]:
        return layers.recall_items(results.results, agent) if results else ()


def _covered(tops: Iterable[StoredSummary]) -> int:
    return max((one.last_seq for one in tops if one.last_seq is not None), default=0)


def check(request: Request) -> None:
    if not request.message.strip():
        raise InvalidInput("message is empty; say what the agent is asked", "message")
    for name in ("budget_tokens", "landmark_tokens", "workspace_tokens"):
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


def _without(found: Found, marked: Mapping[str, str]) -> Found:
    """Leave out what was injected before in this conversation and did not change."""

    def is_new(item: Item) -> bool:
        return item.kind not in _ONCE or marked.get(item_key(item)) != _digest(item)

    if not marked:
        return found
    return replace(
        found,
        facts=[item for item in found.facts if is_new(item)],
        profiles=[item for item in found.profiles if is_new(item)],
        recall=[item for item in found.recall if is_new(item)],
        digests=[digest for digest in found.digests if is_new(digest.item)],
    )


def _marks(found: Found, used: Iterable[Item]) -> dict[str, str]:
    """Return the ledger's key and value of what is injected: what it says as a whole, also if only a part has room."""
    whole = {item_key(item): _digest(item) for item in (*found.facts, *found.profiles, *found.recall)}
    whole |= {item_key(digest.item): _digest(digest.item) for digest in found.digests}
    return {key: whole[key] for key in (item_key(item) for item in used if item.kind in _ONCE)}


def _said(name: str, failed: BaseException) -> str:
    """Say why a layer failed: in its own words if it foresaw that, else only in the log."""
    if isinstance(failed, KeepwordError):
        return str(failed)
    _log.error("a layer of a composed turn failed", layer=name, exc_info=failed)
    return "it failed in a way that nobody foresaw; the log says how"


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()
