"""The kinds of stored things. A step that stores a new kind adds an entry here, and the whole matrix covers it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, cycle, product
from typing import Any

import numpy as np

from keepword import transcript
from keepword.access import Grant, Place
from keepword.access.audit import AuditSelection
from keepword.embedding import TextIndexer
from keepword.errors import NotFound
from keepword.facts import FactSubject
from keepword.files import ROOT, Tree
from keepword.items.filters import read_filter
from keepword.items.ports import ItemAddress, ItemSelection
from keepword.memories.filters import write_filter
from keepword.memories.ports import MemorySelection as WantedMemories
from keepword.memories.ports import NumberedPage
from keepword.postgres.agent_files import PostgresFiles
from keepword.postgres.audit import PostgresAudit
from keepword.postgres.erasures import PostgresErasureQueue, PostgresErasures, PostgresProcesses
from keepword.postgres.facts import PostgresFacts
from keepword.postgres.files import PostgresFileTrees
from keepword.postgres.history_imports import PostgresImports
from keepword.postgres.items import PostgresItems
from keepword.postgres.memories import PostgresMemories
from keepword.postgres.personal import PostgresPersonalData
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Pool
from keepword.postgres.profiles import PostgresProfiles
from keepword.postgres.recall import PostgresIndex
from keepword.postgres.registry import PostgresRegistry
from keepword.postgres.retractions import PostgresRetractions
from keepword.postgres.scope_cache import ScopeCache
from keepword.postgres.sources import PostgresSources
from keepword.postgres.stats import PostgresCounts
from keepword.postgres.summaries import PostgresLandmarks, PostgresSummaries, PostgresTasks
from keepword.postgres.transcript import PostgresTranscript
from keepword.postgres.turns import PostgresTurns
from keepword.postgres.webhooks import PostgresWebhooks
from keepword.postgres.working import PostgresBuffer, PostgresFields, PostgresLedger
from keepword.profiles import Selection
from keepword.recall.ports import DeepQuery, Filter, Query
from keepword.recall.question import ask
from keepword.statements.meaning import meaning
from keepword.transcript import PageRequest
from keepword.transcript.page import Order
from keepword.working import WorkingStores
from leaks.oracle import Thing, Where
from leaks.world import BOTS, PEOPLE, World

ALL = 200
LIST = Where("list")
DEEP_SPACE = 2
# every memory: each has metadata, whatever its state
NOTED = {"metadata": {"note": {"exists": True}}, "state": {"in": ["valid", "superseded", "expired", "deleted"]}}
READER = TextIndexer()


class Stores:
    """The stores under test; without the first wall, their queries have lost the filters that name run_ids."""

    def __init__(self, pool: Pool, *, first_wall: bool = True) -> None:
        self.lookup = PostgresPlaceLookup(pool)
        self.conversations = PostgresConversations(pool, first_wall=first_wall)
        self.transcript = PostgresTranscript(pool, first_wall=first_wall)
        self.reader = READER
        self.index = PostgresIndex(pool, first_wall=first_wall)
        # as if every scope were too large to be compared whole
        self.arms = PostgresIndex(pool, first_wall=first_wall, small=-1, amount=ALL)
        # as if every scope had been searched before
        self.cached = PostgresIndex(
            pool, ScopeCache(pool, 2**26, first_wall=first_wall, eager=True), first_wall=first_wall
        )
        self.counts = PostgresCounts(pool, first_wall=first_wall)
        self.registry = PostgresRegistry(pool, first_wall=first_wall)
        self.audit = PostgresAudit(pool, first_wall=first_wall)
        self.webhooks = PostgresWebhooks(pool, first_wall=first_wall)
        self.facts = PostgresFacts(pool, first_wall=first_wall)
        self.profiles = PostgresProfiles(pool, first_wall=first_wall)
        self.summaries = PostgresSummaries(pool, READER, first_wall=first_wall)
        self.landmarks = PostgresLandmarks(pool, READER, first_wall=first_wall)
        self.tasks = PostgresTasks(pool, READER, first_wall=first_wall)
        self.memories = PostgresMemories(pool, first_wall=first_wall)
        self.retractions = PostgresRetractions(pool)
        self.erasures = PostgresErasures(pool)
        self.erasure_queue = PostgresErasureQueue(pool)
        self.processes = PostgresProcesses(pool)
        self.personal = PostgresPersonalData(pool)
        self.files = PostgresFiles(pool, first_wall=first_wall)
        self.trees = PostgresFileTrees(pool, first_wall=first_wall)
        self.sources = PostgresSources(pool, first_wall=first_wall)
        self.turns = PostgresTurns(pool, first_wall=first_wall)
        self.imports = PostgresImports(pool, first_wall=first_wall)
        self.items = PostgresItems(pool, first_wall=first_wall)
        self.working = WorkingStores(
            PostgresFields(pool, lambda: datetime.now(UTC), first_wall=first_wall),
            PostgresLedger(pool, first_wall=first_wall),
            PostgresBuffer(pool, first_wall=first_wall),
        )


@dataclass(frozen=True)
class Read:
    """One request: the place it enters, how it answers who is not let in, and what it asks for if not for all."""

    path: str
    where: Where
    markers: Callable[[Any], set[str]]
    about: frozenset[str] | None = None
    refusal: int = 404
    body: dict[str, Any] | None = None


@dataclass(frozen=True)
class Kind:
    """`sql` selects every marker without any filter; `store` and `http` read in every way that there is."""

    table: str
    things: Callable[[World], Iterable[Thing]]
    sql: str
    store: Callable[[Stores, Grant, World], Awaitable[set[str]]] | None = None
    http: Callable[[World], Iterable[Read]] | None = None


def _said(mark: Callable[[World, str], str]) -> Callable[[World], Iterator[Thing]]:
    """Return what was said in each conversation, one thing in each."""

    def things(world: World) -> Iterator[Thing]:
        for name, talk in world.talks.items():
            direct = talk.kind == "direct"
            visibility, private_to = ("private", talk.user) if direct else ("public", None)
            yield Thing(world.tenant, mark(world, name), "words", world.run_id(name), visibility, private_to)

    return things


_kept_messages = _said(lambda world, name: world.mark("message", name))
_gone = _said(lambda world, name: world.mark("retracted", name))


def _messages(world: World) -> Iterator[Thing]:
    yield from _kept_messages(world)
    yield from (replace(thing, gone=True) for thing in _gone(world))


def _retractions(world: World) -> Iterator[Thing]:
    """Which messages were taken back, as ids alone: every policy of what is derived from messages asks for them."""
    yield from (Thing(world.tenant, str(id_), "all") for id_ in (*world.retracted.values(), *world.erased))


def _erasures(world: World) -> Iterator[Thing]:
    """Which conversations are being erased, as ids alone: the policies ask for them."""
    yield from (Thing(world.tenant, str(id_), "all") for id_ in world.erasing)


_summaries = _said(lambda world, name: world.mark("summary", name))
_landmarks = _said(lambda world, name: world.mark("message", name))
_sentences = _said(lambda world, name: world.mark("sentence", name))
_said_semantic = _said(lambda world, name: world.mark("semantic", name))


def _semantic(world: World) -> Iterator[Thing]:
    """Return what was remembered of each conversation, and of each project, which all of its places share."""
    yield from _said_semantic(world)
    for project in world.project_memories:
        yield Thing(world.tenant, world.mark("semantic", project), "words", f"project:{project}", "shared")


_origins = _said(lambda world, name: meaning(world.mark("semantic", name)).digest.hex())
# a message, its sentence as a further part of it, a landmark of the same words, a summary and a memory
_ENTRIES = {"message": _kept_messages, "sentence": _sentences, "summary": _summaries, "semantic": _semantic}
_turns = _said(lambda world, name: world.mark("turn", name))
_fields = _said(lambda world, name: world.mark("field", name))
_items = _said(lambda world, name: world.mark("item", name))


def _in_each(look: Callable[[WorkingStores, Grant, Place], Awaitable[Iterable[str]]]) -> Any:
    """Look into every conversation there is, whatever the grant is for."""

    async def read(stores: Stores, opened: Grant, world: World) -> set[str]:
        found: set[str] = set()
        for name in world.talks:
            with suppress(NotFound):
                found |= set(await look(stores.working, opened, await stores.lookup.place(world.id, name)))
        return found

    return read


async def _look_at_buffer(working: WorkingStores, opened: Grant, place: Place) -> Iterable[str]:
    return [entry.text for entry in await working.buffer.read(opened, place, 50)]


async def _read_summaries(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for the summaries of every conversation there is, in each way that there is, whatever the grant is for."""
    found: set[str] = set()
    for name in world.talks:
        place = await stores.lookup.place(world.id, name)
        tree = await stores.summaries.tree(opened, place)
        told = await stores.summaries.told(opened, place)
        assert {one.id for one in await stores.summaries.tops(opened, place, ALL)} == {one.id for one in (*tree, *told)}
        for summary in (*tree, *told):
            assert await stores.summaries.get(opened, summary.id) == summary
        found |= {summary.content for summary in (*tree, *told)}
    sources = await stores.sources.read(opened, list(world.summaries.values()))
    assert {one.text for one in sources if one.kind == "summary"} <= found
    for id_ in world.summaries.values():
        if (got := await stores.summaries.get(opened, id_)) is not None:
            assert got.content in found
        assert await stores.summaries.children(opened, id_) == []
        for message in (await stores.summaries.sources(opened, id_)).messages:
            assert got is not None
            assert message.conversation == got.conversation
    return found


