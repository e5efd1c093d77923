"""What a model's summary loses or tells too early, and what is added then."""

import pickle

import pytest

from integration.compaction.test_summarize import STRETCH, message
from keepword.compaction.gate import Gate
from keepword.compaction.loss import Keepsakes
from keepword.compaction.sources import SummarySource
from keepword.compaction.summarize import count_messages, read_sources
from keepword.faithfulness.tense import OpenDeeds, past_forms


def source(*texts):
    return SummarySource(STRETCH.about, "thread", [message(seq, text) for seq, text in enumerate(texts, 1)])


def gate(made):
    return Gate(made, read_sources(made), count_messages(made))


TALK = source(
    "The import fails since PR #4711 was merged on 3 May.",
    "We decided to roll back to version 2.14.1.",
    "Karl is to write the postmortem by Thursday.",
    "It costs 350 euros a day, and the customers wait.",
    *("I see, and the weather is nice here, as it was in all of the weeks before." for _ in range(60)),
)


def test_what_is_kept_is_weighed():
    keepsakes = Keepsakes(source("PR #4711 costs 350 euros since 3 May.", "We decided to use tabs."))
    assert keepsakes.judge("- PR #4711 costs 350 euros since 3 May. We decided to use tabs.").share == 1
    lost = keepsakes.judge("- We decided to use tabs.")
    assert 0.3 < lost.share < 0.6
    assert set(lost.missing) == {"#4711", "350", "05-03"}
    assert keepsakes.judge("- PR #4711 costs 350 euros since 3 May.").missing == ("We decided to use tabs.",)


def test_the_time_of_a_line_keeps_a_date_and_no_number():
    keepsakes = Keepsakes(source("Hall 12 is closed on 18 April."))
    assert keepsakes.judge("- 2026-04-18T12:12Z alice: the hall is closed.").missing == ("12",)


def test_a_source_without_anything_to_keep_loses_nothing():
    assert Keepsakes(source("The weather is nice.")).judge("- nothing").share == 1


def test_lines_that_lack_an_identifier_are_completed_by_quotes_in_time_order():
    checked = gate(TALK)
    bad = checked.judge("- 2026-04-18T12:02Z alice: We decided to roll back.", "small")
    assert not checked.passes(bad)
    assert "#4711" in checked.remark(bad)
    made = checked.complete(bad)
    assert made.model == "small+extractive"
    assert made.kept.share >= checked.least_share
    assert made.faithful.share == 1
    assert "PR #4711" in made.text
    times = [line[2:19] for line in made.text.split("\n")]
    assert times == sorted(times)
    assert checked.passes(checked.judge(made.text, "small"))


def test_what_is_to_be_done_is_not_told_as_done():
    checked = gate(TALK)
    whole = checked.judge(checked._quoted, "small").text
    early = whole.replace("Karl is to write the postmortem by Thursday.", "Karl wrote the postmortem by Thursday.")
    assert early != whole
    bad = checked.judge(early, "small")
    assert [claim.form for claim in bad.early] == ["wrote"]
    assert "is to write the postmortem" in checked.remark(bad)
    made = checked.complete(bad)
    assert "wrote" not in made.text
    assert "Karl is to write the postmortem" in made.text
    assert checked.passes(checked.judge(whole, "small"))


def test_a_line_that_nobody_said_is_named_and_taken_out():
    checked = gate(TALK)
    invented = "- 2026-04-18T12:09Z alice: I always wanted to become a teacher and inspire children."
    bad = checked.judge(f"{checked._quoted}\n{invented}", "small")
    assert (list(bad.unsaid), checked.passes(bad)) == ([invented], False)
    assert "inspire children" in checked.remark(bad)
    assert "inspire" not in checked.complete(bad).text
    told = "- 2026-04-18T12:02Z alice: The team goes back to version 2.14.1, as the import fails."
    assert checked.judge(told, "small").unsaid == []


def test_what_is_as_long_as_the_talk_is_no_summary_of_it():
    texts = [f"On day {day} the pump number {day} of hall {day % 7} hums louder than before." for day in range(20)]
    made = source(*texts)
    checked = gate(made)
    copy = checked.judge("\n".join(f"- {text}" for text in texts), "small")
    assert (copy.too_long, checked.passes(copy)) == (True, False)
    assert "in at most" in checked.remark(copy)
    assert checked.complete(copy).too_long
    assert not checked.judge(checked._quoted, "small").too_long


@pytest.mark.parametrize(
    ("said", "line", "is_early"),
    [
        ("Karl is to write the postmortem.", "Karl wrote the postmortem", True),
        ("Karl is to write the postmortem.", "The postmortem was written by Karl", True),
        ("Karl is to write the postmortem.", "Karl will write the postmortem", False),
        ("Karl is to write the postmortem.", "The postmortem is to be written by Karl", False),
        ("Karl is to write the postmortem.", "Karl has not written the postmortem", False),
        ("I'll send the invoice to Bosch tomorrow.", "ann sent the invoice to Bosch", True),
        ("I'll send the invoice to Bosch tomorrow.", "The offer was sent to Kim", False),
        ("Please deploy build 7 to staging.", "bob deployed build 7 to staging", True),
        ("We need to put the valve back.", "They put the valve back", False),
        ("Will you write the postmortem?", "Karl wrote the postmortem", False),
        ("We must notify the customers.", "The customers were notified", True),
    ],
)
def test_past_forms_of_open_deeds(said, line, is_early):
    assert bool(OpenDeeds([said]).find_claims(f"- 2026-04-18T12:02Z {line}.")) is is_early


def test_a_deed_that_a_later_message_tells_as_done_may_be_told_so():
    deeds = OpenDeeds(["Karl is to write the postmortem.", "Karl wrote the postmortem this morning."])
    assert deeds.find_claims("- Karl wrote the postmortem.") == []


def test_regular_and_irregular_past_forms():
    forms = {verb: past_forms(verb) for verb in ("write", "deploy", "notify", "close", "ship", "fix", "review")}
    assert forms == {
        "write": ("wrote", "written"), "deploy": ("deployed",), "notify": ("notified",), "close": ("closed",),
        "ship": ("shiped", "shipped"), "fix": ("fixed",), "review": ("reviewed",),
    }  # fmt: skip


def test_it_goes_to_the_process_that_reads_and_back():
    checked = gate(TALK)
    text = "- 2026-04-18T12:02Z alice: We decided to roll back."
    there = pickle.loads(pickle.dumps(checked))
    assert there.judge(text, "small") == checked.judge(text, "small")
