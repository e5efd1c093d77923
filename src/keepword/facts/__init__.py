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
from keepword.facts.ports import FactDraft, FactOutcome, Facts, StoredFact, StoredFactVersion
from keepword.facts.subject import FactSubject

__all__ = [
    "MAX_VALUE_BYTES",
    "FactDraft",
    "FactOutcome",
    "FactSubject",
    "Facts",
    "StoredFact",
    "StoredFactVersion",
    "delete",
    "get",
    "history",
    "list_about",
    "list_in_place",
    "put",
    "require_subject",
]
