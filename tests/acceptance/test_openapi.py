"""The OpenAPI document tells the truth: schemathesis finds no 5xx and no undocumented answer."""

import json
import os
import re
import time
from uuid import uuid4

import httpx
import pytest
import schemathesis
from prometheus_client.parser import text_string_to_metric_families
from schemathesis.engine import Status, events, from_schema

from patience import HANG_SECONDS

MAX_EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "3"))


@pytest.fixture(scope="module")
def findings(service):
    """Let schemathesis try every route with all its checks; return each distinct failure, with how to repeat it."""
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    schema.config.update(request_timeout=HANG_SECONDS)  # a busy machine answers later than its own limit of 10 s
    schema.config.generation.update(max_examples=MAX_EXAMPLES)
    # what a schema can't say (printable names, times in order, who is in a room) is refused with a documented 4xx
    schema.config.checks.update(excluded_check_names=["positive_data_acceptance"])
    found, tried = {}, 0
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            found[str(event)] = repr(event)
        if isinstance(event, events.ScenarioFinished):
            tried += len(event.recorder.cases)
            for case_id, checks in event.recorder.checks.items():
                for check in checks:
                    refused = _is_too_large(check, event.recorder.interactions.get(case_id))
                    if check.status == Status.FAILURE and not _is_history(check) and not refused:
                        failure = check.failure_info.failure
                        key = (check.name, failure.operation, failure.title)
                        found.setdefault(key, f"{failure.message}\n{check.failure_info.code_sample} {case_id}")
    return found, tried


def _is_history(check) -> bool:
    """Tell whether it is only that a deleted memory still has its history, which is what a history is for."""
    return check.name == "use_after_free" and "/history" in check.failure_info.code_sample.splitlines()[-1]


def _tree(path: str) -> dict[str, str] | None:
    """Name a tree of files, and a file in it, where a route wants them."""
    if path.startswith("/v1/file/") or path == "/v1/file":
        return {"scope": "agent", "id": "helper", "path": "/memories/a.md"}
    return {"scope": "agent", "id": "helper"} if path in {"/v1/memory-tool", "/v1/search/files"} else None


def _is_too_large(check, interaction) -> bool:
    """Tell whether a body that breaks the schema was refused for its size already, which counts as no refusal there."""
    answer = getattr(interaction, "response", None)
    return check.name == "negative_data_rejection" and answer is not None and answer.status_code == 413


def test_schemathesis_finds_nothing(findings):
    found, tried = findings
    assert tried > 500
    assert not found, "\n\n".join(f"{key}: {text}" for key, text in found.items())


@pytest.fixture(scope="module")
def document(service):
    return httpx.get(f"{service.url}/openapi.json", timeout=HANG_SECONDS).json()


METHODS = {"get", "put", "post", "patch", "delete"}


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield f"{method.upper()} {path}", item[method]


# what their examples name is nowhere but in them, or there in another way
REFUSED = {
    "POST /v1/landmarks": (404, "no message"),
    # this service has no key, and its first is made on the machine
    "POST /v1/keys": (403, "keepword keys create"),
    "POST /v1/file/redact": (409, "holds now"),
}


