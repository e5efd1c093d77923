"""Trying extraction over HTTP: it answers what would be kept, stores nothing, and stands wrong bodies."""

import json
import time
from uuid import uuid4

import httpx
import psycopg
import pytest

from crooked_model import crooked_model, hang, says
from keepword.postgres import migrate
from patience import HANG_SECONDS

TALK = (
    "Ben: I live in Oslo.\nAssistant: Noted.\nBen: My api key is AKIAIOSFODNN7EXAMPLE.\n"
    "Ben: Decision: we fly on 3 June."
)
PATH = "/v1/try/extraction"


def _rows(conn: psycopg.Connection) -> dict[str, int]:
    tables = conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'keepword' ORDER BY 1").fetchall()
    count = psycopg.sql.SQL("SELECT count(*) FROM keepword.{}")
    return {name: conn.execute(count.format(psycopg.sql.Identifier(name))).fetchone()[0] for (name,) in tables}


def test_a_reader_tries_a_talk_and_nothing_is_stored_or_logged(keyed_service):
    tenant = f"trial-{uuid4().hex}"
    keyed_service.make_key(tenant)
    with keyed_service.client(keyed_service.make_key(tenant, "reader", user="ann")) as reader:
        reader.get("/v1/whoami")
        with migrate.owner(keyed_service.conninfo) as owner:
            before = _rows(owner)
            answer = reader.post(PATH, json={"text": TALK})
            assert _rows(owner) == before
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert [one["text"] for one in told["memories"] if "Oslo" in one["text"]]
    assert [(one["message"], one["kind"]) for one in told["landmarks"]] == [(4, "decision")]
    assert told["messages"][2]["secrets"] == 1
    assert (told["model"], told["reason"], told["is_cut"]) == ("rules", None, False)
    assert "AKIAIOSFODNN7EXAMPLE" not in answer.text
    assert "AKIAIOSFODNN7EXAMPLE" not in keyed_service.log()
    assert "Oslo" not in keyed_service.log()


def test_what_agents_say_is_tried_as_the_tenant_s_setting_says(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"trial-{uuid4().hex}")) as owner:
        body = {"text": "Ben: Thanks!\nHelper: I've booked the hotel Astoria for 3 June.", "agent": "helper"}
        assert owner.post(PATH, json=body).json()["memories"] == []
        owner.patch("/v1/settings", json={"agents_word": True})
        (one,) = owner.post(PATH, json=body).json()["memories"]
        assert (one["said_by"], one["agent"]) == ("agent", "helper")
        assert owner.post(PATH, json=body | {"agents_word": False}).json()["memories"] == []


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "text"),
        ({"text": 7}, 422, "text"),
        ({"text": "a\0b"}, 422, "text"),
        ({"text": "x" * 65_537}, 422, "text"),
        ({"text": "x", "user": "a/b"}, 422, "user"),
        ({"text": "x", "agent": "a:b"}, 422, "agent"),
        ({"text": "x", "at": "yesterday"}, 422, "at"),
        ({"text": "x", "model": "yes"}, 422, "model"),
        ({"text": "x", "model": True}, 422, "model"),
        ({"text": "x", "conversation": "demo"}, 422, "conversation"),
    ],
)
def test_a_wrong_body_says_which_field(keyed_service, body, status, field):
    with keyed_service.client(keyed_service.make_key(f"trial-{uuid4().hex}")) as owner:
        answer = owner.post(PATH, json=body)
    assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text


def test_odd_talks_are_only_talks(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"trial-{uuid4().hex}")) as owner:
        for text in ("", " \n", ":", "a:\n" * 2_000, "\u202eann: hi", "ann:\r\n\r\n", "x" * 65_536, "😀: hi\n" * 900):
            answer = owner.post(PATH, json={"text": text})
            assert answer.status_code == 200, answer.text
        too_large = owner.post(PATH, content=b" " * (256 * 1024 + 1), headers={"Content-Type": "application/json"})
        assert too_large.status_code == 413


async def _tried(client: httpx.AsyncClient) -> dict:
    """Try the talk by rules alone; on a busy machine the first try ends before the process that reads texts runs."""
    deadline = time.monotonic() + HANG_SECONDS
    while (answer := await client.post(PATH, json={"text": TALK})).status_code == httpx.codes.SERVICE_UNAVAILABLE:
        assert time.monotonic() < deadline, answer.text
    return answer.json()


@pytest.mark.anyio
async def test_a_model_is_asked_where_one_is_wanted_and_one_that_hangs_leaves_the_rules(make_service):
    made = [{"type": "fact", "text": text, "sources": [1]} for text in ("Ben lives in Oslo.", "Ben lives in Paris.")]
    async with crooked_model(says(json.dumps({"memories": made})), hang) as model:
        service = make_service(llm_url=model.url, embedding="none", request_timeout_seconds="8").start()
        async with httpx.AsyncClient(base_url=service.url, timeout=HANG_SECONDS) as client:
            plain = await _tried(client)
            assert model.bodies == []
            first = (await client.post(PATH, json={"text": TALK, "model": True})).json()
            assert "AKIAIOSFODNN7EXAMPLE" not in json.dumps(model.bodies)
            second = (await client.post(PATH, json={"text": TALK, "model": True})).json()
    assert first["model"] == "crooked"
    assert [one["text"] for one in first["thrown_out"]] == ["Ben lives in Paris."]
    assert first["thrown_out"][0]["offending"] == ["paris"]
    assert second["reason"] == "the model took longer than 4 s"
    assert [one["text"] for one in second["memories"]] == [one["text"] for one in plain["memories"]]
