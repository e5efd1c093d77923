"""What is told of who may see what: the same as the oracle says, message by message, and a reason each time."""

from uuid import uuid4

import pytest

from keepword.access import Grant, Viewer
from leaks import oracle
from leaks.kinds import KINDS, Stores
from leaks.oracle import Where
from leaks.viewers import viewers

pytestmark = pytest.mark.anyio

EVERY = 5


async def test_the_report_says_of_each_message_what_the_oracle_says(worlds, make_client, tally):
    (messages,) = (kind for kind in KINDS if kind.table == "messages")
    for number, world in enumerate(worlds):
        things = list(messages.things(world))
        async with make_client(world, Viewer(world.id, "admin")) as owner:
            browsed = (await owner.get("/v1/browse", params={"limit": 200})).json()["messages"]
            ids = {one["id"]: one["content"] for one in browsed}
            assert 0 < len(ids) <= 100
            cells = [(viewer, name) for viewer in viewers(world, ("reader",)) for name in world.talks]
            for viewer, name in cells[number :: EVERY * 2]:
                report = await _report(owner, viewer, name, ids)
                reach = oracle.reach(world, viewer, Where("in", name))
                seen = {ids[one["message"]] for one in report["verdicts"] if one["sees"]}
                tally.compare(f"access of {viewer} in {name}", len(things), seen, oracle.seen(world, reach, things))
                assert all(one["because"] for one in report["verdicts"])
                assert report["enters"] or not seen


async def test_a_turn_is_kept_only_for_a_grant_that_opens_its_place(worlds, leaks_pool, owner):
    world, other = worlds
    stores = Stores(leaks_pool)
    turn = {"id": str(uuid4()), "sections": [], "left_out": [], "degraded": []}
    for name in world.talks:
        place = await stores.lookup.place(world.id, name)
        for stranger in (Grant(other.id, everything=True), Grant(world.id, frozenset({"session:none"}))):
            await stores.turns.keep(stranger, place.conversation_id, turn)
    assert owner.execute("SELECT count(*) FROM composed_turns WHERE id = %s", (turn["id"],)).fetchone() == (0,)


async def _report(owner, viewer: Viewer, name: str, ids: dict[str, str]) -> dict:
    asked = {
        "conversation": name, "message": list(ids), "bound": viewer.bound_to, "agent": viewer.agent, "user": viewer.user
    }  # fmt: skip
    answer = await owner.get("/v1/access", params={key: value for key, value in asked.items() if value is not None})
    assert answer.status_code == 200, answer.text
    return answer.json()
