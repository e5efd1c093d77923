"""What the rules take for a memory, and what they leave alone."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from keepword.memories.extracted import IMPORTANCE
from keepword.memories.rules import extract
from keepword.memories.speech import of_third_person, own_words, sentences
from keepword.model import Message

AT = datetime(2026, 4, 18, 9, tzinfo=UTC)


def message(text, role="user", user="ann", number=1, **more):
    kept = {"tool_name": None, "tool_args": None, "tool_result": None, "metadata": {}} | more
    return Message(
        UUID(int=number), "talk", number, role, user if role == "user" else None, "ada", text, kept["tool_name"],
        kept["tool_args"], kept["tool_result"], (), kept["metadata"], None, AT,
    )  # fmt: skip


def found(text, **more):
    return [(one.type, one.text) for one in extract([message(text, **more)])]


@pytest.mark.parametrize(
    ("said", "type_", "text"),
    [
        ("I like green tea.", "preference", "ann likes green tea."),
        ("my favorite band is Muse", "preference", "ann's favorite band is Muse."),
        ("Please never call me before noon!", "preference", "ann asks: never call them before noon."),
        ("I'm a carpenter.", "fact", "ann is a carpenter."),
        ("I studied law in Bonn.", "fact", "ann studied law in Bonn."),
        ("We agreed to pay in May.", "decision", "We agreed to pay in May."),
        (
            "We decided to go with Postgres for the store.",
            "decision",
            "We decided to go with Postgres for the store.",
        ),
        ("@karl please rotate the key.", "action", "ann: @karl please rotate the key."),
        ("Karl, please rotate the key.", "action", "ann: Karl, please rotate the key."),
        ("Let's stick with Debian.", "decision", "ann decided: let's stick with Debian."),
        ("I have to repaint my fence.", "task", "ann has to repaint their fence."),
        ("Actually, my train leaves at 9:15.", "correction", "ann's train leaves at 9:15."),
        ("Oops. No, I work at Zeiss.", "correction", "ann works at Zeiss."),
        ("I don't own a bicycle.", "fact", "ann doesn't own a bicycle."),
        ("I love chess, and it keeps me awake.", "preference", "ann loves chess."),
        ("My wife and I run a bakery.", "fact", "ann's wife and ann run a bakery."),
        ("I'd like you to answer briefly.", "preference", "ann would like the assistant to answer briefly."),
        ("I absolutely love chess. [photo: a board]", "preference", "ann absolutely loves chess."),
        # an adjective that may name a passing state, before its noun
        ("I like old jazz records.", "preference", "ann likes old jazz records."),
        ("I started a new job as an analyst.", "fact", "ann started a new job as an analyst."),
        ("My brother is afraid of spiders.", "fact", "ann's brother is afraid of spiders."),
    ],
)
def test_it_finds_sentences_that_stand_alone(said, type_, text):
    assert found(said) == [(type_, text)]


@pytest.mark.parametrize(
    "said",
    [
        "How are you?", "do i like tea", "I like it.", "If I worked at Zeiss, I'd be happy.", "Maybe I prefer tea.",
        "Eva said: I prefer tea.", '"I prefer tea" is what she wrote.', "> I prefer tea", "```\nI prefer tea\n```",
        "<recall>I prefer tea.</recall>", "[MEMORY]\nI prefer tea.", "Known context:\n- I prefer tea.",
        "Ada, please rotate the key.", "@ada please rotate the key.", "Karl, please don't.", "We decided to go.",
        "I haven't decided to sell.", "I'm hungry.", "You told me I like tea.", "",
        "I love seeing them play.", "My brother got me into it.", "I worked on a project to support her.",
        "Always by your side!", "Let's keep movin' forward.", "We'll keep searching.", "I have a few ideas.",
        "I love the color and texture.", "My hard work is paying off.", "I'd like to explore more options.",
        "Whenever you need help, just let me know.", "Don't forget to take care of yourself.", "I love to!",
        "My brother is tired and needs a rest.", "My team has been super encouraging.", "My son is sick because of it.",
        "We need to address issues such as bias.", "I got to pitch my idea to a judge.", "But will do that soon.",
    ],
)  # fmt: skip
def test_it_leaves_alone_what_nobody_should_keep(said):
    assert found(said) == []


def test_only_what_people_say_is_read_and_never_what_they_repeat():
    told = message("You prefer tea, and I prefer to be brief.", role="assistant")
    tool = message("", role="tool", number=2, tool_name="memory_search", tool_result="I prefer tea over coffee daily")
    assert extract([told, tool]) == []
    assert extract([message("I prefer tea over coffee daily.", number=3)], [tool]) == []
    assert found("I prefer tea.", metadata={"injected": True}) == []


def test_a_memory_names_its_source_its_time_and_who_said_it():
    (one,) = extract([message("I moved to Ghent last week.", number=9)])
    assert (one.sources, one.at, one.user) == ((UUID(int=9),), AT, "ann")
    assert one.text == "ann moved to Ghent last week (said on 2026-04-18)."
    assert one.importance == IMPORTANCE["fact"] == 0.6
    (nobody,) = extract([message("I prefer tea.", user=None)])
    assert nobody.text == "The user prefers tea."


def test_sentences_end_where_people_end_them():
    assert list(sentences('I work at St. Anna. Really! "One. Two." done\n- a point')) == [
        "I work at St. Anna.", "Really!", '"One. Two." done', "a point",
    ]  # fmt: skip
    assert own_words("a\n```\ncode\n```\nb").split() == ["a", "b"]
    assert of_third_person("I've got my own car and I always wash it", "eva") == (
        "eva has got their own car and eva always washes it"
    )
