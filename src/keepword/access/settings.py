"""A tenant's settings: who reads what, how times are read, and how much it may use on a day."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self, cast

from keepword.errors import Forbidden, InvalidInput
from keepword.model import SessionReach
from keepword.period import zone_named

ProfilesInRooms = Literal["room", "all"]


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """A setting's `allowed` metadata holds the values that it may have; others are whole numbers, or None.

    None is the service's own quota.
    """

    # an agent sees only those profile lines that were said to it
    profile_per_agent: bool = field(default=False, metadata={"allowed": (False, True)})
    # `all`: a room also reads the profile lines that its participants said in sessions and in other rooms
    profiles_in_rooms: ProfilesInRooms = field(default="room", metadata={"allowed": ("room", "all")})
    # the default reach of a session outside projects: itself, or all sessions of its user with its agent
    session_reach: SessionReach = field(default="own", metadata={"allowed": ("own", "user")})
    # a direct conversation reads the rooms in which both its user and its agent sit; rooms never read the reverse
    direct_reads_rooms: bool = field(default=True, metadata={"allowed": (False, True)})
    # agents' messages become memories too, marked as the agent's word
    agents_word: bool = field(default=False, metadata={"allowed": (False, True)})
    # the audit also notes each read: who, which route, where
    audit_reads: bool = field(default=False, metadata={"allowed": (False, True)})
    # messages are erased after so many days; None keeps them
    retention_days: int | None = field(default=None, metadata={"most": 36_500})
    # what "yesterday" and a time without a zone mean; None is the service's own zone
    time_zone: str | None = field(default=None, metadata={"zone": True})
    quota_messages: int | None = None
    quota_mb: int | None = None
    quota_background_seconds: int | None = None
    # what mem0's clients keep of their project; no caller sets it by its name, and no answer shows it
    mem0: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def stored(cls, settings: Mapping[str, Any]) -> Self:
        """Read settings as they are stored; one that a newer version wrote and this one does not know is left out."""
        return cls(**{name: settings[name] for name in (*_NAMES, "mem0") if name in settings})

    def shown(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name in _NAMES}


_NAMES = tuple(one.name for one in fields(TenantSettings) if one.name != "mem0")
_ALLOWED: dict[str, tuple[Any, ...]] = {
    one.name: one.metadata["allowed"] for one in fields(TenantSettings) if "allowed" in one.metadata
}
_MOST: dict[str, int] = {one.name: one.metadata["most"] for one in fields(TenantSettings) if "most" in one.metadata}
_ZONES = tuple(one.name for one in fields(TenantSettings) if "zone" in one.metadata)
QUOTAS = tuple(name for name in _NAMES if name not in {*_ALLOWED, *_MOST, *_ZONES})
MOST_QUOTA = 10**12
_MOST_ZONE_CHARS = 64


def check_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes. Raises InvalidInput for a setting that there is not, or a value that it can't have."""
    for name, value in changes.items():
        if name not in _NAMES:
            raise InvalidInput(f"there is no setting {name!r}; known are: {', '.join(_NAMES)}", name)
        if name in QUOTAS:
            _check_number(name, value, MOST_QUOTA, "none for the service's own")
        elif name in _ZONES:
            _check_zone(name, value)
        elif name in _MOST:
            _check_number(name, value, _MOST[name], "none for no end")
        # true is not 1 here
        elif not any(value is allowed or (value == allowed and isinstance(value, str)) for allowed in _ALLOWED[name]):
            allowed = " or ".join(map(_written, _ALLOWED[name]))
            raise InvalidInput(f"{name} is {value!r}; it is {allowed}", name)
    return dict(changes)


def check_lower(changes: Mapping[str, Any], held: TenantSettings, defaults: Mapping[str, float | None]) -> None:
    """Raise Forbidden if a quota would rise: a limited tenant must not lift its own limit. None is the default."""
    for name in changes.keys() & set(QUOTAS):
        before, after = (defaults.get(name) if one is None else one for one in (getattr(held, name), changes[name]))
        if before is not None and (after is None or after > before):
            raise Forbidden(
                f"{name} is {before:g} and can only be lowered here; `keepword settings {name}=...` on the service's "
                "machine raises it"
            )


def parse_setting(written: str) -> tuple[str, Any]:
    """Read `name=value` as the command line has it."""
    name, equals, text = written.partition("=")
    if not equals:
        raise InvalidInput(f"{written!r} is no setting; write it as name=value", "settings")
    if name in QUOTAS or name in _MOST:
        return name, None if text == "none" else int(text) if text.isdecimal() else text
    if name in _ZONES and text == "none":
        return name, None
    return name, next((value for value in _ALLOWED.get(name, ()) if _written(value) == text), text)


def _check_number(name: str, value: object, most: int, none: str) -> None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_number and 1 <= cast("int", value) <= most):
        raise InvalidInput(f"{name} is {value!r}; it is a whole number from 1 to {most:,}, or {none}", name)


def _check_zone(name: str, value: object) -> None:
    is_zone = isinstance(value, str) and len(value) <= _MOST_ZONE_CHARS and zone_named(value) is not None
    if value is not None and not is_zone:
        raise InvalidInput(f"{name} is {value!r}; it is named like Europe/Berlin, or none for the service's own", name)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
