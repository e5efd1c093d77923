"""What a person says alone with an agent: nobody else is told it, in whatever way they ask; the person is."""

import time
from itertools import chain

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.anyio

SECRETS = ("92,000", "diabetes", "pregnant", "hunter2")
SAID_ALONE = ("My salary is 92,000 euros. I have diabetes. I am pregnant.", "My password is hunter2.")
SAID_IN_THE_ROOM = "I prefer window seats."
# without the words that must not come back
QUESTIONS = ("What does zoe earn?", "Is zoe well? What is her secret?", "zoe salary euros", "zoe")
MODES = ("hybrid", "words", "meaning", "trigram", "regex")
TENANT = "office"


@pytest.fixture(scope="module")
def service(service_type, make_migrated_home):
    """Return a service on which zoe said something alone, and something else in a room; all of it is remembered."""
    made = service_type(make_migrated_home(), worker="true", embedding="none").start()
    with made.client(made.make_key(TENANT)) as owner:
        for user in ("zoe", "yan"):
            owner.put(f"/v1/users/{user}", json={})
        owner.put("/v1/conversations/zoe-alone", json={"user": "zoe", "agent": "helper"})
        owner.put("/v1/conversations/zoe-later", json={"user": "zoe", "agent": "helper"})
        owner.put("/v1/rooms/office", json={})
        for who in ("users/zoe", "users/yan", "agents/helper"):
            owner.put(f"/v1/rooms/office/participants/{who}")
        owner.put("/v1/conversations/office-chat", json={"room": "office", "agent": "helper"})
        for name, text in (*(("zoe-alone", text) for text in SAID_ALONE), ("office-chat", SAID_IN_THE_ROOM)):
            message = {"role": "user", "user": "zoe", "content": text}
            assert owner.post(f"/v1/conversations/{name}/messages", json=message).status_code == 201
        wait_for(lambda: "92,000" in remembered(owner, "zoe-alone") and "seats" in remembered(owner, "office-chat"))
    yield made
    made.stop()


def remembered(client, name):
    return client.get("/v1/semantic", params={"conversation": name}).text


def wait_for(is_there, seconds=120):
    deadline = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < deadline, "it was not remembered"
        time.sleep(0.2)


def callers(service):
    """Return who else asks in the room: yan with a key of hers, the agent with its own, and a platform for yan."""
    return {
        "yan": (service.make_key(TENANT, "reader", user="yan"), {}),
        "the agent": (service.make_key(TENANT, "agent", agent="helper"), {}),
        "a platform for yan": (service.make_key(TENANT), {"Keepword-User": "yan", "Keepword-Agent": "helper"}),
    }


def ask_everything(client, name):
    """Ask in each way that there is over HTTP; return the answers by request."""
    in_place = {"conversation": name}
    for question in QUESTIONS:
        yield "compose", client.post("/v1/compose", json=in_place | {"message": question, "dry_run": True})
        for mode in MODES:
            body = in_place | {"query": question, "mode": mode, "limit": 50, "context": 3, "explain": True}
            yield f"search {mode}", client.post("/v1/search", json=body)
        yield "semantic search", client.post("/v1/search/semantic", json=in_place | {"query": question})
        for agent in ("helper", "default"):
            body = {"agent_id": agent, "user_id": "zoe", "query": question}
            yield "episodes", client.post("/episodic/search", json=body)
    accept = {"Accept": "application/vnd.api+json"}
    for query in ({"inConversation": name}, {}, {"filter[membership]": "zoe", "inConversation": name}):
        yield "profiles", client.get("/v1/memories", params=query, headers=accept)
    yield "browse", client.get("/v1/browse", params=in_place | {"limit": 200})
    yield "memories", client.get("/v1/semantic", params=in_place | {"limit": 200})
    yield "landmarks", client.get("/v1/landmarks", params=in_place)
    yield "facts", client.get("/v1/facts", params=in_place)
    yield "stats", client.get("/v1/stats", params=in_place)
    for path in ("messages", "buffer", "summaries"):
        yield path, client.get(f"/v1/conversations/{name}/{path}")
    yield "episodes of it", client.get(f"/episodic/{name}")
    yield "working memory", client.get(f"/working-memory/{name}")


