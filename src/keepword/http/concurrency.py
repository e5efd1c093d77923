"""A concurrency limiter with fair queueing between tenants, and between the keys of a tenant."""

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from keepword import metrics

_LEARNING = 0.1  # the weight of the latest interval in the moving average
# for this long after another tenant's (or key's) last request, its share is kept free
SHARED_SECONDS = 60
# the processor time of a tenant counts half after so long
HALF_LIFE_SECONDS = 5.0
# a tenant that uses less of one processor than this is not heavy, whatever others use
HEAVY_PROCESSORS = 0.1
# share of the mean of all tenants: a tenant below it is light
LIGHT_SHARE = 0.5
_MEAN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """Beyond `at_once` requests wait, up to `waiting` of them and `wait_seconds` each.

    One tenant gets at most `per_tenant` slots while other tenants are active, one key at most `per_key` while other
    keys of its tenant are. A tenant or key that is alone may take all slots. By the processor time that tenants used
    lately, a heavy one gets at most `heavy` slots, and a light one as many as are free, for which it may wait
    `light_wait_seconds`.
    """

    at_once: int = 16
    waiting: int = 64
    wait_seconds: float = 1
    per_tenant: int = 12
    per_key: int = 8
    heavy: int = 4
    light_wait_seconds: float = 10


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


class ProcessorTime:
    """The processor time that tenants used lately, and which of them used more or less than the others."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}
        self._mean = 0.0
        self._mean_at = float("-inf")

    def add(self, name: str, seconds: float) -> None:
        now = _now()
        self._used[name] = (self._decayed(name, now) + seconds, now)

    def of(self, name: str) -> float:
        return self._decayed(name, _now())

    def is_heavy(self, name: str) -> bool:
        used = self.of(name)
        return used > HEAVY_PROCESSORS * HALF_LIFE_SECONDS / math.log(2) and used > self._mean_now()

    def is_light(self, name: str) -> bool:
        return self.of(name) < LIGHT_SHARE * self._mean_now()

    def _decayed(self, name: str, now: float) -> float:
        used, at = self._used.get(name, (0.0, now))
        return float(used * 0.5 ** ((now - at) / HALF_LIFE_SECONDS))

    def _mean_now(self) -> float:
        """Return the mean of all that were active; it is not counted anew for each request."""
        now = _now()
        if now - self._mean_at > _MEAN_SECONDS:
            self._used = {name: value for name, value in self._used.items() if now - value[1] < SHARED_SECONDS}
            self._mean = sum(self._decayed(name, now) for name in self._used) / max(1, len(self._used))
            self._mean_at = now
        return self._mean


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
    """Lets in so many requests at once.

    A free slot goes to the waiting tenant that used the least processor time, then to the one, and its key, with the
    fewest slots.

    A request whose estimated wait is too long is refused at once. When the queue is full, a tenant with few waiting
    requests displaces the last one of the tenant with the most.
    """

    def __init__(self, limits: Limits, reason: str | None = None) -> None:
        """`reason` is the label under which refusals are counted; without it each kind has its own."""
        self._limits = limits
        self._reason = reason
        self._tenants: dict[str, _Tenant] = {}
        self._crowd = _RecentNames()
        self.used = ProcessorTime()
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
        if self.is_light(origin):
            return False  # others' load is no reason to refuse it
        # the first in the queue may always wait: otherwise a slow estimate would never be corrected
        return self._ahead(tenant, key) * self._pace_seconds > self._limits.wait_seconds

    def is_heavy(self, origin: Origin) -> bool:
        """Tell whether others are active, and this tenant used more processor time than the mean of all."""
        return self._crowd.is_mixed(_now()) and self.used.is_heavy(origin.tenant)

    def is_light(self, origin: Origin) -> bool:
        return origin.is_proven and self._crowd.is_mixed(_now()) and self.used.is_light(origin.tenant)

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
        limits = self._limits
        try:
            async with asyncio.timeout(limits.light_wait_seconds if self.is_light(origin) else limits.wait_seconds):
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
        metrics.REQUESTS_SHED.labels(self._reason or reason).inc()

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
        for tenant in sorted(fitting, key=lambda one: (self.used.of(one.name), one.inside, one.served)):
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
        if not self._crowd.is_mixed(_now()):
            return tenant.is_proven or tenant.inside < self._limits.per_tenant
        if self.used.is_heavy(tenant.name):
            return tenant.inside < min(self._limits.heavy, self._limits.per_tenant)
        return tenant.inside < self._limits.per_tenant or (tenant.is_proven and self.used.is_light(tenant.name))

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
