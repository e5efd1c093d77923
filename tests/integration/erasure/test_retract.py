"""A message that is taken back is nowhere but in the owner's transcript, and comes back whole."""

import json
import time
from uuid import uuid4

import pytest

from patience import HANG_SECONDS


@pytest.fixture(params=["postgres", "redis"])
def service_of(request, make_worker):
    found = request.getfixturevalue("keyed_service" if request.param == "postgres" else "redis_keyed_service")
    make_worker(found.home)
    return found


@pytest.fixture
def tenant():
    return f"tenant-{uuid4().hex[:8]}"


@pytest.fixture
def owner(service_of, tenant):
    with service_of.client(service_of.make_key(tenant)) as found:
        for user in ("ann", "bob"):
            found.put(f"/v1/users/{user}", json={"name": user})
        for agent in ("ada", "bix"):
            found.put(f"/v1/agents/{agent}", json={"name": agent})
        yield found


def as_agent():
    """Act as an agent does: then nothing that was retracted is shown, whoever owns the key."""
    return {"Keepword-Agent": "ada"}


def say(client, name, *contents, **more):
    body = [{"role": "user", "content": content, **more} for content in contents]
    answer = client.post(f"/v1/conversations/{name}/messages", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["messages"]


def wait_until(done):
    deadline = time.monotonic() + HANG_SECONDS
    while not (found := done()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def everything(client, name, query, **headers):
    """Return all that is told of a conversation, in every way that there is, as one text."""
    asked = {"query": query, "conversation": name, "limit": 50, "explain": True}
    every = {"importance": {"gte": 0}}
    told = [
        client.get(f"/v1/conversations/{name}/messages?limit=200", headers=headers),
        client.get(f"/v1/browse?conversation={name}&limit=200", headers=headers),
        client.get(f"/v1/conversations/{name}/buffer?limit=50", headers=headers),
        client.get(f"/v1/conversations/{name}/summaries", headers=headers),
        client.get(f"/v1/landmarks?conversation={name}", headers=headers),
        client.get(f"/v1/semantic?conversation={name}", headers=headers),
        client.post("/v1/query/semantic", json={"filters": every, "conversation": name}, headers=headers),
        client.get(f"/v1/facts?conversation={name}", headers=headers),
        client.get(f"/v1/memories?inConversation={name}", headers=headers),
        client.get(f"/working-memory/{name}", headers=headers),
        client.get(f"/ledger/{name}", headers=headers),
        client.post("/v1/compose", json={"conversation": name, "message": "what do you know?"}, headers=headers),
        *(
            client.post("/v1/search", json=asked | {"mode": mode, "query": query}, headers=headers)
            for mode in ("hybrid", "words", "meaning", "trigram", "regex")
        ),
    ]  # fmt: skip
    assert [answer.text for answer in told if answer.status_code != 200] == []
    return "\n".join(json.dumps(hits(answer.json()), ensure_ascii=False) for answer in told)


def hits(answer):
    """Leave out what was asked for."""
    return {name: value for name, value in answer.items() if name not in {"query", "searched", "messages_sent"}}


SECRET = "Decision: I live in Xylophone Street."


def test_a_retracted_message_is_nowhere_but_in_the_owners_transcript_and_comes_back(owner):
    name = f"desk-{uuid4().hex[:8]}"
    owner.put(f"/v1/conversations/{name}", json={"user": "ann", "agent": "ada"})
    message = say(owner, name, "I like tea with milk.", SECRET, "I am allergic to walnuts.")[1]
    path = f"/v1/conversations/{name}/messages/2"
    pin = {"message": message["id"], "kind": "pin", "text": SECRET}
    kept = [
        owner.put(
            f"/v1/facts/user/ann/code?conversation={name}",
            json={"value": "Xylophone Street", "source": message["id"]},
        ),
        owner.post("/v1/landmarks", json=pin | {"conversation": name}),
        owner.put(f"/working-memory/{name}", json={"data": {"note": f"she said: {SECRET}", "kept": "tea"}}),
        owner.post(f"/ledger/{name}/mark", json={"item_key": "seen", "value": SECRET}),
    ]
    assert [answer.text for answer in kept if answer.status_code not in {200, 201, 204}] == []
    owner.patch(f"/v1/conversations/{name}", json={"active": False})

    def told():
        return everything(owner, name, "xylophone street", **as_agent())

    def derived(word):
        summaries = owner.get(f"/v1/conversations/{name}/summaries").text
        semantic = owner.get(f"/v1/semantic?conversation={name}").text
        return (word in summaries, word in semantic)

    wait_until(lambda: derived("Xylophone") == (True, True))
    # twice: so that the scope is cached in the service
    assert all("Xylophone" in told() for _ in range(3))
    for _ in range(2):
        done = owner.post(f"{path}/retract", json={"reason": "sent by mistake"})
        assert done.status_code == 200, done.text
        assert (done.json()["id"], done.json()["seq"]) == (message["id"], 2)
    assert "Xylophone" not in told()
    assert "Xylophone" not in everything(owner, name, "xylophone street", **as_agent())
    assert owner.get(f"/working-memory/{name}").json() == {"kept": "tea"}
    (one,) = [
        found
        for found in owner.get(f"/v1/conversations/{name}/messages").json()["messages"]
        if found["retracted"] is not None
    ]
    assert one["content"] == SECRET
    assert one["retracted"]["reason"] == "sent by mistake"
    assert one["retracted"]["by"]
    assert len(owner.get(f"/v1/conversations/{name}/messages?retracted=false").json()["messages"]) == 2
    # what others had a part in is made again without it
    wait_until(lambda: "tea with milk" in owner.get(f"/v1/conversations/{name}/summaries").text)
    assert "Xylophone" not in told()
    assert owner.delete(f"{path}/retract").status_code == 204
    assert owner.delete(f"{path}/retract").status_code == 204
    assert "Xylophone" in owner.get(f"/v1/conversations/{name}/messages", headers=as_agent()).text
    assert "Xylophone" in owner.get(f"/v1/conversations/{name}/buffer", headers=as_agent()).text
    found = owner.post("/v1/search", json={"query": "xylophone street", "conversation": name}).json()["results"]
    assert {"message", "landmark"} <= {hit["kind"] for hit in found}
    assert owner.get(f"/v1/facts/user/ann/code?conversation={name}").json()["value"] == "Xylophone Street"
    wait_until(lambda: derived("Xylophone") == (True, True))


def test_what_a_retracted_message_had_replaced_is_true_again(owner):
    owner.put("/v1/conversations/moved", json={"user": "ann", "agent": "ada"})
    say(owner, "moved", "I live in Rome.")

    def known():
        return [one["content"] for one in owner.get("/v1/semantic?conversation=moved").json()["memories"]]

    wait_until(lambda: any("Rome" in one for one in known()))
    say(owner, "moved", "I live in Paris.")
    wait_until(lambda: any("Paris" in one for one in known()) and not any("Rome" in one for one in known()))
    assert owner.post("/v1/conversations/moved/messages/2/retract").status_code == 200
    assert [one for one in known() if "Rome" in one]
    assert not [one for one in known() if "Paris" in one]
    found = owner.post("/v1/search", json={"query": "live", "conversation": "moved", "kinds": ["memory"]}).json()
    assert [hit["text"] for hit in found["results"]]
    assert not [hit for hit in found["results"] if "Paris" in hit["text"]]


def test_a_retry_of_a_retracted_message_does_not_bring_it_back(owner):
    owner.put("/v1/conversations/again", json={"user": "ann", "agent": "ada"})
    (first,) = say(owner, "again", "the word is kumquat", event_id="e-1")
    owner.post("/v1/conversations/again/messages/1/retract")
    body = {"role": "user", "content": "the word is kumquat", "event_id": "e-1"}
    again = owner.post("/v1/conversations/again/messages", json=body)
    assert (again.status_code, again.json()["messages"][0]["id"]) == (200, first["id"])
    assert owner.get("/v1/conversations/again/messages", headers=as_agent()).json()["messages"] == []


def test_a_conversation_whose_messages_are_all_retracted_goes_on(owner):
    owner.put("/v1/conversations/emptied", json={"user": "ann", "agent": "ada"})
    say(owner, "emptied", "I play the oboe.", "I play chess.")
    for seq in (1, 2):
        assert owner.post(f"/v1/conversations/emptied/messages/{seq}/retract").status_code == 200
    owner.patch("/v1/conversations/emptied", json={"active": False})
    wait_until(lambda: owner.get("/v1/stats?conversation=emptied").status_code == 200)
    say(owner, "emptied", "I live in Oslo.")
    wait_until(lambda: "Oslo" in owner.get("/v1/conversations/emptied/summaries").text)
    assert "oboe" not in everything(owner, "emptied", "oboe", **as_agent())


def test_in_a_room_each_takes_back_their_own_and_an_admin_everybodys(service_of, tenant, owner):
    owner.put("/v1/rooms/hall", json={"name": "hall"})
    for user in ("ann", "bob"):
        owner.put(f"/v1/rooms/hall/participants/users/{user}")
    owner.put("/v1/rooms/hall/participants/agents/ada")
    owner.put("/v1/conversations/in-hall", json={"room": "hall", "agent": "ada"})
    for user in ("ann", "bob"):
        say(owner, "in-hall", f"{user} was here", user=user)
    owner.post("/v1/conversations/in-hall/messages", json={"role": "assistant", "content": "welcome", "agent": "ada"})
    path = "/v1/conversations/in-hall/messages/{}/retract"
    with service_of.client(service_of.make_key(tenant, "agent", user="ann")) as ann:
        refused = ann.post(path.format(2))
        assert (refused.status_code, "another" in refused.text) == (403, True)
        assert ann.post(path.format(3)).status_code == 403
        assert ann.post(path.format(1)).status_code == 200
        assert ann.delete(path.format(1)).status_code == 204
    with service_of.client(service_of.make_key(tenant, "agent", agent="ada")) as ada:
        assert ada.post(path.format(1)).status_code == 403
        assert ada.post(path.format(3)).status_code == 200
    with service_of.client(service_of.make_key(tenant, "reader", user="ann")) as reader:
        assert reader.post(path.format(1)).status_code == 403
    assert owner.post(path.format(2)).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("none/messages/1/retract", None, 404), ("one/messages/9/retract", None, 404),
        ("one/messages/0/retract", None, 422), ("one/messages/x/retract", None, 422),
        ("one/messages/1/retract", {"reason": "x" * 501}, 422), ("one/messages/1/retract", {"why": "x"}, 422),
    ],
)  # fmt: skip
def test_bad_retractions_say_what_is_wrong(owner, path, body, status):
    owner.put("/v1/conversations/one", json={"user": "ann", "agent": "ada"})
    say(owner, "one", "here")
    answer = owner.post(f"/v1/conversations/{path}", json=body) if body else owner.post(f"/v1/conversations/{path}")
    assert answer.status_code == status, answer.text
