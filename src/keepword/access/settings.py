"""What a tenant's owner may choose about who reads what."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

from keepword.errors import InvalidInput

ProfilesInRooms = Literal["room", "all"]


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """A setting's `allowed` metadata holds the values that it may have."""

    # only what was said to the agent that asks is shown to it of a profile
    profile_per_agent: bool = field(default=False, metadata={"allowed": (False, True)})
    # `all`: a room reads of its participants also what they said in sessions and in their other rooms
    profiles_in_rooms: ProfilesInRooms = field(default="room", metadata={"allowed": ("room", "all")})

    @classmethod
    def stored(cls, found: Mapping[str, Any]) -> Self:
        """Read settings as they are stored; one that a newer version wrote and this one does not know is left out."""
        return cls(**{name: found[name] for name in _ALLOWED if name in found})

    def shown(self) -> dict[str, Any]:
        return asdict(self)


_ALLOWED: dict[str, tuple[Any, ...]] = {one.name: one.metadata["allowed"] for one in fields(TenantSettings)}


def check_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes. Raises InvalidInput for a setting that there is not, or a value that it can't have."""
    for name, value in changes.items():
        if name not in _ALLOWED:
            raise InvalidInput(f"there is no setting {name!r}; known are: {', '.join(_ALLOWED)}", name)
        # true is not 1 here
        if not any(value is allowed or (value == allowed and isinstance(value, str)) for allowed in _ALLOWED[name]):
            allowed = " or ".join(map(_written, _ALLOWED[name]))
            raise InvalidInput(f"{name} is {value!r}; it is {allowed}", name)
    return dict(changes)


def parse_setting(written: str) -> tuple[str, Any]:
    """Read `name=value` as the command line has it."""
    name, equals, text = written.partition("=")
    if not equals:
        raise InvalidInput(f"{written!r} is no setting; write it as name=value", "settings")
    return name, next((value for value in _ALLOWED.get(name, ()) if _written(value) == text), text)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
