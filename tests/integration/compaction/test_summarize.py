"""Whatever the model does, a stretch ends with a faithful summary: against a real HTTP server that misbehaves."""

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

import crooked_model as crooked
from crooked_model import crooked_model, says, status
from keepword import tokens
from keepword.compaction import extractive
from keepword.compaction.sources import ConversationHeading, SummarySource, TierSummary
from keepword.compaction.summarize import count_messages, read_sources, summarize
from keepword.faithfulness import check_faithful
from keepword.llm.chat import Chat, Endpoint
from keepword.model import Message

pytestmark = pytest.mark.anyio

AT = datetime(2026, 4, 18, 12, tzinfo=UTC)
FAITHFUL = "- 2026-04-18T12:01Z alice decided on PostgreSQL 18 for Frankfurt."
INVENTED = "- 2026-04-18T12:01Z Margaret chose MongoDB 7 for Singapore."


def message(seq, content, **more):
    fields = {
        "role": "user", "user": "alice", "agent": "opus", "tool_name": None, "tool_args": None, "tool_result": None,
        "attachments": (), "metadata": {}, "event_id": None,
    } | more  # fmt: skip
    at = AT + timedelta(minutes=seq)
    return Message(id=uuid4(), conversation="c", seq=seq, content=content, created_at=at, **fields)


STRETCH = SummarySource(
    ConversationHeading("c", "opus", "api"),
    "thread",
    [
        message(1, "We decided on PostgreSQL 18 for Frankfurt."),
        message(2, "", role="assistant", user=None, tool_name="deploy", tool_args={"region": "eu-central-1"}),
        message(3, "", role="tool", user=None, tool_name="deploy", tool_result="ok, 3 nodes"),
    ],
)


async def no_sleep(_):
    pass


def chat(model, context_tokens=32_000, timeout_seconds=20.0):
    return Chat(
        Endpoint(model.url, "m", context_tokens=context_tokens, timeout_seconds=timeout_seconds), sleep=no_sleep
    )


async def test_a_faithful_answer_is_taken_with_its_share():
    async with crooked_model(says(f"<think>Margaret?</think>{FAITHFUL}")) as model, chat(model) as asked:
        made = await summarize(STRETCH, asked)
    assert (made.text, made.model, made.share, made.reason) == (FAITHFUL, "crooked", 1.0, None)
    assert made.tools_called == ["deploy"]
    assert made.key_decisions == ["We decided on PostgreSQL 18 for Frankfurt."]
    system, user = (told["content"] for told in model.bodies[0]["messages"])
    assert "no LaTeX" in system or "No LaTeX" in system
    assert user.startswith("conversation: c\nagent: opus\nchannel: api\ntitle: none\nspan: 2026-04-18T12:01Z to")
    assert "[#03 2026-04-18T12:03Z opus/tool]\n  result of deploy: ok, 3 nodes" in user


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (status(500), "ModelAway: .* answered 500"),
        (status(401), "ModelRefused"),
        (crooked.hang, "ModelAway: .* no answer in"),
        (crooked.drop, "ModelAway"),
        (crooked.nonsense, "ModelUnreadable"),
        (crooked.endless, "ModelUnreadable"),
        (crooked.empty, "ModelUnreadable: .* nothing"),
        (says("- half a sen", finish="length"), "ModelCutOff"),
        (says(INVENTED), "UnfaithfulSummary: .* not in them: .*margaret"),
    ],
)
async def test_a_model_that_misbehaves_is_replaced_by_quotes_and_the_reason_is_kept(reply, reason):
    async with (
        crooked_model(reply) as model,
        chat(model, timeout_seconds=0.5 if reply is crooked.hang else 20) as asked,
    ):
        made = await summarize(STRETCH, asked)
    assert made.text == extractive.summarize(STRETCH, count_messages(STRETCH))
    assert made.model == extractive.NAME
    assert check_faithful(made.text, read_sources(STRETCH)).share == made.share == 1.0
    assert re.match(reason, made.reason)


async def test_invented_items_are_named_in_one_more_try():
    async with crooked_model(says(INVENTED), says(FAITHFUL)) as model, chat(model) as asked:
        made = await summarize(STRETCH, asked)
    assert (made.text, made.reason) == (FAITHFUL, None)
    assert len(model.bodies) == 2
    remark = model.bodies[1]["messages"][1]["content"]
    assert "mongodb" in remark
    assert "margaret" in remark


LOSSY = "- 2026-04-18T12:01Z alice decided on a database."
EARLY_TALK = SummarySource(
    STRETCH.about, "thread", [message(1, "Kim is to write the plan for Hall 3 by Friday."), message(2, "Fine.")]
)


async def test_what_is_lost_is_named_in_one_more_try():
    async with crooked_model(says(LOSSY), says(FAITHFUL)) as model, chat(model) as asked:
        made = await summarize(STRETCH, asked)
    assert (made.text, made.model) == (FAITHFUL, "crooked")
    remark = model.bodies[1]["messages"][1]["content"]
    assert "left out what must not be lost" in remark
    assert "18" in remark


@pytest.mark.parametrize("second", [says(LOSSY), says(INVENTED), status(500)])
async def test_what_is_lost_twice_is_quoted_beside_the_model_s_lines(second):
    async with crooked_model(says(LOSSY), second, second, second, second) as model, chat(model) as asked:
        made = await summarize(STRETCH, asked)
    assert LOSSY in made.text.split("\n")
    assert "PostgreSQL 18 for Frankfurt" in made.text
    assert (made.model, made.reason, made.share) == ("crooked+extractive", None, 1.0)


