"""Keepword inside another program: it starts, shares, cleans up, and keeps to itself."""

import asyncio
import contextlib
import subprocess
import sys
import time

import pytest
import structlog

from keepword import Client, Keepword, errors
from keepword.postgres.embedded import Cluster, lock_data_folder
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(make_migrated_home):
    return make_migrated_home()


async def test_what_was_kept_is_there_when_it_is_opened_again(home):
    async with Keepword.open(data=home, worker=False) as kw:
        await kw.conversations.put("trip")
        await kw.append("trip", "We fly on Friday.")
        assert Cluster(home).is_running()
    assert not Cluster(home).is_running()
    with lock_data_folder(home):
        pass  # the folder is free again
    with Keepword.sync(data=str(home), worker=False) as blocking:
        assert blocking.conversations.messages("trip").messages[0].content == "We fly on Friday."
    assert not Cluster(home).is_running()


async def test_opened_twice_at_once_both_work_on_the_same(home):
    async with (
        Keepword.open(data=home, worker=False) as first,
        Keepword.open(data=home, worker=False) as second,
    ):
        await first.conversations.put("trip")
        assert (await second.conversations.get("trip")).external_id == "trip"


async def test_it_shares_the_database_of_a_running_service(service):
    async with Keepword.open(data=service.home, worker=False) as kw, Client(service.url) as client:
        await kw.conversations.put("shared with the service", title="both see it")
        assert (await client.conversations.get("shared with the service")).title == "both see it"
    assert service.is_ready()


async def test_a_tenant_of_its_own_sees_nothing_of_others_and_needs_no_key(keyed_service):
    async with (
        Keepword.open(data=keyed_service.home, tenant="python one", worker=False) as one,
        Keepword.open(data=keyed_service.home, tenant="python two", worker=False) as two,
    ):
        await one.conversations.put("secret")
        with pytest.raises(errors.NotFound):
            await two.conversations.get("secret")


async def test_a_key_and_a_user_count_as_over_http(keyed_service):
    key = keyed_service.make_key("python keyed", "reader")
    async with Keepword.open(data=keyed_service.home, key=key, worker=False) as kw:
        with pytest.raises(errors.Forbidden, match="reader"):
            await kw.conversations.put("c")
    async with Keepword.open(data=keyed_service.home, tenant="python keyed", user="ann", worker=False) as kw:
        with pytest.raises(errors.Forbidden):
            await kw.users.put("eve")


async def test_the_background_work_goes_on_while_it_is_open(home):
    async with Keepword.open(data=home) as kw:
        await kw.users.put("ann")
        await kw.conversations.put("trip", user="ann")
        await kw.append("trip", "I prefer window seats on every flight.")
        deadline = time.monotonic() + HANG_SECONDS
        while not (
            (await kw.memories.list()).memories and (await kw.stats()).coverage["minilm-conversation-v1"]["embedded"]
        ):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("seconds", [0.05, 0.4, 0.7])
async def test_an_opening_that_is_cancelled_leaves_nothing_behind(home, seconds):
    async def open_it():
        async with Keepword.open(data=home, worker=False):
            await asyncio.sleep(60)

    before = asyncio.all_tasks()
    task = asyncio.create_task(open_it())
    await asyncio.sleep(seconds)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    assert not Cluster(home).is_running()
    with lock_data_folder(home):
        pass


async def test_the_callers_own_context_for_its_log_stays(service):
    structlog.contextvars.clear_contextvars()  # another test of this process may have left its own
    structlog.contextvars.bind_contextvars(order="4711")
    async with Keepword.open(data=service.home, worker=False) as kw:
        await kw.stats()
    assert structlog.contextvars.get_contextvars() == {"order": "4711"}
    structlog.contextvars.clear_contextvars()


def test_it_writes_nothing_to_the_programs_output(service):
    script = f"""
from keepword import Keepword
with Keepword.sync(data={str(service.home)!r}) as kw:
    print(len(kw.conversations.list().conversations) >= 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/")
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)


def test_a_program_that_wants_the_log_gets_it_from_logging(service):
    script = f"""
import logging, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(name)s %(message)s")
logging.getLogger("keepword").setLevel(logging.INFO)
from keepword import Keepword
with Keepword.sync(data={str(service.home)!r}, worker=False) as kw:
    kw.stats()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/")
    assert "keepword event='request'" in done.stdout
    assert "path='/v1/stats'" in done.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"database_url": "mysql://x"}, "postgresql://"),
        ({"database_url": "postgresql://127.0.0.1:1/none"}, "can't connect"),
        ({"colour": "red"}, "unknown setting colour"),
        ({"pool_size": 0}, "KEEPWORD_POOL_SIZE is 0 (from what the program gave)"),
        ({"data": "/proc/nowhere"}, "/proc/nowhere"),
    ],
    ids=range(5),
)
async def test_what_can_not_be_opened_is_told(given, said):
    with pytest.raises(errors.StartError) as raised:
        async with Keepword.open(**given):
            pass
    assert said in str(raised.value)


async def test_a_tenant_needs_a_name(home):
    with pytest.raises(errors.InvalidInput, match="tenant"):
        async with Keepword.open(data=home, tenant="a/b"):
            pass
