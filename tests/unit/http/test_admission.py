"""So many requests at once, so many in line, and a quick answer to all others."""

import asyncio
import hashlib
import json
import time

import pytest

from keepword.config import Settings
from keepword.http import concurrency
from keepword.http.admission import AdmissionMiddleware
from keepword.http.concurrency import ConcurrencyLimiter, Limits, Origin
from keepword.http.slots import released_slot
from keepword.priority import Metered, charge
from keepword.serving import _admission

pytestmark = pytest.mark.anyio
LONG = 30


class Door:
    """An application that answers when told to, and remembers who came in."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.open = asyncio.Event()

    async def __call__(self, scope, receive, send) -> None:
        self.inside.append(scope["path"])
        while (await receive()).get("more_body"):
            pass
        await self.open.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def at_once(app, path, parts=(b"",), headers=()):
    """Request, and return the status, the headers and the body; `parts` may be a queue of them."""
    sent = []
    parts = list(parts) if isinstance(parts, tuple) else parts

    async def receive():
        if isinstance(parts, asyncio.Queue):
            return await parts.get()
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message):
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": path, "headers": list(headers)}, receive, send)
    if not sent:
        return None
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


async def begun(*requests):
    tasks = [asyncio.create_task(request) for request in requests]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


async def test_beyond_the_line_the_answer_is_503_at_once_and_the_others_come_in_in_order():
    door = Door()
    app = AdmissionMiddleware(door, Limits(at_once=2, waiting=2, wait_seconds=LONG))
    tasks = await begun(*(at_once(app, f"/{number}") for number in range(4)))
    assert door.inside == ["/0", "/1"]
    status, headers, body = await at_once(app, "/4")
    assert status == 503
    assert int(headers[b"retry-after"]) >= 1
    assert headers[b"content-type"] == b"application/problem+json"
    assert "Try again" in json.loads(body)["detail"]
    door.open.set()
    assert [answer[0] for answer in await asyncio.gather(*tasks)] == [200] * 4
    assert door.inside == ["/0", "/1", "/2", "/3"]
    assert (await at_once(app, "/5"))[0] == 200


async def test_who_waited_too_long_gets_503_and_leaves_the_line():
    door = Door()
    app = AdmissionMiddleware(door, Limits(at_once=1, waiting=1, wait_seconds=0.01))
    (first,) = await begun(at_once(app, "/0"))
    assert (await at_once(app, "/1"))[0] == 503
    (third,) = await begun(at_once(app, "/2"))
    door.open.set()
    assert (await first)[0] == (await third)[0] == 200
    assert door.inside == ["/0", "/2"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_who_watches_is_always_let_in(path):
    door = Door()
    app = AdmissionMiddleware(door, Limits(at_once=1, waiting=0, wait_seconds=LONG))
    tasks = await begun(at_once(app, "/0"), at_once(app, path))
    assert door.inside == ["/0", path]
    door.open.set()
    await asyncio.gather(*tasks)


async def test_who_still_sends_has_no_place():
    door = Door()
    app = AdmissionMiddleware(door, Limits(at_once=1, waiting=0, wait_seconds=LONG))
    silent, slow = asyncio.Queue(), asyncio.Queue()
    slow.put_nowait({"type": "http.request", "body": b"a", "more_body": True})
    tasks = await begun(at_once(app, "/silent", silent), at_once(app, "/slow", slow))
    assert door.inside == ["/slow"]
    door.open.set()
    assert (await at_once(app, "/quick"))[0] == 200
    for queue in (slow, silent):
        queue.put_nowait({"type": "http.request", "body": b"b", "more_body": False})
        await asyncio.sleep(0)
    assert [answer[0] for answer in await asyncio.gather(*tasks)] == [200, 200]


async def test_what_is_refused_or_asked_for_first_is_not_waited_for():
    door = Door()
    door.open.set()
    app = AdmissionMiddleware(door, Limits())
    for header in ((b"content-length", b"99999999999"), (b"expect", b"100-continue")):
        queue = asyncio.Queue()
        (task,) = await begun(at_once(app, f"/{header[0].decode()}", queue, (header,)))
        assert door.inside[-1] == f"/{header[0].decode()}"
        queue.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        await task


async def test_who_is_gone_before_all_was_sent_is_not_worked_for():
    door = Door()
    app = AdmissionMiddleware(door, Limits())
    gone = asyncio.Queue()
    gone.put_nowait({"type": "http.disconnect"})
    assert await at_once(app, "/gone", gone) is None
    assert door.inside == []


async def test_however_they_end_no_place_is_lost():
    limits = Limits(at_once=2, waiting=3, wait_seconds=LONG)
    limiter = ConcurrencyLimiter(limits)
    assert await limiter.enter()
    assert await limiter.enter()
    waiting = await begun(*(limiter.enter() for _ in range(3)))
    assert not await limiter.enter()
    waiting[0].cancel()
    limiter.leave()  # to the next in line, who is told to go in the same moment
    waiting[1].cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, True, False]
    limiter.leave()
    limiter.leave()
    assert [await limiter.enter() for _ in range(2)] == [True, True]
    assert not (await begun(limiter.enter()))[0].done()


async def test_who_would_wait_too_long_at_the_pace_of_the_others_is_sent_away_at_once():
    limiter = ConcurrencyLimiter(Limits(at_once=1, waiting=100, wait_seconds=0.2))
    assert await limiter.enter()
    waiting = await begun(*(limiter.enter() for _ in range(8)))
    for _ in range(6):
        await asyncio.sleep(0.03)
        limiter.leave()
    in_line = 0
    while not limiter.is_full():
        waiting += await begun(limiter.enter())
        in_line += 1
    assert 1 <= in_line < 50
    assert not await limiter.enter()
    await asyncio.gather(*waiting)
    # nobody stands in line any more: one may, however slow the pace was
    assert not limiter.is_full()


async def test_who_waits_for_a_model_lets_another_in_and_comes_back():
    door, model = Door(), asyncio.Event()

    async def asking(scope, receive, send) -> None:
        if scope["path"] == "/asks":
            with released_slot():
                await model.wait()
        await door(scope, receive, send)

    app = AdmissionMiddleware(asking, Limits(at_once=1, waiting=0, wait_seconds=LONG))
    (asks,) = await begun(at_once(app, "/asks"))
    door.open.set()
    assert (await at_once(app, "/quick"))[0] == 200
    model.set()
    assert (await asks)[0] == 200
    assert door.inside == ["/quick", "/asks"]
    assert (await at_once(app, "/after"))[0] == 200


ALICE, BOB = Origin("alices", "a"), Origin("bobs", "b")
FAIR = Limits(at_once=4, waiting=4, wait_seconds=LONG, per_tenant=3, per_key=2)


async def enter_all(limiter, *origins):
    for origin in origins:
        assert await limiter.enter(origin)


async def test_a_tenant_that_is_alone_takes_every_place():
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, *[ALICE] * 4)
    assert limiter.inside == 4


async def test_while_others_are_active_a_tenant_leaves_places_to_them():
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, BOB, *[ALICE] * 3)
    limiter.leave(BOB)
    (waiting,) = await begun(limiter.enter(ALICE))
    assert not waiting.done()
    assert await limiter.enter(BOB)
    limiter.leave(ALICE)
    assert await waiting


async def test_while_other_keys_of_its_tenant_are_active_a_key_leaves_places_to_them():
    limiter = ConcurrencyLimiter(FAIR)
    first, second = Origin("alices", "first"), Origin("alices", "second")
    await enter_all(limiter, first, second, second)
    (waiting,) = await begun(limiter.enter(second))
    assert not waiting.done()
    assert await limiter.enter(first)
    limiter.leave(second)
    assert await waiting


async def test_a_free_place_goes_to_the_tenant_that_has_the_fewest():
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, *[ALICE] * 4)
    order = []

    async def wait(origin):
        assert await limiter.enter(origin)
        order.append(origin)

    waiting = await begun(wait(ALICE), wait(ALICE), wait(BOB))
    for _ in range(3):
        limiter.leave(ALICE)
    await asyncio.gather(*waiting)
    assert order[0] is BOB


async def test_in_a_full_line_a_tenant_with_few_displaces_the_last_of_the_one_with_most():
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, *[ALICE] * 4)
    lined_up = await begun(*(limiter.enter(ALICE) for _ in range(4)))
    assert limiter.is_full(ALICE)
    assert not limiter.is_full(BOB)
    (bob,) = await begun(limiter.enter(BOB))
    assert not await lined_up[3]
    limiter.leave(ALICE)
    assert await bob
    for _ in range(4):
        limiter.leave(ALICE)
    assert await asyncio.gather(*lined_up[:3]) == [True] * 3


async def test_keys_that_nobody_proved_leave_places_to_those_that_work():
    limiter = ConcurrencyLimiter(FAIR)
    garbage = [Origin("from 10.0.0.9", f"{number}", is_proven=False) for number in range(4)]
    await enter_all(limiter, *garbage[:3])
    (waiting,) = await begun(limiter.enter(garbage[3]))
    assert not waiting.done()
    assert await limiter.enter(ALICE)
    limiter.leave(garbage[0])
    assert await waiting


async def test_nothing_is_remembered_of_those_who_left():
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, *[ALICE] * 4)
    waiting = await begun(*(limiter.enter(ALICE) for _ in range(4)), limiter.enter(BOB))
    waiting[0].cancel()
    for _ in range(4):
        limiter.leave(ALICE)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    for origin, is_in in zip([*[ALICE] * 4, BOB], results, strict=True):
        if is_in is True:
            limiter.leave(origin)
    assert (limiter.inside, limiter.waiting, limiter._tenants) == (0, 0, {})


HEAVY_SECONDS = 100.0


def busy(limiter, tenant=ALICE, seconds=HEAVY_SECONDS):
    """Note that a tenant used much processor time, and that another one is there as well."""
    limiter.used.add(tenant.tenant, seconds)


async def test_a_tenant_that_uses_more_than_others_gets_few_places_and_others_all_that_are_left():
    limiter = ConcurrencyLimiter(Limits(at_once=8, waiting=8, wait_seconds=LONG, per_tenant=4, per_key=8, heavy=2))
    await enter_all(limiter, BOB, ALICE, ALICE)
    busy(limiter)
    busy(limiter, BOB, 0.1)
    (third,) = await begun(limiter.enter(ALICE))
    assert not third.done()
    await enter_all(limiter, *[BOB] * 5)
    assert limiter.inside == 8


async def test_a_place_goes_to_the_tenant_that_used_the_least_processor_time():
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, ALICE, BOB, BOB, BOB)
    busy(limiter)
    alice, bob = await begun(limiter.enter(ALICE), limiter.enter(BOB))
    limiter.leave(BOB)
    assert await bob
    assert not alice.done()


async def test_a_tenant_that_uses_little_is_not_refused_for_others_load():
    limits = Limits(at_once=2, waiting=8, wait_seconds=0.01, light_wait_seconds=LONG, heavy=2)
    limiter = ConcurrencyLimiter(limits)
    await enter_all(limiter, ALICE, ALICE)
    busy(limiter)
    busy(limiter, BOB, 0.1)
    (bob,) = await begun(limiter.enter(BOB))
    assert not await limiter.enter(ALICE)
    assert not bob.done()
    limiter.leave(ALICE)
    assert await bob


async def test_a_tenant_that_is_alone_is_not_heavy_however_much_it_uses():
    limiter = ConcurrencyLimiter(FAIR)
    busy(limiter)
    await enter_all(limiter, *[ALICE] * 4)
    assert not limiter.is_heavy(ALICE)


async def test_what_a_tenant_used_long_ago_does_not_count(monkeypatch):
    limiter = ConcurrencyLimiter(FAIR)
    await enter_all(limiter, ALICE, BOB)
    busy(limiter)
    busy(limiter, BOB, 0.1)
    assert limiter.is_heavy(ALICE)
    later = asyncio.get_running_loop().time() + 12 * concurrency.HALF_LIFE_SECONDS
    monkeypatch.setattr(concurrency, "_now", lambda: later)
    assert not limiter.used.is_heavy(ALICE.tenant)


async def test_the_processor_time_of_a_request_counts_for_its_tenant_and_waiting_does_not():
    async def compute(_scope, _receive, send):
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        await asyncio.sleep(0.2)
        charge(1.0)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = AdmissionMiddleware(compute, Limits())
    app._known.note(hashlib.sha256(b"").digest(), ALICE)
    assert (await at_once(app, "/"))[0] == 200
    ((used, _),) = app._limiter.used._used.values()
    assert 1.0 < used < 1.2


async def test_a_request_that_fails_or_is_cancelled_does_so_while_its_time_is_counted():
    async def fail():
        await asyncio.sleep(0)
        raise ValueError("no")

    async def rescue():
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            return "rescued"

    async def await_it(work):
        return await Metered(work, used.append)

    used = []
    with pytest.raises(ValueError, match="no"):
        await await_it(fail())
    (task,) = await begun(await_it(rescue()))
    task.cancel()
    assert await task == "rescued"
    assert len(used) >= 3


def test_one_tenant_leaves_half_of_the_places_and_of_the_connections_to_others(tmp_path):
    def share(**settings: int) -> int:
        return _admission(Settings(home=tmp_path, **settings)).per_tenant

    assert share() == 8
    assert share(pool_size=10) == 5
    assert share(requests_at_once=4) == 2
    assert share(pool_size=40) == 8
    assert share(requests_per_tenant=12) == 12
