"""The slot of the current request: whom it counts for, and how it is released while the request waits."""

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.types import Scope

from keepword.errors import Unavailable
from keepword.http.concurrency import ConcurrencyLimiter, Limits, Origin
from keepword.model import Key
from keepword.priority import charge, gives_way

RETRY_SECONDS = 1
# a pattern search keeps a processor busy for up to two seconds: half of them are left to other requests
_PATTERNS = Limits(at_once=max(1, (os.cpu_count() or 1) // 2), waiting=16, wait_seconds=5, per_tenant=1, per_key=1)
# a large batch keeps the thread that reads it and the database busy for seconds: two would take no less time than one
# after the other, and all that others have
_LARGE = Limits(at_once=1, waiting=16, wait_seconds=20, per_tenant=1, per_key=1)
# a trial of extraction may wait for a model
_TRIALS = Limits(at_once=2, waiting=16, wait_seconds=20, per_tenant=1, per_key=1)
# the checks open connections of their own
_REPORTS = Limits(at_once=1, waiting=4, wait_seconds=10, per_tenant=1, per_key=1)
_MOST_KNOWN = 10_000


def pattern_gate() -> ConcurrencyLimiter:
    """Return the limiter of pattern searches; they wait for it without a slot."""
    return ConcurrencyLimiter(_PATTERNS, "pattern")


def large_gate() -> ConcurrencyLimiter:
    """Return the limiter of large batches of messages; they wait for it without a slot."""
    return ConcurrencyLimiter(_LARGE, "large")


def trial_gate() -> ConcurrencyLimiter:
    """Return the limiter of trials of extraction; they wait for it without a slot."""
    return ConcurrencyLimiter(_TRIALS, "trial")


def report_gate() -> ConcurrencyLimiter:
    """Return the limiter of checks of the service."""
    return ConcurrencyLimiter(_REPORTS, "report")


class KnownKeys:
    """Remembers the tenant and key of each `Authorization` header, by its digest.

    The key itself is verified for each request, after admission. This only decides whom a request counts for.
    """

    def __init__(self) -> None:
        self._origins: OrderedDict[bytes, Origin] = OrderedDict()

    def find(self, scope: Scope) -> tuple[bytes, Origin]:
        digest = _credentials(scope)
        origin = self._origins.get(digest)
        if origin is not None:
            return digest, origin
        # requests with unverified keys count for their client's address
        peer = (scope.get("client") or ("", 0))[0]
        return digest, Origin(f"from {peer}", digest.hex(), is_proven=False)

    def note(self, digest: bytes, origin: Origin) -> None:
        self._origins[digest] = origin
        self._origins.move_to_end(digest)
        if len(self._origins) > _MOST_KNOWN:
            self._origins.popitem(last=False)


def _credentials(scope: Scope) -> bytes:
    keys = b"\0".join(value for name, value in scope["headers"] if name == b"authorization")
    return hashlib.sha256(keys).digest()


def origin_of(key: Key) -> Origin:
    return Origin(str(key.tenant_id), key.id)


@dataclass(frozen=True, slots=True)
class Slot:
    """A request that was admitted."""

    limiter: ConcurrencyLimiter
    origin: Origin
    known: KnownKeys
    digest: bytes

    def charge(self, seconds: float) -> None:
        # an address is no tenant: it must not lower the mean of those that are
        if self.origin.is_proven:
            self.limiter.used.add(self.origin.tenant, seconds)


current_slot: ContextVar[Slot | None] = ContextVar("slot", default=None)


def remember_key(key: Key) -> None:
    """Remember that the key of the current request works: from now on its requests count for it."""
    slot = current_slot.get()
    if slot is not None:
        slot.known.note(slot.digest, origin_of(key))


@contextmanager
def released_slot() -> Iterator[None]:
    """Release the request's slot while it waits for another machine, such as a model."""
    slot = current_slot.get()
    if slot is None:
        yield
        return
    slot.limiter.leave(slot.origin)
    try:
        yield
    finally:
        slot.limiter.come_back(slot.origin)


@asynccontextmanager
async def pass_gate(gate: ConcurrencyLimiter, key: Key, refusal: str) -> AsyncIterator[None]:
    """Pass a second limiter, without a slot while waiting; raises Unavailable if that takes too long.

    What is done inside is heavy, whoever asks for it: it gives way to others, and all of its time counts.
    """
    origin = origin_of(key)
    with released_slot():
        is_in = await gate.enter(origin)
    if not is_in:
        raise Unavailable(refusal, RETRY_SECONDS)
    token, began = gives_way.set(True), time.monotonic()
    try:
        yield
    finally:
        charge(time.monotonic() - began)
        gives_way.reset(token)
        gate.leave(origin)
