"""Webhooks on a real service: a change is told to a real receiver, signed, without a word of what was said."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import pytest

from keepword.client import Client
from keepword.errors import InvalidInput
from keepword.postgres import migrate
from patience import HANG_SECONDS

WORDS = "ann keeps bees on the roof"


class Receiver:
    """A web server that keeps what it is sent, and answers as `script` says, else 204."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[dict[str, str], bytes]] = []
        self.script: deque[tuple[int, dict[str, str]]] = deque()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.deliveries.append(({name.lower(): value for name, value in self.headers.items()}, body))
                status, headers = receiver.script.popleft() if receiver.script else (204, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/hook"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def events(self) -> list[str]:
        return [json.loads(body)["event"] for _, body in self.deliveries]

    def wait_for(self, number: int) -> list[dict]:
        wait_until(lambda: len(self.deliveries) >= number)
        return [json.loads(body) for _, body in self.deliveries]


def wait_until(is_so) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def telling(make_migrated_home, service_type):
    made = service_type(make_migrated_home(), worker="true", webhooks_private="true", embedding="none").start()
    made.make_key("first")
    yield made
    made.stop()


@pytest.fixture
def owner(telling):
    with telling.client(telling.make_key(f"hooks-{uuid4().hex[:8]}")) as client:
        client.put("/v1/users/ann", json={})
        client.put("/v1/conversations/a", json={"user": "ann", "agent": "ada"})
        yield client


def add(owner, url, *events):
    answer = owner.post("/v1/webhooks", json={"url": url, "events": events, "name": "crm"})
    assert answer.status_code == 201, answer.text
    return answer.json()["webhook"]["id"], answer.json()["secret"]


def deliveries(owner, webhook):
    return owner.get(f"/v1/webhooks/{webhook}/deliveries").json()["deliveries"]


def test_a_memory_a_fact_and_a_profile_are_told_with_ids_and_no_words(owner, receiver):
    _, secret = add(owner, receiver.url, "memory", "fact", "profile")
    memory = owner.post("/v1/semantic", json={"conversation": "a", "content": WORDS, "user": "ann"}).json()
    owner.delete(f"/v1/semantic/{memory['id']}")
    owner.put("/v1/facts/user/ann/pet", json={"value": "bees"})
    profile = {"data": {"type": "memory", "attributes": {"type": "user", "memory": WORDS}}}
    profile["data"]["relationships"] = {"membership": {"data": {"type": "membership", "id": "ann"}}}
    written = owner.post("/v1/memories", json=profile, headers={"Content-Type": "application/vnd.api+json"})
    assert written.status_code == 201, written.text
    told = {event["event"]: event for event in receiver.wait_for(4)}
    assert set(told) == {"memory.added", "memory.deleted", "fact.set", "profile.written"}
    assert told["memory.added"]["ids"]["memory"] == memory["id"]
    assert told["memory.added"]["place"] == "session:a"
    assert told["fact.set"]["ids"] == {"scope_kind": "user", "scope_id": "ann", "key": "pet", "version": 1}
    for headers, body in receiver.deliveries:
        assert b"bees" not in body
        assert headers["content-type"] == "application/json"
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


def test_a_summary_is_told(owner, receiver):
    add(owner, receiver.url, "summary.made")
    stored = {"conversation_id": "a", "agent_id": "ada", "user_id": "ann", "summary": WORDS}
    assert owner.post("/episodic/store", json=stored).status_code in {200, 201}
    (event,) = receiver.wait_for(1)
    assert event["event"] == "summary.made"
    assert event["ids"]["tier"] == "stored"


def test_only_the_events_that_were_asked_for_are_told(owner, receiver):
    add(owner, receiver.url, "fact.deleted")
    owner.put("/v1/facts/user/ann/pet", json={"value": "bees"})
    owner.delete("/v1/facts/user/ann/pet")
    assert [event["event"] for event in receiver.wait_for(1)] == ["fact.deleted"]


def test_another_tenant_is_told_nothing(telling, owner, receiver):
    with telling.client(telling.make_key(f"others-{uuid4().hex[:8]}")) as other:
        webhook, _ = add(other, receiver.url, "*")
        owner.put("/v1/facts/global/-/pet", json={"value": "bees"})
        other.put("/v1/facts/global/-/car", json={"value": "none"})
        assert [event["ids"]["key"] for event in receiver.wait_for(1)] == ["car"]
        assert owner.get("/v1/webhooks").json()["webhooks"] == []
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/test")):
            assert owner.request(method, f"/v1/webhooks/{webhook}{path}").status_code == 404
        assert owner.patch(f"/v1/webhooks/{webhook}", json={"name": "mine"}).status_code == 404
        assert other.get(f"/v1/webhooks/{webhook}").json()["name"] == "crm"


def test_a_receiver_that_fails_is_asked_again_and_a_redirect_is_not_followed(owner, receiver):
    receiver.script += [(500, {}), (307, {"location": receiver.url + "/elsewhere"})]
    webhook, _ = add(owner, receiver.url, "fact")
    owner.put("/v1/facts/user/ann/pet", json={"value": "bees"})
    wait_until(lambda: deliveries(owner, webhook)[0]["error"] == "the receiver answered 500")
    first = deliveries(owner, webhook)[0]
    assert (first["attempts"], first["status"], first["delivered_at"]) == (1, 500, None)
    assert first["due_at"] is not None
    wait_until(lambda: deliveries(owner, webhook)[0]["status"] == 307)
    assert len(receiver.deliveries) == 2
    assert {headers["webhook-id"] for headers, _ in receiver.deliveries} == {first["id"]}


def test_after_the_last_attempt_the_webhook_is_stopped_and_can_be_started_again(telling, owner, receiver):
    receiver.script.append((410, {}))
    webhook, _ = add(owner, receiver.url, "fact")
    with migrate.owner(telling.conninfo) as conn:
        # as if it had failed for a day and a half
        conn.execute(
            "INSERT INTO webhook_deliveries (tenant_id, webhook_id, event, attempts) "
            "SELECT tenant_id, id, 'fact.set', 8 FROM webhooks WHERE id = %s", (webhook,)
        )  # fmt: skip
    wait_until(lambda: not owner.get(f"/v1/webhooks/{webhook}").json()["is_active"])
    shown = owner.get(f"/v1/webhooks/{webhook}").json()
    assert shown["stopped_because"] == "a delivery was given up: the receiver answered 410"
    owner.put("/v1/facts/user/ann/pet", json={"value": "bees"})
    assert owner.patch(f"/v1/webhooks/{webhook}", json={"is_active": True}).json()["stopped_because"] is None
    owner.delete("/v1/facts/user/ann/pet")
    assert [event["event"] for event in receiver.wait_for(2)] == ["fact.set", "fact.deleted"]


def test_a_test_arrives_and_a_deleted_webhook_is_told_no_more(owner, receiver):
    webhook, _ = add(owner, receiver.url, "memory")
    delivery = owner.post(f"/v1/webhooks/{webhook}/test")
    assert delivery.status_code == 201
    (event,) = receiver.wait_for(1)
    assert (event["event"], event["id"]) == ("webhook.test", delivery.json()["delivery"])
    assert owner.delete(f"/v1/webhooks/{webhook}").status_code == 204
    assert owner.delete(f"/v1/webhooks/{webhook}").status_code == 404


def test_private_addresses_are_refused_unless_a_setting_allows_them(make_service, receiver):
    made = make_service(worker="true", embedding="none").start()
    with made.client(made.make_key("first")) as owner:
        webhook, _ = add(owner, receiver.url, "fact")
        owner.put("/v1/facts/global/-/pet", json={"value": "bees"})
        wait_until(lambda: deliveries(owner, webhook)[0]["error"])
        assert "127.0.0.1, which is no public address" in deliveries(owner, webhook)[0]["error"]
    assert receiver.deliveries == []
    assert receiver.url not in made.log()


def test_a_webhook_is_the_owners_alone_and_its_secret_is_shown_once(telling, owner):
    tenant = owner.get("/v1/whoami").json()["tenant"]
    webhook, secret = add(owner, "https://example.com/hook", "*")
    assert secret.startswith("whsec_")
    assert secret not in owner.get("/v1/webhooks").text + owner.get(f"/v1/webhooks/{webhook}").text
    for key in (telling.make_key(tenant, "agent"), telling.make_key(tenant, "admin", "ada")):
        with telling.client(key) as other:
            assert other.get("/v1/webhooks").status_code == 403
            assert other.post("/v1/webhooks", json={"url": "https://e.com", "events": ["*"]}).status_code == 403
    told = owner.get("/v1/audit?action=webhook").json()["events"]
    assert [(event["action"], event["ids"]["webhook"]) for event in told] == [("webhook.made", webhook)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "ftp://example.com", "events": ["*"]}, "url"), ({"url": "https://e.com", "events": []}, "events"),
        ({"url": "https://e.com", "events": ["thought"]}, "events"), ({"url": "https://e.com"}, "events"),
        ({"url": "https://e.com", "events": ["*"], "name": "x" * 201}, "name"),
        ({"url": "https://e.com/\u0000", "events": ["*"]}, "url"),
        ({"url": "https://e.com", "events": ["*"], "secret": "mine"}, "secret"),
    ],
)  # fmt: skip
def test_what_can_not_be_told_is_refused_with_its_field(owner, body, field):
    answer = owner.post("/v1/webhooks", json=body)
    assert answer.status_code == 422
    assert field in answer.json()["detail"]


