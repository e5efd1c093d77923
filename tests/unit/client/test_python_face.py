"""The Python face promises what the API has: every call, parameter and field, and the same without await."""

import dataclasses
import inspect
import re
import subprocess
import sys
import typing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest
from typing_extensions import is_typeddict

import keepword
from keepword import Client, answers, errors
from keepword.client import synchronous
from keepword.client.base import BaseClient
from keepword.client.transport import HttpTransport, base_url
from keepword.http.app import create_app

PAGE = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
NOW = datetime(2024, 5, 1, tzinfo=UTC)
VALUES = {
    "attachments": ["a"], "metadata": {"a": 1}, "settings": {"a": 1}, "sources": [uuid4()], "kinds": ["message"],
    "types": ["fact"], "run_ids": ["room:a"], "sections": ["facts"], "fields": {"a": 1}, "limit": 1, "version": 1,
    "since": NOW, "before": NOW, "as_of": NOW, "created_at": NOW,
    "path": __file__, "import_id": uuid4(), "map": {"U1": "ann"},
    "filter": {"a": 1}, "value": {"a": 1}, "ops": [{"op": "get"}],
}  # fmt: skip
GROUPS = (
    "conversations", "users", "agents", "rooms", "projects", "facts", "memories", "summaries", "landmarks", "working",
    "ledger", "audit", "webhooks", "turns", "keys", "jobs", "imports", "items", "files",
)  # fmt: skip


class Sent(Exception):
    pass


class Recorder(HttpTransport):
    """Tells what would be sent, and as what the answer would be read."""

    async def call(self, shape, method, path, **sent):
        raise Sent(shape, method, path, sent)

    async def do(self, method, path, **sent):
        raise Sent(None, method, path, sent)

    async def text(self, method, path, **sent):
        raise Sent(str, method, path, sent)


def calls_of(group):
    return {
        name: found
        for name, found in inspect.getmembers(type(group), inspect.iscoroutinefunction)
        if not name.startswith("_")
    }


def all_calls():
    face = BaseClient(Recorder(None, "", {}))
    for name in calls_of(face):
        yield name, getattr(face, name)
    for group in GROUPS:
        for name in calls_of(getattr(face, group)):
            yield f"{group}.{name}", getattr(getattr(face, group), name)


async def recorded(call):
    named = inspect.signature(call).parameters
    kwargs = {name: VALUES.get(name, "x") for name in named}
    if "messages" in kwargs:
        kwargs["messages"] = []
    try:
        await call(**kwargs)
    except Sent as sent:
        return sent.args
    raise AssertionError("nothing was sent")


@pytest.fixture(scope="module")
def document():
    return create_app(SimpleNamespace(request_timeout_seconds=1)).openapi()


