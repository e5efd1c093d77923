"""A page ends by its bytes as well, and the next one goes on where it stopped."""

import pytest

SIZE = 1_000_000
COUNT = 20
MOST_BYTES = 10 * 2**20  # 8 MiB, the message that passes them, and its JSON


@pytest.fixture(scope="module")
def talk(service):
    with service.client() as client:
        client.put("/v1/conversations/pages", json={}).raise_for_status()
        texts = [f"{number} " + "x" * SIZE for number in range(COUNT)]
        for start in range(0, COUNT, 5):
            said = [{"role": "user", "content": text} for text in texts[start : start + 5]]
            client.post("/v1/conversations/pages/messages", json=said).raise_for_status()
        yield client


def walk(client, path: str, way: str, **query) -> list[list[str]]:
    """Follow a page's cursor to the end; return each page's numbers."""
    pages, cursor = [], None
    while True:
        answer = client.get(path, params=query | ({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200
        assert len(answer.content) < MOST_BYTES
        page = answer.json()
        pages.append([message["content"].split()[0] for message in page["messages"]])
        cursor = page[way]
        if cursor is None:
            return pages


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("path", ["/v1/conversations/pages/messages", "/v1/browse?conversation=pages"])
def test_every_message_is_on_one_page_and_no_page_is_larger_than_eight_mebibytes(talk, path, order):
    query = {"limit": 200, "order": order} | ({"conversation": "pages"} if "browse" in path else {})
    pages = walk(talk, path.partition("?")[0], "next", **query)
    expected = [str(number) for number in range(COUNT)]
    assert [number for page in pages for number in page] == (expected if order == "asc" else expected[::-1])
    assert len(pages) > 1


def test_pages_lead_back_as_well(talk):
    path = "/v1/conversations/pages/messages"
    first = talk.get(path, params={"limit": 200}).json()
    second = talk.get(path, params={"limit": 200, "cursor": first["next"]}).json()
    back = talk.get(path, params={"limit": 200, "cursor": second["previous"]}).json()
    assert [message["id"] for message in back["messages"]] == [message["id"] for message in first["messages"]]


def test_what_a_tool_was_given_and_answered_counts_for_the_page(service):
    parts = dict.fromkeys(("content", "tool_result"), "y" * (2**20 - 100))
    large = {"role": "assistant", "tool_name": "t", "tool_args": "z" * (2**20 - 100), **parts}
    with service.client() as client:
        client.put("/v1/conversations/huge", json={}).raise_for_status()
        for _ in range(2):  # a body has at most 8 MiB
            client.post("/v1/conversations/huge/messages", json=[large] * 2).raise_for_status()
        page = client.get("/v1/conversations/huge/messages", params={"limit": 200}).json()
        assert len(page["messages"]) == 3
        rest = client.get("/v1/conversations/huge/messages", params={"limit": 200, "cursor": page["next"]}).json()
        assert len(rest["messages"]) == 1
        assert rest["next"] is None


def test_a_buffer_shows_the_newest_that_fit(talk):
    shown = talk.get("/v1/conversations/pages/buffer", params={"limit": 50})
    assert len(shown.content) < MOST_BYTES
    numbers = [int(message["text"].split()[0]) for message in shown.json()["messages"]]
    assert numbers == list(range(COUNT))[-len(numbers) :]


def test_facts_go_on_where_the_page_ended(service):
    with service.client() as client:
        for number in range(140):
            value = {"value": "v" * 65_000}
            client.put(f"/v1/facts/global/-/large{number:03}", json=value).raise_for_status()
        keys, cursor = [], None
        while True:
            query = {"limit": 200} | ({"cursor": cursor} if cursor else {})
            answer = client.get("/v1/facts/global/-", params=query)
            assert len(answer.content) < MOST_BYTES
            keys += [fact["key"] for fact in answer.json()["facts"] if fact["key"].startswith("large")]
            cursor = answer.json()["next"]
            if cursor is None:
                break
        assert keys == [f"large{number:03}" for number in range(140)]


def test_a_list_of_conversations_with_large_settings_ends_by_its_bytes(keyed_service):
    names = [f"wide-{number:03}" for number in range(160)]
    with keyed_service.client(keyed_service.make_key("wide")) as client:
        for name in names:
            client.put(f"/v1/conversations/{name}", json={"settings": {"note": "s" * 60_000}}).raise_for_status()
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            query = {"limit": 200} | ({"cursor": cursor} if cursor else {})
            answer = client.get("/v1/conversations", params=query)
            assert len(answer.content) < MOST_BYTES
            found += [one["external_id"] for one in answer.json()["conversations"]]
            cursor, pages = answer.json()["next"], pages + 1
    assert found == names
    assert pages == 2


def test_versions_of_a_large_file_end_by_their_bytes(keyed_service):
    with keyed_service.client(keyed_service.make_key("versions")) as client:
        client.put("/v1/agents/ada", json={}).raise_for_status()
        for number in range(40):
            content = f"{number} " + "v" * 250_000
            client.put("/v1/agents/ada/files/SOUL.md", json={"content": content}).raise_for_status()
        path, query, found, pages = "/v1/agents/ada/files/SOUL.md/history", {}, [], 0
        while pages == 0 or query.get("cursor"):
            answer = client.get(path, params=query)
            assert len(answer.content) < MOST_BYTES
            found += [one["version"] for one in answer.json()["versions"]]
            following = answer.json()["next"]
            query, pages = ({"cursor": following} if following else {}), pages + 1
        assert client.get(path, params={"limit": 2}).json()["next"] == "39"
    assert found == list(range(40, 0, -1))
    assert pages == 2


def test_an_agent_s_files_end_by_bytes_as_well(service):
    with service.client() as client:
        client.put("/v1/agents/archivist", json={}).raise_for_status()
        names = [f"{number:02}.md" for number in range(40)]
        for name in names:
            client.put(f"/v1/agents/archivist/files/{name}", json={"content": "x" * 250_000}).raise_for_status()
        seen, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            answer = client.get("/v1/agents/archivist/files", params={"cursor": cursor} if cursor else {})
            assert len(answer.content) < MOST_BYTES
            seen += [file["name"] for file in answer.json()["files"]]
            cursor, pages = answer.json()["next"], pages + 1
        assert (seen, pages) == (names, 2)
        assert client.get("/v1/agents/archivist/files?cursor=%00").status_code == 422


@pytest.mark.parametrize("size", [200, 7])
def test_profiles_end_by_bytes_as_well(keyed_service, size):
    tenant, count = f"profiles-{size}", 24
    api = {"Content-Type": "application/vnd.api+json", "Accept": "application/vnd.api+json"}
    with keyed_service.client(keyed_service.make_key(tenant, "admin")) as client:
        for number in range(count):
            client.put(f"/v1/users/u{number}", json={}).raise_for_status()
            member = {"membership": {"data": {"type": "membership", "id": f"u{number}"}}}
            data = {"type": "memory", "attributes": {"type": "user", "memory": f"{number} " + "y" * 1_000_000}}
            made = client.post("/v1/memories", json={"data": data | {"relationships": member}}, headers=api)
            assert made.status_code == 201, made.text
        seen, path = [], f"/v1/memories?page[size]={size}"
        while path:
            answer = client.get(path, headers=api)
            assert answer.status_code == 200, answer.text
            assert len(answer.content) < MOST_BYTES
            seen += [one["attributes"]["memory"].split()[0] for one in answer.json()["data"]]
            path = answer.json()["links"]["next"]
    assert sorted(map(int, seen)) == list(range(count))
