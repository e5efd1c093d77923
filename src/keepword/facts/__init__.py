"""Exact values under a key, per user, project, room or tenant: what must be remembered word for word."""

from keepword.facts.operations import (
    MAX_VALUE_BYTES,
    delete,
    get,
    history,
    list_about,
    list_in_place,
    put,
    require_subject,
)
from keepword.facts.ports import Fact, FactDraft, FactOutcome, Facts, FactType, FactVersion
from keepword.facts.subject import FactSubject, ScopeKind

__all__ = [
    "MAX_VALUE_BYTES",
    "Fact",
    "FactDraft",
    "FactOutcome",
    "FactSubject",
    "FactType",
    "FactVersion",
    "Facts",
    "ScopeKind",
    "delete",
    "get",
    "history",
    "list_about",
    "list_in_place",
    "put",
    "require_subject",
]
