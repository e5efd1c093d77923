"""Passwords, keys, card numbers and IBANs are found and hidden; ordinary words, numbers and times are not."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.compaction.landmarks import detect
from keepword.memories.rules import extract
from keepword.model import Message
from keepword.secret_text import HIDDEN, has_secret, hide
from keepword.transcript.secrets_hidden import hide_secrets

AT = datetime(2026, 4, 18, 9, tzinfo=UTC)
# written with a gap, so that scanners of repositories do not take them for leaked ones
SECRETS = [
    (row["said"].replace("{}", ""), row["secret"].replace("{}", ""))
    for row in json.loads((Path(__file__).parents[2] / "bench" / "extraction" / "secrets.json").read_text())
]


def message(text, **more):
    return Message(
        UUID(int=1), "talk", 1, "user", "ann", "ada", text, more.get("tool_name"), more.get("tool_args"),
        more.get("tool_result"), (), {}, None, AT,
    )  # fmt: skip


def test_no_secret_of_the_set_becomes_a_memory_or_a_landmark():
    assert len(SECRETS) == 60
    for said, secret in SECRETS:
        assert HIDDEN in hide(said), said
        assert secret not in hide(said), said
        assert extract(hide_secrets([message(said)])) == [], said
        assert not [one for one in detect(f"Decision: {said}", keeps_secrets=False) if secret in one.text], said
    # the rules alone would keep many of them
    assert sum(bool(extract([message(said)])) for said, _ in SECRETS) > 30


@pytest.mark.parametrize(
    "said",
    [
        "My password is wrong again.", "The password policy is strict.", "Reset the password by Friday.",
        "The token is valid for 30 minutes.", "The key to success is practice.", "The code is on GitHub.",
        "Room 4111 is on floor 4.", "Call +49 30 1234567 at 9:30.", "The order is 4111 1111 1111 1112.",
        "Commit 9f3ac21 fixed it.", "We met on 2023-05-08 at 13:56.", "The budget is 12,000 euros.",
        "https://example.org/a:b/c@d is a link.", "The secret of good bread is time.", "Passwords are a pain.",
        "The alarm code review is at 10:30.", "Our API keys expire in 90 days.", "ISBN 978-3-16-148410-0",
        "The pins are 3 mm long.", "Mein Passwort ist abgelaufen.", "session-12 and sk-8 are names.",
    ],
)  # fmt: skip
def test_ordinary_words_are_no_secret(said):
    assert not has_secret(said)
    assert hide(said) == said


def test_secrets_in_tool_calls_are_hidden_and_the_rest_stays():
    args = {"user": "mira", "password": "blueberry", "port": 5432}
    (hidden,) = hide_secrets([message("", tool_name="login", tool_args=args, tool_result="token: abc123xyz")])
    assert hidden.tool_args == args | {"password": HIDDEN}
    assert hidden.tool_result == f"token: {HIDDEN}"
    said = "I live in Oslo. My password is blueberry. I like tea."
    assert [one.text for one in extract(hide_secrets([message(said)]))] == ["ann lives in Oslo.", "ann likes tea."]


@given(st.text() | st.sampled_from(SECRETS).map(lambda one: f"{one[0]} {one[0]}"))
def test_hiding_twice_is_hiding_once(text):
    assert hide(hide(text)) == hide(text)
