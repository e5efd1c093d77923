"""What is found in a text, what the gate says of a summary, and what the extractive summariser keeps."""

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword import tokens
from keepword.compaction import extractive
from keepword.compaction.quoted import read_units
from keepword.compaction.render import message_text
from keepword.compaction.segment import sentences
from keepword.compaction.sources import ConversationHeading, SummarySource, TierSummary
from keepword.faithfulness import Sources, check_faithful, named_items
from keepword.model import Message

AT = datetime(2026, 4, 18, 12, tzinfo=UTC)
ABOUT = ConversationHeading("c", "opus", "api")


def message(seq, content, role="user", user="alice", **more):
    fields = {"tool_name": None, "tool_args": None, "tool_result": None} | more
    return Message(
        id=uuid4(), conversation="c", seq=seq, role=role, user=user, agent="opus", content=content, attachments=(),
        metadata={}, event_id=None, created_at=AT + timedelta(minutes=seq), **fields,
    )  # fmt: skip


def thread(*contents):
    return SummarySource(ABOUT, "thread", [message(seq, text) for seq, text in enumerate(contents, 1)])


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("see src/app/main.py and foo_bar", "identifiers", {"src/app/main.py", "foo_bar"}),
        ("PR-431 fixes #432 in v1.2.3, camelCase too", "identifiers", {"pr-431", "#432", "v1.2.3", "camelcase"}),
        ("https://x.org/a?b=1, and a@b.org", "identifiers", {"https://x.org/a?b=1", "a@b.org"}),
        ("his/her well-known 3rd try, e.g. and/or", "identifiers", set()),
        ("it cost $1,000.50, 40% of 007", "numbers", {"1000.50", "40", "7"}),
        ("on 2026-04-18T12:00Z or 8 May, 2023 at 9:30", "dates", {"04-18", "2026", "12:00", "05-08", "2023", "09:30"}),
        ("May 9th and the 1st of June", "dates", {"05-09", "06-01"}),
        ("You may 2 times", "dates", {"05-02"}),
        ("We met Anna Smith's brother in Berlin. I'm ok", "names", {"anna", "smith", "berlin"}),
        ("Margaret approved it", "names", {"margaret"}),
        ("Then it worked. The end. However, I left. Caroline's book", "names", {"caroline"}),
    ],
)
def test_items_are_found_by_their_form(text, kind, expected):
    assert getattr(named_items.find(text), kind) == expected


@given(st.text(max_size=300))
def test_any_text_is_faithful_to_itself(text):
    assert check_faithful(text, Sources([text])).share == 1.0


SOURCE = "Alice: deploy v1.2.3 of billing-api to Frankfurt on 18 April. It took three hours and cost 1,200 euros."


@pytest.mark.parametrize(
    "summary",
    [
        "Alice deployed v1.2.3 to Frankfurt on 2026-04-18; it took 3 hours.",
        "it cost 1200 euros",
        "nothing to find here",
        "April 18: frankfurt got billing-api",
        "Deployment finished in Frankfurt.",
    ],
)
def test_what_the_sources_say_passes(summary):
    assert check_faithful(summary, Sources([SOURCE, "2026-04-18T12:00Z opus/user:alice"])).passes


@pytest.mark.parametrize(
    ("summary", "invented"),
    [
        ("Alice deployed v1.2.4 to Frankfurt", "v1.2.4"),
        ("Margaret approved it for Alice", "margaret"),
        ("it took 4 hours in Frankfurt", "4"),
        ("it was on 19 April in Frankfurt", "04-19"),
        ("see src/deploy.py", "src/deploy.py"),
    ],
)
def test_what_is_invented_is_named(summary, invented):
    verdict = check_faithful(summary, Sources([SOURCE]))
    assert not verdict.passes
    assert invented in verdict.offending


