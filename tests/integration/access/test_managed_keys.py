"""Keys over the API: the tenant's owner makes, lists and revokes its keys, and nobody else's."""

import re
from uuid import uuid4

import pytest

from keepword.postgres import migrate

PATH = "/v1/keys"


@pytest.fixture
def tenant():
    return f"keys-{uuid4().hex}"


@pytest.fixture
def owner(keyed_service, tenant):
    with keyed_service.client(keyed_service.make_key(tenant)) as client:
        yield client


def _actions(owner):
    return [(one["action"], one["ids"].get("key")) for one in owner.get("/v1/audit").json()["events"]]


def test_a_key_is_made_works_is_listed_without_its_secret_and_works_no_more_once_revoked(keyed_service, owner):
    made = owner.post(PATH, json={"role": "reader", "user": "ann", "expires": "90d"})
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    key = made.json()
    assert re.fullmatch(r"kw_[0-9a-f]{16}_[\w-]{43}", key["secret"])
    assert (key["role"], key["user"], key["revoked_at"]) == ("reader", "ann", None)
    assert owner.get("/v1/users/ann").status_code == 200
    with keyed_service.client(key["secret"]) as ann:
        assert ann.get("/v1/whoami").json()["user"] == "ann"
        listed = owner.get(PATH)
        assert key["secret"] not in listed.text
        assert "digest" not in listed.text
        assert next(one["id"] for one in listed.json()["keys"]) == key["id"]
        assert owner.delete(f"{PATH}/{key['id']}").status_code == 204
        assert ann.get("/v1/whoami").status_code == 401
    assert owner.get(PATH).json()["keys"][0]["revoked_at"] is not None
    assert _actions(owner)[:2] == [("key.revoked", key["id"]), ("key.made", key["id"])]
    assert owner.delete(f"{PATH}/{key['id']}").status_code == 204
    assert key["secret"] not in keyed_service.log()


def test_keys_are_listed_a_page_at_a_time(owner):
    made = [owner.post(PATH, json={"role": "reader"}).json()["id"] for _ in range(3)]
    first = owner.get(PATH, params={"limit": 2}).json()
    rest = owner.get(PATH, params={"limit": 2, "cursor": first["next"]}).json()
    assert [one["id"] for one in first["keys"] + rest["keys"]][:3] == made[::-1]
    assert len(first["keys"] + rest["keys"]) == 4
    assert rest["next"] is None
    for cursor in ("x", "0" * 15, "\0", "'; --", "0123456789abcdef"):
        assert owner.get(PATH, params={"cursor": cursor}).status_code in {200, 422}


def test_an_owner_sees_and_revokes_no_key_of_another_tenant(keyed_service, owner):
    with keyed_service.client(keyed_service.make_key(f"other-{uuid4().hex}")) as other:
        theirs = other.get(PATH).json()["keys"][0]["id"]
        assert theirs not in owner.get(PATH).text
        assert owner.get(PATH, params={"cursor": theirs}).json()["keys"] == []
        assert owner.delete(f"{PATH}/{theirs}").status_code == 404
        assert other.get("/v1/whoami").status_code == 200


@pytest.mark.parametrize(("role", "bound"), [("agent", {}), ("reader", {}), ("admin", {"user": "ann"}),
                                             ("admin", {"agent": "helper"})])  # fmt: skip
def test_nobody_else_manages_keys(keyed_service, owner, tenant, role, bound):
    mine = owner.get(PATH).json()["keys"][0]["id"]
    with keyed_service.client(keyed_service.make_key(tenant, role, **bound)) as client:
        assert client.get(PATH).status_code == 403
        assert client.post(PATH, json={"role": "reader"}).status_code == 403
        assert client.delete(f"{PATH}/{mine}").status_code == 403
    assert owner.get("/v1/whoami").status_code == 200


def test_the_last_key_that_manages_the_tenant_stays(keyed_service, owner):
    mine = owner.get(PATH).json()["keys"][0]["id"]
    owner.post(PATH, json={"role": "admin", "user": "ann"})
    refused = owner.delete(f"{PATH}/{mine}")
    assert refused.status_code == 409
    assert "make another admin key first" in refused.json()["detail"]
    second = owner.post(PATH, json={"role": "admin"}).json()
    assert owner.delete(f"{PATH}/{mine}").status_code == 204
    assert owner.get("/v1/whoami").status_code == 401
    with keyed_service.client(second["secret"]) as other:
        assert other.get("/v1/whoami").json()["owner"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "role"), ({"role": "owner"}, "role"), ({"role": "reader", "user": "a/b"}, "user"),
        ({"role": "reader", "agent": "a:b"}, "agent"), ({"role": "reader", "expires": "soon"}, "expires"),
        ({"role": "reader", "expires": "99999y"}, "expires"), ({"role": "reader", "user": "a\0"}, "user"),
        ({"role": "reader", "tenant": "other"}, "tenant"),
    ],
)  # fmt: skip
def test_a_wrong_body_says_which_field(owner, body, field):
    answer = owner.post(PATH, json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert len(owner.get(PATH).json()["keys"]) == 1


def test_without_a_key_none_is_made(service):
    """Any account of the machine calls as the owner then, and would keep a key past the day when one is needed."""
    with service.client() as nobody:
        refused = nobody.post(PATH, json={"role": "admin"})
        assert refused.status_code == 403
        assert "keepword keys create" in refused.json()["detail"]
        assert nobody.get(PATH).json()["keys"] == []


def test_a_grant_of_a_place_or_of_another_tenant_opens_no_key(conninfo, make_tenant):
    """The database asks for itself, whatever the application says."""
    with migrate.owner(conninfo) as owner:
        one, other = make_tenant(), make_tenant()
        for grant in (
            f'{{"tenant": "{one.id}", "run_ids": ["session:x"]}}',
            f'{{"tenant": "{other.id}", "everything": true}}',
        ):
            for call in (
                "find_keys(%(g)s, %(t)s, NULL, 10)", "revoke_key(%(g)s, %(t)s, 'x')",
                "make_key(%(g)s, %(t)s, 'x', 'admin', NULL, NULL, decode(repeat('00', 32), 'hex'), NULL)",
                "find_failed_jobs(%(g)s, %(t)s, NULL, 10)", "retry_failed_work(%(g)s, %(t)s, NULL, NULL, NULL, true)",
            ):  # fmt: skip
                with pytest.raises(Exception, match="the grant does not open the tenant"):
                    owner.execute(f"SELECT * FROM {call}", {"g": grant, "t": one.id})
