from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.model import Draft
from keepword.transcript.append import digest

DRAFT = Draft(
    "user", "text", "u", "a", "tool", {"b": 1, "a": [1, 2]}, "result", [{"x": 1}], {"k": "v"}, "e",
    datetime(2024, 1, 1, tzinfo=UTC),
)  # fmt: skip
OTHER = {
    "role": "assistant",
    "content": "text ",
    "user": None,
    "agent": "b",
    "tool_name": None,
    "tool_args": {"b": 1, "a": [2, 1]},
    "tool_result": None,
    "attachments": [],
    "metadata": {"k": None},
    "event_id": "f",
    "created_at": None,
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def test_every_field_counts():
    assert {field.name for field in fields(Draft)} == set(OTHER)
    digests = {digest(replace(DRAFT, **{name: value})) for name, value in OTHER.items()}
    assert len(digests | {digest(DRAFT)}) == len(OTHER) + 1


@given(st.dictionaries(st.text(), json_values))
def test_the_order_of_keys_does_not_count(value):
    turned = dict(reversed(value.items()))
    assert digest(replace(DRAFT, metadata=value)) == digest(replace(DRAFT, metadata=turned))


@given(st.text(), st.text())
def test_different_texts_have_different_digests(one, two):
    same = digest(replace(DRAFT, content=one)) == digest(replace(DRAFT, content=two))
    assert same == (one == two)


@pytest.mark.parametrize(("one", "two"), [(1, True), (0, False), (1, 1.0), (None, "null"), ("1", 1), ([], {})])
def test_values_that_python_takes_for_equal_are_told_apart(one, two):
    assert digest(replace(DRAFT, tool_args=one)) != digest(replace(DRAFT, tool_args=two))


def test_a_digest_can_be_made_of_any_time_and_is_32_bytes():
    east = DRAFT.created_at.astimezone(timezone(timedelta(hours=5)))
    assert len(digest(replace(DRAFT, created_at=east))) == 32