def test_without_a_model_a_summary_quotes_with_who_and_when():
    stretch = thread(
        "hi there",
        "We decided to use PostgreSQL 18 for the Frankfurt cluster.",
        "ok",
        "nice weather today, is it not, I really like it a lot, it is so nice",
        "The budget is 4,200 euros, Bob agreed.",
    )
    found = extractive.summarize(stretch, 230)
    assert found.split("\n") == [
        "- 2026-04-18T12:02Z alice: We decided to use PostgreSQL 18 for the Frankfurt cluster.",
        "- 2026-04-18T12:05Z alice: The budget is 4,200 euros, Bob agreed.",
    ]
    assert extractive.key_decisions(stretch) == [
        "We decided to use PostgreSQL 18 for the Frankfurt cluster.",
        "The budget is 4,200 euros, Bob agreed.",
    ]
    assert set(extractive.entities_mentioned(stretch)) == {"postgresql", "frankfurt", "bob"}


contents = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
        st.sampled_from(["Bob chose v2.1 on 3 May.", "We met Ann in Rome. It cost 45 euros!", "x" * 3000, "ok"]),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(contents)
def test_a_summary_without_a_model_is_faithful_deterministic_and_within_its_budget(texts):
    stretch = thread(*texts)
    size = sum(tokens.count(message_text(one, stretch)) for one in stretch.messages)
    found = extractive.summarize(stretch, size)
    assert found == extractive.summarize(stretch, size)
    # one sentence may be longer than a small budget
    most = max(extractive.SHARES["thread"] * size, extractive.LEAST_TOKENS["thread"], extractive.ACT_TOKENS)
    assert tokens.count(found) <= max(most, extractive.MOST_QUOTE_TOKENS + 30)
    flat = " ".join(" ".join(texts).split())
    for line in found.split("\n") if found else []:
        quoted = line.split(": ", 1)[1].removesuffix("…")
        assert all(" ".join(part.split()) in flat for part in sentences(quoted))


def test_above_the_leaves_lines_keep_their_times_and_speakers():
    text = "- 2026-04-18T12:02Z alice: We decided on PostgreSQL 18.\n- 2026-04-18T12:05Z opus: fine, really fine."
    child = TierSummary(
        uuid4(), "thread", 1, 5, AT, AT, text, 200, ["We decided on PostgreSQL 18."], ["postgresql"], ["ls"]
    )
    stretch = SummarySource(ABOUT, "session", children=[child])
    assert extractive.summarize(stretch, 230) == "- 2026-04-18T12:02Z alice: We decided on PostgreSQL 18."
    assert extractive.key_decisions(stretch) == ["We decided on PostgreSQL 18."]
    assert extractive.entities_mentioned(stretch) == ["postgresql"]
    assert extractive.tools_called(stretch) == ["ls"]


def test_only_whole_sentences_are_quoted_and_an_endless_one_ends_after_a_word():
    said = "Last Friday I sold 12 boats to Marta in Oslo, and they went on to tell everybody else about all of it."
    assert extractive.summarize(thread("Sounds great!", said), 100) == f"- 2026-04-18T12:02Z alice: {said}"
    endless = extractive.summarize(thread("Pump P-7 " + "hums and hums " * 300), 1000)
    assert endless.startswith("- 2026-04-18T12:01Z alice: Pump P-7 hums and hums")
    assert endless.removesuffix(" …").split()[-1] in {"hums", "and"}


def test_a_summary_has_no_greeting_and_no_older_value_of_a_correction():
    stretch = thread(
        "Hi Bob! Good morning!",
        "The launch is on 3 May in Oslo.",
        "ok",
        "We will not use Kafka.",
        "Thanks, Bob!",
        "Correction: the launch moved to 10 May.",
        "Bob will call Dr. Brandt by Friday.",
        "Who books the hall?",
    )
    lines = extractive.summarize(stretch, 400).split("\n")
    assert [line.split(": ", 1)[1] for line in lines] == [
        "We will not use Kafka.",
        "Correction: the launch moved to 10 May.",
        "Bob will call Dr. Brandt by Friday.",
        "Who books the hall?",
    ]
    assert extractive.summarize(thread("Hello!", "Thanks, Bob!"), 10) == ""