def test_every_body_has_an_example_that_is_accepted(service, document):
    bodies = [
        (name, operation)
        for name, operation in operations(document)
        # a part of an upload is bytes
        if "application/octet-stream"
        not in operation.get("requestBody", {"content": "application/octet-stream"})["content"]
    ]
    assert len(bodies) >= 7
    values = {"external_id": uuid4().hex, "conversation_id": uuid4().hex}
    values |= {"user": "u", "slug": "a", "room": "r", "project": "p", "name": "SOUL.md"}
    values |= {"import_id": str(uuid4()), "webhook_id": str(uuid4())}
    values |= {"scope_kind": "user", "scope_id": "u", "key": uuid4().hex, "seq": "1"}
    for found in httpx.get(f"{service.url}/v1/memories?filter[membership]=u", timeout=HANG_SECONDS).json()["data"]:
        httpx.delete(service.url + found["links"]["self"], timeout=HANG_SECONDS)
    httpx.put(f"{service.url}/v1/conversations/demo", json={"agent": "helper"}, timeout=HANG_SECONDS)
    # what is made first is there to be changed; the facts are about a user, and the memory is one's
    order = ("PUT /v1/users/", "PUT", "POST", "PATCH")
    ordered = sorted(bodies, key=lambda body: [not body[0].startswith(start) for start in order])
    # the memory that is rated is made by a POST, and a room is made before it says how long it keeps messages
    for name, operation in sorted(ordered, key=lambda body: body[0].endswith(("/feedback", "/retention"))):
        method, path = name.split()
        ((media, content),) = operation["requestBody"]["content"].items()
        example = content["example"]
        if method == "PATCH" and "id" in example.get("data", {}):
            example["data"]["id"] = values["memory_id"]
        there = values | {"memory_id": values.get("semantic_id")} if path.startswith("/v1/semantic/") else values
        if path.endswith("/"):  # mem0's client
            there = {"memory_id": uuid4(), "webhook_id": uuid4()} | httpx.get(
                f"{service.url}/v1/ping/", timeout=HANG_SECONDS
            ).json()
        answer = httpx.request(
            method,
            service.url + path.format(**there),
            # a tree of files and a file in it are named in the query
            params=_tree(path),
            json=example,
            headers={"Content-Type": media},
            timeout=HANG_SECONDS,
        )
        if name in REFUSED:
            status, said = REFUSED[name]
            assert (answer.status_code, said in answer.text) == (status, True), (name, answer.text)
            continue
        if "{import_id}" in path or "{webhook_id}" in path:
            assert answer.status_code == 404, (name, answer.text)
            continue
        if path.endswith("/") and ("memory_id" in f"{path}{example}" or "webhook_id" in path):
            assert (answer.status_code, "no " in answer.text) == (404, True)
            continue
        assert answer.is_success, (name, answer.text)
        if path == "/v1/memories":
            values["memory_id"] = answer.json()["data"]["id"]
        if path == "/v1/semantic":
            values["semantic_id"] = answer.json()["id"]


def test_every_problem_is_described_as_one(document):
    assert set(document["components"]["schemas"]["Problem"]["properties"]) >= {"type", "title", "status", "detail"}
    for name, operation in operations(document):
        for status, answer in operation["responses"].items():
            if status.startswith(("4", "5")):
                kind = "application/vnd.api+json" if "/v1/memories" in name else "application/problem+json"
                kind = "application/json" if name.endswith("/") else kind
                assert list(answer["content"]) == [kind], (name, status)


def test_every_reference_in_the_document_leads_somewhere(document):
    text = json.dumps(document)
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert named
    assert named <= document["components"]["schemas"].keys()


def test_the_routes_under_v1_say_when_they_answer_401_and_503(document):
    for name, operation in operations(document):
        if " /v1/" in name:
            refused = "400" if name.endswith("/") else "422"
            assert {"401", "403", refused, "503"} <= operation["responses"].keys(), name


def test_the_metrics_are_well_formed_and_count(service):
    def count():
        text = httpx.get(f"{service.url}/metrics", timeout=HANG_SECONDS).text
        families = {family.name: family for family in text_string_to_metric_families(text)}
        assert {"keepword_requests", "keepword_request_seconds", "keepword_pool_connections"} <= families.keys()
        return sum(
            sample.value
            for sample in families["keepword_requests"].samples
            if sample.name.endswith("_total") and sample.labels["route"] == "/v1/conversations/{external_id}"
        )

    before = count()
    for _ in range(3):
        httpx.get(f"{service.url}/v1/conversations/{uuid4()}", timeout=HANG_SECONDS)
    assert count() == before + 3


def test_the_metrics_hold_no_name_of_a_callers(service):
    name = f"private-{uuid4().hex}"
    httpx.put(f"{service.url}/v1/conversations/{name}", json={}, timeout=HANG_SECONDS)
    httpx.get(f"{service.url}/{name}", timeout=HANG_SECONDS)
    assert name not in httpx.get(f"{service.url}/metrics", timeout=HANG_SECONDS).text


def test_a_request_id_is_in_the_header_the_problem_and_the_log(service):
    sent = f"mine-{uuid4().hex}"
    path = f"/v1/conversations/{uuid4().hex}"
    answer = httpx.get(service.url + path, headers={"X-Request-Id": sent}, timeout=HANG_SECONDS)
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == sent
    deadline = time.monotonic() + HANG_SECONDS
    while not (lines := [json.loads(line) for line in service.log().splitlines() if sent in line]):
        assert time.monotonic() < deadline
    (line,) = lines
    assert (line["request_id"], line["status"], line["method"], line["path"]) == (sent, 404, "GET", path)
    assert line["tenant"] == "default"
    made = {httpx.get(f"{service.url}/healthz", timeout=HANG_SECONDS).headers["x-request-id"] for _ in range(5)}
    assert len(made) == 5
