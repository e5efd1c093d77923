"""What an agent says that it did or will do, as its word; what only sounds like it is left out."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from keepword.memories import agents_word
from keepword.memories.consolidate import ValidMemory, consolidate
from keepword.memories.extracted import ExtractedMemory
from keepword.model import Message

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 12, tzinfo=UTC)


def message(content, role="assistant", **values):
    fields = {
        "id": uuid4(), "conversation": "c", "seq": 1, "role": role, "user": None, "agent": "ada", "content": content,
        "tool_name": None, "tool_args": None, "tool_result": None, "attachments": [], "metadata": {}, "event_id": None,
        "created_at": AT,
    }  # fmt: skip
    return Message(**fields | values)


def found(*messages, user="ann"):
    return [(one.type, one.text) for one in agents_word.extract(messages, user)]


@pytest.mark.parametrize(
    ("said", "type_", "kept"),
    [
        ("I've booked your flight for March 3rd.", "action", "ada has booked ann's flight for March 3rd"),
        ("Done! I have just cancelled the hotel in Porto.", "action", "ada has cancelled the hotel in Porto"),
        ("I'll send you the contract on Monday.", "task", "ada will send ann the contract on Monday"),
        ("Your appointment is on 4 May at 9:00.", "fact", "ada says: ann's appointment is on 4 May at 9:00"),
    ],
)
def test_what_it_did_will_do_or_arranged_is_kept_with_the_day(said, type_, kept):
    assert found(message(said)) == [(type_, f"{kept} (said on 2026-03-01).")]
    (one,) = agents_word.extract([message(said)], "ann")
    assert (one.said_by, one.user, one.agent, one.vouched) == ("agent", None, "ada", False)


@pytest.mark.parametrize(
    "said",
    [
        "I've booked it for you.",
        "I could book a flight for March 3rd.",
        "If you like, I'll send the contract.",
        "Shall I have booked your flight?",
        "Paris is the capital of France.",
        "I understand, that sounds great.",
        "> I've booked your flight for March 3rd.",
        "```\nI've booked your flight for March 3rd.\n```",
        "I've sent the password [secret] to Tom.",
        "I've added " + "x" * 500,
    ],
)
def test_what_is_unsure_points_elsewhere_or_is_quoted_is_not(said):
    assert found(message(said)) == []


def test_people_tools_and_recalled_words_are_left_to_others():
    said = "I've booked your flight for March 3rd."
    assert found(message(said, "user", user="ann", agent="ada")) == []
    assert found(message(said, tool_name="book")) == found(message(said, metadata={"injected": True})) == []


def test_you_is_who_spoke_last_or_else_the_user():
    said = message("I've sent your invoice to Tom.")
    assert "bob's invoice" in found(message("Please do.", "user", user="bob"), said)[0][1]
    assert "the user's invoice" in found(said, user=None)[0][1]


def word(text, said_by, at=LATER, **values):
    return ExtractedMemory("fact", text, 0.6, at, (uuid4(),), said_by=said_by, **values)


def held(text, said_by):
    return ValidMemory(UUID(int=1), "fact", text, AT, vouched=said_by == "user", said_by=said_by)


@pytest.mark.parametrize("vouched", [True, False])
def test_an_agents_word_never_changes_what_a_person_said(vouched):
    person = ValidMemory(UUID(int=1), "fact", "ann lives in Oslo.", AT, vouched)
    changes = consolidate([person], [word("ann lives in Rome.", "agent", vouched=False)])
    assert changes.superseded == []
    assert consolidate([person], [word("ann lives in Oslo.", "agent", vouched=False)]).is_empty


def test_a_persons_word_ends_the_agents():
    for text in ("ann lives in Oslo.", "ann lives in Rome."):
        changes = consolidate([held("ann lives in Oslo.", "agent")], [word(text, "user", vouched=False)])
        assert [gone.id for gone in changes.superseded] == [UUID(int=1)]
        assert [new.extracted.said_by for new in changes.added] == ["user"]


def test_an_agents_word_goes_with_what_it_says_later():
    changes = consolidate([held("ann lives in Oslo.", "agent")], [word("ann lives in Rome.", "agent", vouched=False)])
    assert [gone.id for gone in changes.superseded] == [UUID(int=1)]
