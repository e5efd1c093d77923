"""Writing a world into the database."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from psycopg.types.json import Jsonb

from keepword import facts, transcript
from keepword.access import Grant, ItemOwner, Place, Viewer, grant
from keepword.compaction.ports import NewSummary
from keepword.compaction.sources import TierSummary
from keepword.compaction.toolcalls import ToolSentence
from keepword.erasure.erase import EraseStores, erase_message
from keepword.erasure.retract import RetractStores, retract
from keepword.files import TreeLimits
from keepword.items import Items, PutItem
from keepword.memories import operations
from keepword.memories.consolidate import consolidate
from keepword.memories.extracted import ExtractedMemory
from keepword.memories.ports import BatchLimits, MemoryWrite, ReadRange
from keepword.model import Draft
from keepword.postgres.pool import Pool
from keepword.transcript import NewConversation
from keepword.webhooks.events import new_secret
from keepword.webhooks.ports import WebhookDraft
from keepword.working import InjectionLedger, WorkingMemory
from leaks.kinds import KINDS, READER, Stores, label, noted_facts, profile_text, quotes, scopes, told_facts, trees
from leaks.world import World, fill


async def make_world(owner, pool: Pool, *, erases: bool = True, **settings: object) -> World:
    name = f"tenant-{uuid4().hex[:8]}"
    id_ = owner.execute(
        "INSERT INTO tenants (name, settings) VALUES (%s, %s) RETURNING id", (name, Jsonb(settings))
    ).fetchone()[0]
    world = replace(fill(name, id_), **settings)
    await settle(world, Stores(pool), erases=erases)
    (probes,) = (kind for kind in KINDS if kind.table == "probes")
    rows = [(id_, t.run_id, t.visibility, t.private_to, t.marker) for t in probes.things(world)]
    with owner.cursor() as cursor:
        cursor.executemany("INSERT INTO probes VALUES (%s, %s, %s, %s, %s)", rows)
    _index(owner)
    return world


def _index(owner) -> None:
    """Let the worker come by, and note which entry holds which marker where no wall hides it."""
    owner.execute("SELECT index_instant_vectors(10000)")
    owner.execute(
        """
        SELECT store_vectors(
            2::int2, array_agg(tenant_id), array_agg(id), array_agg(0::int2),
            array_agg(array_fill(0.05, ARRAY[384])::public.halfvec))
        FROM entries
        """
    )
    owner.execute(
        """
        SELECT store_item_vectors(
            2::int2, array_agg(tenant_id), array_agg(id), array_agg(0::int2),
            array_agg(array_fill(0.05, ARRAY[384])::public.halfvec))
        FROM item_parts
        """
    )
    owner.execute(
        """
        INSERT INTO marks SELECT e.id, COALESCE(e.text, m.content) FROM entries e
        LEFT JOIN messages m ON m.id = e.source_id
        ON CONFLICT DO NOTHING
        """
    )


async def settle(world: World, stores: Stores, *, erases: bool = True) -> None:
    """Write the world as its owner would; where it `erases`, a conversation is in mid-erasure, which a worker ends."""
    await register(world, stores)
    await listen(world, stores)
    places = {name: await begin(world, stores, name) for name in world.talks}
    whole = Grant(world.id, everything=True)
    for name in ("first", "second"):
        options = {"user": world.mark("import", name)}
        world.imports[name] = await stores.imports.make(whole, "chatgpt", "export.zip", options)
    # what the owner writes of a user stands for what was remembered before; what comes later stands beside it
    repeated = sorted(quotes(world).values())
    for name in repeated:
        await derive(world, stores, name, places[name])
    for user in (None, *sorted(world.users)):
        world.profiles[user] = await stores.profiles.write(whole, user, profile_text(world, user), "owner")
    for name in (name for name in places if name not in repeated):
        await derive(world, stores, name, places[name])
    for name, user, key in told_facts(world):
        await tell_fact(world, stores, places[name], facts.FactSubject("user", user), key)
    for name, scope in noted_facts(world):
        draft = facts.FactDraft(json.dumps(world.mark("fact", f"noted {label(scope)}")))
        await stores.facts.put(grant(Viewer(world.id, "agent"), places[name]), scope, "noted", draft)
    for name, place in places.items():
        await compose(world, stores, name, place)
    await introduce(world, stores)
    await keep_items(world, stores)
    for name, place in places.items():
        await take_back(world, stores, name, place)
        await erase_one(world, stores, name, place)
    if erases and world.session_reach == "own":
        # policies alone hide a conversation in mid-erasure: not in the tenant that the first wall is tried alone in
        await erase_talk(world, stores)


async def listen(world: World, stores: Stores) -> None:
    """Let an address be told of one thing, which has no words."""
    whole = Grant(world.id, everything=True)
    draft = WebhookDraft(world.mark("webhook", "one"), "http://127.0.0.1:9/", ("summary.changed",), new_secret())
    world.webhook = (await stores.webhooks.add(whole, draft)).webhook.id
    assert await stores.webhooks.test(whole, world.webhook)


async def keep_items(world: World, stores: Stores) -> None:
    """Keep an item for each who may have any, under one name: an agent with a user keeps it though they never met."""
    for agent, user in world.item_owners():
        opened = grant(Viewer(world.id, "agent", agent, user), ItemOwner(agent, user))
        value = {"note": world.mark("item-of", f"{agent}-{user}")}
        await Items(stores.items, READER.table, None).put(opened, [PutItem(("notes", "first"), "note", value)])


async def introduce(world: World, stores: Stores) -> None:
    """Whoever has a conversation is introduced by it; the others are by hand, and some no more."""
    whole = Grant(world.id, everything=True)
    for agent, user in world.introduced - world.pairs():
        await stores.registry.introduce(whole, agent, user, "owner")
    for agent, user in world.withdrawn:
        assert await stores.registry.withdraw(whole, agent, user, "owner")


async def register(world: World, stores: Stores) -> None:
    whole = Grant(world.id, everything=True)
    registry = stores.registry
    for user in world.users:
        await registry.put_user(whole, user, world.mark("user", user))
    for agent in world.agents:
        await registry.put_agent(whole, agent, world.mark("agent", agent), None)
        await stores.files.put(whole, agent, "SOUL.md", world.mark("file", agent))
    for tree in trees(world):
        mark = world.mark("tree", tree.run_id)
        await stores.trees.put(whole, tree, f"/memories/{mark}", mark, "owner", None, TreeLimits())
    for project, isolated in world.projects.items():
        await registry.put_project(whole, project, world.mark("project", project), isolated)
        await remember(world, stores, project)
    for room, project in world.rooms.items():
        await registry.put_room(whole, room, world.mark("room", room))
        await registry.move_room(whole, room, project)
        for user in world.room_users[room]:
            await registry.join(whole, room, user=user)
        for agent in world.room_agents[room]:
            await registry.join(whole, room, agent=agent)
    for scope in scopes(world):
        await stores.facts.put(whole, scope, "note", facts.FactDraft(json.dumps(world.mark("fact", label(scope)))))


async def begin(world: World, stores: Stores, name: str) -> Place:
    """Open a conversation, say its one message, and keep something beside it."""
    owner = Viewer(world.id, "admin")
    await open_talk(world, stores, name)
    place = await stores.lookup.place(world.id, name)
    speaker = Viewer(world.id, "agent", place.agent, None, "agent") if name in world.unvouched else owner
    await say(stores, speaker, place, world.mark("message", name))
    opened = grant(owner, place)
    note = {"note": world.mark("field", name)}
    await WorkingMemory(stores.working.fields, opened, place).set(note, world.number(name))
    await InjectionLedger(stores.working.ledger, opened, place).mark("item", world.mark("item", name))
    return place


async def tell_fact(world: World, stores: Stores, place: Place, about: facts.FactSubject, key: str) -> None:
    draft = facts.FactDraft(json.dumps(world.mark("fact", key)))
    if key.startswith("set in"):
        await stores.facts.put(grant(Viewer(world.id, "agent"), place), about, key, draft)
        return
    whole = Grant(world.id, everything=True)
    (message,) = await stores.summaries.messages(whole, place.conversation_id, 1, 1)
    await stores.facts.put(whole, about, key, replace(draft, source=message.id))


async def derive(world: World, stores: Stores, name: str, place: Place) -> None:
    """Store what jobs would derive from the conversation's one message."""
    whole = Grant(world.id, everything=True)
    (message,) = await stores.summaries.messages(whole, place.conversation_id, 1, 1)
    at = message.created_at
    summary = TierSummary(uuid4(), "thread", 1, 1, at, at, world.mark("summary", name), 1)
    new = NewSummary(summary, 1, "extractive", 1.0, None, ())
    assert await stores.summaries.store(whole, place.conversation_id, 1, new)
    world.summaries[name] = summary.id
    sentence = ToolSentence(world.mark("sentence", name), "template")
    await stores.tasks.store_sentence(whole, place.conversation_id, 1, sentence)
    opened = grant(Viewer(world.id, "admin"), place)
    id_, outcome = await stores.landmarks.pin(opened, place, message.id, "pin", None, None)
    assert outcome == "pinned"
    world.landmarks.add(id_)
    scope = await stores.memories.scope(whole, place.conversation_id)
    (unread,) = await stores.memories.unread(whole, scope.waiting, BatchLimits(1, 1, 0))
    mark = world.mark("semantic", name)
    found = ExtractedMemory(
        "fact", mark, 1.0, at, (message.id,), world.speaker(name), metadata={"note": mark}, categories=(mark,)
    )
    assert (message.id in unread.unvouched) == (name in world.unvouched)
    found = replace(found, vouched=not unread.unvouched)
    if name in world.agents_word:
        found = replace(found, vouched=False, user=None, said_by="agent")
    changes = consolidate([], [found])
    id_ = changes.added[0].id
    entry = stores.reader.index_entry(found.text, (str(world.id), place.run_id), whole=False)
    writing = MemoryWrite(changes, {id_: entry}, [ReadRange(unread, "rules")])
    assert await stores.memories.store(whole, place.conversation_id, scope.revision, writing)
    world.memories[name] = id_


