"""The console's files as they are served, and the routes that it asks beside those that programs ask."""

import gzip
from uuid import uuid4

import pytest

FILES = ("console.js", "console.css", "icon.svg")


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.mark.parametrize("path", ["/console", *(f"/console/{name}" for name in FILES)])
def test_a_file_is_compressed_known_again_and_runs_nothing_inline(client, path):
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert plain.content == packed.content
    assert packed.headers["content-encoding"] == "gzip"
    policy = plain.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    again = client.get(path, headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_has_no_script_and_no_style_of_its_own(client):
    page = client.get("/console").text
    assert "<style" not in page
    assert "style=" not in page
    assert page.count("<script") == page.count('<script type="module" src="/console/console.js"></script>') == 1


def test_the_first_load_weighs_less_than_250_kb(client, show):
    sizes = [len(gzip.compress(client.get(path).content)) for path in ("/console", *(f"/console/{f}" for f in FILES))]
    show(f"the console's first load: {sum(sizes):,} bytes compressed")
    assert sum(sizes) < 250_000


@pytest.mark.parametrize("name", ["index.html", "..%2fconsole.py", "console.js.map", "__init__.py"])
def test_a_file_that_the_console_does_not_have_is_not_found(client, name):
    assert client.get(f"/console/{name}").status_code == 404


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null"])
def test_a_page_from_elsewhere_is_not_the_owner_for_want_of_a_key(client, origin):
    asked = client.put("/v1/conversations/forged", json={}, headers={"Origin": origin})
    assert asked.status_code == 401
    own = str(client.base_url).rstrip("/")
    assert client.put("/v1/conversations/own", json={}, headers={"Origin": own}).status_code in {200, 201}


def test_whoami_tells_what_a_key_may_do_and_for_whom(keyed_service):
    tenant = f"whoami-{uuid4().hex}"
    key = keyed_service.make_key(tenant, "admin")
    with keyed_service.client(key) as owner:
        told = owner.get("/v1/whoami").json()
        assert told == {
            "tenant": tenant, "role": "admin", "key": key.split("_")[1], "agent": None, "user": None, "owner": True
        }  # fmt: skip
        acting = owner.get("/v1/whoami", headers={"Keepword-User": "ann"}).json()
        assert (acting["user"], acting["owner"]) == ("ann", False)
    with keyed_service.client(keyed_service.make_key(tenant, "reader", user="ann")) as reader:
        told = reader.get("/v1/whoami").json()
        assert (told["role"], told["user"], told["owner"]) == ("reader", "ann", False)


def test_sources_are_read_by_their_ids_in_the_order_asked_for_and_only_where_they_may_be(keyed_service):
    tenant = f"sources-{uuid4().hex}"
    with keyed_service.client(keyed_service.make_key(tenant, "admin")) as owner:
        ids = {}
        for user in ("ann", "bob"):
            assert owner.put(f"/v1/users/{user}", json={}).status_code == 201
            direct = {"kind": "direct", "user": user, "agent": "helper"}
            assert owner.put(f"/v1/conversations/{user}", json=direct).status_code == 201
            said = owner.post(f"/v1/conversations/{user}/messages", json={"role": "user", "content": f"I am {user}."})
            ids[user] = said.json()["messages"][0]["id"]
        asked = [("id", ids["bob"]), ("id", str(uuid4())), ("id", ids["ann"])]
        whole = owner.get("/v1/sources", params=asked).json()["sources"]
        assert [(one["kind"], one["text"], one["seq"]) for one in whole] == [
            ("message", "I am bob.", 1), ("message", "I am ann.", 1)
        ]  # fmt: skip
        here = owner.get("/v1/sources", params=[*asked, ("conversation", "ann")]).json()["sources"]
        assert [one["text"] for one in here] == ["I am ann."]
    with keyed_service.client(keyed_service.make_key(tenant, "reader", user="ann")) as ann:
        assert ann.get("/v1/sources", params=asked).status_code == 403
        assert ann.get("/v1/sources", params=[*asked, ("conversation", "bob")]).status_code == 404
        mine = ann.get("/v1/sources", params=[*asked, ("conversation", "ann")]).json()["sources"]
        assert [one["text"] for one in mine] == ["I am ann."]
