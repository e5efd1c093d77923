"""One contract for working memory and ledger, on PostgreSQL and on a real Redis."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepword.access import Viewer, grant
from keepword.errors import Forbidden, InvalidInput, TooLarge
from keepword.model import Key
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.working import PostgresFields, PostgresLedger, sweep
from keepword.redis.client import connect
from keepword.redis.working import RedisFields, RedisLedger
from keepword.transcript import NewConversation, put
from keepword.working import InjectionLedger, WorkingMemory
from keepword.working.fields import DEFAULT_TTL_SECONDS, MAX_BYTES, MAX_FIELDS, MAX_TTL_SECONDS, decode, encode
from patience import HANG_SECONDS, PATIENT
from redis_cluster import cluster_of, url_of

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio", {"use_uvloop": True}  # as the service does


ROUNDS = int(os.environ.get("ROUNDS", "150"))
CLIENTS = 64


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Engine:
    """The two ports on one engine, conversations to use them in, and a way to let time pass."""

    pool: Pool
    key: Key
    fields: Any
    ledger: Any
    pass_time: Callable[[float], Any]
    numbers: Any = field(default_factory=count)

    async def conversation(self, role: str = "agent", of: str | None = None) -> tuple[WorkingMemory, InjectionLedger]:
        name = of or f"c{next(self.numbers)}{{}}%"
        owner = Viewer(self.key.tenant_id, "agent")
        lookup = PostgresPlaceLookup(self.pool)
        await put(lookup, PostgresConversations(self.pool), owner, name, NewConversation())
        place = await lookup.place(self.key.tenant_id, name)
        opened = grant(Viewer(self.key.tenant_id, role), place)
        return WorkingMemory(self.fields, opened, place), InjectionLedger(self.ledger, opened, place)


@asynccontextmanager
async def open_engine(
    kind: str, conninfo: str, redis_url: str, tenant, connections=16, limits=PATIENT, waits=(HANG_SECONDS, HANG_SECONDS)
) -> AsyncIterator[Engine]:
    pool = Pool(conninfo, replace(limits, connections=connections))
    await pool.open()
    key = Key("test", tenant.id, tenant.name, "agent")
    client = connect(redis_url, *waits)
    clock = Clock()

    async def pass_on_postgres(seconds: float) -> None:
        clock.now += timedelta(seconds=seconds)

    async def pass_on_redis(seconds: float) -> None:
        # time passes by taking it off what each key has left
        async for name in client.scan_iter(f"{tenant.id}:*"):
            left = await client.pttl(name)
            if left >= 0:
                await client.pexpire(name, max(0, left - int(seconds * 1000)))

    if kind == "postgres":
        yield Engine(pool, key, PostgresFields(pool, clock), PostgresLedger(pool), pass_on_postgres)
    else:
        yield Engine(pool, key, RedisFields(client), RedisLedger(client), pass_on_redis)
    await client.aclose()
    await pool.close()


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory) -> Iterator[str]:
    with cluster_of(3, 0, tmp_path_factory.mktemp("cluster")) as nodes:
        yield url_of(nodes)


@pytest.fixture(params=["postgres", "redis", "cluster"])
async def engine(request, conninfo, redis_server, tenant) -> AsyncIterator[Engine]:
    url = request.getfixturevalue("cluster_url") if request.param == "cluster" else redis_server.url
    async with open_engine(request.param, conninfo, url, tenant) as made:
        yield made


@pytest.fixture(params=["postgres", "redis"])
async def hasty_engine(request, conninfo, redis_server, tenant) -> AsyncIterator[Engine]:
    """Open an engine with the time limits of a service."""
    async with open_engine(request.param, conninfo, redis_server.url, tenant, limits=Limits(), waits=()) as made:
        yield made


_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_texts = _words | st.sampled_from(
    ["123", "null", "true", '"', '"a"', "{}", "[1]", " 1", "NaN", "-0", "1e5", "Infinity"]
)
_numbers = st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from(["scratchpad", "entities", "a", "b", "ü 世界 🙂"])
_big = st.integers(10_000, 40_000).map(lambda size: "x" * size)
_steps = st.one_of(
    st.tuples(
        st.just("put"),
        st.dictionaries(_names, _values | _big, max_size=3),
        st.sampled_from([None, 10, 1000, 200_000]),
    ),
    st.tuples(st.just("get")),
    st.tuples(st.just("delete"), st.lists(_names, min_size=1, max_size=2)),
    st.tuples(st.just("clear")),
    st.tuples(st.just("pass"), st.sampled_from([1, 8, 50, 900, 50_000, 90_000])),
    st.tuples(st.just("mark"), _names, st.sampled_from(["injected", "1", ""])),
    st.tuples(st.just("check"), _names),
    st.tuples(st.just("evict"), _names),
)


def _shape(value: Any) -> Any:
    """Return something that is equal only for the same types in the same order."""
    if isinstance(value, dict):
        return [(name, _shape(child)) for name, child in value.items()]
    if isinstance(value, list):
        return [_shape(child) for child in value]
    return type(value), repr(value)


class Model:
    """What a dict with a clock would do."""

    def __init__(self) -> None:
        self.now = 0.0
        self.fields: dict[str, Any] = {}
        self.ttl = DEFAULT_TTL_SECONDS
        self.expires = 0.0
        self.ledger: dict[str, str] = {}

    def expire(self) -> None:
        if not self.fields or self.now >= self.expires:
            self.fields, self.ttl = {}, DEFAULT_TTL_SECONDS

    def refresh(self) -> None:
        self.expires = self.now + self.ttl

    def put(self, data: dict[str, Any], ttl: int | None) -> bool:
        merged = self.fields | data
        if sum(len(name.encode()) + len(encode(v, "").encode()) for name, v in merged.items()) > MAX_BYTES:
            return False
        if merged:
            self.fields, self.ttl = merged, ttl or self.ttl
            self.refresh()
        return True


async def _follow(memory: WorkingMemory, ledger: InjectionLedger, model: Model, pass_time, step) -> None:
    model.expire()
    match step:
        case ("pass", seconds):
            # half a second off the model's: neither engine is asked about the exact instant
            await pass_time(seconds + 0.5)
            model.now += seconds + 0.5
        case ("mark" | "check" | "evict", *_):
            await _follow_ledger(ledger, model, step)
        case _:
            await _follow_memory(memory, model, step)


async def _follow_memory(memory: WorkingMemory, model: Model, step) -> None:
    match step:
        case ("put", data, ttl):
            try:
                await memory.set(data, ttl)
            except TooLarge:
                assert not model.put(data, ttl)
            else:
                assert model.put(data, ttl)
        case ("get",):
            assert _shape(await memory.get()) == _shape({name: model.fields[name] for name in sorted(model.fields)})
            model.refresh()
        case ("delete", names):
            await memory.delete(names)
            model.fields = {name: value for name, value in model.fields.items() if name not in names}
            model.refresh()
        case ("clear",):
            await memory.delete()
            model.fields = {}


async def _follow_ledger(ledger: InjectionLedger, model: Model, step) -> None:
    match step:
        case ("mark", item, value):
            assert await ledger.mark(item, value) is (item not in model.ledger)
            model.ledger[item] = value
        case ("check", item):
            assert await ledger.check(item) == model.ledger.get(item)
        case ("evict", item):
            assert await ledger.evict(item) is (model.ledger.pop(item, None) is not None)


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_random_operations_agree_with_a_dict_and_a_clock(kind, conninfo, redis_server, make_tenant):
    tenant = make_tenant()
    with asyncio.Runner() as runner:
        context = open_engine(kind, conninfo, redis_server.url, tenant)
        engine = runner.run(context.__aenter__())

        async def run(steps) -> None:
            memory, ledger = await engine.conversation()
            model = Model()
            for step in [*steps, ("get",)]:
                await _follow(memory, ledger, model, engine.pass_time, step)
            assert await ledger.get() == model.ledger

        @settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(st.lists(_steps, max_size=20))
        def holds(steps) -> None:
            runner.run(run(steps))

        holds()
        runner.run(context.__aexit__(None, None, None))


async def test_of_64_clients_that_mark_a_key_at_once_exactly_one_is_first(marking):
    _, ledger = await marking.conversation()
    for number in range(ROUNDS):
        told = await asyncio.gather(*(ledger.mark(f"skill:{number}", str(client)) for client in range(CLIENTS)))
        assert told.count(True) == 1
        assert await ledger.check(f"skill:{number}") in set(map(str, range(CLIENTS)))
    assert len(await ledger.get()) == ROUNDS


@pytest.fixture(params=["postgres", "redis"])
async def marking(request, conninfo, redis_server, tenant) -> AsyncIterator[Engine]:
    """Return an engine with a connection for each client."""
    async with open_engine(request.param, conninfo, redis_server.url, tenant, connections=CLIENTS) as made:
        yield made


async def test_what_goes_in_comes_out_equal(engine):
    memory, _ = await engine.conversation()
    data = {
        "number": 123, "text": "123", "null": None, "word": "null", "quoted": '"x"', "empty": "", "float": 1.0,
        "big": 2**200, "order": {"z": 1, "a": {"y": [], "b": {}}}, "list": [1, 1.5, "1", True, None],
        "🙂": "Grüße\n\t世界",
        "nul": "a\0b", "digits": "9" * 5000,
    }  # fmt: skip
    await memory.set(data)
    assert _shape(await memory.get()) == _shape({name: data[name] for name in sorted(data)})


async def test_a_put_merges_and_keeps_the_other_fields(engine):
    memory, _ = await engine.conversation()
    await memory.set({"a": 1, "b": {"x": 1}})
    await memory.set({"b": {"y": 2}, "c": 3})
    assert await memory.get() == {"a": 1, "b": {"y": 2}, "c": 3}


async def test_over_the_size_limit_nothing_changes_and_the_sizes_are_told(engine):
    memory, _ = await engine.conversation()
    await memory.set({"a": "x" * 40_000})
    with pytest.raises(TooLarge, match=r"would hold 66002 bytes.* 65536, and 40001"):
        await memory.set({"b": "y" * 26_000})
    with pytest.raises(TooLarge, match="alone have 66002 bytes"):
        await memory.set({"b": "y" * 26_000, "a": "x" * 40_000})
    assert await memory.get() == {"a": "x" * 40_000}
    exactly = await memory.set({"b": "y" * (MAX_BYTES - 40_001 - 1)})
    assert exactly.bytes == MAX_BYTES
    with pytest.raises(TooLarge):
        await memory.set({"c": ""})
    assert set(await memory.get()) == {"a", "b"}


async def test_bytes_are_counted_in_utf8_of_names_and_stored_values(engine):
    memory, _ = await engine.conversation()
    size = await memory.set({"ü": "世", "n": 10, "s": "10"})
    assert size.bytes == (2 + 3) + (1 + 2) + (1 + 4)


async def test_puts_at_once_can_not_pass_the_limit_together(engine):
    memory, _ = await engine.conversation()
    puts = [memory.set({f"f{number}": "x" * 9_000}) for number in range(20)]
    done = await asyncio.gather(*puts, return_exceptions=True)
    held = await memory.get()
    assert sum(isinstance(size, TooLarge) for size in done) == 20 - len(held)
    assert len(held) == 7


async def test_puts_at_once_to_a_new_memory_all_arrive(engine):
    memory, _ = await engine.conversation()
    await asyncio.gather(*(memory.set({f"f{number}": number}) for number in range(40)))
    assert await memory.get() == {f"f{number}": number for number in range(40)}


async def test_puts_survive_a_process_that_got_no_processor_for_a_moment(hasty_engine):
    memory, _ = await hasty_engine.conversation()
    puts = [asyncio.ensure_future(memory.set({f"f{number}": number})) for number in range(40)]
    await asyncio.sleep(0)  # now all of them want a connection
    await asyncio.sleep(0)
    time.sleep(1.5)  # noqa: ASYNC251 (the loop itself stands still)
    await asyncio.gather(*puts)
    assert await memory.get() == {f"f{number}": number for number in range(40)}


async def test_at_most_1000_fields(engine):
    memory, _ = await engine.conversation()
    await memory.set({f"f{number}": 1 for number in range(MAX_FIELDS)})
    with pytest.raises(InvalidInput, match="1001 fields"):
        await memory.set({"one more": 1})
    with pytest.raises(InvalidInput, match="1001 fields"):
        await memory.set({f"g{number}": 1 for number in range(MAX_FIELDS + 1)})
    assert len(await memory.get()) == MAX_FIELDS


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0", "\ud800"])
async def test_bad_names_are_refused(engine, name):
    memory, _ = await engine.conversation()
    with pytest.raises(InvalidInput):
        await memory.set({name: 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), (1, 2), {1: 2}, object(), "\ud800", {"a": {"b"}}])
async def test_values_that_would_not_come_out_equal_are_refused(engine, value):
    memory, _ = await engine.conversation()
    with pytest.raises(InvalidInput):
        await memory.set({"a": value})
    assert await memory.get() == {}


@pytest.mark.parametrize("ttl_seconds", [0, -1, MAX_TTL_SECONDS + 1])
async def test_lifetimes_outside_their_bounds_are_refused(engine, ttl_seconds):
    memory, _ = await engine.conversation()
    with pytest.raises(InvalidInput, match="ttl_seconds"):
        await memory.set({"a": 1}, ttl_seconds)


async def test_a_memory_lives_for_a_day_from_its_last_use(engine):
    memory, _ = await engine.conversation()
    await memory.set({"a": 1})
    await engine.pass_time(DEFAULT_TTL_SECONDS - 5)
    assert await memory.get() == {"a": 1}
    await engine.pass_time(DEFAULT_TTL_SECONDS - 5)
    await memory.set({"b": 2})
    await engine.pass_time(DEFAULT_TTL_SECONDS - 5)
    assert await memory.get() == {"a": 1, "b": 2}
    await engine.pass_time(DEFAULT_TTL_SECONDS + 5)
    assert await memory.get() == {}


async def test_a_given_lifetime_is_used_by_later_refreshes_and_goes_with_the_memory(engine):
    memory, _ = await engine.conversation()
    await memory.set({"a": 1}, 100)
    for _ in range(3):
        await engine.pass_time(95)
        assert await memory.get() == {"a": 1}
    await memory.set({"b": 2})
    await engine.pass_time(105)
    assert await memory.get() == {}
    await memory.set({"c": 3})
    await engine.pass_time(1000)
    assert await memory.get() == {"c": 3}


async def test_an_expired_memory_does_not_count_against_the_next(engine):
    memory, _ = await engine.conversation()
    await memory.set({"a": "x" * 60_000}, 10)
    await engine.pass_time(11)
    await memory.set({"b": "y" * 60_000})
    assert set(await memory.get()) == {"b"}


async def test_a_lifetime_ends_by_real_time(conninfo, redis_server, tenant):
    async with open_engine("redis", conninfo, redis_server.url, tenant) as engine:
        memory, _ = await engine.conversation()
        await memory.set({"a": 1}, 1)
        await asyncio.sleep(1.1)
        assert await memory.get() == {}


async def test_a_sweep_frees_what_expired_and_nothing_else(pool, tenant):
    clock = Clock()
    clock.now = datetime(2000, 1, 1, tzinfo=UTC)  # before the memories of all other tests in this database
    engine = Engine(pool, Key("test", tenant.id, tenant.name, "agent"), PostgresFields(pool, clock), None, None)
    gone, _ = await engine.conversation()
    kept, _ = await engine.conversation()
    await gone.set({"a": 1}, 10)
    await kept.set({"a": 1}, 1000)
    clock.now += timedelta(seconds=11)
    assert await sweep(pool, clock()) == 1
    assert await sweep(pool, clock()) == 0
    assert await kept.get() == {"a": 1}


async def test_deleting_fields_passes_over_those_that_are_not_there(engine):
    memory, _ = await engine.conversation()
    await memory.delete(["a"])
    await memory.set({"a": 1, "b": 2})
    await memory.delete(["a", "c", "a"])
    assert await memory.get() == {"b": 2}
    await memory.delete(["c"])
    assert await memory.get() == {"b": 2}
    await memory.delete(["b"])
    assert await memory.get() == {}
    with pytest.raises(InvalidInput, match="empty"):
        await memory.delete([])


async def test_clearing_what_is_not_there_is_no_error_and_spares_the_ledger(engine):
    memory, ledger = await engine.conversation()
    await memory.delete()
    await ledger.mark("a")
    await memory.set({"a": 1})
    await memory.delete()
    assert await memory.get() == {}
    assert await ledger.get() == {"a": "injected"}


async def test_the_ledger_never_expires(engine):
    _, ledger = await engine.conversation()
    assert await ledger.mark("skill:a", "1")
    await engine.pass_time(400 * 24 * 3600)
    assert not await ledger.mark("skill:a", "2")
    assert await ledger.get() == {"skill:a": "2"}


async def test_a_later_mark_overwrites_the_value_and_is_not_first(engine):
    _, ledger = await engine.conversation()
    told = [await ledger.mark("skill:a", value) for value in ("1", "2", "2", "")]
    assert told == [True, False, False, False]
    assert await ledger.check("skill:a") == ""


async def test_many_items_are_marked_at_once(engine):
    _, ledger = await engine.conversation()
    await ledger.mark("b", "old")
    await ledger.mark_all({"a": "1", "b": "2", "ü 世界": ""})
    await ledger.mark_all({})
    assert await ledger.get() == {"a": "1", "b": "2", "ü 世界": ""}
    assert not await ledger.mark("a")
    with pytest.raises(InvalidInput, match="item_key"):
        await ledger.mark_all({"c": "1", "": "2"})
    assert await ledger.check("c") is None


async def test_those_who_mark_the_same_items_in_other_orders_do_not_block_each_other(marking):
    _, ledger = await marking.conversation()
    names = [f"skill:{number}" for number in range(20)]
    orders = [dict.fromkeys(names if client % 2 else reversed(names), str(client)) for client in range(CLIENTS)]
    await asyncio.gather(*map(ledger.mark_all, orders))
    assert (await ledger.get()).keys() == set(names)


async def test_an_evicted_item_may_be_marked_first_again(engine):
    _, ledger = await engine.conversation()
    await ledger.mark("skill:a")
    assert await ledger.evict("skill:a")
    assert not await ledger.evict("skill:a")
    assert await ledger.check("skill:a") is None
    assert await ledger.mark("skill:a")


async def test_a_reader_reads_and_refreshes_but_does_not_write(engine):
    memory, ledger = await engine.conversation()
    await memory.set({"a": 1}, 100)
    await ledger.mark("k")
    reading, looking = await engine.conversation("reader", of=memory.place.external_id)
    await engine.pass_time(95)
    assert await reading.get() == {"a": 1}
    await engine.pass_time(95)
    assert await reading.get() == {"a": 1}
    assert await looking.check("k") == "injected"
    for write in (
        reading.set({"a": 2}),
        reading.delete(),
        looking.mark("k"),
        looking.mark_all({"k": ""}),
        looking.evict("k"),
    ):
        with pytest.raises(Forbidden):
            await write


async def test_conversations_do_not_see_each_other(engine):
    (mine, my_ledger), (other, other_ledger) = await engine.conversation(), await engine.conversation()
    await mine.set({"a": 1})
    await my_ledger.mark("k")
    assert await other.get() == {}
    assert await other_ledger.get() == {}


@given(_values)
def test_stored_text_reads_back_equal(value):
    assert _shape(decode(encode(value, "f"))) == _shape(value)
