"""The days that a rule of the phrases for time means, counted back from now by the calendar of a zone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# further back than this nothing was said that is stored here
_MOST = {"hours": 876_000, "days": 36_500, "weeks": 5_200, "months": 1_200, "years": 100}
_MONTHS_A_YEAR = 12
_SATURDAY = 5
# from and to which hour the parts of a day are; a night ends in the morning after
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
# "a few" of a unit ago: from and up to so many days ago
_FEW = {"fewdays": (6, 1), "fewweeks": (42, 10), "fewmonths": (190, 50)}
_DAY = timedelta(days=1)
Slots = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Days:
    """From `since` on, up to `before`: by the wall clock of the zone, without it."""

    since: datetime
    before: datetime


def moment(local: datetime, zone: ZoneInfo) -> datetime:
    """Return a time of the wall clock in UTC."""
    return local.replace(tzinfo=zone).astimezone(UTC)


def span_of(rule: str, back: int | None, slots: Slots, now: datetime) -> Days | None:
    """Return the span that a rule means at `now`, by its wall clock; None if there is no such time."""
    today = now.date()
    if rule in _PARTS:
        return _part(today - timedelta(days=back or 0), *_PARTS[rule])
    if rule in _FEW:
        first, last = _FEW[rule]
        return _between(today - timedelta(days=first), today - timedelta(days=last - 1))
    if rule == "weekday":
        day = today - timedelta(days=(today.isoweekday() - slots["weekday"] - 1) % 7 + 1)
        return _between(day, day + _DAY)
    if rule == "date":
        return _named(today, slots)
    return _counted(rule, slots.get("n", back if back is not None else 1), now)


def _counted(rule: str, count: int, now: datetime) -> Days | None:
    unit = rule.removeprefix("last").removesuffix("s") + "s"
    if count > _MOST.get(unit, _MOST["weeks"]):
        return None
    if rule.startswith("last"):
        return _lately(unit, count, now)
    return _UNITS[rule](now.date(), count)


def _part(day: date, opens: int, closes: int) -> Days:
    start = datetime.combine(day, time())
    return Days(start + timedelta(hours=opens), start + timedelta(hours=closes))


def _between(first: date, end: date) -> Days:
    return Days(datetime.combine(first, time()), datetime.combine(end, time()))


def _lately(unit: str, count: int, now: datetime) -> Days:
    if unit == "months":
        return Days(_month(now.date(), count).since, now)
    return Days(now - timedelta(**{unit: count}), now)


def _day(today: date, count: int) -> Days:
    day = today - timedelta(days=count)
    return _between(day, day + _DAY)


def _week(today: date, count: int) -> Days:
    monday = today - timedelta(days=today.weekday() + 7 * count)
    return _between(monday, monday + 7 * _DAY)


def _weekend(today: date, count: int) -> Days:
    """Return the last weekend; on a weekend, this one."""
    saturday = today - timedelta(days=(today.weekday() - _SATURDAY) % 7 + 7 * count)
    return _between(saturday, saturday + 2 * _DAY)


def _month(today: date, count: int) -> Days:
    first = _add_months(today.replace(day=1), -count)
    return _between(first, _add_months(first, 1))


def _year(today: date, count: int) -> Days:
    return _between(date(today.year - count, 1, 1), date(today.year - count + 1, 1, 1))


def _weeks_ago(today: date, count: int) -> Days:
    day = today - timedelta(weeks=count)
    return _between(day - 3 * _DAY, day + 4 * _DAY)


def _add_months(first: date, months: int) -> date:
    years, month = divmod(first.month - 1 + months, _MONTHS_A_YEAR)
    return date(first.year + years, month + 1, 1)


def _named(today: date, slots: Slots) -> Days | None:
    """Return a day, a month or a year by name; without a year, the last that has begun."""
    year, month, day = (slots.get(part) for part in ("year", "month", "day"))
    if month is None:
        return None if year is None else _year(today, today.year - year)
    if day is None:
        if year is None:
            year = today.year - (month > today.month)
        return _between(date(year, month, 1), _add_months(date(year, month, 1), 1))
    # a leap day is looked for in the last years
    for candidate in (year,) if year is not None else range(today.year, today.year - 8, -1):
        found = _date(candidate, month, day)
        if found is not None and (year is not None or found <= today):
            return _between(found, found + _DAY)
    return None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


_UNITS: Mapping[str, Callable[[date, int], Days]] = {
    "day": _day, "days": _day, "week": _week, "weeks": _weeks_ago, "weekend": _weekend, "month": _month,
    "months": _month, "year": _year, "years": _year,
}  # fmt: skip