@pytest.mark.parametrize(
    ("one", "other", "is_kept"),
    [
        ("Acme is our partner.", "Globex is our partner.", True),
        ("Acme is our partner.", "Globex is our new partner.", False),
    ],
)
def test_a_further_value_leaves_the_ones_before_in_the_summary(one, other, is_kept):
    lines = [line.split(": ", 1)[1] for line in extractive.summarize(thread(one, other), 400).split("\n")]
    assert (one in lines, other in lines) == (is_kept, True)


@pytest.mark.parametrize(
    ("greeting", "told"),
    [
        (
            "Hallo Lena, guten Morgen!",
            ("Wir haben beschlossen, Stripe zu nehmen.", "Ich schicke den Vertrag bis Freitag."),
        ),
        ("Bonjour, ça va ?", ("Nous avons décidé de prendre Stripe.", "Je t'envoie le contrat avant vendredi.")),
        ("Hola, buenos días", ("Hemos decidido usar Stripe.", "Te envío el contrato antes del viernes.")),
        ("Olá, bom dia", ("Decidimos usar o Stripe.", "Mando o contrato até sexta-feira.")),
        ("Ciao, buongiorno", ("Abbiamo deciso di usare Stripe.", "Ti mando il contratto entro venerdì.")),
        ("Hallo, goedemorgen", ("We hebben besloten Stripe te gebruiken.", "Ik stuur het contract voor vrijdag.")),
        ("Hi Bob, good morning!", ("We decided to use Stripe.", "I'll send the contract by Friday.")),
    ],
)
def test_what_was_decided_and_promised_comes_first_in_seven_languages(greeting, told):
    filler = ["la la la la la la la la la la la la la la la la la la la la la la la la la la la la"] * 3
    lines = [line.split(": ", 1)[1] for line in extractive.summarize(thread(greeting, *filler, *told), 60).split("\n")]
    assert set(told) <= set(lines)
    assert greeting not in lines
    assert len(lines) < len(filler) + len(told)


def test_a_week_of_short_talks_tells_what_was_decided_promised_and_corrected():
    days = [
        ["The budget for ads is 12,000 euros.", "I fixed the import in 9f3ac21.", "ok", "The beta is on 19 November."],
        ["I'll review PR 482 by 11:00.", "Great!", "I'll book Trattoria Nino for 26 November.", "How nice."],
        ["Decision: we use Stripe, not Adyen.", "We will not use Kafka.", "haha yes, the cat is head of QA"],
        ["Beta slips to 26 November.", "Agreed, no deploys on Fridays.", "The budget for ads is cut to 9,500."],
        ["Legal approved the terms of service.", "Priya will write the release by Wednesday.", "See you Monday!"],
    ]  # fmt: skip
    children = []
    for number, texts in enumerate(days):
        stretch = thread(*texts)
        size = sum(tokens.count(text) for text in texts)
        text = extractive.summarize(stretch, size)
        at = AT + timedelta(days=number)
        first, last = 4 * number + 1, 4 * number + len(texts)
        children.append(TierSummary(uuid4(), "thread", first, last, at, at, text, size, [], [], []))
    week = SummarySource(ABOUT, "week", children=children)
    found = extractive.summarize(week, sum(child.message_tokens for child in children))
    for told in (
        "PR 482", "Trattoria Nino", "Stripe", "not use Kafka", "slips to 26 November", "no deploys",
        "9,500", "Legal approved", "Priya will write",
    ):  # fmt: skip
        assert told in found
    assert "12,000" not in found
    assert "cat" not in found
    assert tokens.count(found) <= extractive.ACT_TOKENS