async def _read_landmarks(stores: Stores, opened: Grant, world: World) -> set[str]:
    listed = await stores.landmarks.list(opened, None, None, ALL)
    for landmark in listed:
        assert await stores.landmarks.get(opened, landmark.id) == landmark
    latest, total = await stores.landmarks.latest(opened, ALL)
    assert {one.id for one in latest} == {one.id for one in listed}
    assert total == len(listed)
    got = [await stores.landmarks.get(opened, id_) for id_ in world.landmarks]
    assert {one.id for one in got if one} == {one.id for one in listed}
    sources = await stores.sources.read(opened, list(world.landmarks))
    assert {one.id for one in sources} == {one.id for one in listed}
    return {landmark.text for landmark in listed}


def _imports(world: World) -> Iterator[Thing]:
    """Return the import of each history: its report names people, so it is the owner's alone."""
    for name in world.imports:
        yield Thing(world.tenant, world.mark("import", name), "owner")


async def _read_imports(stores: Stores, opened: Grant, world: World) -> set[str]:
    listed = {one.options["user"] for one in await stores.imports.list(opened, None, ALL)}
    got = set()
    for id_ in world.imports.values():
        with suppress(NotFound):
            got.add((await stores.imports.get(opened, id_)).options["user"])
    assert got <= listed
    return listed


def _imports_over_http(world: World) -> Iterator[Read]:
    yield Read("/v1/imports?limit=200", Where("everywhere"), _importing, refusal=403)
    for name, id_ in world.imports.items():
        about = frozenset({world.mark("import", name)})
        yield Read(f"/v1/imports/{id_}", Where("everywhere"), lambda one: {one["options"]["user"]}, about, refusal=403)


def _importing(page: Any) -> set[str]:
    return {one["options"]["user"] for one in page["imports"]}


