"""Extraction with a model: it reads every word, and it never finds less than the rules alone."""

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword import tokens
from keepword.errors import ModelFailed
from keepword.llm.port import Answer
from keepword.memories.extract import NAME, find
from keepword.model import Message

pytestmark = pytest.mark.anyio
THEN = datetime(2026, 5, 1, 9, tzinfo=UTC)
FILLER = "Somebody walked along the river and looked at the boats for a while. "


def said(text, number=1, user="ann"):
    return Message(
        UUID(int=number), "c", number, "user", user, "ada", text, None, None, None, [], {}, None, THEN
    )  # fmt: skip


class Reader:
    """A model that remembers each sentence in which one of its words stands, with the line's number as the source."""

    name = "reader"

    def __init__(self, *known, context_tokens=128_000, fails_after=99):
        self.known, self.context_tokens, self.fails_after = known, context_tokens, fails_after
        self.prompts = []

    async def ask(self, prompt):
        if len(self.prompts) == self.fails_after:
            raise ModelFailed("it is away")
        self.prompts.append(prompt)
        made = [
            {"type": "fact", "text": text, "sources": [int(number)]}
            for number, line in re.findall(r"^\[(\d+)\] (.*)$", prompt.text, re.MULTILINE)
            for word, text in self.known
            if word in line
        ]
        return Answer("", self.name, data={"memories": made})


def read(prompts):
    """Return the words that the model was shown, without what introduces each line."""
    lines = [line for prompt in prompts for line in prompt.text.splitlines()]
    return " ".join(re.sub(r"^\[\d+\] \S+ \S+(?: \(goes on\))?: ", "", line) for line in lines).split()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("My PIN is 4711.", "Sorry, I meant 4712."),
        ("My PIN is 4711.", "Sorry, I meant 4712, not 4711."),
        ("The visit of 4111 1111 1111 1111 is on Tuesday.", "Sorry, I meant Thursday."),
    ],
)
async def test_no_secret_of_an_earlier_message_is_said_again(before, after):
    earlier, last = said(before, 1), said(after, 2)
    assert (await find([last], [earlier], None)).memories == []
    kept = (await find([last], [earlier], None, keeps_secrets=True)).memories
    assert [one.sources for one in kept] == [(last.id, earlier.id)]


async def test_a_model_reads_a_long_message_to_its_end():
    text = FILLER * 120 + "The tea that ann drinks comes from Uji."
    model = Reader(("Uji", "The tea that ann drinks comes from Uji."))
    found = await find([said(text)], (), model)
    assert read(model.prompts) == text.split()
    assert [(one.text, one.by, one.sources) for one in found.memories] == [
        ("The tea that ann drinks comes from Uji.", "reader", (UUID(int=1),))
    ]


@pytest.mark.parametrize("context_tokens", [2_048, 4_096])
async def test_what_does_not_fit_into_one_prompt_is_asked_in_several(context_tokens):
    texts = [f"{FILLER * 40} The number of the boat is {number}7." for number in range(1, 6)]
    model = Reader(("37.", "The number of the boat is 37."), context_tokens=context_tokens)
    found = await find([said(text, number) for number, text in enumerate(texts, 1)], (), model)
    assert len(model.prompts) > 1
    for prompt in model.prompts:
        assert tokens.count(prompt.system + prompt.text) + prompt.budget_tokens < context_tokens
    assert read(model.prompts) == " ".join(texts).split()
    assert "The number of the boat is 37." in [one.text for one in found.memories]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("ab. ", min_size=1, max_size=900), min_size=1, max_size=6))
async def test_no_word_is_lost_wherever_a_message_is_cut(texts):
    messages = [said(f"x{text}", number) for number, text in enumerate(texts, 1)]
    model = Reader(context_tokens=2_048)
    await find(messages, (), model)
    assert "".join(read(model.prompts)) == "".join("".join(message.content.split()) for message in messages)


TALK = ("We decided to use Kafka for events.", "I like green tea.", "I live in Hamburg.")


async def test_a_weak_model_finds_no_less_than_the_rules():
    messages = [said(text, number) for number, text in enumerate(TALK, 1)]
    alone = await find(messages, (), None)
    found = await find(messages, (), Reader(("Kafka", "ann decided on Kafka for events.")))
    assert {one.text for one in found.memories} >= {one.text for one in alone.memories if "Kafka" not in one.text}
    assert {one.by for one in found.memories} == {"reader", NAME}
    nothing = await find(messages, (), Reader())
    assert [one.text for one in nothing.memories] == [one.text for one in alone.memories]


async def test_what_both_find_is_there_once():
    found = await find([said("I live in Hamburg.")], (), Reader(("Hamburg", "ann lives in Hamburg.")))
    assert [(one.text, one.by) for one in found.memories] == [("ann lives in Hamburg.", "reader")]


async def test_a_model_that_turns_the_words_round_is_not_believed():
    found = await find([said("I don't like green tea.")], (), Reader(("tea", "ann likes green tea.")))
    assert [(one.text, one.by) for one in found.memories] == [("ann doesn't like green tea.", NAME)]


async def test_what_a_model_found_before_it_failed_stays():
    texts = ("The boat in the harbour is called Marlin.", f"{FILLER * 90} I live in Hamburg.")
    model = Reader(("Marlin", "The boat is called Marlin."), context_tokens=2_048, fails_after=1)
    found = await find([said(text, number) for number, text in enumerate(texts, 1)], (), model)
    assert found.reason == "ModelFailed: it is away"
    assert {"The boat is called Marlin.", "ann lives in Hamburg."} <= {one.text for one in found.memories}
