import base64
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.errors import InvalidInput
from keepword.http.cursors import key_cursor, parse_key_cursor, parse_time_cursor, time_cursor
from keepword.transcript.page import make_cursor, parse_cursor

NAMED = st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])
times = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


@given(times, st.integers(0, 2**128 - 1), st.booleans())
def test_a_cursor_is_read_back_as_it_was_made(time, tie, turned):
    cursor = make_cursor((time, tie), turned=turned)
    assert parse_cursor(cursor) == (turned, (time, tie))
    assert len(cursor) <= 100
    assert cursor.isascii()


@given(times, st.uuids())
def test_a_cursor_of_the_list_is_read_back_as_it_was_made(time, id_):
    cursor = time_cursor(time, id_)
    assert parse_time_cursor(cursor) == (time, id_)
    assert len(cursor) <= 200


@given(st.text(NAMED), st.text(NAMED))
def test_a_cursor_of_facts_is_read_back_as_it_was_made(run_id, key):
    assert parse_key_cursor(key_cursor(run_id, key)) == (run_id, key)


@pytest.mark.parametrize("raw", [b"a", b"a\nb\nc", b"a\nb\0", b"\xff\nb"])
def test_what_was_never_a_cursor_of_facts_is_refused(raw):
    with pytest.raises(InvalidInput):
        parse_key_cursor(base64.urlsafe_b64encode(raw).decode().rstrip("="))


def test_without_a_cursor_a_list_begins_at_its_start():
    assert parse_time_cursor(None) is None
    assert parse_key_cursor(None) == ("", "")


@given(st.one_of(st.text(), st.text("ABCabc019_-", min_size=30, max_size=36), st.from_regex(r"[A-Za-z0-9_-]{34}")))
def test_garbage_is_refused_or_is_a_position_that_the_database_can_compare(text):
    for parse in (parse_cursor, parse_time_cursor):
        with suppress(InvalidInput):
            assert any(isinstance(part, (tuple, UUID)) for part in parse(text))


@given(st.binary(min_size=25, max_size=25))
def test_any_25_bytes_are_a_time_in_the_calendar_or_refused(raw):
    try:
        _, (time, tie) = parse_cursor(base64.urlsafe_b64encode(raw).decode().rstrip("="))
    except InvalidInput:
        return
    assert time.tzinfo is UTC
    assert 0 <= tie < 2**128


@pytest.mark.parametrize("text", ["", "=", "====", "A" * 33, "A" * 35, "é" * 34, " " + "A" * 34, "\0"])
def test_what_was_never_a_cursor_is_refused(text):
    with pytest.raises(InvalidInput):
        parse_cursor(text)


def test_times_around_the_epoch_keep_their_order():
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for micros in (-1, 0, 1):
        time = epoch + timedelta(microseconds=micros)
        assert parse_cursor(make_cursor((time, 1), turned=False))[1][0] == time
