"""Random joins, leaves, moves, appends and reads, against a model that only knows who is where."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from uuid import UUID, uuid4

import psycopg
import pytest
import uvloop
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from psycopg import Connection

from keepword.access import Acquaintance, Grant, Viewer, grant
from keepword.errors import Forbidden, InvalidInput, NotFound
from keepword.postgres.pool import Pool
from keepword.transcript import NewConversation, PageRequest, assign, change, read
from keepword.transcript.registry import move
from leaks import oracle
from leaks.kinds import Stores
from leaks.oracle import Thing, Where
from leaks.settling import say
from leaks.viewers import look
from leaks.world import BOTS, PEOPLE, REACHES, Talk, World
from patience import PATIENT

STEPS = int(os.environ.get("LEAK_STEPS", "10000"))
STEPS_PER_RUN = 100

ROOMS = ("hall", "deck")
PROJECTS = ("one", "two")
TALKS = {
    "in-hall": Talk("room", "ada", room="hall"),
    "in-deck": Talk("room", "bix", room="deck"),
    "dm-ann": Talk("direct", "ada", "ann"),
    "dm-bob": Talk("direct", "ada", "bob"),
    "s-ann": Talk("session", "ada", "ann"),
    "s-ann-too": Talk("session", "ada", "ann", reach="user"),
    "s-bob": Talk("session", "ada", "bob"),
    "s-ann-bix": Talk("session", "bix", "ann"),
    "s-nobody": Talk("session", "ada"),
    "s-open": Talk("session", "default", agent_open=True),
    "s-open-ann": Talk("session", "default", "ann", agent_open=True),
}

rooms = st.sampled_from(ROOMS)
projects = st.sampled_from(PROJECTS)
somewhere = st.sampled_from((None, *PROJECTS))
people = st.sampled_from(PEOPLE)
bots = st.sampled_from(BOTS)
talks = st.sampled_from(sorted(TALKS))
sessions = st.sampled_from(sorted(name for name, talk in TALKS.items() if talk.kind == "session"))
# most viewers are somebody: nobody in particular sees too much to tell right from wrong
viewers = st.builds(
    lambda role, agent, user, is_agents, is_users: (role, agent, user, _binding(agent, user, is_agents, is_users)),
    st.sampled_from(("admin", "agent", "reader")),
    st.sampled_from((None, "ada", "ada", *BOTS)),
    st.sampled_from((None, *PEOPLE, *PEOPLE)),
    st.booleans(),
    st.booleans(),
)


def _binding(agent: str | None, user: str | None, is_agents: bool, is_users: bool) -> str:
    """Return whom the key itself names of those whom the viewer acts for."""
    names = ("agent" if agent and is_agents else None, "user" if user and is_users else None)
    return {(None, None): "nobody", ("agent", "user"): "both"}.get(names) or names[0] or names[1]


# its source is any message of the conversation
_REMEMBER = """
WITH said AS (
    SELECT tenant_id, id, run_id, visibility, private_to, agent FROM conversations
    WHERE tenant_id = %(tenant)s AND external_id = %(name)s
),
remembered AS (
    INSERT INTO memories (tenant_id, id, conversation_id, run_id, visibility, private_to, user_id, agent, type, content,
        digest, importance, confidence, valid_from, said_at, model, pipeline_version)
    SELECT tenant_id, %(memory)s, id, run_id, visibility, private_to, %(user)s, agent, 'fact', %(text)s,
        sha256(%(text)s::text::bytea), 0.5, 1, now(), now(), 'rules', 1 FROM said
)
INSERT INTO memory_sources (tenant_id, memory_id, message_id, run_id, visibility, private_to, digest)
SELECT s.tenant_id, %(memory)s, m.id, s.run_id, s.visibility, s.private_to, ''
FROM said s CROSS JOIN LATERAL (
    SELECT id FROM messages m WHERE m.tenant_id = s.tenant_id AND m.conversation_id = s.id LIMIT 1) AS m
