"""Deliveries: signed so that a receiver can check them, retried with growing pauses, and given up in the end."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from keepword.errors import InvalidInput, Unavailable
from keepword.webhooks.deliver import PAUSES, Deliverer, payload
from keepword.webhooks.events import EVENTS, check_events, check_url, new_secret
from keepword.webhooks.ports import ClaimedDelivery
from keepword.webhooks.sender import HttpSender, is_public
from keepword.webhooks.signature import sign

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
DELIVERY = ClaimedDelivery(
    UUID(int=1), "bakery", UUID(int=2), UUID(int=3), "https://example.com/hook", new_secret(), "memory.added",
    "session:a", {"memory": str(UUID(int=4)), "version": 1}, NOW, 1,
)  # fmt: skip


@dataclass
class FakeQueue:
    due: list[ClaimedDelivery]
    outcomes: list = field(default_factory=list)

    async def claim(self, most, *_):
        claimed, self.due = self.due[:most], self.due[most:]
        return claimed

    async def finish(self, _, outcome):
        self.outcomes.append(outcome)


@dataclass
class FakeSender:
    status: int | Exception
    sent: list = field(default_factory=list)

    async def send(self, url, headers, body):
        self.sent.append((url, headers, body))
        if isinstance(self.status, Exception):
            raise self.status
        return self.status


async def deliver(status, **changes):
    queue, sender = FakeQueue([replace(DELIVERY, **changes)]), FakeSender(status)
    assert await Deliverer(queue, sender, lambda: NOW).deliver_due() == 1
    return queue.outcomes[0], sender.sent[0]


def test_a_signature_is_that_of_the_standard_webhooks_specification():
    # the example of the specification's own reference libraries
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


async def test_a_receiver_can_check_what_it_gets():
    _, (url, headers, body) = await deliver(200)
    assert url == DELIVERY.url
    key = base64.b64decode(DELIVERY.secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))


def test_a_delivery_tells_ids_and_its_own_id():
    assert json.loads(payload(DELIVERY)) == {
        "id": str(UUID(int=2)), "event": "memory.added", "at": NOW.isoformat(), "tenant": "bakery",
        "place": "session:a", "ids": {"memory": str(UUID(int=4)), "version": 1},
    }  # fmt: skip


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_an_answer_of_success_ends_a_delivery(status):
    outcome, _ = await deliver(status)
    assert (outcome.status, outcome.error, outcome.retry_in) == (status, None, None)


@pytest.mark.parametrize("status", [301, 308, 400, 410, 500, 503])
async def test_any_other_answer_is_tried_again(status):
    outcome, _ = await deliver(status)
    assert (outcome.status, outcome.error) == (status, f"the receiver answered {status}")
    assert outcome.retry_in == PAUSES[0]


async def test_pauses_grow_and_the_last_attempt_gives_up():
    pauses = [(await deliver(500, attempts=number))[0].retry_in for number in range(1, len(PAUSES) + 2)]
    assert pauses == [*PAUSES, None]
    assert list(PAUSES) == sorted(PAUSES)
    assert timedelta(days=1) < sum(PAUSES, timedelta()) < timedelta(days=2)


async def test_no_answer_is_told_without_the_address():
    outcome, _ = await deliver(Unavailable("the receiver can't be reached: ConnectError" + "x" * 999))
    assert outcome.error.startswith("the receiver can't be reached")
    assert len(outcome.error) == 300
    assert outcome.retry_in == PAUSES[0]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.1.1", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("255.255.255.255", False), ("::1", False), ("::", False), ("fe80::1%eth0", False), ("fd00::1", False),
        ("ff02::1", False),
        # a private address inside another
        ("::ffff:127.0.0.1", False), ("::ffff:8.8.8.8", True), ("64:ff9b::7f00:1", False), ("64:ff9b::808:808", True),
        ("2002:7f00:1::", False), ("2002:a00:1::1", False),
    ],
)  # fmt: skip
def test_only_public_addresses_are_public(address, public):
    assert is_public(address) is public


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/", "http://0x7f000001:1/"]
)
async def test_an_address_that_is_not_public_is_refused_before_anything_is_sent(url):
    async with HttpSender() as sender:
        with pytest.raises(Unavailable, match=r"no public address|has no address|KEEPWORD_WEBHOOKS_PRIVATE"):
            await sender.send(url, {}, b"{}")


@pytest.mark.parametrize(
    "url",
    [
        "", "example.com", "ftp://example.com", "http://", "https:///x", "http://a b", "http://[::1", "javascript:x",
        "http://user:word@example.com/", "http://example.com/\n", "http://exämple.com/", "http://example.com:99999/",
        "http://example.com/" + "x" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_web_server_is_refused(url):
    with pytest.raises(InvalidInput, match="url"):
        check_url(url)


def test_events_are_those_that_there_are_their_kinds_and_all():
    assert check_events(["memory", "memory", "fact.set", "*"]) == ("memory", "fact.set", "*")
    assert check_events(EVENTS) == EVENTS
    with pytest.raises(InvalidInput, match=r"'memory\.thought' is none of memory\.added"):
        check_events(["memory.thought"])