def operation(document, method, path):
    for template, found in document["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) and method.lower() in found:
            return found[method.lower()]
    raise AssertionError(f"no route {method} {path}")


def schema_of(document, schema):
    if "$ref" in schema:
        return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


# what the OpenAI SDK's answers have beside the rest; `append_all` sends these as they are
OF_AN_SDK = {"refusal", "annotations", "audio", "function_call"}
# `pin` sends the message's number in place of its id
NOT_SENT = {"append": OF_AN_SDK, "landmarks.pin": {"seq"}}
# `request` makes any; a command of `files` is one of six shapes
CALLS = {name: call for name, call in all_calls() if name not in {"request", "files.command"}}
# `files.of` says which tree
OF_A_TREE = {"scope", "id", "agent", "conversation"}


@pytest.mark.anyio
@pytest.mark.parametrize("name", CALLS)
async def test_a_call_can_give_every_parameter_of_its_route(document, name):
    _, method, path, sent = await recorded(CALLS[name])
    found = operation(document, method, path)
    parameters = {one["name"]: one["in"] for one in found.get("parameters", ())}
    if name == "append":  # `append_all` imports
        parameters.pop("import")
    asked = {name for name, where in parameters.items() if where == "query"}
    assert asked - (OF_A_TREE if name.startswith("files.") else set()) == set(sent.get("query") or {})
    headers = {name for name, where in parameters.items() if where == "header"}
    if name != "facts.set":  # its body says the same
        assert headers == ({"if-match"} if sent.get("version") else set())
    if name in {"append_all", "working.clear"}:
        return  # `append` and `working.delete` say the rest
    body = sent.get("body")
    body = body[0] if isinstance(body, list) else body
    if "requestBody" in found:
        schema = found["requestBody"]["content"]["application/json"]["schema"]
        known = schema_of(document, schema["oneOf"][0] if "oneOf" in schema else schema)["properties"]
        assert set(body) == set(known) - NOT_SENT.get(name, set())
    else:
        assert body is None


@pytest.mark.anyio
@pytest.mark.parametrize("name", CALLS)
async def test_an_answer_has_every_field_of_its_route(document, name):
    shape, method, path, _ = await recorded(CALLS[name])
    found = operation(document, method, path)["responses"]
    if shape is None:
        assert "204" in found
        return
    content = found["201" if "200" not in found else "200"]["content"]
    if shape is str:
        assert content["application/x-ndjson"]["schema"] == {"type": "string"}
        return
    schema = content["application/json"]["schema"]
    if typing.get_origin(shape) is dict:
        return  # as many fields as somebody put there
    assert_same(document, shape, schema)


def assert_same(document, shape, schema, above=()):
    """Compare a value type with a schema, and what is inside them."""
    schema = schema_of(document, schema)
    if shape in above:
        return  # a tree: of the same all the way down
    if dataclasses.is_dataclass(shape) or is_typeddict(shape):
        above = (*above, shape)
        hints = typing.get_type_hints(shape)
        assert set(hints) == set(schema["properties"]), shape
        for field, hint in hints.items():
            assert_same(document, hint, schema["properties"][field], above)
    elif typing.get_origin(shape) in {tuple, list}:
        assert_same(document, typing.get_args(shape)[0], schema.get("items", {}), above)
    elif typing.get_origin(shape) is dict:
        inside = schema.get("additionalProperties", {})
        assert_same(document, typing.get_args(shape)[1], {} if inside is True else inside, above)
    elif (inner := [kind for kind in typing.get_args(shape) if dataclasses.is_dataclass(kind)]) and "anyOf" in schema:
        assert_same(document, inner[0], schema["anyOf"][0], above)
    elif typing.get_origin(shape) is typing.Literal and "enum" in schema:
        assert set(typing.get_args(shape)) == set(schema["enum"])


def test_without_await_there_is_every_call_with_the_same_signature():
    face = BaseClient(Recorder(None, "", {}))
    blocked = synchronous.SyncClient(None, face)
    for one, other in [(face, blocked), *((getattr(face, group), getattr(blocked, group)) for group in GROUPS)]:
        calls = calls_of(one)
        assert calls
        for name, call in calls.items():
            assert inspect.signature(getattr(type(other), name)) == inspect.signature(call)
            assert not inspect.iscoroutinefunction(getattr(type(other), name))
    assert set(GROUPS) == {name for name in vars(face) if not name.startswith("_")}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_and_parameter_is_in_the_documentation(name):
    group, _, call = name.rpartition(".")
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{group + '.' if group else name + '('}"))
    assert f"{'.' if group else ''}{call}" in row
    shown = re.search(rf"`{re.escape(name)}\(([^`]*)\)`", row)
    if shown and name != "append_all":
        named = set(re.findall(r"\w+", re.sub('"rooms" or "conversations"', "kind", shown[1])))
        assert named == set(inspect.signature(CALLS[name]).parameters)


def test_importing_the_face_loads_no_part_of_the_service():
    script = (
        "import sys; from keepword import Client, Keepword; Client('http://127.0.0.1:1');"
        "print(*{'fastapi', 'psycopg', 'numpy', 'onnxruntime', 'keepword.main', 'keepword.config'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Keepwrod"):
        keepword.Keepwrod  # noqa: B018


@pytest.mark.parametrize("url", ["localhost:8002", "127.0.0.1", "", "ftp://x", "http://", "http:///v1"])
def test_what_is_no_address_is_refused_at_once(url):
    with pytest.raises(errors.InvalidInput, match=re.escape("http://127.0.0.1:8002")) as raised:
        Client(url)
    assert raised.value.field == "url"


def test_a_slash_at_the_end_of_an_address_does_not_matter():
    assert base_url("http://a:1/") == "http://a:1"


def answering(**answer):
    http = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(**answer)), base_url="http://service:1"
    )
    return BaseClient(HttpTransport(http, "http://service:1", {}))


PROBLEM = {"content-type": "application/problem+json"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ({"status_code": 404, "html": "<h1>nginx</h1>"}, errors.BadAnswer, "url of a Keepword"),
        ({"status_code": 404, "json": {"detail": "Not Found"}}, errors.BadAnswer, "http://service:1 answered 404"),
        ({"status_code": 302, "headers": {"location": "https://login"}}, errors.BadAnswer, "https://login"),
        ({"status_code": 200, "html": "<h1>hello</h1>"}, errors.BadAnswer, "can't be read"),
        ({"status_code": 200, "json": {"alerts": []}}, errors.BadAnswer, "queues"),
        ({"status_code": 500, "headers": PROBLEM, "json": {"detail": "its log"}}, errors.BadAnswer, "its log"),
        ({"status_code": 500, "headers": PROBLEM, "content": b"{"}, errors.BadAnswer, "500"),
        ({"status_code": 503, "headers": PROBLEM, "json": {"detail": "away"}}, errors.Unavailable, "away"),
    ],
    ids=range(8),
)
async def test_what_is_no_answer_of_keepwords_is_told(answer, error, said):
    with pytest.raises(error, match=re.escape(said)):
        await answering(**answer).stats()


@pytest.mark.anyio
async def test_when_to_come_back_is_kept():
    headers = PROBLEM | {"Retry-After": "7"}
    with pytest.raises(errors.Unavailable) as raised:
        await answering(status_code=503, headers=headers, json={"detail": "away"}).stats()
    assert raised.value.retry_after_seconds == 7


@pytest.mark.anyio
async def test_more_fields_of_a_newer_service_are_no_error():
    newer = {"alerts": [], "queues": {}, "compaction": {}, "coverage": {}, "census": {}, "weather": "fine"}
    assert await answering(status_code=200, json=newer).stats() == answers.Stats((), {}, {}, {}, {})


@pytest.mark.anyio
async def test_a_service_that_is_down_is_told_with_what_to_do(find_port):
    async with Client(f"http://127.0.0.1:{find_port()}") as kw:
        with pytest.raises(errors.Unavailable, match="keepword serve"):
            await kw.stats()


@pytest.mark.anyio
async def test_a_service_that_does_not_answer_in_time_is_told():
    def wait(_):
        raise httpx.ReadTimeout("")

    http = httpx.AsyncClient(transport=httpx.MockTransport(wait), base_url="http://service:1")
    with pytest.raises(errors.Unavailable, match="http://service:1 did not answer GET /v1/stats in time"):
        await BaseClient(HttpTransport(http, "http://service:1", {})).stats()