def test_in_the_room_nobody_is_told_what_was_said_alone(service):
    for who, (key, headers) in callers(service).items():
        with service.client(key, **headers) as client:
            answers = [*ask_everything(client, "office-chat")]
            # the agent may speak for zoe alone, and is then told what she told it
            if who == "the agent":
                answers = [(what, answer) for what, answer in answers if what != "episodes"]
            told = {(what, words) for what, answer in answers for words in SECRETS if words in answer.text}
            assert told == set(), who
            assert {what for what, answer in answers if answer.status_code == 200} >= {
                "compose", "profiles", "browse", "memories", "messages", "search hybrid",
            }  # fmt: skip


def test_yan_gets_nothing_by_naming_zoes_session_or_zoe(service):
    key, _ = callers(service)["yan"]
    with service.client(key) as yan:
        answers = [*ask_everything(yan, "zoe-alone"), *ask_everything(yan, "zoe-later")]
        answers += [("header", yan.get("/v1/memories", headers={"Keepword-User": "zoe"}))]
        assert [what for what, answer in answers if any(words in answer.text for words in SECRETS)] == []


async def test_mcp_tells_nobody_in_the_room(service):
    for key, asked in callers(service).values():
        headers = {"Authorization": f"Bearer {key}", **asked}
        url = f"{service.url}/mcp?conversation=office-chat"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            calls = [("memory_search", {"query": question}) for question in QUESTIONS]
            calls += [("memory_browse", {}), ("memory_stats", {})]
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
        texts = [part.text for part in chain.from_iterable(result.content for result in results)]
        assert any("window seats" in text for text in texts)
        assert not any(words in text for text in texts for words in SECRETS)


def test_the_room_is_told_what_was_said_in_it_and_where_it_comes_from(service):
    with service.client(service.make_key(TENANT, "reader", user="yan")) as yan:
        body = {"conversation": "office-chat", "message": "Which seat does zoe want?", "sections": ["profile"]}
        composed = yan.post("/v1/compose", json=body).json()
        (line,) = [line for section in composed["sections"] for line in section["lines"] if line["kind"] == "profile"]
        said = yan.get("/v1/conversations/office-chat/messages").json()["messages"][0]["id"]
        assert "zoe prefers window seats" in line["text"]
        assert (line["reason"], line["links"]) == ("profile, said here", [said])
        (profile,) = yan.get("/v1/memories", params={"inConversation": "office-chat"}).json()["data"]
        assert profile["attributes"]["memory"] == "Preferences\n- zoe prefers window seats."


def test_zoe_is_told_all_of_it_where_she_is_alone(service):
    with service.client(service.make_key(TENANT, "agent", agent="helper", user="zoe")) as client:
        body = {"conversation": "zoe-later", "message": "What do you know of me?", "sections": ["profile"]}
        text = client.post("/v1/compose", json=body).json()["text"]
    assert "92,000" in text
    assert "window seats" in text


def test_what_moves_into_an_isolated_project_is_gone_at_the_next_read_without_a_worker(service, service_type):
    """Last, because it moves what the others read."""
    service.stop()
    idle = service_type(service.home, worker="false", embedding="none").start()
    try:
        with idle.client(idle.make_key(TENANT)) as owner:

            def known():
                profile = owner.get("/v1/memories", params={"inConversation": "zoe-later"}).text
                body = {"conversation": "zoe-later", "message": "?", "sections": ["profile", "facts", "recall"]}
                return [
                    words for words in SECRETS if words in profile or words in owner.post("/v1/compose", json=body).text
                ]

            assert "92,000" in known()
            owner.put("/v1/projects/sealed", json={"isolated": True})
            assert owner.put("/v1/projects/sealed/members/conversations/zoe-alone").status_code in {200, 204}
            assert known() == []
            assert owner.delete("/v1/projects/sealed/members/conversations/zoe-alone").status_code in {200, 204}
            assert "92,000" in known()
    finally:
        idle.stop()