"""


@dataclass
class Bench:
    """What all runs share: a loop, a pool in it, the owner's connection, and how many steps were made."""

    runner: asyncio.Runner
    pool: Pool
    owner: Connection
    steps: int = 0

    def make_tenant(self, name: str) -> UUID:
        return self.owner.execute("INSERT INTO tenants (name) VALUES (%s) RETURNING id", (name,)).fetchone()[0]

    def settle(self, world: World) -> None:
        """Write the first state at once; that the stores can do it too is shown elsewhere."""
        id_ = world.id
        rows = {
            "users (tenant_id, id)": [(id_, user) for user in world.users],
            "projects (tenant_id, id)": [(id_, project) for project in world.projects],
            "rooms (tenant_id, id)": [(id_, room) for room in world.rooms],
            "participants (tenant_id, room_id, agent, member)": [
                (id_, room, agent, f"agent:{agent}") for room, agents in world.room_agents.items() for agent in agents
            ],
            "conversations (tenant_id, id, external_id, kind, agent, user_id, room_id, agent_open, reach)": [
                (id_, uuid4(), name, talk.kind, talk.agent, talk.user, talk.room, talk.agent_open, talk.reach)
                for name, talk in world.talks.items()
            ],
            "introductions (tenant_id, agent, user_id)": [(id_, *pair) for pair in world.introduced],
        }
        with self.owner.transaction(), self.owner.cursor() as cursor:
            for target, values in rows.items():
                cursor.executemany(f"INSERT INTO {target} VALUES ({', '.join(['%s'] * len(values[0]))})", values)

    def remember(self, world: World, name: str, user: str, text: str) -> None:
        """Store a memory of a user with a message of the conversation as its source, as the worker would."""
        values = {"tenant": world.id, "name": name, "user": user, "text": text, "memory": uuid4(), "message": uuid4()}
        self.owner.execute(_REMEMBER, values)


@pytest.fixture
def bench(leaks_conninfo, owner) -> Iterator[Bench]:
    pool = Pool(leaks_conninfo, replace(PATIENT, connections=2))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(pool.open())
        yield Bench(runner, pool, owner)
        runner.run(pool.close())


