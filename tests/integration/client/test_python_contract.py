"""The Python face: one suite for Keepword in the process, behind HTTP, and without await."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from keepword import Client, Draft, Keepword, answers, errors
from keepword.client.synchronous import SyncProxy

pytestmark = pytest.mark.anyio

THEN = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Unblocked:
    """The face without await, called from a thread and awaited, so that the same suite tries it."""

    def __init__(self, calls):
        self._calls = calls

    def __getattr__(self, name):
        found = getattr(self._calls, name)
        if isinstance(found, SyncProxy):
            return Unblocked(found)
        if name == "acting":
            return lambda **whom: Unblocked(found(**whom))
        return lambda *args, **kwargs: asyncio.to_thread(found, *args, **kwargs)


@pytest.fixture(scope="module", params=["in process", "over http", "without await"])
async def kw(request, make_migrated_home, keyed_service):
    async with AsyncExitStack() as stack:
        if request.param == "in process":
            yield await stack.enter_async_context(Keepword.open(data=make_migrated_home(), worker=False))
            return
        key = keyed_service.make_key(f"python-{uuid4().hex}")
        if request.param == "over http":
            yield await stack.enter_async_context(Client(keyed_service.url, key))
            return
        yield Unblocked(stack.enter_context(Client.sync(keyed_service.url, key)))


@pytest.fixture
def name():
    return f"c {uuid4().hex[:8]} é?"


async def test_what_is_appended_is_read_in_order(kw, name):
    made = await kw.conversations.put(name, agent="helper", title="Trip", settings={"a": [1, None]})
    assert (made.external_id, made.kind, made.title, made.settings) == (name, "session", "Trip", {"a": [1, None]})
    first = await kw.append(name, "We fly on Friday.", created_at=THEN, metadata={"n": 2**70})
    assert (first.seq, first.duplicate, first.created_at) == (1, False, THEN)
    more = await kw.append_all(
        name, [Draft("assistant", f"answer {number}", created_at=THEN + timedelta(hours=number)) for number in (1, 2)]
    )
    assert [receipt.seq for receipt in more] == [2, 3]
    page = await kw.conversations.messages(name, limit=2)
    assert [message.content for message in page.messages] == ["We fly on Friday.", "answer 1"]
    assert page.messages[0].id == first.id
    assert page.messages[0].metadata == {"n": 2**70}
    assert (await kw.browse(name, before=THEN.date())).messages == ()
    day = await kw.browse(name, since=THEN.date(), before=str(THEN.date() + timedelta(days=1)))
    assert [message.content for message in day.messages][:1] == ["We fly on Friday."]
    rest = await kw.browse(name, cursor=None, since=THEN + timedelta(minutes=90), role="assistant")
    assert [message.content for message in rest.messages] == ["answer 2"]
    assert (await kw.conversations.messages(name, cursor=page.next)).messages == rest.messages
    assert [message.text for message in (await kw.conversations.buffer(name, limit=1)).messages] == ["answer 2"]
    assert (await kw.conversations.get(name)).message_count == 3
    assert name in {one.external_id for one in (await kw.conversations.list(limit=200)).conversations}


async def test_a_retry_stores_nothing_twice_and_other_words_conflict(kw, name):
    await kw.conversations.put(name)
    once = await kw.append(name, "hello", event_id="e1")
    again = await kw.append(name, "hello", event_id="e1")
    assert (again.id, again.duplicate) == (once.id, True)
    with pytest.raises(errors.Conflict, match="e1"):
        await kw.append(name, "other words", event_id="e1")


async def test_a_tool_call_keeps_its_parts(kw, name):
    await kw.conversations.put(name, agent="helper")
    args = {"city": "Lisbon", "days": [1, 2.5, None, True]}
    await kw.append(name, role="tool", tool_name="weather", tool_args=args, tool_result="sunny", attachments=["a.png"])
    (message,) = (await kw.conversations.messages(name)).messages
    assert (message.tool_name, message.tool_args, message.tool_result) == ("weather", args, "sunny")
    assert list(message.attachments) == ["a.png"]


async def test_search_finds_and_says_why(kw, name):
    await kw.conversations.put(name)
    said = await kw.append(name, "The quokka lives on Rottnest Island.")
    await kw.append(name, "Lunch is at noon.")
    found = await kw.search("where does the quokka live?", conversation=name, explain=True, context=1)
    best = found.results[0]
    assert (best.id, best.kind, best.conversation) == (said.id, "message", name)
    assert best.why.terms["quokka"].by == "own"
    assert best.context
    assert (await kw.search("quokka", conversation=name)).results[0].why is None
    nothing = await kw.search("xylophone", conversation=name, mode="words")
    assert not nothing.results
    assert nothing.hint


async def test_compose_tells_what_the_agent_sees_and_why(kw, name):
    user = f"u{uuid4().hex[:8]}"
    await kw.users.put(user)
    await kw.agents.put("helper", context_window=50_000)
    await kw.agents.put_file("helper", "SOUL.md", "Be brief.")
    await kw.conversations.put(name, user=user, agent="helper")
    await kw.facts.set("user", user, "seat", "window")
    await kw.append(name, "We fly on Friday.")
    shown = await kw.compose(name, "When do we fly?", user=user, budget_tokens=500)
    assert shown.window_tokens == 50_000
    assert shown.injected_tokens <= 500
    assert [section.name for section in shown.sections][:2] == ["workspace", "session"]
    fact = next(line for section in shown.sections for line in section.lines if line.kind == "fact")
    assert "window" in fact.text
    assert fact.text in shown.text
    assert fact.reason
    assert shown.messages[-1]["role"] == "user"
    assert shown.anthropic.messages[-1]["content"].endswith(shown.messages[-1]["content"])
    few = await kw.compose(name, "When?", sections=[], dry_run=True, template="nexus")
    assert [section.name for section in few.sections] == ["session", "invocation"]


async def test_the_ledger_of_a_conversation_keeps_what_was_composed(kw, name):
    await kw.conversations.put(name, agent="helper")
    key = f"k{uuid4().hex[:8]}"
    await kw.facts.set("global", "-", key, "remember me")
    first = await kw.compose(name, "hi", ledger=True)
    assert "remember me" in first.text
    assert "remember me" not in (await kw.compose(name, "hi", ledger=True)).text
    await kw.facts.delete("global", "-", key)


async def test_facts_have_versions_types_and_a_history(kw):
    room = f"r{uuid4().hex[:8]}"
    await kw.rooms.put(room)
    made = await kw.facts.set("room", room, "limit", 30, type="integer", confidence=0.5, version=0)
    assert (made.value, made.type, made.version, made.scope_id, made.confidence) == (30, "integer", 1, room, 0.5)
    with pytest.raises(errors.InvalidInput, match="integer"):
        await kw.facts.set("room", room, "limit", "thirty")
    assert (await kw.facts.set("room", room, "limit", {"a": None}, type="any")).type is None
    with pytest.raises(errors.Outdated):
        await kw.facts.set("room", room, "limit", 1, version=1)
    assert (await kw.facts.get("room", room, "limit")).value == {"a": None}
    assert [fact.key for fact in (await kw.facts.list("room", room)).facts] == ["limit"]
    with pytest.raises(errors.Outdated):
        await kw.facts.delete("room", room, "limit", version=1)
    await kw.facts.delete("room", room, "limit", version=2)
    versions = (await kw.facts.history("room", room, "limit")).versions
    assert [(one.value, one.deleted) for one in versions] == [(None, True), ({"a": None}, False), (30, False)]
    with pytest.raises(errors.NotFound, match="limit"):
        await kw.facts.get("room", room, "limit")


async def test_a_fact_may_be_null(kw):
    key = f"k{uuid4().hex[:8]}"
    await kw.facts.set("global", "-", key, None)
    assert (await kw.facts.get("global", "-", key)).value is None
    assert key in {fact.key for fact in (await kw.facts.list(limit=200)).facts}


async def test_memories_are_kept_changed_found_and_forgotten(kw, name):
    user = f"ann{uuid4().hex[:8]}"
    await kw.users.put(user)
    await kw.conversations.put(name, user=user, agent="helper")
    said = await kw.append(name, "I always take a window seat.")
    made = await kw.memories.add(
        name, f"{user} prefers window seats.", type="preference", confidence=0.9, sources=[said.id]
    )
    assert (made.type, made.user, made.sources, made.version) == ("preference", user, (said.id,), 1)
    found = await kw.memories.search("which seat?", conversation=name, types=["preference"], run_ids=[made.run_id])
    assert [one.memory.id for one in found.results] == [made.id]
    assert [one.memory.id for one in (await kw.memories.search("seat", user=user, agent="helper")).results] == [made.id]
    assert [one.id for one in (await kw.memories.list(conversation=name)).memories] == [made.id]
    changed = await kw.memories.update(made.id, content=f"{user} prefers aisle seats.", importance=0.7, version=1)
    assert (changed.version, changed.importance) == (2, 0.7)
    with pytest.raises(errors.Outdated):
        await kw.memories.update(made.id, content="no", version=1)
    await kw.memories.delete(str(made.id), version=2)
    with pytest.raises(errors.NotFound):
        await kw.memories.get(made.id)
    assert [one.event for one in (await kw.memories.history(made.id)).versions] == ["deleted", "changed", "added"]


async def test_landmarks_are_pinned_listed_and_unpinned(kw, name):
    await kw.conversations.put(name)
    said = await kw.append(name, "The pressure limit is 350 bar. Keep that in mind.", created_at=THEN)
    made = await kw.landmarks.pin(name, said.id, kind="spec", text="The pressure limit is 350 bar.")
    assert (made.message, made.kind, made.text) == (said.id, "spec", "The pressure limit is 350 bar.")
    page = await kw.landmarks.list(conversation=name, kind="spec")
    assert (page.landmarks, page.next) == ((made,), None)
    with pytest.raises(errors.InvalidInput, match="word for word"):
        await kw.landmarks.pin(name, said.id, text="400 bar")
    await kw.landmarks.unpin(made.id)
    assert (await kw.landmarks.list(conversation=name)).landmarks == ()
    with pytest.raises(errors.NotFound, match=str(made.id)):
        await kw.landmarks.unpin(made.id)


async def test_a_conversation_without_summaries_has_an_empty_tree(kw, name):
    await kw.conversations.put(name)
    assert (await kw.summaries.tree(name)).summaries == ()
    with pytest.raises(errors.NotFound, match="no summary"):
        await kw.summaries.get(uuid4())


async def test_summaries_are_made_when_they_are_asked_for(kw, name):
    await kw.conversations.put(name)
    assert await kw.summaries.make(name) == answers.MadeSummaries((), 0)
    await kw.append(name, "Decision: the otter swims at dawn.")
    made = await kw.summaries.make(name)
    assert [(node.summary.tier, node.children) for node in made.summaries] == [("thread", ())]
    assert made.left == 0
    assert (await kw.summaries.tree(name)).summaries == made.summaries
    with pytest.raises(errors.NotFound):
        await kw.summaries.make(f"{name}-nobody")


async def test_working_memory_is_merged_read_and_deleted(kw, name):
    assert await kw.working.get(name) == {}
    value = {"deep": [1, {"é": None}], "big": 2**80}
    held = await kw.working.put(name, {"a": value, "b": "123"}, ttl_seconds=60)
    assert held.fields == 2
    await kw.working.put(name, {"c": False})
    assert await kw.working.get(name) == {"a": value, "b": "123", "c": False}
    await kw.working.delete(name, ["a", "missing"])
    await kw.working.delete(name, ["a"])
    assert set(await kw.working.get(name)) == {"b", "c"}
    with pytest.raises(errors.TooLarge, match="65536"):
        await kw.working.put(name, {"b": "x" * 70_000})
    with pytest.raises(errors.InvalidInput):
        await kw.working.delete(name, [])
    await kw.working.clear(name)
    assert await kw.working.get(name) == {}


async def test_items_are_put_found_and_deleted(kw, name):
    await kw.items.put([name, "a"], "k", {"text": "green tea", "n": 1}, index=["text"], ttl=60)
    await kw.items.put([name, "b"], "k", {"n": 2}, index=False)
    item = await kw.items.get([name, "a"], "k", refresh_ttl=False)
    assert (item.namespace, item.key, item.value, item.version) == ((name, "a"), "k", {"text": "green tea", "n": 1}, 1)
    assert [one.key for one in (await kw.items.search([name], query="tea")).items] == ["k"]
    assert [one.value for one in (await kw.items.search([name], filter={"n": {"$gt": 1}})).items] == [{"n": 2}]
    assert await kw.items.namespaces(prefix=[name], suffix=["a"], max_depth=2) == ((name, "a"),)
    await kw.items.delete([name, "a"], "k")
    gone, left = await kw.items.batch(
        [{"op": "get", "namespace": [name, label], "key": "k", "refresh_ttl": False} for label in "ab"]
    )
    assert (gone.item, left.item.value) == (None, {"n": 2})
    with pytest.raises(errors.InvalidInput, match="no dot"):
        await kw.items.put(["a.b"], "k", {})


async def test_the_ledger_tells_one_caller_that_it_is_first(kw, name):
    assert await kw.ledger.check(name, "skill:a") is None
    firsts = await asyncio.gather(*(kw.ledger.mark(name, "skill:a", "v1") for _ in range(5)))
    assert sorted(firsts) == [False] * 4 + [True]
    assert await kw.ledger.check(name, "skill:a") == "v1"
    assert await kw.ledger.mark(name, "skill:a", "v2") is False
    assert await kw.ledger.get(name) == {"skill:a": "v2"}
    assert await kw.ledger.evict(name, "skill:a")
    assert not await kw.ledger.evict(name, "skill:a")


async def test_places_are_made_changed_and_listed(kw, name):
    user, room, project = (f"{kind}{uuid4().hex[:8]}" for kind in ("u", "r", "p"))
    assert (await kw.users.put(user, name="Ann")).name == "Ann"
    assert (await kw.users.get(user)).id == user
    assert user in {one.id for one in (await kw.users.list(limit=200)).users}
    assert (await kw.agents.put("scribe", name="Scribe", context_window=1000)).context_window == 1000
    assert (await kw.agents.get("scribe")).name == "Scribe"
    assert "scribe" in {one.slug for one in (await kw.agents.list(limit=200)).agents}
    assert (await kw.rooms.put(room, name="Team")).name == "Team"
    assert (await kw.rooms.get(room)).id == room
    assert room in {one.id for one in (await kw.rooms.list(limit=200)).rooms}
    await kw.rooms.add_user(room, user)
    await kw.rooms.add_agent(room, "scribe")
    there = await kw.rooms.participants(room)
    assert (there.users, there.agents) == ((user,), ("scribe",))
    put = await kw.projects.put(project, name="Apollo", isolated=True)
    assert (put.made, put.project.isolated) == (True, True)
    await kw.projects.add(project, "rooms", room)
    assert (await kw.projects.members(project)).rooms == (room,)
    assert (await kw.projects.get(project)).name == "Apollo"
    assert project in {one.id for one in (await kw.projects.list(limit=200)).projects}
    assert (await kw.projects.put(project, isolated=False)).opened.rooms == (room,)
    await kw.projects.remove(project, "rooms", room)
    assert (await kw.conversations.put(name, room=room, agent="scribe")).kind == "room"
    await kw.rooms.remove_user(room, user)
    await kw.rooms.remove_agent(room, "scribe")
    assert (await kw.rooms.participants(room)).users == ()


async def test_an_agents_files_are_written_listed_and_deleted(kw):
    assert (await kw.agents.put_file("scribe", "SOUL.md", "Be kind.")).content == "Be kind."
    assert "SOUL.md" in {file.name for file in (await kw.agents.files("scribe")).files}
    await kw.agents.delete_file("scribe", "SOUL.md")
    assert (await kw.agents.files("scribe")).files == ()


async def test_users_are_introduced_to_an_agent_listed_and_withdrawn(kw, name):
    await kw.users.put(name)
    await kw.agents.introduce(f"scribe-{name}", name)
    page = await kw.agents.users(f"scribe-{name}")
    assert ([one.user for one in page.users], page.next) == ([name], None)
    await kw.agents.withdraw(f"scribe-{name}", name)
    assert (await kw.agents.users(f"scribe-{name}", limit=1)).users == ()
    with pytest.raises(errors.NotFound):
        await kw.agents.withdraw(f"scribe-{name}", name)


async def test_a_second_direct_conversation_is_the_first_under_a_further_name(kw, name):
    await kw.users.put(name)
    first = await kw.conversations.put(f"{name}-1", kind="direct", user=name, agent="helper")
    second = await kw.conversations.put(f"{name}-2", kind="direct", user=name, agent="helper")
    assert (second.external_id, second.alias, first.alias) == (f"{name}-1", f"{name}-2", None)
    await kw.append(f"{name}-2", "The tent is in the cellar.")
    (message,) = (await kw.conversations.messages(f"{name}-2")).messages
    assert message.conversation == f"{name}-1"
    (hit,) = (await kw.search("tent", conversation=f"{name}-2")).results
    assert 0 < hit.similarity <= 1
    assert (await kw.search("tent", mode="words", conversation=f"{name}-2")).results[0].similarity is None


async def test_a_session_without_a_user_gets_one_later(kw, name):
    await kw.users.put(name)
    await kw.conversations.put(name)
    await kw.append(name, "hello")
    assert (await kw.conversations.put(name, user=name)).user == name
    await kw.append(name, "It is me.", user=name)


async def test_acting_for_somebody_shows_what_they_may_see(kw, name):
    ann, bob, room = (f"{kind}{uuid4().hex[:8]}" for kind in ("ann", "bob", "r"))
    for user in (ann, bob):
        await kw.users.put(user)
    await kw.rooms.put(room)
    await kw.rooms.add_user(room, ann)
    await kw.rooms.add_agent(room, "helper")
    await kw.conversations.put(name, room=room, agent="helper")
    direct = await kw.conversations.put(f"dm {name}", kind="direct", user=ann, agent="helper")
    await kw.append(direct.external_id, "My salary is 4711 ducats.")
    await kw.append(name, "Good morning.", user=ann)
    assert (await kw.acting(user=ann).conversations.get(name)).room == room
    with pytest.raises(errors.NotFound):
        await kw.acting(user=bob).conversations.get(name)
    with pytest.raises(errors.Forbidden):
        await kw.acting(user=ann).users.put("eve")
    assert "4711" not in (await kw.compose(name, "What is the salary?", user=ann)).text
    assert "4711" in (await kw.compose(direct.external_id, "What is the salary?")).text
    assert not any("4711" in hit.text for hit in (await kw.search("salary ducats", conversation=name)).results)


async def test_stats_count_what_may_be_read(kw, name):
    await kw.conversations.put(name)
    await kw.append(name, "one")
    assert (await kw.stats(name)).census["message"] == 1
    assert "compact" in (await kw.stats()).queues


@pytest.mark.parametrize(
    ("call", "error", "field", "said"),
    [
        (lambda kw: kw.append("nowhere", "hi"), errors.NotFound, None, "no conversation 'nowhere'; make it first"),
        (lambda kw: kw.search("x", conversation="nowhere"), errors.NotFound, None, "nowhere"),
        (lambda kw: kw.compose("nowhere", "hi"), errors.NotFound, None, "nowhere"),
        (lambda kw: kw.compose("c", "hi", sections=["dreams"]), errors.InvalidInput, "sections.0", "dreams"),
        (lambda kw: kw.append("c", "hi", role="robot"), errors.InvalidInput, "0.role", "robot"),
        (lambda kw: kw.append("c"), errors.InvalidInput, "0", "content"),
        (lambda kw: kw.append_all("c", []), errors.InvalidInput, "body", "1 to 1000"),
        (lambda kw: kw.append("c", "x" * (1 << 20) + "y"), errors.TooLarge, "0.content", "1048577"),
        (lambda kw: kw.append("c", "nul \0"), errors.InvalidInput, "0.content", "NUL"),
        (lambda kw: kw.append("c", "hi", created_at=datetime(2024, 1, 1)), errors.InvalidInput, "0.created_at", "zone"),  # noqa: DTZ001
        (lambda kw: kw.append("c", "hi", metadata={"a": {1, 2}}), errors.InvalidInput, None, "set"),
        (lambda kw: kw.append("c", "hi", metadata={"a": float("nan")}), errors.InvalidInput, None, "JSON"),
        (lambda kw: kw.append("a/b", "hi"), errors.InvalidInput, "conversation", "slash"),
        (lambda kw: kw.conversations.get(""), errors.InvalidInput, "conversation", "1 to 200"),
        (lambda kw: kw.conversations.get(".."), errors.InvalidInput, "conversation", "'..'"),
        (lambda kw: kw.memories.get("no-uuid"), errors.InvalidInput, "memory_id", "no-uuid"),
        (lambda kw: kw.facts.list("user"), errors.InvalidInput, "scope_id", "1 to 200"),
        (lambda kw: kw.facts.get("planet", "x", "y"), errors.InvalidInput, "scope_kind", "planet"),
        (lambda kw: kw.search(""), errors.InvalidInput, "query", "empty"),
        (lambda kw: kw.search("x", limit=0), errors.InvalidInput, "limit", "0"),
        (lambda kw: kw.search("x", synthesize=True), errors.InvalidInput, "synthesize", "KEEPWORD_LLM_URL"),
        (lambda kw: kw.browse(cursor="nonsense"), errors.InvalidInput, "cursor", "nonsense"),
        (lambda kw: kw.rooms.add_user("nowhere", "ann"), errors.NotFound, None, "nowhere"),
        (lambda kw: kw.acting(agent="no:id").stats(), errors.InvalidInput, "Keepword-Agent", "no:id"),
    ],
    ids=range(24),
)
async def test_what_is_wrong_is_said_in_the_same_errors(kw, call, error, field, said):
    with pytest.raises(errors.KeepwordError) as raised:
        await call(kw)
    assert type(raised.value) is error
    assert getattr(raised.value, "field", None) == field
    assert said in str(raised.value)


async def test_a_window_that_is_too_small_is_told_with_the_sizes(kw, name):
    await kw.conversations.put(name)
    with pytest.raises(errors.InvalidInput, match="the window has 3"):
        await kw.compose(name, "hello", window_tokens=3)


async def test_a_key_that_does_not_work_is_told(keyed_service):
    async with Client(keyed_service.url, "kw_nonsense") as kw:
        with pytest.raises(errors.Unauthenticated, match="not one of Keepword's"):
            await kw.stats()
    async with Client(keyed_service.url) as kw:
        with pytest.raises(errors.Unauthenticated, match="keepword keys create"):
            await kw.stats()
    with pytest.raises(errors.Unauthenticated, match="kw_"):
        Client(keyed_service.url, "kö")


async def test_things_are_read_by_their_ids_and_told_who_may_see_them(kw):
    await kw.users.put("ann")
    await kw.conversations.put("named", user="ann", agent="helper")
    receipt = await kw.append("named", "We fly on Friday.", user="ann")
    (source,) = await kw.sources([receipt.id])
    assert source.text == "We fly on Friday."
    report = await kw.access("named", user="ann", agent="helper", message=[receipt.id])
    assert [(one.message, one.sees) for one in report.verdicts] == [(receipt.id, True)]
    assert (await kw.whoami()).owner
    await kw.compose("named", "When do we fly?")
    assert (await kw.turns.list("named")).next is None
