"""Named stretches of time, on days that are not 24 hours long too."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.errors import InvalidInput
from keepword.period import PERIODS, in_zone, span

BERLIN = ZoneInfo("Europe/Berlin")


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "now", "since", "before"),
    [
        ("today", utc(2026, 6, 10, 12), utc(2026, 6, 9, 22), None),
        ("yesterday", utc(2026, 6, 10, 12), utc(2026, 6, 8, 22), utc(2026, 6, 9, 22)),
        ("this_morning", utc(2026, 6, 10, 12), utc(2026, 6, 9, 22), utc(2026, 6, 10, 10)),
        ("this_week", utc(2026, 6, 10, 12), utc(2026, 6, 7, 22), None),
        # by the wall clock it is already Monday
        ("this_week", utc(2026, 6, 7, 22, 30), utc(2026, 6, 7, 22), None),
        ("last_24h", utc(2026, 6, 10, 12), utc(2026, 6, 9, 12), None),
        # clocks go forward on 29 March 2026: a day of 23 hours
        ("today", utc(2026, 3, 29, 20), utc(2026, 3, 28, 23), None),
        ("yesterday", utc(2026, 3, 30, 8), utc(2026, 3, 28, 23), utc(2026, 3, 29, 22)),
        ("this_morning", utc(2026, 3, 29, 20), utc(2026, 3, 28, 23), utc(2026, 3, 29, 10)),
        ("last_24h", utc(2026, 3, 29, 20), utc(2026, 3, 28, 20), None),
        ("last_7d", utc(2026, 4, 1, 20), utc(2026, 3, 25, 20), None),
        # and back on 25 October: a day of 25
        ("yesterday", utc(2026, 10, 26, 8), utc(2026, 10, 24, 22), utc(2026, 10, 25, 23)),
        ("last_24h", utc(2026, 10, 25, 20), utc(2026, 10, 24, 20), None),
        ("last_14d", utc(2026, 10, 30, 20), utc(2026, 10, 16, 20), None),
    ],
)
def test_a_window_opens_and_closes_by_the_wall_clock(name, now, since, before):
    assert span(name, now, BERLIN) == (since, before)


def test_a_day_may_begin_at_one_o_clock():
    """In São Paulo the clocks went forward at midnight."""
    opens, _ = span("today", utc(2018, 11, 4, 15), ZoneInfo("America/Sao_Paulo"))
    assert opens == utc(2018, 11, 4, 3)


@given(
    st.sampled_from(PERIODS),
    st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Chatham"]),
)
def test_windows_lie_behind_us_and_are_in_utc(name, now, zone):
    since, before = span(name, now, ZoneInfo(zone))
    assert since <= now
    assert since.tzinfo is UTC
    assert before is None or since < before <= since + timedelta(hours=25)
    if name in {"last_24h", "last_7d", "last_14d"}:
        days = {"last_24h": 1, "last_7d": 7, "last_14d": 14}[name]
        assert now - since == timedelta(days=days)


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        (datetime(2026, 11, 1), utc(2026, 10, 31, 23)),  # noqa: DTZ001 - a day, which has no zone
        (datetime(2026, 7, 1, 9), utc(2026, 7, 1, 7)),  # noqa: DTZ001
        (utc(2026, 11, 1, 9), utc(2026, 11, 1, 9)),
    ],
)
def test_a_time_without_a_zone_is_by_the_services_wall_clock(given_, meant):
    moment = in_zone(given_, BERLIN)
    assert moment == meant
    assert moment.tzinfo is UTC


def test_what_is_no_window_is_told_which_are():
    with pytest.raises(InvalidInput) as refused:
        span("someday", utc(2026, 1, 1), BERLIN)
    assert all(name in str(refused.value) for name in PERIODS)
    assert refused.value.field == "window"
