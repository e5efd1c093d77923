"""What holds of every composed context, whatever the layers found."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import resources
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword import tokens
from keepword.compose import templates
from keepword.compose.assemble import assemble
from keepword.compose.budget import fill
from keepword.compose.dedupe import flatten
from keepword.compose.injected import SHARES
from keepword.compose.parts import (
    ORDER,
    Item,
    LandmarkItem,
    Limits,
    SummaryItem,
    ToolCall,
    ToolResult,
    TranscriptMessage,
    TurnMaterial,
)
from keepword.compose.template import parse
from keepword.compose.tool_turns import frame_tokens
from keepword.errors import InvalidInput

AT = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
TEMPLATE = parse("keepword", resources.files(templates).joinpath("keepword.toml").read_text(encoding="utf-8"))
WORDS = "the tent is in the car we fly on friday from oslo ann likes tea decision keep the blue door".split()
NOW = Item("invocation", "now", "what did we decide?", who="ann", where="room:team", when=AT)

phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)
texts = st.one_of(phrases, st.lists(phrases, min_size=2, max_size=4).map("\n".join), st.text(max_size=60))
scores = st.floats(0.01, 3)


def items(kind, most=8):
    made = st.tuples(texts, scores)
    return st.lists(made, max_size=most).map(
        lambda some: [
            Item(kind, f"{kind}-{n}", text, score, "why", "ann", "room:team", AT + timedelta(minutes=n))
            for n, (text, score) in enumerate(some)
        ]
    )


@st.composite
def founds(draw):
    said = draw(items("message", 12))
    turns = [
        TranscriptMessage(replace(item, id=str(UUID(int=n))), "talk", n, "user") for n, item in enumerate(said, 10)
    ]
    before = draw(items("memory", 3))
    pinned = []
    for n, item in enumerate(draw(st.lists(st.sampled_from(said + before), max_size=4)) if said + before else []):
        # of a message in the transcript, or of one that was said before
        message = UUID(int=10 + said.index(item)) if item in said else UUID(int=1000 + n)
        pinned.append(
            LandmarkItem(Item("landmark", f"pin-{n}", item.text, 1, "pinned", "ann", "room:team", AT), message)
        )
    decisions = st.lists(phrases, max_size=3).map(tuple)
    digests = [
        SummaryItem(item, "talk", n, n + 2, draw(decisions), draw(st.booleans()))
        for n, item in enumerate(draw(items("summary", 4)))
    ]
    gone = draw(st.integers(0, len(turns)))
    # the same words come from several layers
    recall = draw(items("message")) + draw(items("memory")) + [turn.item for turn in turns[:2]]
    return TurnMaterial(
        place=[Item("place", "place", "room team, agent ada")],
        fields=draw(items("field", 3)), files=draw(items("file", 3)), facts=draw(items("fact")),
        profiles=draw(items("profile", 3)), recall=recall, pinned=pinned,
        pinned_total=len(pinned) + draw(st.integers(0, 3)), digests=digests, turns=turns[gone:], replaced=turns[:gone],
    )  # fmt: skip


few = settings(max_examples=40, deadline=None)
limits = st.builds(
    Limits, st.integers(200, 5000), st.integers(0, 2000), st.integers(0, 500), st.integers(0, 500),
    st.integers(0, 2000),
)  # fmt: skip
sections = st.sets(st.sampled_from(ORDER))


def count(section):
    return tokens.count("\n".join([section.heading, *(line.text for line in section.lines), ""]))


@few
@given(founds(), limits, sections)
def test_nothing_is_ever_over_its_budget(found, given_limits, wanted):
    made, _ = assemble(found, NOW, given_limits, TEMPLATE, wanted)
    assert tokens.count(made.text) <= made.tokens <= given_limits.window
    by_name = {section.name: section for section in made.sections}
    for section in made.sections:
        assert count(section) <= section.tokens
    fixed = tokens.count(f"## SESSION CONTEXT\n{by_name['session'].lines[0].text}\n") + 1
    real = sum(count(section) for section in made.sections if section.name in SHARES) - fixed
    assert real <= made.injected_tokens + 1
    assert made.injected_tokens <= given_limits.injected
    for name, most in (
        ("landmarks", given_limits.landmarks), ("workspace", given_limits.workspace), ("summary", given_limits.summary),
    ):  # fmt: skip
        assert name not in by_name or by_name[name].tokens <= most


@few
@given(founds(), limits, sections)
def test_sections_stand_in_their_order_and_only_those_that_were_asked_for(found, given_limits, wanted):
    made, _ = assemble(found, NOW, given_limits, TEMPLATE, wanted)
    names = [section.name for section in made.sections]
    assert names == [name for name in ORDER if name in names]
    assert set(names) <= wanted | {"session", "invocation"}
    assert {"session", "invocation"} <= set(names)
    headings = [line for line in made.text.split("\n") if line in {TEMPLATE.heading(name) for name in ORDER}]
    assert headings == [section.heading for section in made.sections]


@few
@given(founds(), limits)
def test_no_line_says_what_another_section_says(found, given_limits):
    made, used = assemble(found, NOW, given_limits, TEMPLATE, set(ORDER))
    lines = {section.name: [line.id for line in section.lines] for section in made.sections}
    pins = [pin.item for pin in found.pinned if pin.item.id in lines.get("landmarks", [])]
    texts_of = {(item.kind, item.id): flatten(item.text) for item in (*used, *pins, *(t.item for t in found.turns))}
    elsewhere = [words for (_, id_), words in texts_of.items() if id_ in lines.get("transcript", [])]
    pinned = [words for (kind, _), words in texts_of.items() if kind == "landmark" and words.count(" ") > 3]
    recalled = [words for (_, id_), words in texts_of.items() if id_ in lines.get("recall", [])]
    for words in recalled:
        assert words not in elsewhere
        assert words.count(" ") <= 3 or not any(words in other for other in elsewhere)
        assert not any(pin in words for pin in pinned)
    assert len(recalled) == len(set(recalled))
    shown = [(line.kind, line.id) for section in made.sections for line in section.lines]
    assert len(shown) == len(set(shown))


@few
@given(founds())
def test_what_is_pinned_is_always_there_word_for_word(found):
    made, _ = assemble(found, NOW, Limits(50_000, landmarks=10_000), TEMPLATE, set(ORDER))
    shown = {id_ for section in made.sections for line in section.lines for id_ in (line.id, *line.links)}
    assert {pin.item.id for pin in found.pinned if pin.item.text not in NOW.text} <= shown
    more = [line for section in made.sections for line in section.lines if line.id == "landmarks"]
    unseen = found.pinned_total - len(found.pinned)
    assert [f" {unseen} more landmarks" in line.text for line in more] == ([True] if unseen else [])


@few
@given(founds(), limits, sections)
def test_the_same_input_gives_the_same_bytes(found, given_limits, wanted):
    first, second = (assemble(found, NOW, given_limits, TEMPLATE, set(wanted)) for _ in range(2))
    assert first == second


@few
@given(founds(), limits)
def test_every_line_has_a_source_that_was_found(found, given_limits):
    made, _ = assemble(found, NOW, given_limits, TEMPLATE, set(ORDER))
    given_ids = {
        item.id for name in ("place", "fields", "files", "facts", "profiles", "recall") for item in getattr(found, name)
    }
    given_ids |= {one.item.id for name in ("pinned", "digests", "turns") for one in getattr(found, name)}
    assert {line.id for section in made.sections for line in section.lines} <= given_ids | {
        "now",
        "landmarks",
        "transcript",
    }


@few
@given(founds(), limits)
def test_everything_that_was_found_is_shown_or_named_as_left_out(found, given_limits):
    made, _ = assemble(found, NOW, given_limits, TEMPLATE, set(ORDER))
    lines = {section.name: [line for line in section.lines if line.kind != "more"] for section in made.sections}
    given_to = {
        "transcript": (*found.turns, *found.replaced), "recall": found.recall, "facts": found.facts,
        "summary": found.digests,
    }  # fmt: skip
    for name, candidates in given_to.items():
        missing = sum(one.count for one in made.left_out if one.section == name and one.kind != "line")
        assert len(lines.get(name, ())) + missing == len(candidates)
    for one in made.left_out:
        assert one.count > 0
        assert one.first_seq is None or one.last_seq - one.first_seq + 1 == one.count


@given(st.lists(st.tuples(scores, st.integers(1, 50)), max_size=30), st.integers(0, 300))
def test_filling_takes_nothing_that_leaves_room_for_something_better(candidates, room):
    values, costs = [value for value, _ in candidates], [cost for _, cost in candidates]
    taken = fill(values, costs, room, lambda _: True)
    left = room - sum(costs[number] for number in taken)
    assert left >= 0
    for number in set(range(len(candidates))) - set(taken):
        assert costs[number] > left


def test_a_better_long_line_is_taken_before_a_short_one():
    assert fill([0.5, 0.9, 0.4], [10, 60, 10], 65, lambda _: True) == [1]
    assert fill([0.5, 0.9, 0.4], [10, 60, 10], 70, lambda _: True) == [0, 1]


def test_a_memory_stands_for_the_message_that_it_came_from():
    message = Item("message", "said", "Well, Ann likes green tea in the morning, I think.", 0.9)
    memory = Item("memory", "kept", "Ann likes green tea in the morning", 0.5)
    found = TurnMaterial(place=[Item("place", "place", "current_slot")], recall=[message, memory])
    made, _ = assemble(found, NOW, Limits(10_000), TEMPLATE, set(ORDER))
    (recalled,) = (section for section in made.sections if section.name == "recall")
    assert [(line.id, tuple(line.links)) for line in recalled.lines] == [("kept", ("said",))]


def recalled_ids(*hits):
    made, _ = assemble(TurnMaterial(recall=hits), NOW, Limits(10_000), TEMPLATE, set(ORDER))
    return [line.id for section in made.sections if section.name == "recall" for line in section.lines]


def hit(kind, name, score, day, **more):
    when = datetime(2026, 3, day, tzinfo=UTC)
    return Item(kind, name, f"{name} tells of the harbour at Bergen", score, when=when, conversation="c", **more)


def test_what_is_recalled_stands_in_the_order_of_time():
    assert recalled_ids(hit("message", "late", 0.9, 9), hit("message", "early", 0.2, 3)) == ["early", "late"]


def test_of_a_summary_and_a_message_that_it_covers_the_better_one_is_recalled():
    inside = hit("message", "inside", 0.4, 2, seqs=(7, 7))
    outside = hit("message", "outside", 0.1, 3, seqs=(12, 12))
    assert recalled_ids(inside, outside, hit("summary", "low", 0.3, 1, seqs=(3, 9))) == ["inside", "outside"]
    assert recalled_ids(inside, outside, hit("summary", "high", 0.5, 1, seqs=(3, 9))) == ["high", "outside"]


def test_of_a_memory_and_any_of_its_sources_the_better_one_is_recalled():
    sources = [hit("message", f"said-{day}", 0.1 * day, day, memories=("kept",)) for day in (2, 3)]
    assert recalled_ids(*sources, hit("memory", "kept", 0.9, 4)) == ["kept"]
    assert recalled_ids(*sources, hit("memory", "kept", 0.01, 4)) == ["said-2", "said-3"]


def test_what_one_section_does_not_need_is_the_next_ones():
    hits = [Item("message", f"hit-{n}", f"turn {n} about the trip to Oslo number {n * 7919}", 1) for n in range(60)]
    alone, _ = assemble(TurnMaterial(recall=hits), NOW, Limits(50_000, 1_000), TEMPLATE, set(ORDER))
    facts = [Item("fact", f"fact-{n}", f"key{n} = {n * 104729}", 1) for n in range(100)]
    crowded, _ = assemble(TurnMaterial(recall=hits, facts=facts), NOW, Limits(50_000, 1_000), TEMPLATE, set(ORDER))
    (full,) = (section.tokens for section in alone.sections if section.name == "recall")
    by_name = {section.name: section.tokens for section in crowded.sections}
    assert full > 950
    assert by_name["recall"] > 380
    assert by_name["facts"] > 500


@pytest.mark.parametrize(("words", "window", "field"), [(500, 400, "message"), (5, 40, "window_tokens")])
def test_a_window_that_is_too_small_is_refused_with_the_sizes(words, window, field):
    now = Item("invocation", "now", "word " * words, who="ann", where="room:team", when=AT)
    found = TurnMaterial(place=[Item("place", "place", "a room called team, where ann and bob talk to ada")])
    with pytest.raises(InvalidInput, match=rf"\d+.*{window}|{window}.*\d+") as refused:
        assemble(found, now, Limits(window), TEMPLATE, set(ORDER))
    assert refused.value.field == field


def test_chat_messages_alternate_for_anthropic_and_begin_with_a_user():
    turns = [
        TranscriptMessage(Item("message", "1", "hello", who="ada", when=AT), "talk", 1, "assistant"),
        TranscriptMessage(Item("message", "2", "hi", who="ann", when=AT), "talk", 2, "user"),
        TranscriptMessage(Item("message", "3", "hey", who="bob", when=AT), "talk", 3, "user"),
    ]
    made, _ = assemble(TurnMaterial(turns=turns), NOW, Limits(10_000), TEMPLATE, set(ORDER))
    assert [message["role"] for message in made.messages] == ["system", "assistant", "user", "user", "user"]
    assert [message["role"] for message in made.anthropic.messages] == ["user", "assistant", "user"]
    assert "[2026-05-01 12:30 · bob] hey" in made.anthropic.messages[-1]["content"]
    assert "hello" not in made.messages[0]["content"]


_TURNS = st.lists(
    st.tuples(
        st.sampled_from(["user", "call", "said call", "result", "both", "assistant"]),
        st.sampled_from([None, "a", "b", "a b", "x" * 80]),
        st.sampled_from(["weather", "map/draw"]),
    ),
    max_size=12,
)


@given(_TURNS)
def test_tool_calls_keep_the_rules_of_both_apis_whatever_was_stored(stored):
    turns = [tool_turn(number, *one) for number, one in enumerate(stored, 1)]
    place = [Item("place", "place", "a session")]
    made, _ = assemble(TurnMaterial(place=place, turns=turns), NOW, Limits(100_000), TEMPLATE, set(ORDER))
    waiting: list[str] = []
    ids: list[str] = []
    for message in made.messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        assert message.get("content") or message.get("tool_calls")
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        ids += waiting
    assert not waiting
    assert len(set(ids)) == len(ids) == sum("call" in kind or kind == "both" for kind, *_ in stored)
    # everything that was stored is there once
    words = json.dumps(made.messages)
    assert all(words.count(f"words-{number}.") == 1 for number in range(1, len(stored) + 1))
    blocks = [one["content"] for one in made.anthropic.messages]
    assert [one["role"] for one in made.anthropic.messages] == ["user", "assistant"] * (len(blocks) // 2) + ["user"]
    used: list[str] = []
    for content in blocks:
        parts = content if isinstance(content, list) else []
        assert [part["tool_use_id"] for part in parts if part["type"] == "tool_result"] == used
        used = [part["id"] for part in parts if part["type"] == "tool_use"]


def tool_turn(number, kind, call_id, name):
    text = f"words-{number}."
    call = (
        ToolCall(call_id, name, {} if kind != "call" else {"say": text}) if "call" in kind or kind == "both" else None
    )
    result = ToolResult(call_id, name, text) if kind in {"result", "both"} else None
    role = "user" if kind in {"user", "result"} else "assistant"
    item = Item("message", f"{number:032x}", text, who="ada", when=AT)
    return TranscriptMessage(item, "talk", number, role, call, result, text if kind == "said call" else "")


def said_tokens(message):
    calls = message.get("tool_calls", ())
    parts = [message.get("content", ""), message.get("tool_call_id", "")]
    return sum(map(tokens.count, (*parts, *(json.dumps(call) for call in calls))))


def test_a_chat_with_tool_calls_fits_the_window():
    turns = [
        replace(turn, item=replace(turn.item, extra_tokens=frame_tokens(turn.call, turn.result)))
        for turn in (tool_turn(n, "call" if n % 2 else "result", f"call_{n // 2:024}", "weather") for n in range(1, 60))
    ]
    for window in (300, 600, 1_200):
        made, _ = assemble(TurnMaterial(turns=turns), NOW, Limits(window), TEMPLATE, set(ORDER))
        assert sum(map(said_tokens, made.messages)) <= window
        assert any("tool_calls" in message for message in made.messages)


@st.composite
def recalled_with_sources(draw):
    """Messages of two conversations, memories that were read from some of them, and summaries of stretches."""
    said = [
        replace(item, id=f"{talk}-{seq}", conversation=talk, seqs=(seq, seq), text=f"{item.text} {talk} {seq} alone")
        for talk in ("talk", "other")
        for seq, item in enumerate(draw(items("message", 5).filter(bool)), 1)
    ]
    memories = [
        replace(item, text=f"{item.text} kept {n} as memory", conversation="talk")
        for n, item in enumerate(draw(items("memory", 4)))
    ]
    said = [
        replace(one, memories=tuple(draw(st.sets(st.sampled_from([item.id for item in memories])))) if memories else ())
        for one in said
    ]
    summaries = []
    for n, item in enumerate(draw(items("summary", 3))):
        first = draw(st.integers(1, 5))
        summaries.append(
            replace(
                item, text=f"{item.text} told {n} in short", conversation=draw(st.sampled_from(("talk", "other"))),
                seqs=(first, draw(st.integers(first, 6))),
            )
        )  # fmt: skip
    return draw(st.permutations([*said, *memories, *summaries]))


@settings(max_examples=100, deadline=None)
@given(recalled_with_sources(), st.one_of(st.just(Limits(20_000, 8_000)), limits))
def test_recall_has_never_both_what_was_made_from_a_message_and_that_message(recalled, given_limits):
    found = TurnMaterial(place=[Item("place", "place", "session")], recall=recalled)
    made, _ = assemble(found, NOW, given_limits, TEMPLATE, {"recall"})
    by_id = {item.id: item for item in recalled}
    shown = [by_id[line.id] for section in made.sections if section.name == "recall" for line in section.lines]
    for message in (one for one in shown if one.kind == "message"):
        assert not {one.id for one in shown} & set(message.memories)
        for summary in (one for one in shown if one.kind == "summary"):
            is_of_it = summary.conversation == message.conversation
            assert not (is_of_it and summary.seqs[0] <= message.seqs[0] <= summary.seqs[1])
    times = [one.when for one in shown]
    assert times == sorted(times)