def test_of_each_child_at_least_one_sentence_stands_above_it():
    children = [
        TierSummary(uuid4(), "thread", n, n, AT + timedelta(hours=n), AT + timedelta(hours=n), text, 1000)
        for n, text in enumerate(
            (
                "\n".join(f"- 2026-04-18T12:0{n}Z ann: Pump P-{n} failed on {n} May." for n in range(1, 9)),
                "- 2026-04-18T13:01Z bob: it was quiet all day long.",
                "- 2026-04-18T14:01Z eva: Rome was lovely.",
            ),
            1,
        )
    ]
    above = extractive.summarize(SummarySource(ABOUT, "day", children=children), 600)
    assert {line.split()[2] for line in above.split("\n")} == {"ann:", "bob:", "eva:"}


ENDS = ("It works", "See https://a.example/x.y?z=1.5", "Dr. Brandt called", "We met at 5 p.m. sharp", "Ask J. R. Smith",
        "Version 3.2 costs 9,500.50 euros", "The U.S. office moved", "He said “Stop. Now.” twice",
        "See Fig. 3 for more", "The file is src/a.b/c.py", "Use e.g. tabs",
        "It (cf. p. 4. It helps) is fine", "Really")  # fmt: skip


def test_ten_thousand_lines_are_cut_at_the_ends_of_their_sentences_and_nowhere_else():
    pick = Random(7)
    for _ in range(10_000):
        said = [pick.choice(ENDS) + pick.choice(".!?") for _ in range(pick.randint(1, 4))]
        line = pick.choice(("", "- ", "1. ")) + " ".join(said)
        assert sentences(line) == said
        head, called, tail = line.partition(" called")
        wrapped = f"{head}\ncalled{tail}" if called and len(head) > 40 else line  # as a client wraps long lines
        assert [" ".join(one.split()) for one in sentences(wrapped)] == said


def test_summaries_of_many_lines_hold_no_cut_sentence():
    pick = Random(8)
    lines = [pick.choice(ENDS) + f" {n}" + pick.choice(".!") for n in range(1000)]
    stretch = thread(*(" ".join(lines[n : n + 4]) for n in range(0, 1000, 4)))
    for size in (60, 300, 1000, 5000):
        for line in extractive.summarize(stretch, size).split("\n"):
            assert set(sentences(line.split(": ", 1)[1])) <= set(lines)


@pytest.mark.parametrize(
    ("text", "written", "spoken"),
    [
        ("It was on 7 May 2023.", {"05-07", "2023"}, set()),
        ("since May 2023, and in 2019", {"2023-05", "2023", "2019"}, set()),
        ("We met last Friday and two weeks ago.", set(), {"last friday", "two weeks ago"}),
        ("It has 2022 pages? No: 1,900 or v2023.", {"2022"}, set()),
        ("Yesterday, in April, she may go.", set(), {"yesterday", "in april"}),
    ],
)
def test_dates_are_found_as_people_write_and_say_them(text, written, spoken):
    assert named_items.find(text).dates == written
    assert named_items.spoken_dates(text) == spoken


def test_a_month_of_a_date_that_was_said_is_not_invented():
    assert check_faithful("It began in May 2023.", Sources(["It began on 7 May 2023."])).passes
    assert not check_faithful("It began in June 2023.", Sources(["It began on 7 May 2023."])).passes


def test_tools_are_named_once_in_order():
    calls = [message(n, "", "assistant", None, tool_name=name) for n, name in enumerate(("grep", "ls", "grep"), 1)]
    assert extractive.tools_called(SummarySource(ABOUT, "thread", calls)) == ["grep", "ls"]


@pytest.mark.parametrize("char", ["a", "1", ".", "-", " ", "/", "1.", "A", "'", "https://", "a1 ", "\n", "!", "May 1 "])
def test_a_megabyte_of_one_character_takes_no_longer_than_any_other(char):
    text = char * (1_000_000 // len(char))
    named_items.find(text)
    named_items.spoken_dates(text)
    sentences(text)
    list(read_units(thread(text)))