async def _read_turns(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for the turns of every conversation there is, all at once and one by one, whatever the grant is for."""
    listed = [
        turn
        for name in world.talks
        for turn in await stores.turns.list(opened, await stores.lookup.place(world.id, name), None, ALL)
    ]
    got = [await stores.turns.get(opened, id_) for id_ in world.turns.values()]
    assert {one.turn.template for one in got if one} == {turn.template for turn in listed}
    return {one.turn.template for one in got if one}


def _turns_over_http(world: World) -> Iterator[Read]:
    for name, id_ in world.turns.items():
        about = frozenset({world.mark("turn", name)})
        yield Read(f"/v1/conversations/{name}/turns", Where("in", name), _templates, about)
        yield Read(f"/v1/turns/{id_}", Where("in", name), lambda one: {one["turn"]["template"]}, about)


def _templates(page: Any) -> set[str]:
    return {turn["template"] for turn in page["turns"]}


async def _read_semantic(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for every memory there is: all at once, one by one, as of now, and by scope, whatever the grant is for."""
    listed = {one.content for one in await stores.memories.select(opened, WantedMemories(limit=ALL))}
    then = await stores.memories.select(opened, WantedMemories(as_of=datetime.now(UTC), limit=ALL))
    got = await stores.memories.get(opened, [*world.memories.values(), *world.project_memories.values()])
    held = [one for run_id in world.run_ids() for one in await stores.memories.valid(opened, run_id)]
    assert listed == {one.content for one in then} == {one.content for one in got} == {one.text for one in held}
    sources = await stores.sources.read(opened, [*world.memories.values(), *world.project_memories.values()])
    assert listed == {one.text for one in sources}
    assert all(len(one.sources) == (one.conversation is not None) for one in got)
    assert all(one.metadata == {"note": one.content} and one.categories == (one.content,) for one in got)
    words = {world.mark("semantic", name) for name in world.agents_word}
    assert {one.content for one in got if one.said_by == "agent"} == words & listed
    assert all(one.user is None for one in got if one.said_by == "agent")
    noted = write_filter(NOTED, datetime.fromisoformat)
    passed = await stores.memories.select(opened, WantedMemories(limit=ALL, filter=noted))
    total, paged = await stores.memories.page(opened, NumberedPage(noted, ALL))
    assert listed == {one.content for one in paged}
    assert total == len(listed)
    counted_runs = [one for one in await stores.memories.entities(opened, ALL) if one.kind == "run"]
    assert sum(one.memories for one in counted_runs) == sum(one.conversation is not None for one in got)
    assert listed == {one.content for one in passed}
    counted = await stores.memories.delete_matching(opened, noted, ALL, None, dry_run=True)
    assert counted.matched <= len(got)
    return listed


async def _read_origins(stores: Stores, opened: Grant, world: World) -> set[str]:
    whole = Grant(world.id, everything=True)
    said = [id_ for one in await stores.memories.get(whole, list(world.memories.values())) for id_ in one.sources]
    known = await stores.memories.stored_pairs(opened, said)
    there = [await stores.memories.there(opened, run_id, said) for run_id in world.run_ids()]
    assert {id_ for id_, _ in known} == set(chain(*there))
    return {digest.hex() for _, digest in known}


async def _read_histories(stores: Stores, opened: Grant, world: World) -> set[str]:
    ids = (*world.memories.values(), *world.project_memories.values())
    pages = [await stores.memories.history(opened, id_, 99, ALL) for id_ in ids]
    assert all(version.metadata == {"note": version.content} for version in chain(*pages))
    return {version.content for version in chain(*pages)}


def _semantic_over_http(world: World) -> Iterator[Read]:
    for name in world.talks:
        about = frozenset({world.mark("semantic", name)})
        yield Read(f"/v1/semantic?limit={ALL}&conversation={name}", Where("in", name), _kept)
        yield Read(f"/v1/semantic/{world.memories[name]}", Where("in", name), lambda one: {one["content"]}, about)
        yield from _of_projects(world, name, "", lambda one: {one["content"]})
        body = {"filters": NOTED, "limit": ALL, "conversation": name}
        yield Read("/v1/query/semantic", Where("in", name), _noted, body=body)
    yield Read(f"/v1/semantic?limit={ALL}", Where("everywhere"), _kept, refusal=403)
    body = {"filters": NOTED, "limit": ALL}
    yield Read("/v1/query/semantic", Where("everywhere"), _noted, refusal=403, body=body)


def _noted(page: Any) -> set[str]:
    return {memory["metadata"]["note"] for memory in page["memories"]}


def _kept(page: Any) -> set[str]:
    return {memory["content"] for memory in page["memories"]}


def _histories_over_http(world: World) -> Iterator[Read]:
    for name, id_ in world.memories.items():
        about = frozenset({world.mark("semantic", name)})
        yield Read(f"/v1/semantic/{id_}/history", Where("in", name), _lived, about)
        yield from _of_projects(world, name, "/history", _lived)


def _of_projects(world: World, name: str, path: str, markers: Callable[[Any], set[str]]) -> Iterator[Read]:
    """Read what is remembered of the place's project in the place of a conversation."""
    if (project := world.project(name)) is not None:
        about = frozenset({world.mark("semantic", project)})
        asked = f"/v1/semantic/{world.project_memories[project]}{path}?conversation={name}"
        yield Read(asked, Where("in", name), markers, about)


def _lived(page: Any) -> set[str]:
    return {version["content"] for version in page["versions"]}


def _summaries_over_http(world: World) -> Iterator[Read]:
    for name in world.talks:
        about = frozenset({world.mark("summary", name)})
        yield Read(f"/v1/conversations/{name}/summaries", Where("in", name), _nodes, about)
        yield Read(f"/v1/summaries/{world.summaries[name]}", Where("in", name), _climbed, about)
        yield Read(f"/episodic/{name}", Where("in", name), _episodes, about, refusal=200)
    yield from _across_over_http()


def _across_over_http() -> Iterator[Read]:
    for agent, user in product(BOTS, (None, *PEOPLE)):
        body = {"agent_id": agent, "query": "tenant summary", "top_k": 20} | ({"user_id": user} if user else {})
        yield Read("/episodic/search", Where("across", agent=agent, user=user), _episodes, refusal=403, body=body)


def _nodes(found: Any) -> set[str]:
    return {node["summary"]["content"] for node in found["summaries"]}


def _climbed(found: Any) -> set[str]:
    assert len(found["messages"]) == 1
    return {found["summary"]["content"]}


def _episodes(found: Any) -> set[str]:
    return {memory["summary"] for memory in found["memories"]}


def _landmarks_over_http(world: World) -> Iterator[Read]:
    for name in world.talks:
        yield Read(f"/v1/landmarks?limit={ALL}&conversation={name}", Where("in", name), _pinned)
        named = "&".join(f"id={id_}" for id_ in world.landmarks)
        yield Read(f"/v1/sources?conversation={name}&{named}", Where("in", name), _whole_texts)
        yield Read(f"/v1/turns/{world.turns[name]}", Where("in", name), _line_texts)
    yield Read(f"/v1/landmarks?limit={ALL}", Where("everywhere"), _pinned, refusal=403)


def _whole_texts(page: Any) -> set[str]:
    return {source["text"] for source in page["sources"]}


def _line_texts(turn: Any) -> set[str]:
    (section,) = turn["sections"]
    return {line["text"] for line in section["lines"] if line["readable"]}


def _pinned(page: Any) -> set[str]:
    return {landmark["text"] for landmark in page["landmarks"]}


async def _look_at_fields(working: WorkingStores, opened: Grant, place: Place) -> Iterable[str]:
    return (await working.fields.get(opened, place)).values()


async def _look_at_items(working: WorkingStores, opened: Grant, place: Place) -> Iterable[str]:
    found = await working.ledger.get(opened, place)
    assert found.get("item") == await working.ledger.check(opened, place, "item")
    return found.values()


def _over_aegis(path: str, mark: str) -> Callable[[World], Iterator[Read]]:
    def reads(world: World) -> Iterator[Read]:
        for asked, name in world.names().items():
            about = frozenset({world.mark(mark, name)})
            # who may not read is answered as if there were nothing
            yield Read(f"/{path}/{asked}", Where("in", asked), lambda found: set(found.values()), about, refusal=200)

    return reads


async def _read_messages(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for the messages of every conversation there is, from either end, whatever the grant is for."""

    async def read(name: str, order: Order) -> list[str]:
        place = await stores.lookup.place(world.id, name)
        page = await transcript.read(stores.transcript, opened, place, PageRequest(ALL, order))
        return [message.content for message in page.messages]

    pages = await asyncio.gather(*map(read, world.talks, cycle(("asc", "desc"))))
    found = set(chain.from_iterable(pages))
    buffered = await _in_each(_look_at_buffer)(stores, opened, world)
    assert buffered == found
    for broad, order in product((False, True), ("asc", "desc")):
        # however many sessions there are, both ways to browse must find the same
        page = await transcript.browse(stores.transcript, replace(opened, is_broad=broad), PageRequest(ALL, order))
        assert {message.content for message in page.messages} == found
    return found


def _messages_over_http(world: World) -> Iterator[Read]:
    for asked, name in world.names().items():
        path = f"/v1/conversations/{asked}/messages?limit={ALL}"
        about = frozenset({world.mark("message", name), world.mark("retracted", name)})
        there = Where("in", asked, transcript=True)
        yield Read(path, there, _contents, about)
        yield Read(f"{path}&retracted=false", Where("in", asked), _contents, about)
        yield Read(f"/v1/browse?limit={ALL}&conversation={asked}", there, _contents)
        shared = (other for other in world.talks if world.run_id(other) == world.run_id(name))
        there = frozenset(world.mark("message", other) for other in shared)
        yield Read(f"/v1/conversations/{asked}/buffer?limit=50", Where("in", asked), _texts, there)
    for name, reach in world.calls():
        if reach:
            path = f"/v1/browse?limit={ALL}&conversation={name}&reach={reach}"
            yield Read(path, Where("in", name, reach=reach, transcript=True), _contents)
    yield Read(f"/v1/browse?limit={ALL}", Where("everywhere", transcript=True), _contents, refusal=403)


def _texts(page: Any) -> set[str]:
    return {message["text"] for message in page["messages"]}


def _contents(page: Any) -> set[str]:
    # of what is erased an owner sees the frame: no word
    return {message["content"] for message in page["messages"]} - {""}


def _entries(world: World) -> Iterator[Thing]:
    return chain.from_iterable(things(world) for things in _ENTRIES.values())


_WAYS = ("words", "instant", "deep")
_CACHED = 2  # turns, so that with many grants the cached scopes are also asked again
_PATTERNS = (("trigram", "tenant"), ("regex", "te+nant"))
_TURNS = cycle(range(len(_WAYS) + len(_ENTRIES) + len(_PATTERNS) + _CACHED))


async def _search(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Search through the whole scope, then in another mode or through an arm; all must find the same."""
    everything = Filter()
    # a word that every marker has
    query = Query(ask("tenant", READER.table), everything, deep_space=DEEP_SPACE)
    deep = DeepQuery(DEEP_SPACE, np.ones(384, np.float32))
    shown = await stores.index.show(opened, (await stores.index.candidates(opened, query, deep)).ids.tolist())
    found = {entry.text for entry in shown}
    # one of the ways with each grant, so that all of them are gone with many grants
    turn = next(_TURNS)
    if turn < len(_WAYS):
        way = _WAYS[turn]
        arm = Query(ask("tenant" if way == "words" else "", READER.table), everything, way == "instant")
        # by their ids, before the second wall could hide what should not have come
        vector = deep if way == "deep" else None
        by_arm = (await stores.arms.candidates(opened, arm, vector)).ids.tolist()
        assert sorted(by_arm) == sorted(entry.entry_id for entry in shown), way
    elif turn < len(_WAYS) + len(_ENTRIES):
        kind = tuple(_ENTRIES)[turn - len(_WAYS)]
        literal = Query(ask(f"/{kind}/", READER.table), everything, instant=False)
        held = (await stores.arms.candidates(opened, literal, None)).literals
        shown_held = await stores.index.show(opened, list(held))
        assert {entry.text for entry in shown_held} == {text for text in found if f"/{kind}/" in text}
    elif turn >= len(_WAYS) + len(_ENTRIES) + len(_PATTERNS):
        pending = await stores.cached.begin(opened, query)
        # by their ids, before the second wall could hide what the cache should not have held
        cached = (await pending.candidates(deep)).ids.tolist()
        assert sorted(cached) == sorted(entry.entry_id for entry in shown)
    else:
        mode, pattern = _PATTERNS[turn - len(_WAYS) - len(_ENTRIES)]
        matched = [id_ for id_, _ in await stores.index.matching(opened, pattern, mode, everything, ALL)]
        # of a message and its sentence the better part stands for both
        texts = {entry.text for entry in await stores.index.show(opened, matched)}
        assert {_of_message(text) for text in texts} == {_of_message(text) for text in found}, mode
    beside = await stores.index.around(opened, [entry.entry_id for entry in shown], 2)
    assert {entry.text for turns in beside.values() for entry in turns} <= found
    for id_ in list(world.summaries.values())[::12]:
        inside = await stores.index.show(opened, (await stores.index.inside(opened, query, deep, id_)).ids.tolist())
        assert {entry.text for entry in inside} <= found
    census = await stores.counts.census(opened)
    assert sum(census.values()) == len(shown)
    for kind, mark in (("landmark", "message"), ("summary", "summary"), ("memory", "semantic")):
        assert census.get(kind, 0) == len({text for text in found if f"/{mark}/" in text})
    assert {use.entry_id for use in await stores.index.uses(opened, range(1, 5000))} == {e.entry_id for e in shown}
    return found


def _of_message(text: str) -> str:
    return text.replace("/sentence/", "/message/")


def _search_over_http(world: World) -> Iterator[Read]:
    """Each kind of entry alone, so that what is found fits into one answer, in each mode somewhere."""
    kinds = ("message", "summary", "landmark", "memory")
    ways = cycle(product(("hybrid", "words", "meaning", "trigram", "regex"), kinds))
    for (name, reach), (mode, kind) in zip(world.calls(), ways, strict=False):
        body = {"query": "tenant", "mode": mode, "kinds": [kind], "limit": 50, "context": 2, "explain": True}
        body |= {"conversation": name} | ({"reach": reach} if reach else {})
        yield Read("/v1/search", Where("in", name, reach=reach), _hits, _marks(world, kind), body=body)
    for kind in kinds:
        body = {"query": "tenant", "kinds": [kind], "limit": 50}
        yield Read("/v1/search", Where("everywhere"), _hits, _marks(world, kind), refusal=403, body=body)


def _marks(world: World, kind: str) -> frozenset[str]:
    # a landmark has the words of its message
    mark = {"summary": "summary", "memory": "semantic"}.get(kind, "message")
    projects = world.project_memories if kind == "memory" else ()
    return frozenset(world.mark(mark, name) for name in (*world.talks, *projects))


def _hits(found: Any) -> set[str]:
    """Return the markers of what was found; of a message and its sentence only the better part is shown."""
    results = found["results"]
    hits = {_of_message(hit["text"]) for hit in results}
    if results and results[0]["kind"] == "message":
        assert {turn["text"] for hit in results for turn in hit["context"]} <= hits
    for hit in results:
        # a summary never mixes places
        assert all(inner["text"].endswith(hit["text"].rpartition("/")[2]) for inner in hit["inside"])
    return hits


def _conversations(world: World) -> Iterator[Thing]:
    for name in world.talks:
        yield Thing(world.tenant, world.mark("conversation", name), "place", world.run_id(name))


async def _read_conversations(stores: Stores, opened: Grant, world: World) -> set[str]:
    listed = {found.title for found in await stores.conversations.list(opened, None, ALL)}
    got = await asyncio.gather(*(stores.conversations.get(opened, name) for name in world.talks))
    assert listed == {found.title for found in got if found}
    return listed


def _conversations_over_http(world: World) -> Iterator[Read]:
    path = f"/v1/conversations?limit={ALL}"
    yield Read(path, LIST, lambda page: {c["title"] for c in page["conversations"]}, refusal=422)
    for name in world.talks:
        about = frozenset({world.mark("conversation", name)})
        yield Read(f"/v1/conversations/{name}", Where("in", name), lambda found: {found["title"]}, about)


def _rooms(world: World) -> Iterator[Thing]:
    for room in world.rooms:
        yield Thing(world.tenant, world.mark("room", room), "place", f"room:{room}")


async def _read_rooms(stores: Stores, opened: Grant, world: World) -> set[str]:
    listed = {room.name for room in await stores.registry.rooms(opened, "", ALL)}
    got = [await stores.registry.room(opened, room) for room in world.rooms]
    assert listed == {room.name for room in got if room}
    return listed


def _rooms_over_http(world: World) -> Iterator[Read]:
    yield Read(f"/v1/rooms?limit={ALL}", LIST, lambda page: {r["name"] for r in page["rooms"]}, refusal=422)
    for room in world.rooms:
        about = frozenset({world.mark("room", room)})
        yield Read(f"/v1/rooms/{room}", Where("room", room), lambda found: {found["name"]}, about)


def _participants(world: World) -> Iterator[Thing]:
    for room in world.rooms:
        for who in world.room_users[room] | world.room_agents[room]:
            yield Thing(world.tenant, f"{room}/{who}", "place", f"room:{room}")


async def _read_participants(stores: Stores, opened: Grant, world: World) -> set[str]:
    found = set()
    for room in world.rooms:
        there = await stores.registry.participants(opened, room)
        found |= {f"{room}/{who}" for who in (*there.users, *there.agents)}
    return found


def _participants_over_http(world: World) -> Iterator[Read]:
    for room in world.rooms:
        yield Read(
            f"/v1/rooms/{room}/participants",
            Where("room", room),
            lambda found, room=room: {f"{room}/{who}" for who in (*found["users"], *found["agents"])},
            frozenset(f"{room}/{who}" for who in world.room_users[room] | world.room_agents[room]),
        )


def _audit(world: World) -> Iterator[Thing]:
    """Return one event of each profile that was written by hand: its id is no other tenant's."""
    for id_ in world.profiles.values():
        yield Thing(world.tenant, str(id_), "owner")


async def _read_audit(stores: Stores, opened: Grant, _: World) -> set[str]:
    events = await stores.audit.select(opened, AuditSelection("profile.written", limit=ALL))
    whole = await stores.audit.select(opened, AuditSelection(limit=9999))
    assert {event.id for event in events} <= {event.id for event in whole}
    return {event.ids["profile"] for event in events}


def _audit_over_http(_: World) -> Iterator[Read]:
    yield Read(f"/v1/audit?limit={ALL}&action=profile.written", Where("everywhere"), _written, refusal=403)


def _written(page: Any) -> set[str]:
    return {event["ids"]["profile"] for event in page["events"]}


def _webhooks(world: World) -> Iterator[Thing]:
    yield Thing(world.tenant, world.mark("webhook", "one"), "owner")


async def _read_webhooks(stores: Stores, opened: Grant, world: World) -> set[str]:
    hooks = await stores.webhooks.page(opened, None, ALL)
    assert world.webhook is not None
    one = await stores.webhooks.get(opened, world.webhook)
    assert one is None or one in hooks
    return {hook.name for hook in hooks}


def _webhooks_over_http(_: World) -> Iterator[Read]:
    names: Callable[[Any], set[str]] = lambda page: {hook["name"] for hook in page["webhooks"]}  # noqa: E731
    yield Read(f"/v1/webhooks?limit={ALL}", Where("everywhere"), names, refusal=403)


def _deliveries(world: World) -> Iterator[Thing]:
    yield Thing(world.tenant, str(world.webhook), "owner")


async def _read_deliveries(stores: Stores, opened: Grant, world: World) -> set[str]:
    assert world.webhook is not None
    rows = await stores.webhooks.deliveries(opened, world.webhook, None, ALL)
    return {str(world.webhook)} if rows else set()


def _introductions(world: World) -> Iterator[Thing]:
    """Whoever was withdrawn is told to nobody; the row stays, so that nothing introduces them again by itself."""
    for agent, user in world.introduced:
        yield Thing(world.tenant, f"{agent}/{user}", "met", agent=agent, user=user)


async def _read_introductions(stores: Stores, opened: Grant, world: World) -> set[str]:
    pages = {agent: await stores.registry.introduced(opened, agent, "", ALL) for agent in sorted(world.agents)}
    return {f"{agent}/{one.user}" for agent, page in pages.items() for one in page}


def _introductions_over_http(world: World) -> Iterator[Read]:
    for agent in sorted(world.agents):
        yield Read(
            f"/v1/agents/{agent}/users?limit={ALL}",
            Where("met", agent=agent),
            lambda page, agent=agent: {f"{agent}/{one['user']}" for one in page["users"]},
            frozenset(f"{agent}/{user}" for user in world.users),
            refusal=422,
        )


def _kept_items(world: World) -> Iterator[Thing]:
    for agent, user in world.item_owners():
        marker = world.mark("item-of", f"{agent}-{user}")
        yield Thing(world.tenant, marker, "words", f"items:{agent or ''}:{user or ''}", "shared")


async def _read_items(stores: Stores, opened: Grant, _: World) -> set[str]:
    """Ask for items in each way that there is: by name, as a page, by meaning and in a deep space, and by their ids."""
    if opened.everything:
        return await _read_items_of_all(stores, opened)
    everything = ItemSelection("", read_filter(None))
    (named,) = await stores.items.get(opened, [ItemAddress("notes.first.", "note")], [True])
    listed = await stores.items.page(opened, everything, ALL, 0, refresh=True)
    found = {one.value["note"] for one in listed}
    assert found == ({named.value["note"]} if named else set())
    question = ask("tenant", READER.table)
    parts = await stores.items.parts(opened, everything, question, DeepQuery(DEEP_SPACE, np.ones(384, np.float32)))
    assert not np.isnan(parts.candidates.deeps).any()
    by_id = await stores.items.named(opened, parts.items, refresh=False)
    assert {one.value["note"] for one in by_id.values()} == found
    namespaces = await stores.items.namespaces(opened, (), None, ALL, 0)
    assert namespaces == ([("notes", "first")] if found else [])
    return found


async def _read_items_of_all(stores: Stores, opened: Grant) -> set[str]:
    """Read them as the worker does: no route hands a grant of a whole tenant to the store of items."""
    async with stores.items._pool.granted(opened) as conn:
        cursor = await conn.execute("SELECT value ->> 'note' FROM items WHERE tenant_id = %s", (opened.tenant_id,))
    return {note for (note,) in await cursor.fetchall()}


def _items_over_http(_: World) -> Iterator[Read]:
    for body in ({}, {"query": "tenant"}, {"filter": {"note": {"$ne": "x"}}}):
        asked = {"limit": ALL, **body}
        yield Read("/store/items/search", Where("items"), _notes, body=asked)
    ops = [{"op": "get", "namespace": ["notes", "first"], "key": "note"}, {"op": "search"}]
    yield Read("/store/batch", Where("items"), lambda page: _notes(page["results"][1]), body={"ops": ops})
    yield Read("/store/items?namespace=notes.first&key=note", Where("items"), lambda one: _notes({"items": [one]}))


def _notes(page: Any) -> set[str]:
    return {one["value"]["note"] for one in page["items"] if one}


def _named(kind: str, opens: str, names: str) -> Callable[[World], Iterator[Thing]]:
    def things(world: World) -> Iterator[Thing]:
        for name in getattr(world, names):
            yield Thing(world.tenant, world.mark(kind, name), opens)

    return things


def _listed(names: str) -> Callable[[Stores, Grant, World], Awaitable[set[str]]]:
    async def read(stores: Stores, opened: Grant, world: World) -> set[str]:
        listed = {row.name for row in await getattr(stores.registry, names)(opened, "", ALL)}
        got = [await getattr(stores.registry, names.removesuffix("s"))(opened, name) for name in getattr(world, names)]
        assert listed == {row.name for row in got if row}
        return listed

    return read


def _listed_over_http(names: str) -> Callable[[World], Iterator[Read]]:
    def reads(world: World) -> Iterator[Read]:
        everywhere = Where("tenant" if names == "agents" else "everywhere")
        yield Read(f"/v1/{names}?limit={ALL}", everywhere, lambda page: {r["name"] for r in page[names]}, refusal=403)
        for name in sorted(getattr(world, names)):
            about = frozenset({world.mark(names.removesuffix("s"), name)})
            yield Read(f"/v1/{names}/{name}", everywhere, lambda row: {row["name"]}, about, refusal=403)

    return reads


async def _read_files(stores: Stores, opened: Grant, world: World) -> set[str]:
    found: set[str] = set()
    for agent in sorted(world.agents):
        current = await stores.files.current(opened, agent)
        assert [file.content for file in await stores.files.history(opened, agent, "SOUL.md", ALL)] == [
            file.content for file in current
        ]
        found |= {file.content for file in current}
    return found


def _files_over_http(world: World) -> Iterator[Read]:
    for agent in sorted(world.agents):
        about = frozenset({world.mark("file", agent)})
        # an agent's files are its own and the owner's
        yield Read(f"/v1/agents/{agent}/files", Where("as", agent=agent), _file_contents, about, refusal=404)
        yield Read(
            f"/v1/agents/{agent}/files/SOUL.md/history", Where("as", agent=agent), _file_contents, about, refusal=404
        )


def _file_contents(page: Any) -> set[str]:
    return {file["content"] for file in page.get("files", page.get("versions"))}


def trees(world: World) -> Iterator[Tree]:
    """Yield every tree of files."""
    yield from (Tree("agent", f"agent:{agent}", agent) for agent in sorted(world.agents))
    yield from (Tree("user", f"files:{user}:{agent}") for agent, user in sorted(world.introduced | world.withdrawn))
    yield from (Tree("room", f"room:{room}") for room in sorted(world.rooms))
    yield from (Tree("project", f"project:{project}") for project in sorted(world.projects))


_TREES = {"agent": ("shared", None), "room": ("public", None), "project": ("shared", None)}


def _tree_files(world: World) -> Iterator[Thing]:
    for tree in trees(world):
        user = tree.run_id.split(":")[1]
        visibility, private_to = _TREES.get(tree.kind, ("private", user))
        yield Thing(world.tenant, world.mark("tree", tree.run_id), "words", tree.run_id, visibility, private_to)


async def _read_trees(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for every tree there is, whatever the grant is for, and of some in every way."""
    found: set[str] = set()
    for number, tree in enumerate(trees(world)):
        listed = {one.path for one in await stores.trees.list(opened, tree, ROOT, "", ALL)}
        marks = {path.removeprefix(f"{ROOT}/") for path in listed if "/workspace/" not in path}
        path = f"{ROOT}/{world.mark('tree', tree.run_id)}"
        got = await stores.trees.get(opened, tree, path)
        assert ({got.content} if got else set()) == marks
        if number % 5 == len(opened.run_ids) % 5:
            assert len(await stores.trees.versions(opened, tree, path, ALL)) == len(marks)
            assert (await stores.trees.version(opened, tree, path, 1) is not None) == bool(marks)
            assert {one.text for one in await stores.trees.search(opened, tree, [world.tenant], ALL)} >= marks
        found |= marks
    return found


def _trees_over_http(world: World) -> Iterator[Read]:
    for tree in trees(world):
        _, name, *agent = tree.run_id.split(":")
        about = frozenset({world.mark("tree", tree.run_id)})
        where = {
            "agent": Where("agent files", agent=name),
            "user": Where("user files", agent=agent[0] if agent else None, user=name),
            "room": Where("room", name), "project": Where("everywhere"),
        }[tree.kind]  # fmt: skip
        query = f"scope={tree.kind}&id={name}" + (f"&agent={agent[0]}" if agent else "")
        yield from _tree_reads(world, tree, query, where, about, 422 if tree.kind == "project" else 404)
    for name in world.talks:
        if (project := world.project(name)) is not None:
            about = frozenset({world.mark("tree", f"project:{project}")})
            tree = Tree("project", f"project:{project}")
            yield from _tree_reads(world, tree, f"scope=project&conversation={name}", Where("in", name), about, 404)


def _tree_reads(
    world: World, tree: Tree, query: str, where: Where, about: frozenset[str], refusal: int
) -> Iterator[Read]:
    mark = world.mark("tree", tree.run_id)
    path = f"{ROOT}/{mark}"
    yield Read(f"/v1/files?{query}&limit={ALL}", where, _tree_paths, about, refusal)
    yield Read(f"/v1/file?{query}&path={path}", where, lambda file: {file["content"]}, about, refusal)
    yield Read(f"/v1/file/versions?{query}&path={path}", where, lambda _: {mark}, about, refusal)
    yield Read(f"/v1/search/files?{query}", where, _tree_matches, about, refusal, {"query": f"{world.tenant}/tree"})
    yield Read(f"/v1/memory-tool?{query}", where, _tree_view, about, refusal, {"command": "view", "path": path})


def _tree_paths(page: Any) -> set[str]:
    return {one["path"].removeprefix(f"{ROOT}/") for one in page["files"] if "/workspace/" not in one["path"]}


def _tree_matches(page: Any) -> set[str]:
    return {one["text"] for one in page["files"] if "/workspace/" not in one["path"]}


def _tree_view(answer: Any) -> set[str]:
    return {answer["text"].split("\t", 1)[1]}


def scopes(world: World) -> Iterator[FactSubject]:
    """Yield whatever a fact can be about."""
    yield FactSubject("global", None)
    for kind, names in (("user", world.users), ("project", world.projects), ("room", world.rooms)):
        yield from (FactSubject(kind, name) for name in sorted(names))


def label(scope: FactSubject) -> str:
    """Return where a fact belongs, as the design says it."""
    return {"user": f"profile:{scope.id}", "global": "global"}.get(scope.kind, f"{scope.kind}:{scope.id}")


def told_facts(world: World) -> Iterator[tuple[str, str, str]]:
    """Yield the facts about users that do not stand for themselves: the talk, whom they are about, and their key.

    One is set from within each session that may, and one is put by the owner with a message of each talk as source.
    """
    for name, talk in world.talks.items():
        user, project = world.speaker(name), world.project(name)
        if user is None:
            continue
        yield name, user, f"sourced in {name}"
        if talk.kind == "session" and not (project and world.projects[project]):
            yield name, user, f"set in {name}"


def noted_facts(world: World) -> Iterator[tuple[str, FactSubject]]:
    """Yield the facts about rooms and projects that are set from within a talk: one of each that has a talk."""
    scopes_by_talk = {}
    for name, talk in world.talks.items():
        if talk.kind == "room":
            scopes_by_talk.setdefault(FactSubject("room", talk.room), name)
        if talk.kind != "direct" and (project := world.project(name)) is not None:
            scopes_by_talk.setdefault(FactSubject("project", project), name)
    yield from ((name, scope) for scope, name in scopes_by_talk.items())


def _facts(world: World) -> Iterator[Thing]:
    owned, noted = ((scope, label(scope)) for scope in scopes(world)), noted_facts(world)
    for scope, name in (*owned, *((scope, f"noted {label(scope)}") for _, scope in noted)):
        visibility = "public" if scope.kind == "room" else "shared"
        yield Thing(world.tenant, world.mark("fact", name), "words", label(scope), visibility)
    for name, user, key in told_facts(world):
        marker = world.mark("fact", key)
        yield Thing(world.tenant, marker, "words", f"profile:{user}", "shared", user=user, said_in=name)


def _fact_keys(world: World) -> Iterator[tuple[FactSubject, str]]:
    yield from ((scope, "note") for scope in scopes(world))
    yield from ((FactSubject("user", user), key) for _, user, key in told_facts(world))
    yield from ((scope, "noted") for _, scope in noted_facts(world))


async def _read_facts(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for the facts of every scope there is, whatever the grant is for: one by one, by scope, and all at once."""
    got = await asyncio.gather(*(stores.facts.get(opened, scope, key) for scope, key in _fact_keys(world)))
    listed = await asyncio.gather(*(stores.facts.about(opened, subject, "", ALL) for subject in scopes(world)))
    found = {json.loads(fact.value) for fact in chain(*listed)}
    assert found == {json.loads(fact.value) for fact in got if fact}
    assert found == {json.loads(fact.value) for fact in await stores.facts.in_place(opened, ("", ""), ALL)}
    return found


async def _read_versions(stores: Stores, opened: Grant, world: World) -> set[str]:
    pages = await asyncio.gather(
        *(stores.facts.history(opened, scope, key, 1 << 62, ALL) for scope, key in _fact_keys(world))
    )
    return {json.loads(version.value) for version in chain(*pages)}


def _facts_over_http(world: World) -> Iterator[Read]:
    for name in world.talks:
        yield Read(f"/v1/facts?limit={ALL}&conversation={name}", Where("in", name), _values)
    for room in world.rooms:
        about = frozenset(world.mark("fact", name) for name in (f"room:{room}", f"noted room:{room}"))
        yield Read(f"/v1/facts/room/{room}?limit={ALL}", Where("room", room), _values, about)
    yield Read(f"/v1/facts?limit={ALL}", Where("everywhere"), _values, refusal=422)


def _versions_over_http(world: World) -> Iterator[Read]:
    for room in world.rooms:
        about = frozenset({world.mark("fact", f"room:{room}")})
        yield Read(f"/v1/facts/room/{room}/note/history", Where("room", room), _values, about)


def _values(page: Any) -> set[str]:
    return {found["value"] for found in page.get("facts", page.get("versions"))}


def _profiles(world: World) -> Iterator[Thing]:
    for user, id_ in world.profiles.items():
        yield Thing(world.tenant, str(id_), "words", _profile_run(user), "shared")


def _profile_run(user: str | None) -> str:
    return "global" if user is None else f"profile:{user}"


def _profile_texts(world: World) -> Iterator[Thing]:
    """What was shared by hand; where the owner repeated what was said, it stays where it was said."""
    for user in world.profiles:
        whose = _profile_run(user)
        yield Thing(world.tenant, world.mark("memory", whose), "words", whose, "shared")
    for user, name in quotes(world).items():
        yield Thing(world.tenant, f"- {world.mark('semantic', name)}", "owner", _profile_run(user))


def quotes(world: World) -> dict[str, str]:
    """Return by user the conversation of which the owner repeats a line in what they write of the user."""
    return {"ann": "ann-with-bix-in-None", "bob": "bob-with-ada-in-sealed", f"guest-of-{world.tenant}": "in-attic-too"}


def _profile_versions(world: World) -> Iterator[Thing]:
    for user in world.profiles:
        yield Thing(world.tenant, profile_text(world, user), "owner")


def profile_text(world: World, user: str | None) -> str:
    """Return what the owner writes of a user, or of the workspace."""
    text = world.mark("memory", _profile_run(user))
    name = quotes(world).get(user or "")
    return text if name is None else f"{text}\n- {world.mark('semantic', name)}"


def _profile_lines(world: World) -> Iterator[Thing]:
    for name in world.talks:
        if (user := world.speaker(name)) is not None:
            yield Thing(world.tenant, world.mark("semantic", name), "line", user=user, said_in=name)


def profile_markers(world: World) -> Iterator[Thing]:
    """Yield all that a profile's text may hold."""
    yield from (thing for thing in _profile_texts(world) if thing.opens != "owner")
    yield from _profile_lines(world)


async def _read_profiles(stores: Stores, opened: Grant, world: World) -> set[str]:
    """Ask for all profiles, for each, and for what compose shows of them."""
    page, total = await stores.profiles.page(opened, Selection(size=ALL))
    found = set(chain.from_iterable(_lines(profile.memory) for profile in page))
    assert total == len(page)
    got = [await stores.profiles.get(opened, id_) for id_ in world.profiles.values()]
    assert found == set(chain.from_iterable(_lines(profile.memory) for profile in got if profile))
    lines = await stores.profiles.lines(opened, ALL)
    assert found == set(chain.from_iterable(_lines(line.text) for line in lines))
    return found


def _profiles_over_http(world: World) -> Iterator[Read]:
    path = f"/v1/memories?page[size]={ALL}"
    for name in world.talks:
        yield Read(f"{path}&inConversation={name}", Where("in", name), _memories)
    yield Read(path, Where("self"), _memories, refusal=400)


def _memories(page: Any) -> set[str]:
    return set(chain.from_iterable(_lines(memory["attributes"]["memory"]) for memory in page["data"]))


def _lines(memory: str) -> set[str]:
    return {line.removeprefix("- ") for line in memory.split("\n")} - {"Facts"}


def _probes(world: World) -> Iterator[Thing]:
    """What later steps will store: every label with every visibility, private to each."""
    for run_id in world.run_ids():
        seen = (("public", None), ("shared", None), *(("private", user) for user in PEOPLE))
        for visibility, private_to in seen:
            marker = world.mark("probe", f"{run_id} {visibility} {private_to}")
            yield Thing(world.tenant, marker, "words", run_id, visibility, private_to)


# profiles as they are read: made of what was shared by hand and of lines, so their things are those of two tables
PROFILES = Kind("", profile_markers, "", _read_profiles, _profiles_over_http)

KINDS = (
    Kind("messages", _messages, "SELECT content FROM messages", _read_messages, _messages_over_http),
    Kind("retractions", _retractions, "SELECT message_id::text FROM retractions"),
    Kind("erasures", _erasures, "SELECT unnest(conversation_ids)::text FROM erasures WHERE state = 'running'"),
    Kind(
        "conversations",
        _conversations,
        "SELECT title FROM conversations",
        _read_conversations,
        _conversations_over_http,
    ),
    Kind("rooms", _rooms, "SELECT name FROM rooms", _read_rooms, _rooms_over_http),
    Kind(
        "audit",
        _audit,
        "SELECT ids ->> 'profile' FROM audit WHERE action = 'profile.written'",
        _read_audit,
        _audit_over_http,
    ),
    Kind("webhooks", _webhooks, "SELECT name FROM webhooks", _read_webhooks, _webhooks_over_http),
    Kind("webhook_deliveries", _deliveries, "SELECT webhook_id::text FROM webhook_deliveries", _read_deliveries),
    Kind(
        "participants",
        _participants,
        "SELECT room_id || '/' || COALESCE(user_id, agent) FROM participants",
        _read_participants,
        _participants_over_http,
    ),
    Kind(
        "introductions",
        _introductions,
        "SELECT agent || '/' || user_id FROM introductions WHERE withdrawn_at IS NULL",
        _read_introductions,
        _introductions_over_http,
    ),
    Kind(
        "users",
        _named("user", "owner", "users"),
        "SELECT name FROM users",
        _listed("users"),
        _listed_over_http("users"),
    ),
    Kind(
        "projects",
        _named("project", "owner", "projects"),
        "SELECT name FROM projects",
        _listed("projects"),
        _listed_over_http("projects"),
    ),
    Kind(
        "agents",
        _named("agent", "all", "agents"),
        "SELECT name FROM agents",
        _listed("agents"),
        _listed_over_http("agents"),
    ),
    Kind(
        "working_memories",
        _fields,
        "SELECT fields ->> 'note' FROM working_memories",
        _in_each(_look_at_fields),
        _over_aegis("working-memory", "field"),
    ),
    Kind(
        "ledger_marks",
        _items,
        "SELECT value FROM ledger_marks",
        _in_each(_look_at_items),
        _over_aegis("ledger", "item"),
    ),
    Kind(
        "entries",
        _entries,
        "SELECT marker FROM marks WHERE entry_id IN (SELECT id FROM entries)",
        _search,
        _search_over_http,
    ),
    Kind("vectors", _entries, "SELECT marker FROM marks WHERE entry_id IN (SELECT entry_id FROM vectors)"),
    Kind("facts", _facts, "SELECT value #>> '{}' FROM facts", _read_facts, _facts_over_http),
    Kind(
        "fact_versions",
        _facts,
        "SELECT value #>> '{}' FROM fact_versions WHERE value IS NOT NULL",
        _read_versions,
        _versions_over_http,
    ),
    Kind("profiles", _profiles, "SELECT id::text FROM profiles"),
    Kind("profile_texts", _profile_texts, "SELECT content FROM profile_texts"),
    Kind("profile_versions", _profile_versions, "SELECT memory FROM profile_versions"),
    Kind("profile_lines", _profile_lines, "SELECT content FROM profile_lines"),
    Kind(
        "summaries",
        _summaries,
        "SELECT content FROM summaries WHERE hidden IS NULL",
        _read_summaries,
        _summaries_over_http,
    ),
    Kind("landmarks", _landmarks, "SELECT content FROM landmarks", _read_landmarks, _landmarks_over_http),
    Kind("memories", _semantic, "SELECT content FROM memories", _read_semantic, _semantic_over_http),
    Kind("memory_sources", _origins, "SELECT encode(digest, 'hex') FROM memory_sources", _read_origins),
    Kind("memory_versions", _semantic, "SELECT content FROM memory_versions", _read_histories, _histories_over_http),
    Kind(
        "agent_files",
        _named("file", "all", "agents"),
        "SELECT content FROM agent_files",
        _read_files,
        _files_over_http,
    ),
    Kind("file_versions", _tree_files, "SELECT content FROM file_versions", _read_trees, _trees_over_http),
    Kind(
        "history_imports",
        _imports,
        "SELECT options ->> 'user' FROM history_imports",
        _read_imports,
        _imports_over_http,
    ),
    Kind("composed_turns", _turns, "SELECT template FROM composed_turns", _read_turns, _turns_over_http),
    Kind("items", _kept_items, "SELECT value ->> 'note' FROM items", _read_items, _items_over_http),
    Kind("item_parts", _kept_items, "SELECT substring(text FROM 7) FROM item_parts"),
    Kind(
        "item_vectors",
        _kept_items,
        "SELECT substring(p.text FROM 7) FROM item_vectors v JOIN item_parts p ON p.id = v.part_id",
    ),
    Kind("tool_sentences", _sentences, "SELECT content FROM tool_sentences"),
    Kind("probes", _probes, "SELECT marker FROM probes"),
)
