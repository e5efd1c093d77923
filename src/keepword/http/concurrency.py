"""A concurrency limiter with fair queueing between tenants, and between the keys of a tenant."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from prometheus_client import Counter

REFUSED = Counter("keepword_requests_shed", "Requests refused because too many were there", ["reason"])

_LEARNING = 0.1  # the weight of the latest interval in the moving average
# for this long after another tenant's (or key's) last request, its share is kept free
SHARED_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Beyond `at_once` requests wait, up to `waiting` of them and `wait_seconds` each.

    One tenant gets at most `per_tenant` slots while other tenants are active, one key at most `per_key` while other
    keys of its tenant are. A tenant or key that is alone may take all slots.
    """

    at_once: int = 16
    waiting: int = 64
    wait_seconds: float = 1
    per_tenant: int = 12
    per_key: int = 8


class Origin(NamedTuple):
    """The tenant and key that a request counts for; `is_proven` is false until the key was verified."""

    tenant: str = ""
    key: str = ""
    is_proven: bool = True


NOBODY = Origin()


class _RecentNames:
    """Tells whether more than one name was active lately."""

    def __init__(self) -> None:
        self._last: str | None = None
        self._changed_at: float | None = None

    def note(self, name: str, now: float) -> None:
        if self._last not in {None, name}:
            self._changed_at = now
        self._last = name

    def is_mixed(self, now: float) -> bool:
        return self._changed_at is not None and now - self._changed_at < SHARED_SECONDS


@dataclass(slots=True)
class _Key:
    inside: int = 0
    served: int = 0
    line: deque["asyncio.Future[bool]"] = field(default_factory=deque)


@dataclass(slots=True)
class _Tenant:
    name: str
    is_proven: bool
    inside: int = 0
    waiting: int = 0
    served: int = 0
    keys: dict[str, _Key] = field(default_factory=dict)
    crowd: _RecentNames = field(default_factory=_RecentNames)


