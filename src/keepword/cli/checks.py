"""What one of the doctor's checks found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    found: str
    fix: str = ""