async def compose(world: World, stores: Stores, name: str, place: Place) -> None:
    """Keep a turn that showed a landmark of every place, as if all of them could be read here then."""
    lines = [{"kind": "landmark", "id": str(id_), "tokens": 1, "score": 1.0, "reason": ""} for id_ in world.landmarks]
    id_ = world.turns[name] = uuid4()
    sizes = dict.fromkeys(("window_tokens", "tokens", "injected_tokens", "proposed_tokens", "compacted"), 1)
    turn = sizes | {
        "id": str(id_), "agent": "ada", "user": None, "asked": None, "template": world.mark("turn", name),
        "recipe": "best", "reach": None, "left_out": [], "degraded": [], "created_at": datetime.now(UTC).isoformat(),
        "sections": [{"name": "landmarks", "tokens": 1, "lines": lines}],
    }  # fmt: skip
    await stores.turns.keep(grant(Viewer(world.id, "reader"), place), place.conversation_id, turn)


async def derive_all(world: World, stores: Stores, name: str, place: Place, seq: int, mark: str) -> None:
    """Say something more, and derive all that can be derived from it."""
    whole, owner = Grant(world.id, everything=True), Viewer(world.id, "admin")
    opened = grant(owner, place)
    await say(stores, owner, place, mark)
    (message,) = await stores.summaries.messages(whole, place.conversation_id, seq, seq)
    at = message.created_at
    new = NewSummary(TierSummary(uuid4(), "thread", seq, seq, at, at, mark, 1), 1, "extractive", 1.0, None, ())
    assert await stores.summaries.store(whole, place.conversation_id, 1, new)
    await stores.tasks.store_sentence(whole, place.conversation_id, seq, ToolSentence(mark, "template"))
    id_, _ = await stores.landmarks.pin(opened, place, message.id, "pin", None, None)
    world.landmarks.add(id_)
    draft = operations.MemoryDraft(mark, sources=(message.id,), metadata={"note": mark}, categories=(mark,))
    await operations.add(stores.memories, stores.reader, opened, place, draft, at, None)
    if place.user is not None:
        fact = facts.FactDraft(json.dumps(mark), source=message.id)
        await stores.facts.put(whole, facts.FactSubject("user", place.user), f"{seq} of {name}", fact)
    await WorkingMemory(stores.working.fields, opened, place).set({f"gone {seq}": mark}, None)
    await InjectionLedger(stores.working.ledger, opened, place).mark(f"gone {seq}", mark)


