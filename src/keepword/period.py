"""Times that people name: periods such as `today` and `last_7d`, and times without a zone."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from keepword.errors import InvalidInput

Span = tuple[datetime, datetime | None]


def utc_now() -> datetime:
    """Return the time by the clock of this machine: what services take where tests give a clock of their own."""
    return datetime.now(UTC)


def _days_ago(now: datetime, days: int) -> datetime:
    # midnight by the wall clock, which is not always 24 hours before the next
    day = now.date() - timedelta(days=days)
    return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)


def _hours_ago(now: datetime, hours: int) -> datetime:
    # in UTC: arithmetic in a zone is by its wall clock, which jumps twice a year
    return now.astimezone(UTC) - timedelta(hours=hours)


_SPANS: dict[str, Callable[[datetime], Span]] = {
    "today": lambda now: (_days_ago(now, 0), None),
    "yesterday": lambda now: (_days_ago(now, 1), _days_ago(now, 0)),
    "this_morning": lambda now: (_days_ago(now, 0), _days_ago(now, 0).replace(hour=12)),
    "this_week": lambda now: (_days_ago(now, now.weekday()), None),
    "last_24h": lambda now: (_hours_ago(now, 24), None),
    "last_7d": lambda now: (_hours_ago(now, 7 * 24), None),
    "last_14d": lambda now: (_hours_ago(now, 14 * 24), None),
}
PERIODS = tuple(_SPANS)


def zone_named(name: str) -> ZoneInfo | None:
    """Return the time zone of a name such as Europe/Berlin; None if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def in_zone(time: datetime, zone: ZoneInfo) -> datetime:
    """Return a time in UTC; one without a zone of its own is by the wall clock of `zone`."""
    return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC)


def span(name: str, now: datetime, zone: ZoneInfo) -> Span:
    """Return since and before (exclusive; None: until now) of a window, in UTC."""
    if name not in _SPANS:
        raise InvalidInput(f"window {name!r} is not known; there are: {', '.join(PERIODS)}", "window")
    since, before = _SPANS[name](now.astimezone(zone))
    return since.astimezone(UTC), before and before.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Reads times as a service in `zone` does."""

    now: Callable[[], datetime]
    zone: ZoneInfo

    def of(self, zone: str | None) -> "Calendar":
        """Return the calendar of a tenant that chose a zone; without one, or one not known here, the service's."""
        own = zone_named(zone) if zone is not None else None
        return self if own is None else replace(self, zone=own)

    def between(
        self, since: datetime | None, before: datetime | None, named: str | None
    ) -> tuple[datetime | None, datetime | None]:
        """Return the times that are left when a named period narrows the two given; those may lack a zone."""
        since, before = self.moment(since), self.moment(before)
        if named is not None:
            opens, closes = span(named, self.now(), self.zone)
            since = max(since, opens) if since else opens
            before = min(before, closes) if before and closes else before or closes
        if since and before and since >= before:
            raise InvalidInput(
                f"since ({since.isoformat()}) is not earlier than before ({before.isoformat()})", "since"
            )
        return since, before

    def moment(self, time: datetime | None) -> datetime | None:
        """Return a time in UTC; one without a zone is read in the service's."""
        return time and in_zone(time, self.zone)