def test_python_and_the_command_line_make_the_same_calls(telling, receiver, cli):
    key = telling.make_key(f"hooks-{uuid4().hex[:8]}")
    with Client.sync(telling.url, key) as kw:
        made = kw.webhooks.add(receiver.url, ["fact"], name="crm")
        kw.webhooks.test(made.webhook.id)
        receiver.wait_for(1)
        wait_until(lambda: kw.webhooks.deliveries(made.webhook.id).deliveries[0].delivered_at)
        assert kw.webhooks.change(made.webhook.id, events=["memory", "*"]).events == ("memory", "*")
        assert kw.webhooks.get(made.webhook.id) == kw.webhooks.list().webhooks[0]
        with pytest.raises(InvalidInput, match="events"):
            kw.webhooks.add(receiver.url, ["thought"])
        shown = [json.loads(cli(telling.home, "webhooks", *words, KEY=key, URL=telling.url).stdout) for words in (
            ["list"], ["stop", str(made.webhook.id)], ["start", str(made.webhook.id)],
            ["deliveries", str(made.webhook.id)], ["add", "https://example.com/", "--event", "memory.added"],
        )]  # fmt: skip
        assert [row.get("is_active") for row in shown] == [True, False, True, None, True]
        assert shown[3]["event"] == "webhook.test"
        assert shown[4]["secret"].startswith("whsec_")
        assert cli(telling.home, "webhooks", "delete", str(made.webhook.id), KEY=key, URL=telling.url).returncode == 0
        kw.webhooks.delete(shown[4]["id"])
        assert kw.webhooks.list().webhooks == ()
