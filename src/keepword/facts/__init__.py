"""Exact values under a key, per user, project, room or tenant: what must be remembered word for word."""

from keepword.facts.ports import Draft, Fact, Facts, FactType, Outcome, Version
from keepword.facts.scope import Scope, ScopeKind
from keepword.facts.use import MAX_VALUE_BYTES, delete, get, history, in_place, in_scope, put, require_scope

__all__ = [
    "MAX_VALUE_BYTES",
    "Draft",
    "Fact",
    "FactType",
    "Facts",
    "Outcome",
    "Scope",
    "ScopeKind",
    "Version",
    "delete",
    "get",
    "history",
    "in_place",
    "in_scope",
    "put",
    "require_scope",
]
