"""A talk that is only tried: what is read out of it, what would be kept, and what is refused and why."""

from datetime import UTC, datetime

import pytest

from keepword.errors import InvalidInput
from keepword.llm.port import Answer
from keepword.memories.pasted_talk import MAX_MESSAGES, read
from keepword.memories.trial import ExtractionTrials, TrialRequest

pytestmark = pytest.mark.anyio
THEN = datetime(2026, 5, 1, 9, tzinfo=UTC)


def request(text, **more):
    return TrialRequest(text, "ann", "ada", THEN, **more)


def turns(text):
    return [(message.role, message.user, message.content) for message in read(text, "ann", "ada", THEN).messages]


def test_each_name_with_a_colon_begins_a_message_and_the_lines_below_belong_to_it():
    assert turns("Hello.\r\nBen: I moved.\nTo Oslo.\n\nAssistant: Noted.\nada: Really.\nSystem: quiet\n") == [
        ("user", "ann", "Hello."), ("user", "Ben", "I moved.\nTo Oslo."), ("assistant", None, "Noted."),
        ("assistant", None, "Really."), ("system", None, "quiet"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ["Decision: we fly.", "https://example.org/spec", "at 10:30 we meet", "Note: he left", "a b c d: e", "12: x"],
)
def test_a_label_an_address_and_a_time_are_nobody_s_name(line):
    assert turns(line) == [("user", "ann", line)]


def test_a_talk_that_is_too_long_is_cut_and_says_so():
    talk = read("Ben: hello\n" * (MAX_MESSAGES + 1), "ann", "ada", THEN)
    assert (len(talk.messages), talk.is_cut) == (MAX_MESSAGES, True)
    assert not read("Ben: hello\n" * MAX_MESSAGES, "ann", "ada", THEN).is_cut


async def test_what_is_kept_merged_superseded_passed_over_and_hidden_is_told():
    trial = await ExtractionTrials().run(
        request(
            "Ben: I live in Oslo.\nBen: Maybe I could buy a boat?\nCleo: I live in Rome.\n"
            "Ben: Actually, I live in Bergen now.\nCleo: I live in Rome.\nDan: The password is hunter2abc.\n"
            "Dan: Decision: we meet on Monday.\nAda: I've booked the hotel Astoria for you.\n"
        )
    )
    assert [message.number for message in trial.messages] == list(range(1, 9))
    by_text = {one.text: one for one in trial.memories}
    (oslo,) = [one for text, one in by_text.items() if "Oslo" in text]
    (bergen,) = [one for text, one in by_text.items() if "Bergen" in text]
    assert (oslo.outcome, oslo.other, oslo.sources, oslo.user) == ("superseded", bergen.number, (1,), "Ben")
    assert (bergen.outcome, bergen.other, bergen.found_by) == ("kept", None, "rules")
    rome = [one for one in trial.memories if "Rome" in one.text]
    assert [(one.outcome, one.sources) for one in rome] == [("kept", (3,)), ("merged", (5,))]
    assert rome[1].other == rome[0].number
    assert ("Maybe I could buy a boat?", "question") in [(one.text, one.reason) for one in trial.passed_over]
    assert [message.secrets for message in trial.messages] == [0, 0, 0, 0, 0, 1, 0, 0]
    assert "hunter2abc" not in repr(trial)
    assert [(one.message, one.kind) for one in trial.landmarks] == [(7, "decision")]
    assert trial.model == "rules"
    assert trial.reason is None


async def test_what_an_agent_says_is_tried_where_it_would_be_remembered():
    text = "Ben: Thanks!\nAda: I've booked the hotel Astoria for 3 June."
    assert (await ExtractionTrials().run(request(text))).memories == ()
    (booked,) = (await ExtractionTrials().run(request(text, agents_word=True))).memories
    assert (booked.said_by, booked.sources) == ("agent", (2,))


class Inventor:
    """A model that writes one memory that its source says, and one that it does not."""

    name, context_tokens = "inventor", 32_000

    async def ask(self, _prompt):
        made = [("Ben lives in Oslo.", 1), ("Ben lives in Paris.", 1), ("Every whale sings quietly.", 1)]
        memories = [{"type": "fact", "text": text, "sources": [number]} for text, number in made]
        return Answer("", self.name, data={"memories": memories})


async def test_what_the_check_throws_out_of_the_model_s_is_told_with_what_no_source_names():
    trials = ExtractionTrials(Inventor())
    trial = await trials.run(request("Ben: I live in Oslo, near the harbour.", with_model=True))
    assert trial.model == "inventor"
    assert [(one.text, one.offending) for one in trial.thrown_out] == [
        ("Ben lives in Paris.", ("paris",)), ("Every whale sings quietly.", ()),
    ]  # fmt: skip
    assert not any("Paris" in one.text or "whale" in one.text for one in trial.memories)
    unasked = await trials.run(request("Ben: I live in Oslo."))
    assert unasked.model == "rules"


class Slow(Inventor):
    async def ask(self, _prompt):
        raise TimeoutError


async def test_a_model_that_takes_too_long_leaves_the_rules_and_one_that_is_not_there_is_an_error():
    trial = await ExtractionTrials(Slow(), 0.5).run(request("Ben: I live in Oslo.", with_model=True))
    assert len(trial.memories) == 1
    assert trial.reason == "the model took longer than 0.5 s"
    with pytest.raises(InvalidInput, match="KEEPWORD_LLM_URL"):
        await ExtractionTrials().run(request("x", with_model=True))