class Membership(RuleBasedStateMachine):
    bench: Bench

    def __init__(self) -> None:
        super().__init__()
        name = f"run-{uuid4().hex}"
        self.world = World(
            name, self.bench.make_tenant(name), set(PEOPLE), set(BOTS), dict.fromkeys(PROJECTS, False),
            dict.fromkeys(ROOMS), {room: set() for room in ROOMS}, {"hall": {"ada"}, "deck": {"bix"}}, dict(TALKS),
        )  # fmt: skip
        self.world.introduced = self.world.pairs()
        self.said: list[Thing] = []
        self.lines: list[Thing] = []
        self.stores = Stores(self.bench.pool)
        self.whole = Grant(self.world.id, everything=True)
        self.bench.settle(self.world)
        self.bench.steps -= 1  # the invariant is also checked before the first step

    def run(self, coroutine):
        return self.bench.runner.run(coroutine)

    @invariant()
    def count(self) -> None:
        self.bench.steps += 1

    @rule(room=rooms, user=people)
    def let_a_user_join(self, room: str, user: str) -> None:
        self.run(self.stores.registry.join(self.whole, room, user=user))
        self.world.room_users[room].add(user)

    @rule(room=rooms, agent=bots)
    def let_an_agent_join(self, room: str, agent: str) -> None:
        self.run(self.stores.registry.join(self.whole, room, agent=agent))
        self.world.room_agents[room].add(agent)

    @rule(room=rooms, user=people)
    def let_a_user_leave(self, room: str, user: str) -> None:
        was_there = self.run(self.stores.registry.leave(self.whole, room, user=user))
        assert was_there == (user in self.world.room_users[room])
        self.world.room_users[room].discard(user)

    @rule(room=rooms, agent=bots)
    def let_an_agent_leave(self, room: str, agent: str) -> None:
        was_there = self.run(self.stores.registry.leave(self.whole, room, agent=agent))
        assert was_there == (agent in self.world.room_agents[room])
        self.world.room_agents[room].discard(agent)

    @rule(room=rooms, project=somewhere)
    def move_a_room(self, room: str, project: str | None) -> None:
        self.run(move(self.stores.registry, self.whole, "rooms", room, project))
        self.world.rooms[room] = project

    @rule(name=talks, project=somewhere)
    def move_a_conversation(self, name: str, project: str | None) -> None:
        moving = move(self.stores.registry, self.whole, "conversations", name, project)
        if self.world.talks[name].kind == "room":
            with pytest.raises(InvalidInput):
                self.run(moving)
        else:
            self.run(moving)
            self.world.talks[name] = replace(self.world.talks[name], project=project)

    @rule(who=viewers, name=talks, agent=st.sampled_from((None, *BOTS)), user=st.sampled_from((None, *PEOPLE)))
    def name_whose_a_session_is(self, who: tuple, name: str, agent: str | None, user: str | None) -> None:
        viewer = Viewer(self.world.id, *who)
        place = self.run(self.stores.lookup.place(self.world.id, name))
        spoken = any(thing.run_id == self.world.run_id(name) for thing in self.said)
        talk = oracle.assigned(self.world, viewer, name, agent, user, spoken=spoken)
        wanted = NewConversation(agent=agent, user=user)
        assigning = assign(self.stores.lookup, self.stores.conversations, viewer, place, wanted)
        if oracle.is_refused(self.world, viewer, name, agent, user):
            with pytest.raises(NotFound):
                self.run(assigning)
            return
        found = self.run(assigning)
        assert (found.agent, found.user, found.agent_open) == (talk.agent, talk.user, talk.agent_open)
        is_new = talk != self.world.talks[name]
        if is_new and talk.user and not oracle.is_bot(viewer) and (talk.agent, talk.user) not in self.world.withdrawn:
            self.world.introduced.add((talk.agent, talk.user))
        self.world.talks[name] = talk

    @rule(who=viewers, name=sessions, reach=st.sampled_from((None, "own", "user")))
    def choose_a_reach(self, who: tuple, name: str, reach: str | None) -> None:
        viewer = Viewer(self.world.id, *who)
        place = self.run(self.stores.lookup.place(self.world.id, name))
        changing = change(self.stores.conversations, viewer, place, {"reach": reach})
        if oracle.reach(self.world, viewer, Where("in", name)).writes is None:
            with pytest.raises((Forbidden, NotFound)):
                self.run(changing)
            return
        self.run(changing)
        self.world.talks[name] = replace(self.world.talks[name], reach=reach)

    @rule(reach=st.sampled_from(("own", "user")), reads_rooms=st.booleans())
    def change_what_the_tenant_reads(self, reach: str, reads_rooms: bool) -> None:
        changes = {"session_reach": reach, "direct_reads_rooms": reads_rooms}
        self.run(self.stores.lookup.change_settings(self.whole, changes))
        self.world.session_reach, self.world.direct_reads_rooms = reach, reads_rooms

    @rule(who=viewers, name=talks, reach=st.sampled_from(REACHES))
    def read_all_that_a_place_opens_with_a_reach(self, who: tuple, name: str, reach: str) -> None:
        self._read_all(Viewer(self.world.id, *who), Where("in", name, reach=reach))

    @rule(who=viewers, agent=bots, user=people)
    def introduce(self, who: tuple, agent: str, user: str) -> None:
        viewer = Viewer(self.world.id, *who)
        opened = grant(viewer, Acquaintance(agent, user))
        assert (opened.everything or opened.writes is not None) == oracle.introduces(viewer, agent, user)
        if not oracle.introduces(viewer, agent, user):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                self.run(self.stores.registry.introduce(opened, agent, user, None))
            return
        self.run(self.stores.registry.introduce(opened, agent, user, None))
        self.world.introduced.add((agent, user))
        self.world.withdrawn.discard((agent, user))

    @rule(who=viewers, agent=bots, user=people)
    def withdraw(self, who: tuple, agent: str, user: str) -> None:
        viewer = Viewer(self.world.id, *who)
        was = self.run(self.stores.registry.withdraw(grant(viewer, Acquaintance(agent, user)), agent, user, None))
        assert was == (oracle.introduces(viewer, agent, user) and (agent, user) in self.world.introduced)
        if was:
            self.world.introduced.discard((agent, user))
            self.world.withdrawn.add((agent, user))

    @rule(project=projects, isolated=st.booleans())
    def isolate_or_open_a_project(self, project: str, isolated: bool) -> None:
        self.run(self.stores.registry.put_project(self.whole, project, None, isolated))
        self.world.projects[project] = isolated

    @rule(who=viewers, name=talks)
    def append(self, who: tuple, name: str) -> None:
        viewer, text = Viewer(self.world.id, *who), f"{len(self.said)} in {name}"
        place = self.run(self.stores.lookup.place(self.world.id, name))
        saying = say(self.stores, viewer, place, text)
        if oracle.reach(self.world, viewer, Where("in", name)).writes is None:
            with pytest.raises(Forbidden):
                self.run(saying)
            return
        self.run(saying)
        talk = self.world.talks[name]
        scope = ("private", talk.user) if talk.kind == "direct" else ("public", None)
        self.said.append(Thing(self.world.tenant, text, "words", self.world.run_id(name), *scope))

    @rule(name=talks, user=people)
    def remember_something_of_a_user(self, name: str, user: str) -> None:
        talk = self.world.talks[name]
        is_said = any(thing.marker.endswith(f" in {name}") for thing in self.said)
        if not is_said or (talk.kind != "room" and talk.user is None):
            return  # nothing was said that it could come from, or nobody said it
        about, text = (user if talk.kind == "room" else talk.user), f"line {len(self.lines)} of {name}"
        self.bench.remember(self.world, name, about, text)
        self.lines.append(Thing(self.world.tenant, text, "line", user=about, said_in=name))

    @rule(who=viewers, name=talks)
    def read_the_profiles_of_a_place(self, who: tuple, name: str) -> None:
        self._read_lines(Viewer(self.world.id, *who), Where("in", name))

    @rule(who=viewers, agent=bots, user=st.sampled_from((None, *PEOPLE)))
    def read_a_profile_across_sessions(self, who: tuple, agent: str, user: str | None) -> None:
        self._read_lines(Viewer(self.world.id, *who), Where("across", agent=agent, user=user))

    def _read_lines(self, viewer: Viewer, where: Where) -> None:
        opened = self.run(look(self.stores, viewer, where))
        found = {line.text for line in self.run(self.stores.profiles.lines(opened, 200))}
        by_hand = self.run(self._select(opened, "SELECT content FROM profile_lines"))
        expected = set(self._expected(viewer, where, self.lines))
        assert found == set(by_hand) == expected

    @rule(who=viewers, name=talks)
    def read_one_conversation(self, who: tuple, name: str) -> None:
        viewer, where = Viewer(self.world.id, *who), Where("in", name)
        place = self.run(self.stores.lookup.place(self.world.id, name))
        page = self.run(read(self.stores.transcript, grant(viewer, place), place, PageRequest(200)))
        mine = [thing for thing in self.said if thing.run_id == self.world.run_id(name)]
        assert [message.content for message in page.messages] == self._expected(viewer, where, mine)

    @rule(who=viewers, name=talks)
    def read_all_that_a_place_opens(self, who: tuple, name: str) -> None:
        self._read_all(Viewer(self.world.id, *who), Where("in", name))

    @rule(who=viewers, agent=bots, user=st.sampled_from((None, *PEOPLE)))
    def read_across_an_agents_sessions(self, who: tuple, agent: str, user: str | None) -> None:
        self._read_all(Viewer(self.world.id, *who), Where("across", agent=agent, user=user))

    @rule(who=viewers)
    def list_conversations(self, who: tuple) -> None:
        viewer = Viewer(self.world.id, *who)
        opened = self.run(look(self.stores, viewer, Where("list")))
        found = self.run(self.stores.conversations.list(opened, None, 200))
        reach = oracle.reach(self.world, viewer, Where("list"))
        expected = {name for name in TALKS if reach.owner or self.world.run_id(name) in reach.run_ids}
        assert {conversation.external_id for conversation in found} == expected

    def _read_all(self, viewer: Viewer, where: Where) -> None:
        opened = self.run(look(self.stores, viewer, where))
        assert self.run(self._contents(opened)) == self._expected(viewer, where, self.said)

    def _expected(self, viewer: Viewer, where: Where, things: list[Thing]) -> list[str]:
        reach = oracle.reach(self.world, viewer, where)
        return [thing.marker for thing in things if oracle.sees(self.world, reach, thing)]

    async def _contents(self, opened: Grant) -> list[str]:
        return await self._select(opened, "SELECT content FROM messages ORDER BY created_at")

    async def _select(self, opened: Grant, query: str) -> list[str]:
        async with self.bench.pool.granted(opened) as conn:
            cursor = await conn.execute(query)
        return [content for (content,) in await cursor.fetchall()]


def test_nobody_ever_sees_more_or_less_than_the_model_says(bench, show):
    Membership.bench = bench
    # a run may end early, so there are as many rounds as it takes
    for number in count():
        if bench.steps >= STEPS:
            break
        before = bench.steps
        run_state_machine_as_test(
            seed(number)(Membership) if "LEAK_STEPS" not in os.environ else Membership,
            settings=settings(
                # the first of a round is the shortest that there is
                max_examples=(STEPS - bench.steps) // STEPS_PER_RUN + 5,
                stateful_step_count=STEPS_PER_RUN,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        assert bench.steps > before
    show(f"state machine: {bench.steps:,} steps without a difference")
