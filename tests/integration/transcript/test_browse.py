"""Browsing with filters, in every way that a page is read: a conversation, a place, the tenant."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

START = datetime(2024, 3, 1, tzinfo=UTC)
SPEAKERS = (
    {"role": "user", "user": "ann", "agent": "ada"},
    {"role": "assistant", "agent": "ada"},
    {"role": "user", "user": "bob", "agent": "ben"},
    {"role": "assistant", "agent": "ben"},
)


@pytest.fixture(scope="module")
def owner(keyed_service):
    """A tenant with a room of two users and two agents, and with a session that must not be seen from there."""
    with keyed_service.client(keyed_service.make_key(f"browse-{uuid4().hex}")) as client:
        client.put("/v1/rooms/hall", json={})
        for user, agent in (("ann", "ada"), ("bob", "ben")):
            client.put(f"/v1/users/{user}", json={})
            client.put(f"/v1/agents/{agent}", json={})
            client.put(f"/v1/rooms/hall/participants/users/{user}")
            client.put(f"/v1/rooms/hall/participants/agents/{agent}")
        client.put("/v1/conversations/talk", json={"room": "hall", "agent": "ada"})
        client.put("/v1/conversations/alone", json={"user": "ann", "agent": "ada"})
        said = [
            speaker | {"content": f"hall {number}", "created_at": (START + timedelta(hours=number)).isoformat()}
            for number, speaker in enumerate(SPEAKERS * 6)
        ]
        assert client.post("/v1/conversations/talk/messages", json=said).status_code == 201
        alone = {"role": "user", "content": "alone", "created_at": START.isoformat()}
        assert client.post("/v1/conversations/alone/messages", json=alone).status_code == 201
        yield client


WAYS = (
    ("/v1/conversations/talk/messages", {}),
    ("/v1/browse", {"conversation": "talk"}),
    ("/v1/browse", {}),
)


def read_all(client, path, query, limit=5):
    found, cursor = [], None
    while True:
        page = client.get(path, params=query | {"limit": limit} | ({"cursor": cursor} if cursor else {}))
        assert page.status_code == 200, page.text
        found += [message["content"] for message in page.json()["messages"]]
        if (cursor := page.json()["next"]) is None:
            return found


FILTERS = [
    ({"user": "ann"}, lambda n: n % 4 == 0),
    ({"agent": "ben"}, lambda n: n % 4 in {2, 3}),
    ({"role": "assistant"}, lambda n: n % 2 == 1),
    ({"agent": "ada", "role": "assistant"}, lambda n: n % 4 == 1),
    ({"user": "ann", "agent": "ben"}, lambda _: False),
    ({"user": "bob", "since": (START + timedelta(hours=7)).isoformat()}, lambda n: n % 4 == 2 and n >= 7),
]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(("asked", "fits"), FILTERS, ids=[str(asked) for asked, _ in FILTERS])
@pytest.mark.parametrize(("path", "where"), WAYS, ids=["conversation", "place", "tenant"])
def test_every_filter_holds_on_every_page(owner, path, where, asked, fits, order):
    wanted = [f"hall {number}" for number in range(24) if fits(number)]
    if not where and path == "/v1/browse" and asked == {"user": "ann"}:
        wanted.append("alone")
    found = read_all(owner, path, where | asked | {"order": order})
    assert sorted(found) == sorted(wanted)
    hall = [text for text in found if text != "alone"]
    assert hall == sorted(hall, key=lambda text: int(text.split()[1]), reverse=order == "desc")


def test_a_filter_does_not_widen_what_a_place_opens(owner):
    found = read_all(owner, "/v1/browse", {"conversation": "talk", "user": "ann"})
    assert "alone" not in found
    assert len(found) == 6


def test_a_cursor_is_a_place_in_time_whatever_is_filtered(owner):
    first = owner.get("/v1/browse", params={"conversation": "talk", "limit": 4}).json()
    following = {"conversation": "talk", "limit": 2, "cursor": first["next"], "user": "bob"}
    assert [m["content"] for m in owner.get("/v1/browse", params=following).json()["messages"]] == ["hall 6", "hall 10"]


@pytest.mark.parametrize(("path", "where"), WAYS, ids=["conversation", "place", "tenant"])
def test_windows_are_those_of_a_search(owner, path, where):
    name = f"now-{uuid4().hex}"
    owner.put(f"/v1/conversations/{name}", json={"user": "ann", "agent": "ada"})
    old = datetime.now(UTC) - timedelta(days=8)
    said = [
        {"role": "user", "content": "just now"},
        {"role": "user", "content": "last week", "created_at": old.isoformat()},
    ]
    owner.post(f"/v1/conversations/{name}/messages", json=said)
    path = path.replace("talk", name)
    where = dict.fromkeys(where, name)
    assert "just now" in read_all(owner, path, where | {"window": "last_24h", "user": "ann"})
    recent = read_all(owner, path, where | {"window": "last_7d"}, limit=50)
    assert "last week" not in recent
    assert "last week" in read_all(owner, path, where | {"window": "last_14d"}, limit=50)
    until = (datetime.now(UTC) - timedelta(days=7)).isoformat()
    assert "just now" not in read_all(owner, path, where | {"window": "last_14d", "before": until}, limit=50)


@pytest.mark.parametrize(("path", "where"), WAYS, ids=["conversation", "place", "tenant"])
@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ({"window": "someday"}, "window", "last_14d"),
        ({"window": "last_24h", "before": START.isoformat()}, "since", "is not earlier than before"),
        ({"role": "robot"}, "role", "assistant"),
        ({"agent": "no:id"}, "agent", "agent"),
        ({"user": "a/b"}, "user", "slash"),
        ({"kind": "message"}, "kind", "kind"),
    ],
    ids=str,
)
def test_what_is_no_filter_is_refused_with_its_name(owner, path, where, asked, field, said):
    answer = owner.get(path, params=where | asked)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert said in answer.json()["detail"]


def test_who_is_bound_is_told_to_name_a_conversation(keyed_service):
    key = keyed_service.make_key(f"browse-{uuid4().hex}", "agent", agent="ada")
    with keyed_service.client(key) as client:
        answer = client.get("/v1/browse", params={"user": "ann"})
    assert answer.status_code == 403
    assert "name the conversation" in answer.json()["detail"]
