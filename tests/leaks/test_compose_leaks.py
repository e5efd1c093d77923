"""The whole matrix through compose: every viewer in every conversation, and every marker that any layer holds."""

import asyncio
from collections.abc import Iterable
from functools import partial

import pytest

from keepword.access import Viewer
from leaks import oracle
from leaks.kinds import KINDS
from leaks.oracle import Where
from leaks.viewers import Tally, half_bound, viewers
from leaks.world import World

pytestmark = pytest.mark.anyio

# what stands in a prompt; the others, such as names of rooms, are known to whoever is there
TABLES = (
    "messages",
    "facts",
    "profile_texts",
    "summaries",
    "landmarks",
    "working_memories",
    "tool_sentences",
    "ledger_marks",
    "agent_files",
)
# these are of the conversation alone; a summary of another one that may be read here may be recalled as well
OWN = {"summaries", "working_memories"}
NEVER = {"tool_sentences", "ledger_marks", "agent_files"}
# without the transcript, which would stand for what it shows
BODY = {
    "message": "assistant tenant message", "budget_tokens": 50_000, "landmark_tokens": 20_000, "dry_run": True,
    "sections": ["session", "facts", "profile", "recall", "landmarks", "summary"],
}  # fmt: skip
FEW = 10


async def test_a_bound_key_composes_what_the_design_says_and_no_more(worlds, make_client, tally):
    those = (*viewers(worlds[0], ("agent", "reader"), bound=True), *half_bound(worlds[0], ("agent",)))
    await _compose_all(worlds, worlds[0], partial(make_client, worlds[0]), tally, those)


async def test_who_asks_with_headers_composes_what_the_design_says_and_no_more(worlds, make_client, tally):
    those = viewers(worlds[1], ("admin",), bound=False)
    await _compose_all(worlds, worlds[1], partial(make_client, worlds[1]), tally, those)


async def test_compose_leaks_nothing_with_the_second_wall_alone(worlds, make_client, tally):
    those = viewers(worlds[0], ("agent",), bound=True)
    await _compose_all(worlds, worlds[0], partial(make_client, worlds[0], first_wall=False), tally, those)


async def test_workspace_and_transcript_show_the_agents_files_and_the_place_and_no_more(worlds, make_client, tally):
    """With every section, as agents ask: whatever stands anywhere must be open to the viewer."""
    world = worlds[0]
    markers = _markers(worlds)
    for viewer in (*viewers(world, ("agent",), bound=True), *half_bound(world, ("agent",))):
        async with make_client(world, viewer) as client:
            for name in world.talks:
                reach = oracle.reach(world, viewer, Where("in", name))
                body = BODY | {"conversation": name, "sections": ["workspace", "session", "transcript"]}
                answer = await client.post("/v1/compose", json=body)
                here = {
                    world.mark("message", other) for other in world.talks if world.run_id(other) == world.run_id(name)
                }
                files = {world.mark("file", viewer.agent or world.talks[name].agent)}
                here |= {world.mark("field", name)} | (set() if oracle.is_person(viewer) else files)
                found = _held(answer.text, markers)
                tally.compare(
                    f"transcript of {name} for {viewer}", len(markers), found, here if reach.enters else set()
                )


async def _compose_all(worlds: list[World], world: World, client_of, tally: Tally, those: Iterable[Viewer]) -> None:
    markers = _markers(worlds)
    for number, viewer in enumerate(those):
        # every call without a reach, and with one every third, so that three viewers beside each other make all
        calls = [call for place, call in enumerate(world.calls()) if call[1] is None or (place + number) % 3 == 0]
        async with client_of(viewer) as client:
            for start in range(0, len(calls), FEW):
                some = calls[start : start + FEW]
                await asyncio.gather(*(_compare(client, world, viewer, *call, markers, tally) for call in some))


async def _compare(
    client, world: World, viewer, name: str, asked: str | None, markers: list[str], tally: Tally
) -> None:
    reach = oracle.reach(world, viewer, Where("in", name, reach=asked))
    body = BODY | {"conversation": name} | ({"reach": asked} if asked else {})
    answer = await client.post("/v1/compose", json=body)
    what = f"compose in {name} with reach {asked} for {viewer}"
    if answer.status_code != (200 if reach.enters else 404):
        tally.wrong.append(f"{what}: status {answer.status_code} {answer.text[:200]}")
    found, expected = _held(answer.text, markers), _expected(world, reach, name)
    tally.compare(what, len(markers), found - (_recallable(world, reach) - expected), expected)


def _expected(world: World, reach: oracle.Reach, name: str) -> set[str]:
    expected: set[str] = set()
    for kind in KINDS:
        if kind.table in TABLES and kind.table not in NEVER:
            expected |= {
                marker
                for marker in oracle.seen(world, reach, kind.things(world))
                if kind.table not in OWN or marker.endswith(f"/{name}")
            }
    return expected


def _recallable(world: World, reach: oracle.Reach) -> set[str]:
    return {
        marker
        for kind in KINDS
        if kind.table == "summaries"
        for marker in oracle.seen(world, reach, kind.things(world))
        if reach.enters
    }


def _markers(worlds: list[World]) -> list[str]:
    """Return all that must not be seen by the wrong viewer, the longest first: one may be the beginning of another."""
    found = {thing.marker for kind in KINDS if kind.table in TABLES for world in worlds for thing in kind.things(world)}
    return sorted(found, key=lambda marker: (-len(marker), marker))


def _held(text: str, markers: list[str]) -> set[str]:
    held = set()
    for marker in markers:
        if marker in text:
            held.add(marker)
            text = text.replace(marker, "")
    return held
