"""Answers are written as the type that is declared, whatever the value has beside it."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic_core import PydanticSerializationError

from keepword.answers import Inside, SearchResults, User, UserPage
from keepword.http.responses import PAGE_BYTES, dump, respond_page
from keepword.recall import RankedHit, RankedResults
from keepword.recall.ports import EntryView

AT = datetime(2026, 5, 1, tzinfo=UTC)
NUMBER = 987654321
BESIDE = EntryView(
    "message", UUID(int=1), 0, "session:c", "c", 1, "user", "ann", "helper", AT, 0.5, "hello", entry_id=NUMBER
)
HIT = RankedHit(
    "summary", UUID(int=2), 0, 0.9, "hello", None, None, "helper", AT, "session:c", "c", None, (BESIDE,), None,
    (Inside("message", UUID(int=3), 0.5, "hi", "user", "ann", "helper", AT, 1),), None, entry=NUMBER,
)  # fmt: skip
RESULTS = RankedResults((HIT,), {"mode": "hybrid"}, (), None, None)


def page(users, limit, size=None):
    return json.loads(respond_page(UserPage, users, limit, lambda user: user.id, size).body)


def users(count):
    return [User(str(number), None, AT) for number in range(count)]


def test_an_answer_does_not_show_the_numbers_of_entries():
    written = dump(SearchResults, RESULTS)
    assert str(NUMBER) not in written.decode()
    assert json.loads(written)["results"][0]["context"][0]["text"] == "hello"


def test_a_value_that_is_not_of_the_declared_type_is_an_error():
    # written by what it is, a list would show all that its items have
    with pytest.raises(PydanticSerializationError):
        dump(SearchResults, replace(RESULTS, results=[HIT]))


def test_a_page_ends_with_a_cursor_of_its_last_item_if_there_are_more():
    assert page(users(3), 2)["next"] == "1"
    assert page(users(2), 2)["next"] is None
    assert page([], 2) == {"users": [], "next": None}


def test_a_page_ends_with_the_item_that_reaches_its_bytes():
    shown = page(users(3), 3, lambda _: PAGE_BYTES // 2)
    assert [user["id"] for user in shown["users"]] == ["0", "1"]
    assert shown["next"] == "1"