async def take_back(world: World, stores: Stores, name: str, place: Place) -> None:
    """Say something more, derive all that can be derived from it, and take it back."""
    owner = Viewer(world.id, "admin")
    opened = grant(owner, place)
    mark = world.mark("retracted", name)
    await derive_all(world, stores, name, place, 2, mark)
    changed = RetractStores(stores.retractions, stores.summaries, stores.memories, stores.working, stores.reader)
    done = await retract(changed, opened, owner, place, 2, "owner", mark)
    world.retracted[name] = done.id


async def erase_one(world: World, stores: Stores, name: str, place: Place) -> None:
    """Say something more, derive all that can be derived from it, and erase it: nobody sees anything of it."""
    owner = Viewer(world.id, "admin")
    await derive_all(world, stores, name, place, 3, world.mark("erased", name))
    changed = RetractStores(stores.retractions, stores.summaries, stores.memories, stores.working, stores.reader)
    with_stores = EraseStores(stores.erasures, stores.erasure_queue, stores.memories, stores.reader)
    (message,) = await stores.summaries.messages(Grant(world.id, everything=True), place.conversation_id, 3, 3)
    await erase_message(with_stores, changed, grant(owner, place), owner, place, 3, dry_run=False)
    world.erased.add(message.id)


async def erase_talk(world: World, stores: Stores) -> None:
    """Begin to erase a conversation, and go on with it no further: its rows are there, and nobody sees them."""
    owner, name = Viewer(world.id, "admin"), f"{world.tenant}-erased"
    mark = world.mark("erasing", name)
    new = NewConversation(agent="ada", user=min(world.users), fields={"title": mark})
    await transcript.put(stores.lookup, stores.conversations, owner, name, new, None)
    place = await stores.lookup.place(world.id, name)
    await derive_all(world, stores, name, place, 1, mark)
    start = await stores.erasures.begin_conversation(grant(owner, place), place, dry_run=False)
    assert start is not None
    world.erasing.add(place.conversation_id)


