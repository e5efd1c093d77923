"""Items over HTTP: LangGraph's routes, what they find, how long it lives, whose it is, and what is refused."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from uuid import uuid4

import pytest

from keepword.items.operations import MAX_VALUE_BYTES
from keepword.postgres import migrate
from patience import HANG_SECONDS

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def house(keyed_service):
    """A tenant with two agents and two people, who know each other but for bix and bob."""
    tenant = f"items-{uuid4().hex}"
    owner = keyed_service.client(keyed_service.make_key(tenant))
    for user in ("ann", "bob"):
        owner.put(f"/v1/users/{user}", json={})
    for agent in ("ada", "bix"):
        owner.put(f"/v1/agents/{agent}", json={})
    for agent, user in (("ada", "ann"), ("ada", "bob"), ("bix", "ann")):
        assert owner.put(f"/v1/agents/{agent}/users/{user}").is_success

    with ExitStack() as open_clients:

        def as_(role="agent", headers=None, **bound):
            client = open_clients.enter_context(keyed_service.client(keyed_service.make_key(tenant, role, **bound)))
            client.headers.update(headers or {})
            return client

        yield SimpleNamespace(owner=owner, as_=as_, conninfo=keyed_service.conninfo, tenant=tenant)
    owner.close()


@pytest.fixture
def root():
    return f"r{uuid4().hex[:8]}"


def put(client, namespace, key, value, **more):
    answer = client.put("/store/items", json={"namespace": namespace, "key": key, "value": value, **more})
    assert answer.status_code == 204, answer.text
    assert answer.content == b""


def get(client, namespace, key, **more):
    answer = client.get("/store/items", params={"namespace": ".".join(namespace), "key": key, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def search(client, *prefix, **more):
    answer = client.post("/store/items/search", json={"namespace_prefix": list(prefix), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def keys(items):
    return [item["key"] for item in items]


def batch(client, *ops):
    return client.post("/store/batch", json={"ops": list(ops)})


def test_a_value_comes_out_as_it_was_stored_and_the_next_takes_its_place(house, root):
    value = {"text": "Grüße 🙂", "n": 9007199254740993, "f": 1.5, "deep": {"list": [None, True, {"a": []}]}, "": 0}
    put(house.owner, [root, "a"], "k", value)
    first = get(house.owner, [root, "a"], "k")
    assert (first["namespace"], first["key"], first["value"]) == ([root, "a"], "k", value)
    assert (first["version"], first["expires_at"]) == (1, None)
    put(house.owner, [root, "a"], "k", {"other": 1})
    second = get(house.owner, [root, "a"], "k")
    assert second["value"] == {"other": 1}
    assert (second["version"], second["created_at"]) == (2, first["created_at"])
    assert second["updated_at"] > first["updated_at"]
    answer = house.owner.request("DELETE", "/store/items", json={"namespace": [root, "a"], "key": "k"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert get(house.owner, [root, "a"], "k") is None
    assert house.owner.request("DELETE", "/store/items", json={"namespace": [root], "key": "k"}).status_code == 204


def test_ok_needs_no_key(keyed_service):
    with keyed_service.client(None) as client:
        assert client.get("/ok").json() == {"ok": True}
        assert client.get("/store/items?namespace=a&key=b").status_code == 401


def test_a_prefix_ends_where_a_label_ends(house, root):
    labels = ("foo", "foobar", "foo2", "foo_1", "fooX1", "a%b", "axxb", "Foo", "star*", "starX", "foo\n")
    for label in labels:
        put(house.owner, [root, label], "k", {"v": 1})
        put(house.owner, [root, label, "child"], "k", {"v": 1})
    for label in labels:
        found = {tuple(item["namespace"]) for item in search(house.owner, root, label, limit=100)}
        assert found == {(root, label), (root, label, "child")}
    assert search(house.owner, root, "fo") == []
    assert len(search(house.owner, root, limit=100)) == 2 * len(labels)
    found = search(house.owner, root, limit=5, offset=2 * len(labels) - 3)
    assert len(found) == 3
    times = [item["updated_at"] for item in search(house.owner, root, limit=100)]
    assert times == sorted(times, reverse=True)


def test_a_filter_compares_numbers_as_numbers_and_texts_as_texts(house, root):
    values = {
        "a": {"n": 9, "s": "b", "tags": ["x", "y"], "deep": {"in": {"n": 1}, "s": "q"}, "flag": True, "d.e": 5},
        "b": {"n": 10.0, "s": "c", "tags": ["x"], "deep": {"in": {"n": 2}, "s": "q"}, "flag": False},
        "c": {"n": "10", "s": None},
        "d": {"other": 1, "d": {"e": 5}},
    }
    for key, value in values.items():
        put(house.owner, [root], key, value)
    for filter_, found in [
        ({"n": 10}, "b"), ({"n": {"$eq": 10}}, "b"), ({"n": "10"}, "c"), ({"n": {"$gt": 9}}, "b"),
        ({"n": {"$gte": 9}}, "ab"), ({"n": {"$lt": 9.5}}, "a"), ({"n": {"$lte": 10}}, "ab"),
        ({"n": {"$gt": "1"}}, "c"), ({"s": {"$gt": "b"}}, "b"), ({"s": {"$lte": "b"}}, "a"),
        ({"n": {"$ne": 10}}, "acd"), ({"s": {"$ne": None}}, "ab"), ({"s": None}, "cd"),
        ({"tags": ["x", "y"]}, "a"), ({"tags": ["x"]}, "b"), ({"tags": []}, ""), ({"tags": "x"}, ""),
        ({"deep": {"s": "q"}}, "ab"), ({"deep": {"in": {"n": {"$gt": 1}}}}, "b"), ({"deep.in.n": 2}, "b"),
        ({"deep.in.n": {"$lt": 2}}, "a"), ({"d.e": 5}, "ad"), ({"flag": True}, "a"), ({"flag": 1}, ""),
        ({"n": {"$gt": 9, "$lt": 20}, "s": "c"}, "b"), ({"deep": {}}, "ab"), ({"n": {"$gt": None}}, ""),
        ({"n": {"$lt": 10**309}}, "ab"), ({"n": {"$gt": -(10**309)}}, "ab"), ({}, "abcd"),
        ({"x' OR 'a'='a": 1}, ""), ({"s": "b' OR 'a'='a"}, ""), ({"n": {"$gt": [1]}}, ""),
    ]:  # fmt: skip
        assert sorted(keys(search(house.owner, root, filter=filter_))) == list(found), filter_
    assert keys(search(house.owner, root, filter={"n": {"$gte": 9}}, limit=1, offset=1)) == ["a"]


def test_a_query_ranks_all_that_may_be_searched_by_meaning_and_words(house, root):
    texts = {
        "drink": {"text": "Ann likes green tea in the morning"},
        "trip": {"text": "The flight to Lisbon leaves on Friday"},
        "chinese": {"text": "这是中文"}, "japanese": {"text": "これは日本語です"}, "korean": {"text": "이건 한국어야"},
        "russian": {"text": "Это русский"}, "hindi": {"text": "यह रूसी है"},
        "signs": {"": "!?"},
    }  # fmt: skip
    for key, value in texts.items():
        put(house.owner, [root], key, value)
    put(house.owner, [root], "hidden", {"text": "green tea"}, index=False)
    found = search(house.owner, root, query="Which tea does she drink?", limit=50)
    assert found[0]["key"] == "drink"
    assert sorted(keys(found)) == sorted(texts)
    scores = [item["score"] for item in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for key in ("chinese", "japanese", "korean", "russian", "hindi"):
        assert keys(search(house.owner, root, query=texts[key]["text"]))[0] == key
    assert keys(search(house.owner, root, query="travel by plane", limit=1)) == ["trip"]
    paged = keys(search(house.owner, root, query="tea", limit=3)) + keys(
        search(house.owner, root, query="tea", limit=3, offset=3)
    )
    assert paged == keys(search(house.owner, root, query="tea", limit=6))
    assert all(item["score"] is None for item in search(house.owner, root, query=" "))
    assert len(search(house.owner, root, query=None, limit=50)) == len(texts) + 1
    narrowed = search(house.owner, root, query="tea", filter={"text": texts["trip"]["text"]})
    assert keys(narrowed) == ["trip"]


def test_only_the_paths_of_an_item_are_searched_each_for_itself(house, root):
    value = {"title": "harbour", "body": {"text": "invoice"}, "lines": [{"t": "walnut"}, {"t": "oven"}]}
    put(house.owner, [root], "titled", value, index=["title"])
    put(house.owner, [root], "lined", value, index=["lines[*].t", "body.text"])
    assert keys(search(house.owner, root, query="harbour"))[0] == "titled"
    for query in ("walnut", "oven", "invoice"):
        best, other = search(house.owner, root, query=query)
        assert best["key"] == "lined"
        assert best["score"] > other["score"]
    # what was searched of the former value is gone
    put(house.owner, [root], "titled", {"title": "walnut"}, index=["title"])
    by_key = {item["key"]: item["score"] for item in search(house.owner, root, query="harbour")}
    assert max(by_key.values()) < 0.5


def test_namespaces_are_listed_by_their_ends_and_cut_to_a_depth(house, root):
    paths = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "c", "f"), ("b", "a", "f"), ("u",)]
    for path in paths:
        put(house.owner, [root, *path], "k", {})

    def listed(**body):
        answer = house.owner.post("/store/namespaces", json={"prefix": [root], **body})
        assert answer.status_code == 200, answer.text
        return [tuple(one[1:]) for one in answer.json()["namespaces"]]

    assert listed() == sorted(paths)
    assert listed(prefix=[root, "a", "b"]) == paths[:3]
    assert listed(suffix=["f"]) == [("a", "c", "f"), ("b", "a", "f")]
    assert listed(prefix=[root, "*", "*", "f"]) == [("a", "c", "f"), ("b", "a", "f")]
    assert listed(suffix=["*", "f"]) == [("a", "c", "f"), ("b", "a", "f")]
    assert listed(max_depth=3) == [("a", "b"), ("a", "c"), ("b", "a"), ("u",)]
    assert listed(limit=2, offset=1) == sorted(paths)[1:3]
    assert listed(prefix=[root, "x"]) == []
    everything = house.owner.post("/store/namespaces", json={"max_depth": 1, "limit": 1000}).json()
    assert [root] in everything["namespaces"]


def test_an_item_lives_as_long_as_it_was_told_and_is_never_shown_after(house, root):
    def op(**more):
        return {"op": "get", "namespace": [root], "key": "k", **more}

    seconds = 3
    put(house.owner, [root], "k", {"v": "fleeting"}, ttl=seconds / 60)
    put(house.owner, [root], "stays", {"v": "fleeting"})
    written = get(house.owner, [root], "k", refresh_ttl=False)
    time.sleep(1)
    for read in (
        lambda: get(house.owner, [root], "k"),
        lambda: search(house.owner, root, filter={"v": "fleeting"}),
        lambda: search(house.owner, root, query="fleeting"),
        lambda: batch(house.owner, op()),
    ):
        before = get(house.owner, [root], "k", refresh_ttl=False)["expires_at"]
        read()
        assert get(house.owner, [root], "k", refresh_ttl=False)["expires_at"] > before >= written["expires_at"]
    deadline = time.monotonic() + HANG_SECONDS
    while get(house.owner, [root], "k", refresh_ttl=False) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert get(house.owner, [root], "k", refresh_ttl=True) is None
    for more in ({}, {"query": "fleeting"}, {"filter": {"v": "fleeting"}}):
        assert keys(search(house.owner, root, **more)) == ["stays"]
    # one that expired was not there any more: what is put now is new
    put(house.owner, [root], "k", {"v": 2})
    again = get(house.owner, [root], "k")
    assert (again["version"], again["expires_at"]) == (1, None)
    assert again["created_at"] > written["created_at"]


def test_a_batch_reads_what_was_there_before_it_puts(house, root):
    put(house.owner, [root], "a", {"n": 1})
    answer = batch(
        house.owner,
        {"op": "put", "namespace": [root], "key": "a", "value": {"n": 2}},
        {"op": "get", "namespace": [root], "key": "a"},
        {"op": "put", "namespace": [root], "key": "b", "value": {"n": 1}},
        {"op": "put", "namespace": [root], "key": "b", "value": {"n": 2}},
        {"op": "search", "namespace_prefix": [root], "filter": {"n": 1}},
        {"op": "namespaces", "conditions": [{"match": "prefix", "path": [root]}, {"match": "suffix", "path": ["*"]}]},
        {"op": "get", "namespace": [root], "key": "none"},
    )
    assert answer.status_code == 200, answer.text
    put_, got, _, _, found, listed, none = answer.json()["results"]
    assert put_ == none == {"item": None, "items": None, "namespaces": None}
    assert got["item"]["value"] == {"n": 1}
    assert keys(found["items"]) == ["a"]
    assert listed["namespaces"] == [[root]]
    assert {item["key"]: item["value"]["n"] for item in search(house.owner, root)} == {"a": 2, "b": 2}
    # all or nothing
    bad = {"op": "put", "namespace": [root, "x.y"], "key": "c", "value": {}}
    answer = batch(house.owner, {"op": "put", "namespace": [root], "key": "a", "value": None}, bad)
    assert answer.status_code == 422
    assert get(house.owner, [root], "a")["value"] == {"n": 2}


def test_each_agent_and_each_user_has_items_of_its_own(house, root):
    ada, bix = house.as_(agent="ada"), house.as_(agent="bix")
    ann, pair = house.as_(user="ann"), house.as_(agent="ada", user="ann")
    for who, client in {"owner": house.owner, "ada": ada, "bix": bix, "ann": ann, "pair": pair}.items():
        put(client, [root], "k", {"of": who})
    for who, client in {
        "owner": house.owner,
        "ada": house.as_(headers={"Keepword-Agent": "ada"}),
        "bix": bix,
        "ann": house.as_("reader", headers={"Keepword-User": "ann"}),
        "pair": house.as_(agent="ada", headers={"Keepword-User": "ann"}),
    }.items():
        assert get(client, [root], "k")["value"] == {"of": who}
        assert [item["value"]["of"] for item in search(client, root, query="of")] == [who]
    # a person's key that names an agent reads what that agent keeps of the two, and not the agent's own
    assert get(house.as_(user="ann", headers={"Keepword-Agent": "ada"}), [root], "k")["value"] == {"of": "pair"}
    assert get(house.as_(user="bob", headers={"Keepword-Agent": "ada"}), [root], "k") is None
    # nobody introduced bob to bix
    stranger = house.as_(agent="bix", headers={"Keepword-User": "bob"})
    assert stranger.get(f"/store/items?namespace={root}&key=k").status_code == 404
    assert house.as_(agent="bix", headers={"Keepword-Agent": "ada"}).get("/store/items").status_code == 403


def test_a_reader_writes_nothing(house, root):
    reader = house.as_("reader")
    body = {"namespace": [root], "key": "k", "value": {}}
    assert reader.put("/store/items", json=body).status_code == 403
    assert reader.request("DELETE", "/store/items", json={"namespace": [root], "key": "k"}).status_code == 403
    assert batch(reader, {"op": "put", **body}).status_code == 403
    assert batch(reader, {"op": "get", "namespace": [root], "key": "k"}).status_code == 200


def test_items_are_in_no_search_no_context_and_no_census(house, root):
    word = f"zanzibar{root}"
    put(house.owner, [root], "k", {"text": f"the word is {word}"})
    assert len(search(house.owner, root, query=word)) == 1
    found = house.owner.post("/v1/search", json={"query": word, "mode": "trigram"}).json()
    assert found["results"] == []
    assert house.owner.post("/v1/search", json={"query": word}).json()["results"] == []
    assert word not in house.owner.get("/v1/stats").text
    house.owner.put(f"/v1/conversations/{root}", json={"agent": "ada"})
    composed = house.owner.post("/v1/compose", json={"conversation": root, "message": f"what is the word {word[:8]}?"})
    assert word not in composed.text


def deep_in(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"namespace": [], "key": "k", "value": {}}, 422),
        ({"namespace": ["a.b"], "key": "k", "value": {}}, 422),
        ({"namespace": [""], "key": "k", "value": {}}, 422),
        ({"namespace": ["langgraph"], "key": "k", "value": {}}, 422),
        ({"namespace": ["a\0"], "key": "k", "value": {}}, 422),
        ({"namespace": ["a"] * 33, "key": "k", "value": {}}, 422),
        ({"namespace": ["漢" * 300], "key": "k", "value": {}}, 422),
        ({"namespace": ["a"], "key": "", "value": {}}, 422),
        ({"namespace": ["a"], "key": "k" * 513, "value": {}}, 422),
        ({"namespace": ["a"], "key": "k\0", "value": {}}, 422),
        ({"namespace": ["a"], "key": "k", "value": {"x": "a\0b"}}, 422),
        ({"namespace": ["a"], "key": "k", "value": {"a\0b": 1}}, 422),
        ({"namespace": ["a"], "key": "k", "value": []}, 422),
        ({"namespace": ["a"], "key": "k", "value": None}, 422),
        ({"namespace": ["a"], "key": "k"}, 422),
        ({"namespace": "a", "key": "k", "value": {}}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "ttl": 0}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "ttl": -1}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "ttl": 1e300}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "ttl": 1e-300}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "index": True}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "index": 0}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "index": ["x" * 201]}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "index": ["x"] * 33}, 422),
        ({"namespace": ["a"], "key": "k", "value": {}, "more": 1}, 422),
        ({"namespace": ["a"], "key": "k", "value": {"x": deep_in(70)}}, 422),
        ({"namespace": ["a"], "key": "k", "value": {"x": "y" * MAX_VALUE_BYTES}}, 413),
    ],
)
def test_what_can_not_be_stored_is_refused_with_what_is_wrong(house, body, status):
    answer = house.owner.put("/store/items", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text


@pytest.mark.parametrize(
    "text", ['{"namespace":["a"],"key":"k","value":{"x":1e999}}', '{"namespace":["a"],"key":"k","value":{"x":NaN}}',
             '{"namespace":["a"],"key":"\\ud800","value":{}}', '{"namespace":["a"],"key":"k","value":{"\\udfff":1}}'],
)  # fmt: skip
def test_numbers_and_signs_that_json_does_not_have_are_refused(house, text):
    assert house.owner.put("/store/items", content=text, headers=JSON).status_code in {400, 422}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/store/items/search", {"limit": 0}), ("/store/items/search", {"limit": 1001}),
        ("/store/items/search", {"offset": -1}), ("/store/items/search", {"offset": 10**9}),
        ("/store/items/search", {"namespace_prefix": ["a.b"]}),
        ("/store/items/search", {"filter": {"a": {"$in": [1]}}}),
        ("/store/items/search", {"filter": deep_in(30)}), ("/store/items/search", {"query": "a\0b"}),
        ("/store/items/search", {"filter": {"a\0": 1}}),
        ("/store/namespaces", {"max_depth": 0}), ("/store/namespaces", {"prefix": ["a", ""]}),
        ("/store/namespaces", {"limit": 0}), ("/store/batch", {"ops": [{"op": "drop"}]}),
        ("/store/batch", {"ops": [{"op": "search", "limit": 0}]}), ("/store/batch", {}),
        ("/store/batch", {"ops": [{"op": "get", "namespace": ["a", 1], "key": "k"}]}),
    ],
)  # fmt: skip
def test_what_can_not_be_asked_is_refused(house, path, body):
    answer = house.owner.post(path, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), answer.text


def test_a_read_in_the_query_is_refused_like_one_in_a_body(house):
    for query in ("", "?namespace=a", "?key=k", "?namespace=&key=k", "?namespace=a..b&key=k", "?namespace=a&key=%00",
                  "?namespace=%00&key=k", "?namespace=a&key=k&refresh_ttl=x",
                  "?namespace=a&key=" + "k" * 513):  # fmt: skip
        assert house.owner.get(f"/store/items{query}").status_code == 422, query


def test_a_batch_and_an_answer_have_limits(house, root):
    assert batch(house.owner, *[{"op": "search"}] * 21).status_code == 413
    assert batch(house.owner, *[{"op": "get", "namespace": ["a"], "key": "k"}] * 1001).status_code == 422
    long = "word " * 200_000
    for number in range(12):
        put(house.owner, [root], str(number), {"text": long}, index=False)
    answer = house.owner.post("/store/items/search", json={"namespace_prefix": [root], "limit": 50})
    assert answer.status_code == 413
    assert "ask for fewer" in answer.json()["detail"]
    assert len(search(house.owner, root, limit=5)) == 5


def test_a_large_value_is_searched_from_its_beginning(house, root):
    put(house.owner, [root], "long", {"text": "zebra " + "filler text of many words. " * 20_000})
    put(house.owner, [root], "short", {"text": "something else"})
    assert keys(search(house.owner, root, query="zebra"))[0] == "long"


def test_what_expired_is_swept_with_all_that_was_read_of_it(house, root):
    put(house.owner, [root], "k", {"text": "soon gone"}, ttl=0.001)
    time.sleep(0.1)
    with migrate.owner(house.conninfo) as conn:
        assert conn.execute("SELECT sweep_items(100)").fetchone()[0] >= 1
        for table in ("items", "item_parts"):
            where = "path LIKE %s" if table == "items" else "text LIKE %s"
            sign = f"{root}%" if table == "items" else "%soon gone%"
            assert conn.execute(f"SELECT count(*) FROM {table} WHERE {where}", (sign,)).fetchone() == (0,)


def test_many_write_one_item_at_once_and_one_value_is_left(house, root):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: put(house.owner, [root], "k", {"text": f"number {n}"}), range(40)))
    item = get(house.owner, [root], "k")
    assert item["version"] == 40
    with migrate.owner(house.conninfo) as conn:
        parts = conn.execute(
            "SELECT p.text FROM item_parts p JOIN items i ON i.id = p.item_id WHERE i.path LIKE %s", (f"{root}%",)
        ).fetchall()
    assert parts == [(f"text: {item['value']['text']}",)]