class ConcurrencyLimiter:
    """Lets in so many requests at once. A free slot goes to the waiting tenant, and its key, with the fewest slots.

    A request whose estimated wait is too long is refused at once. When the queue is full, a tenant with few waiting
    requests displaces the last one of the tenant with the most.
    """

    def __init__(self, limits: Limits, reason: str | None = None) -> None:
        """`reason` is the label under which refusals are counted; without it each kind has its own."""
        self._limits = limits
        self._reason = reason
        self._tenants: dict[str, _Tenant] = {}
        self._crowd = _RecentNames()
        self._turns = count(1)
        self._pace_seconds = 0.0
        self._left_at: float | None = None
        self.inside = 0
        self.waiting = 0

    def is_full(self, origin: Origin = NOBODY) -> bool:
        tenant = self._tenants.get(origin.tenant) or _Tenant(origin.tenant, origin.is_proven)
        key = tenant.keys.get(origin.key) or _Key()
        if self.inside < self._limits.at_once and self._has_room(tenant) and self._has_key_room(tenant, key):
            return False
        if self.waiting >= self._limits.waiting and self._longest(tenant, key) is None:
            return True
        # the first in the queue may always wait: otherwise a slow estimate would never be corrected
        return self._ahead(tenant, key) * self._pace_seconds > self._limits.wait_seconds

    async def enter(self, origin: Origin = NOBODY) -> bool:
        """Return whether the request got a slot; if so, the caller must `leave`."""
        if self.is_full(origin):
            self.count_refusal("full")
            return False
        tenant, key = self._note(origin)
        if self.inside < self._limits.at_once and self._has_room(tenant) and self._has_key_room(tenant, key):
            self._let_in(tenant, key)
            return True
        if self.waiting >= self._limits.waiting and (longest := self._longest(tenant, key)):
            self._displace(*longest)
        return await self._stand_in_line(origin, tenant, key)

    def leave(self, origin: Origin = NOBODY) -> None:
        self._note_pace()
        tenant, key = self._find(origin)
        self.inside -= 1
        tenant.inside -= 1
        key.inside -= 1
        self._hand_out()
        self._forget(origin)

    def come_back(self, origin: Origin = NOBODY) -> None:
        """Take a slot again, past the queue: a request that is half done is not refused."""
        self._let_in(*self._find(origin))

    async def _stand_in_line(self, origin: Origin, tenant: _Tenant, key: _Key) -> bool:
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        key.line.append(turn)
        tenant.waiting += 1
        self.waiting += 1
        try:
            async with asyncio.timeout(self._limits.wait_seconds):
                is_in = await turn
        except TimeoutError:
            self._give_up(origin, turn)
            self.count_refusal("late")
            return False
        except asyncio.CancelledError:
            self._give_up(origin, turn)
            raise
        if not is_in:
            self.count_refusal("displaced")
            self._forget(origin)
        return is_in

    def count_refusal(self, reason: str) -> None:
        REFUSED.labels(self._reason or reason).inc()

    def _give_up(self, origin: Origin, turn: "asyncio.Future[bool]") -> None:
        if not turn.cancelled():
            if turn.result():
                self.leave(origin)  # the slot was granted at the moment of the timeout
            else:
                self._forget(origin)
            return
        tenant, key = self._find(origin)
        if turn in key.line:
            key.line.remove(turn)
            tenant.waiting -= 1
            self.waiting -= 1
        self._forget(origin)

    def _hand_out(self) -> None:
        while self.inside < self._limits.at_once and (chosen := self._next()):
            tenant, key = chosen
            turn = self._pop(tenant, key, newest=False)
            if not turn.cancelled():  # cancelled, and its task has not run yet
                self._let_in(tenant, key)
                turn.set_result(True)

    def _next(self) -> tuple[_Tenant, _Key] | None:
        fitting = [tenant for tenant in self._tenants.values() if tenant.waiting and self._has_room(tenant)]
        for tenant in sorted(fitting, key=lambda one: (one.inside, one.served)):
            keys = [key for key in tenant.keys.values() if key.line and self._has_key_room(tenant, key)]
            if keys:
                return tenant, min(keys, key=lambda one: (one.inside, one.served))
        return None

    def _longest(self, tenant: _Tenant, key: _Key) -> tuple[_Tenant, _Key] | None:
        """Return whose last request is displaced by one of this key; None if no queue is longer than its own."""
        longest = max(self._tenants.values(), key=lambda one: one.waiting, default=tenant)
        if longest is not tenant and longest.waiting > tenant.waiting + 1:
            return longest, max(longest.keys.values(), key=lambda one: len(one.line))
        own = max(tenant.keys.values(), key=lambda one: len(one.line), default=key)
        return (tenant, own) if len(own.line) > len(key.line) + 1 else None

    def _displace(self, tenant: _Tenant, key: _Key) -> None:
        turn = self._pop(tenant, key, newest=True)
        if not turn.cancelled():
            turn.set_result(False)

    def _pop(self, tenant: _Tenant, key: _Key, *, newest: bool) -> "asyncio.Future[bool]":
        tenant.waiting -= 1
        self.waiting -= 1
        return key.line.pop() if newest else key.line.popleft()

    def _ahead(self, tenant: _Tenant, key: _Key) -> int:
        """Return how many waiting requests get a slot before the next one of this key, by fair queueing."""
        own = len(key.line)
        inside = own + sum(min(len(one.line), own + 1) for one in tenant.keys.values() if one is not key)
        return inside + sum(min(one.waiting, inside + 1) for one in self._tenants.values() if one is not tenant)

    def _has_room(self, tenant: _Tenant) -> bool:
        if tenant.inside < self._limits.per_tenant:
            return True
        return tenant.is_proven and not self._crowd.is_mixed(_now())

    def _has_key_room(self, tenant: _Tenant, key: _Key) -> bool:
        return key.inside < self._limits.per_key or not tenant.crowd.is_mixed(_now())

    def _let_in(self, tenant: _Tenant, key: _Key) -> None:
        self.inside += 1
        tenant.inside += 1
        key.inside += 1
        tenant.served = key.served = next(self._turns)

    def _note(self, origin: Origin) -> tuple[_Tenant, _Key]:
        tenant, key = self._find(origin)
        if origin.is_proven:
            self._crowd.note(origin.tenant, _now())
            tenant.crowd.note(origin.key, _now())
        return tenant, key

    def _find(self, origin: Origin) -> tuple[_Tenant, _Key]:
        tenant = self._tenants.setdefault(origin.tenant, _Tenant(origin.tenant, origin.is_proven))
        return tenant, tenant.keys.setdefault(origin.key, _Key())

    def _forget(self, origin: Origin) -> None:
        tenant, key = self._find(origin)
        if not key.inside and not key.line:
            del tenant.keys[origin.key]
        if not tenant.inside and not tenant.waiting and not tenant.keys:
            del self._tenants[origin.tenant]

    def _note_pace(self) -> None:
        if not self.waiting:
            self._left_at = None  # nobody waits: the interval until the next departure says nothing
            return
        now = _now()
        if self._left_at is not None:
            took = min(now - self._left_at, self._limits.wait_seconds)
            self._pace_seconds += _LEARNING * (took - self._pace_seconds)
        self._left_at = now


def _now() -> float:
    return asyncio.get_running_loop().time()