async def remember(world: World, stores: Stores, project: str) -> None:
    """Keep a memory of a project."""
    whole = Grant(world.id, everything=True)
    mark = world.mark("semantic", project)
    draft = operations.MemoryDraft(mark, metadata={"note": mark}, categories=(mark,))
    at = datetime.now(UTC)
    made, _ = await operations.add_to_project(stores.memories, stores.reader, whole, project, draft, at, None)
    world.project_memories[project] = made.id


async def open_talk(world: World, stores: Stores, name: str) -> None:
    talk = world.talks[name]
    fields = {"title": world.mark("conversation", name)} | ({"reach": talk.reach} if talk.reach else {})
    wanted = NewConversation(talk.kind, talk.user, talk.agent, talk.room, talk.project, fields)
    ports, owner = (stores.lookup, stores.conversations), Viewer(world.id, "admin")
    if name in world.assigned:
        await transcript.put(*ports, owner, name, NewConversation(unannounced=True))
    names = [name, *(alias for alias, other in world.aliases.items() if other == name)]
    for asked in names:
        found, _ = await transcript.put(*ports, owner, asked, wanted)
        assert (found.external_id, found.agent, found.user) == (name, talk.agent, talk.user)


async def say(stores: Stores, viewer: Viewer, place: Place, text: str) -> None:
    # a person's key speaks as that person alone
    draft = Draft("user" if viewer.is_person else "assistant", text)
    await transcript.append(stores.transcript, stores.reader, grant(viewer, place), viewer, place, [draft])