async def test_what_is_still_to_be_done_is_never_told_as_done():
    early, right = "- 2026-04-18T12:01Z alice: Kim wrote the plan for Hall 3 by Friday.", "Kim is to write the plan"
    async with crooked_model(says(early)) as model, chat(model) as asked:
        made = await summarize(EARLY_TALK, asked)
    assert "wrote" not in made.text
    assert right in made.text
    assert '"wrote", where the input says: Kim is to write' in model.bodies[1]["messages"][1]["content"]


async def test_an_answer_that_was_cut_off_is_tried_again_with_more_room():
    async with crooked_model(says("- half", finish="length"), says(FAITHFUL)) as model, chat(model) as asked:
        made = await summarize(STRETCH, asked)
    assert made.text == FAITHFUL
    assert [body["max_tokens"] for body in model.bodies] == [7000, 14000]


async def test_input_over_the_window_is_split_and_every_word_is_read():
    contents = [f"Fact {n}: the pump P-{n:03} runs at {n} bar. " * 20 for n in range(1, 40)]
    stretch = SummarySource(STRETCH.about, "thread", [message(n, text) for n, text in enumerate(contents, 1)])
    async with crooked_model(says("- the pumps run")) as model, chat(model, context_tokens=4096) as asked:
        made = await summarize(stretch, asked)
    # the line names none of the pumps: quotes stand beside it
    assert "- 2026-04-18T12:01Z/2026-04-18T12:39Z alice: the pumps run" in made.text.split("\n")
    assert made.model == "crooked+extractive"
    assert len(model.bodies) > 3
    read = "\n".join(body["messages"][1]["content"] for body in model.bodies)
    assert all(f"P-{n:03}" in read for n in range(1, 40))
    for body in model.bodies:
        size = sum(tokens.count(told["content"]) for told in body["messages"])
        assert size + body["max_tokens"] <= 4096


async def test_without_a_model_nothing_is_asked_and_nothing_is_missing():
    made = await summarize(STRETCH, None)
    assert (made.model, made.reason, made.share) == (extractive.NAME, None, 1.0)
    assert "PostgreSQL 18" in made.text


async def test_messages_without_words_still_make_a_summary():
    blank = message(1, " ", attachments=[])
    made = await summarize(SummarySource(STRETCH.about, "thread", [blank]), None)
    assert made.text == "- 2026-04-18T12:01Z opus: (1 messages without content)"


async def test_a_models_line_without_time_and_speaker_gets_those_of_what_it_repeats():
    lines = (
        "- **Database**: decided on PostgreSQL 18 for Frankfurt.",
        "- alice decided on PostgreSQL 18.",
        "* deploy was called for region eu-central-1",
        "- 2026-04-18T12:01Z alice decided on Frankfurt.",
        "- 2026-04-18T12:01Z Decided on PostgreSQL 18 for Frankfurt.",
        "- In short, everything else went rather well.",
        "",
    )
    async with crooked_model(says("\n".join(lines))) as model, chat(model) as asked:
        made = await summarize(STRETCH, asked)
    assert made.model == "crooked"
    assert made.text.split("\n") == [
        "- 2026-04-18T12:01Z alice: **Database**: decided on PostgreSQL 18 for Frankfurt.",
        "- 2026-04-18T12:01Z alice decided on PostgreSQL 18.",
        "- 2026-04-18T12:02Z opus: deploy was called for region eu-central-1",
        "- 2026-04-18T12:01Z alice decided on Frankfurt.",
        "- 2026-04-18T12:01Z alice: Decided on PostgreSQL 18 for Frankfurt.",
        # no source has its words: it is from somewhere in the stretch
        "- 2026-04-18T12:01Z/2026-04-18T12:03Z In short, everything else went rather well.",
    ]


async def test_a_line_made_of_several_messages_names_all_their_speakers_and_the_time_between_them():
    said = [
        message(1, "The pumps of Hall 3 hum."),
        message(2, "Berlin orders valves.", user="kim"),
        message(3, "Hall 3 is closed.", user="zoe"),
        message(4, "Doors open at noon.", user="bob"),
        message(9, "Hall 3 is closed.", user="zoe"),
    ]
    lines = "## Hall 3\n- Pumps hum, Berlin orders, doors open.\n- Hall 3 is closed."
    async with crooked_model(says(lines)) as model, chat(model) as asked:
        made = await summarize(SummarySource(STRETCH.about, "thread", said), asked)
    assert made.text.split("\n") == [
        "## Hall 3",
        "- 2026-04-18T12:01Z/2026-04-18T12:04Z alice, kim, bob: Pumps hum, Berlin orders, doors open.",
        "- 2026-04-18T12:03Z/2026-04-18T12:09Z zoe: Hall 3 is closed.",
    ]


async def test_a_line_above_the_leaves_gets_the_time_of_the_line_that_it_repeats():
    text = "- 2026-04-18T12:01Z alice: We decided on PostgreSQL 18.\n- 2026-04-18T12:05Z opus: The pumps of Hall 3 hum."
    child = TierSummary(uuid4(), "thread", 1, 5, AT, AT, text, 200)
    async with crooked_model(says(text.replace("2026-04-18T12:05Z opus: ", ""))) as model, chat(model) as asked:
        made = await summarize(
            SummarySource(ConversationHeading("c", "opus", "api"), "session", children=[child]), asked
        )
    assert made.text == text
