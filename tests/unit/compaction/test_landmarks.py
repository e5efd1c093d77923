import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.compaction.landmarks import KINDS, MAX_TEXT_BYTES, DetectedLandmark, check_text, detect
from keepword.errors import InvalidInput

CODE = "```python\n" + "\n".join(f"x{n} = {n}" for n in range(20)) + "\n```"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Decision: we use Postgres 18.", [("decision", "Decision: we use Postgres 18.")]),
        ("ok\n**Decision**: tabs\nnot spaces\n\nbye", [("decision", "**Decision**: tabs\nnot spaces")]),
        (
            "spec: ids are UUIDs\nquestion: v4 or v7?",
            [("spec", "spec: ids are UUIDs"), ("question", "question: v4 or v7?")],
        ),
        (
            "Good talk. We decided to go with Postgres 16 for the store. Lunch?",
            [("decision", "We decided to go with Postgres 16 for the store.")],
        ),
        ("notes\nthe team has agreed on v1.2 of the API", [("decision", "the team has agreed on v1.2 of the API")]),
        ("We decided on A.\nDecision: B", [("decision", "Decision: B")]),
        (f"here:\n{CODE}\ndone", [("code", CODE)]),
        ("hey @bob, please review the PR\nthanks", [("action", "hey @bob, please review the PR")]),
        ("@bob.b: fix the build", [("action", "@bob.b: fix the build")]),
        (
            "as in https://wiki.x.org/specs/auth v2",
            [("link", "as in https://wiki.x.org/specs/auth v2")],
        ),
        ("see RFC: https://www.rfc-editor.org/rfc9457", [("link", "see RFC: https://www.rfc-editor.org/rfc9457")]),
        # without a label
        ("we decided to go with Stripe", [("decision", "we decided to go with Stripe")]),
        ("Long talk. Agreed, no deploys on Fridays. Bye!", [("decision", "Agreed, no deploys on Fridays.")]),
        ("We will not use Kafka.", [("decision", "We will not use Kafka.")]),
        ("ok so let's go with option B", [("decision", "ok so let's go with option B")]),
        (
            "Legal approved the terms of service, version 3.2.",
            [("decision", "Legal approved the terms of service, version 3.2.")],
        ),
        ("@karl please double-check the invoice", [("action", "@karl please double-check the invoice")]),
        (
            "Fine. Karl, please send the draft by Friday. Thanks!",
            [("action", "Karl, please send the draft by Friday.")],
        ),
        ("I'll write the postmortem by Thursday.", [("action", "I'll write the postmortem by Thursday.")]),
        ("Lena will call Dr. Brandt on Monday. Right?", [("action", "Lena will call Dr. Brandt on Monday.")]),
        ("!pin the wifi password is on the fridge", [("pin", "the wifi password is on the fridge")]),
        ("the wifi password is on the fridge !PIN", [("pin", "the wifi password is on the fridge")]),
    ],
)
def test_a_landmark_is_found_and_kept_word_for_word(content, expected):
    assert detect(content) == [DetectedLandmark(*one) for one in expected]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "the decision was hard",
        "Have we decided to go with Postgres?",
        "We decided to go with Postgres, right?",
        "What if we decided to wait?",
        "We have not decided to go with Postgres.",
        "Agreed, nature is so refreshing!",
        "I chose it because it's bold.",
        "I'll be there.",
        "I'll see you on Friday!",
        "Should we go with Stripe?",
        "If it rains we will use the hall.",
        "It will rain on Monday.",
        "We could decide on Friday.",
        "@karl please",
        "She decided to go with Postgres.",
        "Decision:",
        "indecision: a play",
        "https://wiki.x.org/specs/auth",
        "look: https://x.org/news",
        "https://x.org/inspector is fine",
        "mail bob@review.org",
        "@bob was here",
        "@bob",
        "!pinned",
        "!pin",
        "wow!pin",
        CODE.replace("\nx19 = 19", ""),
        "```\nshort\n```\n" * 30,
    ],
)
def test_nothing_is_pinned_without_need(content):
    assert detect(content) == []


def test_a_message_has_at_most_one_landmark_of_a_kind_the_first():
    assert detect("decision: a\ndecision: b\n@bob fix it\n@ann fix that") == [
        DetectedLandmark("decision", "decision: a"),
        DetectedLandmark("action", "@bob fix it"),
    ]


def test_a_code_block_that_is_never_closed_counts_as_well():
    assert [found.kind for found in detect(CODE.removesuffix("```"))] == ["code"]


pieces = st.sampled_from(
    ["decision: ", "spec:", "\n", "\n\n", "```", "~~~~", "@bob", " fix ", "!pin", " https://x.org/spec ", "a"]
)


@given(st.lists(st.one_of(pieces, st.text(max_size=20)), max_size=60).map("".join))
def test_whatever_is_written_landmarks_are_parts_of_it_and_at_most_one_of_a_kind(content):
    found = detect(content)
    kinds = [landmark.kind for landmark in found]
    assert kinds == [kind for kind in KINDS if kind in kinds]
    for landmark in found:
        if landmark.kind != "pin":
            assert landmark.text.strip() in content


@pytest.mark.parametrize(
    "piece",
    ["@a ", "`", "```\n", "decision: x\n", "https://spec", "> ", "\n", "!pin ", "https://x.org/spec ", " ", "@"],
)
def test_a_megabyte_of_anything_is_searched_in_no_time(piece):
    detect(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize("text", ["", " \n", "x" * (MAX_TEXT_BYTES + 1)])
def test_a_text_that_can_not_be_pinned_is_refused(text):
    with pytest.raises(InvalidInput) as refused:
        check_text(text)
    assert refused.value.field == "text"
