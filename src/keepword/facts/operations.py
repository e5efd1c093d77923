"""Reading and writing facts within a grant."""

import json
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from keepword.access import Grant
from keepword.answers import FactType
from keepword.errors import Forbidden, InvalidInput, KeepwordError, NotFound, Outdated, TooLarge
from keepword.facts.ports import FactDraft, FactOutcome, Facts, StoredFact, StoredFactVersion
from keepword.facts.subject import FactSubject
from keepword.model import check_name
from keepword.transcript.ports import PlaceLookup

MAX_VALUE_BYTES = 64 * 1024
_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null",
}  # fmt: skip


async def get(store: Facts, grant: Grant, subject: FactSubject, key: str) -> StoredFact:
    fact = await store.get(grant, subject, check_name(key, "key"))
    if fact is None:
        raise _absent(subject, key)
    return fact


async def list_about(store: Facts, grant: Grant, subject: FactSubject, after: str, limit: int) -> list[StoredFact]:
    if not (grant.everything or subject.run_id in grant.run_ids):
        raise NotFound(f"no facts of {subject} can be read here")
    return await store.about(grant, subject, after, limit)


async def list_in_place(store: Facts, grant: Grant, after: tuple[str, str], limit: int) -> list[StoredFact]:
    return await store.in_place(grant, after, limit)


async def history(
    store: Facts, grant: Grant, subject: FactSubject, key: str, before: int, limit: int
) -> list[StoredFactVersion]:
    """Return versions newest first. Raises NotFound if there never was such a fact."""
    versions = await store.history(grant, subject, check_name(key, "key"), before, limit)
    if not versions and not await store.history(grant, subject, key, 1 << 62, 1):
        raise _absent(subject, key)
    return versions


async def put(store: Facts, grant: Grant, subject: FactSubject, key: str, draft: FactDraft) -> tuple[StoredFact, bool]:
    """Write a fact and tell whether it was made. Writing the same value again makes no version."""
    check_name(key, "key")
    check_value(draft.value)
    if not draft.keeps_type:
        check_type(draft.value, draft.type)
    _require_write(grant, subject, key)
    outcome = await store.put(grant, subject, key, draft)
    return _written(outcome, subject, key, draft), outcome.did == "made"


async def delete(store: Facts, grant: Grant, subject: FactSubject, key: str, expected: int | None) -> None:
    check_name(key, "key")
    _require_write(grant, subject, key)
    outcome = await store.delete(grant, subject, key, expected)
    if outcome.did == "absent":
        raise _absent(subject, key)
    if outcome.did == "owned":
        raise _owned(subject, key)
    if outcome.did == "outdated":
        raise _outdated(key, outcome.version, expected)


async def require_subject(lookup: PlaceLookup, tenant_id: UUID, subject: FactSubject) -> None:
    """Raise NotFound if there is no such user, project or room. In a place, what its grant names is there."""
    match subject:
        case FactSubject("user", str(id_)):
            exists: object = await lookup.is_user(tenant_id, id_)
        case FactSubject("project", str(id_)):
            exists = await lookup.project(tenant_id, id_)
        case FactSubject("room", str(id_)):
            exists = await lookup.room(tenant_id, id_)
        case _:
            exists = True
    if not exists:
        raise NotFound(f"no {subject}; make it with PUT /v1/{subject.kind}s/{subject.id}")


def check_value(text: str) -> None:
    size = len(text.encode())
    if size > MAX_VALUE_BYTES:
        raise TooLarge(f"value has {size} bytes of JSON; a fact holds at most {MAX_VALUE_BYTES}", "value")
    _read(text)


def check_type(text: str, declared: FactType | None) -> None:
    """Raise InvalidInput if the JSON text is of another type. An integer is written without fraction and exponent."""
    actual_type = type_of(text)
    fits = declared in {None, actual_type} or (declared == "number" and actual_type == "integer")
    if not fits:
        raise InvalidInput(f"value is of type {actual_type}, but this fact is declared as {declared}", "value")


def type_of(text: str) -> str:
    return _TYPES[type(_read(text))]


def _read(text: str) -> Any:
    # the numbers themselves are never looked at: their text is kept, whatever a float makes of it
    try:
        return json.loads(text, parse_int=lambda _: 0, parse_float=lambda _: 0.5, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"value is not JSON: {exc}", "value") from exc


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is a number that JSON does not know")


def _require_write(grant: Grant, subject: FactSubject, key: str) -> None:
    if grant.lets_share(subject.run_id):
        return
    if subject.run_id not in grant.run_ids:
        raise _absent(subject, key)
    raise Forbidden(
        f"facts of {subject} can't be written from here: room facts are written in the room, project facts in its "
        "sessions and rooms, a user's facts in a session of theirs, and all of them by an unbound admin key "
        "without Keepword-Agent, Keepword-User and conversation"
    )


def _written(outcome: FactOutcome, subject: FactSubject, key: str, draft: FactDraft) -> StoredFact:
    match outcome:
        case FactOutcome(
            "made" | "changed" | "same", version, type_, datetime() as created_at, datetime() as updated_at
        ):
            return StoredFact(
                subject, key, draft.value, type_, version, draft.source, draft.confidence, created_at, updated_at
            )
    raise _refusal(outcome, subject, key, draft)


def _refusal(outcome: FactOutcome, subject: FactSubject, key: str, draft: FactDraft) -> KeepwordError:
    match outcome.did:
        case "outdated":
            return _outdated(key, outcome.version, draft.expected)
        case "no source":
            return InvalidInput(f"no message {str(draft.source)!r} can be read here", "source")
        case "owned":
            return _owned(subject, key)
    return InvalidInput(
        f"value is of type {type_of(draft.value)}, but fact {key!r} of {subject} is declared as {outcome.type}; "
        "send another type along to change that",
        "value",
    )


def _owned(subject: FactSubject, key: str) -> Forbidden:
    return Forbidden(
        f"fact {key!r} of {subject} was written by the tenant's owner; only an admin key that is bound to no agent or "
        "user changes or deletes it. Write under another key"
    )


def _absent(subject: FactSubject, key: str) -> NotFound:
    return NotFound(f"no fact {key!r} of {subject}")


def _outdated(key: str, current_version: int, expected: int | None) -> Outdated:
    now = f"it is at version {current_version} now" if current_version else "there is none now"
    return Outdated(f"fact {key!r} is not at version {expected}: {now}. Read it again, then decide")
