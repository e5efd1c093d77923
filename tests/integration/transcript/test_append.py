"""Appending and paging: idempotent, all or nothing, gapless, and in order whatever happens meanwhile."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

MESSAGE = {"role": "user", "content": "hello"}


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.fixture
def conversation(client):
    path = f"/v1/conversations/{uuid4().hex}"
    assert client.put(path, json={}).status_code == 201
    return path


def read_all(client, path, **query):
    """Follow `next` to the end and return the pages."""
    pages, cursor = [], None
    while True:
        params = query | ({"cursor": cursor} if cursor else {})
        page = client.get(f"{path}/messages", params=params).json()
        pages.append(page)
        cursor = page["next"]
        if cursor is None:
            return pages


def messages_of(pages):
    return [message for page in pages for message in page["messages"]]


def test_the_same_event_twice_is_stored_once_and_marked(client, conversation):
    message = MESSAGE | {"event_id": "e1", "metadata": {"a": 1, "b": [2]}}
    first = client.post(f"{conversation}/messages", json=message)
    again = client.post(f"{conversation}/messages", json=message | {"metadata": {"b": [2], "a": 1}})
    assert (first.status_code, again.status_code) == (201, 200)
    (stored,), (repeated,) = first.json()["messages"], again.json()["messages"]
    assert stored["duplicate"] is False
    assert repeated == stored | {"duplicate": True}
    assert len(messages_of(read_all(client, conversation))) == 1
    assert client.get(conversation).json()["message_count"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"content": "other"},
        {"role": "assistant"},
        {"metadata": {"a": 1}},
        {"tool_args": 0},
        {"tool_args": False},
        {"created_at": "2024-01-01T00:00:00Z"},
        {"attachments": [None]},
    ],
)
def test_the_same_event_with_other_content_conflicts(client, conversation, change):
    message = MESSAGE | {"event_id": "e1"}
    client.post(f"{conversation}/messages", json=message)
    before = read_all(client, conversation)
    refused = client.post(f"{conversation}/messages", json=[MESSAGE, message | change, MESSAGE | {"event_id": "e2"}])
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert "e1" in refused.json()["detail"]
    assert read_all(client, conversation) == before
    assert client.get(conversation).json()["message_count"] == 1


def test_an_event_belongs_to_its_conversation(client, conversation):
    other = f"/v1/conversations/{uuid4().hex}"
    client.put(other, json={})
    for path in (conversation, other):
        assert client.post(f"{path}/messages", json=MESSAGE | {"event_id": "e1", "content": path}).status_code == 201


def test_an_event_repeated_inside_a_batch_is_stored_once(client, conversation):
    one, two = MESSAGE | {"event_id": "e1"}, MESSAGE | {"event_id": "e2"}
    stored = client.post(f"{conversation}/messages", json=[one, MESSAGE, one, two, one])
    assert stored.status_code == 201
    found = stored.json()["messages"]
    assert [line["seq"] for line in found] == [1, 2, 1, 3, 1]
    assert [line["duplicate"] for line in found] == [False, False, True, False, True]
    assert len({line["id"] for line in found}) == 3
    assert len(messages_of(read_all(client, conversation))) == 3


def test_an_event_with_two_contents_inside_a_batch_conflicts(client, conversation):
    batch = [MESSAGE, MESSAGE | {"event_id": "e"}, MESSAGE | {"event_id": "e", "content": "other"}]
    assert client.post(f"{conversation}/messages", json=batch).status_code == 409
    assert messages_of(read_all(client, conversation)) == []


def test_a_batch_of_old_and_new_stores_the_new_and_answers_in_order(client, conversation):
    events = [MESSAGE | {"event_id": f"e{number}"} for number in range(6)]
    first = client.post(f"{conversation}/messages", json=events[1::2]).json()["messages"]
    mixed = client.post(f"{conversation}/messages", json=events)
    assert mixed.status_code == 201
    found = mixed.json()["messages"]
    assert [line["duplicate"] for line in found] == [False, True] * 3
    assert [line["id"] for line in found[1::2]] == [line["id"] for line in first]
    assert [line["seq"] for line in found] == [4, 1, 5, 2, 6, 3]


def test_a_bad_message_anywhere_stores_nothing_of_the_batch(client, conversation):
    for position in (0, 500, 999):
        batch = [MESSAGE | {"event_id": f"e{number}"} for number in range(1000)]
        batch[position] = batch[position] | {"user": "stranger"}
        assert client.post(f"{conversation}/messages", json=batch).status_code == 404
    assert messages_of(read_all(client, conversation)) == []


def test_a_thousand_messages_come_back_in_the_order_given(client, conversation):
    batch = [MESSAGE | {"content": str(number)} for number in range(1000)]
    found = client.post(f"{conversation}/messages", json=batch).json()["messages"]
    assert [line["seq"] for line in found] == list(range(1, 1001))
    assert all(UUID(line["id"]).version == 7 for line in found)
    pages = read_all(client, conversation, limit=200)
    assert len(pages) == 5
    assert [message["content"] for message in messages_of(pages)] == [str(number) for number in range(1000)]
    assert [message["id"] for message in messages_of(pages)] == [line["id"] for line in found]


def test_one_event_from_many_threads_is_one_row(service, client, conversation):
    def append(_):
        with service.client() as own:
            return own.post(f"{conversation}/messages", json=MESSAGE | {"event_id": "once"})

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(append, range(64)))
    assert {answer.status_code for answer in answers} == {200, 201}
    assert [answer.status_code for answer in answers].count(201) == 1
    assert len({answer.json()["messages"][0]["id"] for answer in answers}) == 1
    assert len(messages_of(read_all(client, conversation))) == 1


def test_seq_has_no_gaps_however_many_write(service, client, conversation):
    def append(number):
        size = number % 5 + 1
        bad = number % 7 == 3
        batch = [MESSAGE | {"content": f"{number}.{part}", "event_id": f"{number}.{part}"} for part in range(size)]
        if bad:
            batch.append(MESSAGE | {"user": "stranger"})
        with service.client() as own:
            answer = own.post(f"{conversation}/messages", json=batch)
        assert answer.status_code == (404 if bad else 201)
        return [] if bad else [line["seq"] for line in answer.json()["messages"]]

    with ThreadPoolExecutor(16) as threads:
        given = list(threads.map(append, range(80)))
    assert all(seqs == list(range(seqs[0], seqs[0] + len(seqs))) for seqs in given if seqs)
    stored = sorted(seq for seqs in given for seq in seqs)
    assert stored == list(range(1, len(stored) + 1))
    found = messages_of(read_all(client, conversation, limit=200))
    assert [message["seq"] for message in found] == stored
    assert client.get(conversation).json()["message_count"] == len(stored)


def test_concurrent_puts_make_one_conversation(service):
    path = f"/v1/conversations/{uuid4().hex}"

    def put(number):
        with service.client() as own:
            return own.put(path, json={"title": f"title {number}"})

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(put, range(48)))
    assert sorted(answer.status_code for answer in answers) == [200] * 47 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_put_updates_only_what_is_given(client, conversation):
    made = client.get(conversation).json()
    client.put(conversation, json={"title": "t", "settings": {"a": 1}, "channel_id": "C1"})
    found = client.put(conversation, json={"bot_identity": "b"}).json()
    assert (found["title"], found["settings"], found["channel_id"]) == ("t", {"a": 1}, "C1")
    assert (found["id"], found["created_at"]) == (made["id"], made["created_at"])
    found = client.patch(conversation, json={"title": None, "active": False}).json()
    assert (found["title"], found["active"], found["settings"]) == (None, False, {"a": 1})


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("2020-02-29T12:34:56.789012+02:00", "2020-02-29T10:34:56.789012Z"),
        ("0002-01-01T00:00:00Z", "0002-01-01T00:00:00Z"),
        ("9998-12-31T23:59:59.999999Z", "9998-12-31T23:59:59.999999Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
    ],
)
def test_a_callers_time_is_kept_to_the_microsecond(client, conversation, sent, kept):
    path, message = f"{conversation}/messages?import=true", MESSAGE | {"created_at": sent}
    (stored,) = client.post(path, json=message).json()["messages"]
    (read,) = client.get(f"{conversation}/messages").json()["messages"]
    assert stored["created_at"] == read["created_at"] == kept
    page = client.get(f"{conversation}/messages", params={"since": kept, "order": "desc"}).json()
    assert [message["id"] for message in page["messages"]] == [stored["id"]]


def test_without_a_time_it_is_now(client, conversation):
    before = datetime.now(UTC)
    (stored,) = client.post(f"{conversation}/messages", json=MESSAGE).json()["messages"]
    assert before <= datetime.fromisoformat(stored["created_at"]) <= datetime.now(UTC)


@pytest.mark.parametrize("seed", range(6))
def test_paging_either_way_gives_the_whole(client, conversation, seed):
    chance = random.Random(seed)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    times = [start + timedelta(microseconds=chance.randrange(12)) for _ in range(chance.randrange(1, 60))]
    batch = [MESSAGE | {"created_at": time.isoformat()} for time in times]
    client.post(f"{conversation}/messages", json=batch)
    expected = sorted(range(1, len(times) + 1), key=lambda seq: (times[seq - 1], seq))
    since, before = start + timedelta(microseconds=3), start + timedelta(microseconds=9)
    windows = [({}, expected), ({"since": since.isoformat()}, [s for s in expected if times[s - 1] >= since])]
    windows.append(({"before": before.isoformat()}, [s for s in expected if times[s - 1] < before]))
    both = {"since": since.isoformat(), "before": before.isoformat()}
    windows.append((both, [s for s in expected if since <= times[s - 1] < before]))
    for query, wanted in windows:
        for order in ("asc", "desc"):
            limit = chance.randrange(1, 9)
            pages = read_all(client, conversation, limit=limit, order=order, **query)
            found = [message["seq"] for message in messages_of(pages)]
            assert found == (wanted if order == "asc" else wanted[::-1])
            assert walk_back(client, conversation, pages, limit=limit, order=order, **query) == found


def walk_back(client, path, pages, **query):
    """Follow `previous` from the last page to the first; return what was seen, in the order of the first walk."""
    page = pages[-1]
    found = [message["seq"] for message in page["messages"]]
    while page["previous"]:
        page = client.get(f"{path}/messages", params=query | {"cursor": page["previous"]}).json()
        found = [message["seq"] for message in page["messages"]] + found
    return found


def test_a_cursor_stays_good_while_messages_are_appended(client, conversation):
    client.post(f"{conversation}/messages", json=[MESSAGE | {"content": str(number)} for number in range(10)])
    page = client.get(f"{conversation}/messages", params={"limit": 4}).json()
    newest = client.get(f"{conversation}/messages", params={"limit": 4, "order": "desc"}).json()
    client.post(f"{conversation}/messages", json=[MESSAGE | {"content": str(number)} for number in range(10, 20)])
    following = client.get(f"{conversation}/messages", params={"limit": 200, "cursor": page["next"]}).json()
    assert [message["seq"] for message in following["messages"]] == list(range(5, 21))
    older = client.get(
        f"{conversation}/messages", params={"limit": 4, "order": "desc", "cursor": newest["next"]}
    ).json()
    assert [message["seq"] for message in older["messages"]] == [6, 5, 4, 3]
    back = client.get(f"{conversation}/messages", params={"limit": 4, "cursor": following["previous"]}).json()
    assert [message["seq"] for message in back["messages"]] == [1, 2, 3, 4]


def test_all_conversations_are_listed_once_by_following_next(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"t-{uuid4().hex}")) as client:
        names = [f"c{number}" for number in range(23)]
        for name in names:
            client.put(f"/v1/conversations/{name}", json={})
        found, cursor = [], None
        while True:
            params = {"limit": 5} | ({"cursor": cursor} if cursor else {})
            page = client.get("/v1/conversations", params=params).json()
            found += [conversation["external_id"] for conversation in page["conversations"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert found == names
