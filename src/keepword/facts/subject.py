"""The subject of a fact, which decides where the fact belongs."""

from dataclasses import dataclass
from typing import Self

from keepword.access import GLOBAL_RUN
from keepword.access.place import profile_run, project_run, room_run
from keepword.answers import ScopeKind
from keepword.errors import InvalidInput
from keepword.model import check_name

NO_ID = "-"  # stands in paths where a global fact has no id
_RUNS = {"user": profile_run, "project": project_run, "room": room_run}


@dataclass(frozen=True, slots=True)
class FactSubject:
    """`id` is None for the whole tenant."""

    kind: ScopeKind
    id: str | None

    @classmethod
    def named(cls, kind: ScopeKind, written: str) -> Self:
        """Read a scope as paths write it: the whole tenant has `-` for an id."""
        if kind != "global":
            return cls(kind, check_name(written, "scope_id"))
        if written != NO_ID:
            raise InvalidInput(f"global facts have no scope_id; write {NO_ID!r} instead of {written!r}", "scope_id")
        return cls(kind, None)

    @property
    def run_id(self) -> str:
        return _RUNS[self.kind](self.id) if self.id is not None else GLOBAL_RUN

    def __str__(self) -> str:
        return f"{self.kind} {self.id!r}" if self.id is not None else "the whole tenant"
