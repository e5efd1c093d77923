"""Facts over HTTP: exact values, declared types, versions, and who may read and write them where."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from uuid import uuid4

import psycopg
import pytest

from keepword.postgres import migrate

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def house(keyed_service):
    """A tenant with people, rooms, an open and an isolated project, and conversations of every kind."""
    tenant = f"facts-{uuid4().hex}"
    client = keyed_service.client(keyed_service.make_key(tenant))
    for user in ("ann", "bob"):
        client.put(f"/v1/users/{user}", json={})
    client.put("/v1/projects/open", json={})
    client.put("/v1/projects/sealed", json={"isolated": True})
    for room, project in (("hall", "open"), ("cell", "sealed")):
        client.put(f"/v1/rooms/{room}", json={})
        client.put(f"/v1/projects/{project}/members/rooms/{room}")
        for path in ("users/ann", "users/bob", "agents/ada"):
            client.put(f"/v1/rooms/{room}/participants/{path}")
        client.put(f"/v1/conversations/in-{room}", json={"room": room, "agent": "ada"})
    for name, place in {
        "alone": {"user": "ann"},
        "of-bob": {"user": "bob"},
        "of-nobody": {},
        "in-open": {"user": "ann", "project": "open"},
        "in-sealed": {"user": "ann", "project": "sealed"},
        "dm": {"user": "ann", "kind": "direct"},
    }.items():
        assert client.put(f"/v1/conversations/{name}", json={"agent": "ada"} | place).status_code == 201

    def as_(role, **bound):
        return keyed_service.client(keyed_service.make_key(tenant, role, **bound))

    yield SimpleNamespace(owner=client, as_=as_, conninfo=keyed_service.conninfo, tenant=tenant)
    client.close()


@pytest.fixture
def key():
    return f"k-{uuid4().hex}"


VALUES = [
    "null", "true", '"30m"', '""', "[]", "{}", "9007199254740993", "-" + "9" * 4000, "1.10", "1E+2", "-0.0", "1e400",
    '{"z":1,"a":{"y":2,"b":[3]},"Z":0}', '{ "spaced" :\t[ 1 ,\n2 ] }',
    '"Gr\u00fc\u00dfe, \u4e16\u754c \U0001f642 e\u0301"',
    '"\\u00fc\\n\\/"',
    '{"":0," ":1}', '{"a":1,"a":2}', '"\u2028\u202e"',
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_what_goes_in_comes_out_as_it_was_written(house, key, text):
    path = f"/v1/facts/user/ann/{key}"
    made = house.owner.put(path, content=f'{{ "confidence":0.5, "value" : {text} }}'.encode(), headers=JSON)
    assert made.status_code == 201, made.text
    for answer in (made, house.owner.get(path)):
        assert f'"value":{text},' in answer.text
        assert answer.headers["etag"] == '"1"'
    assert f'"value":{text},' in house.owner.get("/v1/facts/user/ann?limit=200").text
    assert f'"value":{text},' in house.owner.get(f"{path}/history").text
    shown = house.owner.get(path).json()
    assert (shown["scope_kind"], shown["scope_id"], shown["key"], shown["version"]) == ("user", "ann", key, 1)
    assert (shown["type"], shown["source"], shown["confidence"]) == (None, None, 0.5)


@pytest.mark.parametrize("odd", ["a b", "é/".rstrip("/"), "日本", "a:b", "%41", "preferred_jwt_expiry", "x" * 200])
def test_keys_are_any_name(house, odd):
    path = "/v1/facts/global/-/" + "".join(f"%{byte:02X}" for byte in odd.encode())
    assert house.owner.put(path, json={"value": odd}).status_code in {200, 201}
    assert house.owner.get(path).json()["key"] == odd
    assert odd in {fact["key"] for fact in house.owner.get("/v1/facts/global/-?limit=200").json()["facts"]}


@pytest.mark.parametrize("bad", ["a%0Ab", "a%00b", "%7F", "%1B", "%20a", "x" * 201, "%FF", ".."])
def test_keys_without_control_characters_only(house, bad):
    answer = house.owner.put(f"/v1/facts/user/ann/{bad}".replace("..", "%2E%2E"), json={"value": 1})
    assert answer.status_code in {404, 422}, answer.text
    assert bad == ".." or answer.json()["field"] == "key"


def test_the_database_refuses_control_characters_and_a_second_global_value(house, key):
    house.owner.put(f"/v1/facts/global/-/{key}", json={"value": 1})
    insert = """
        INSERT INTO facts (tenant_id, scope_kind, scope_id, run_id, key, value, version)
        SELECT id, 'global', NULL, 'global', %s, '1', 1 FROM tenants WHERE name = %s
    """
    with migrate.owner(house.conninfo) as conn:
        with pytest.raises(psycopg.errors.UniqueViolation):
            conn.execute(insert, (key, house.tenant))
        with pytest.raises(psycopg.errors.CheckViolation):
            conn.execute(insert, ("a\nb", house.tenant))


def test_64_kib_fit_and_more_answers_413_and_changes_nothing(house, key):
    path = f"/v1/facts/room/hall/{key}"
    assert house.owner.put(path, json={"value": "x" * (64 * 1024 - 2)}).status_code == 201
    too_much = house.owner.put(path, json={"value": "y" * (64 * 1024 - 1)})
    assert too_much.status_code == 413
    assert "65537" in too_much.json()["detail"]
    assert too_much.json()["field"] == "value"
    assert house.owner.get(path).json()["value"] == "x" * (64 * 1024 - 2)


def test_a_declared_type_stays_and_is_checked_on_every_write(house, key):
    path = f"/v1/facts/project/open/{key}"
    wrong = house.owner.put(path, json={"value": "30", "type": "integer"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "value")
    assert house.owner.get(path).status_code == 404
    assert house.owner.put(path, json={"value": 30, "type": "integer"}).json()["type"] == "integer"
    for value in ("30", 30.5, 1e3, None, [], {}, True):
        refused = house.owner.put(path, json={"value": value})
        assert (refused.status_code, refused.json()["field"]) == (422, "value"), value
        assert "integer" in refused.json()["detail"]
    assert house.owner.put(path, json={"value": 31}).json()["type"] == "integer"
    assert house.owner.put(path, json={"value": 31.5, "type": "number"}).json()["type"] == "number"
    assert house.owner.put(path, json={"value": 32}).status_code == 200
    assert house.owner.put(path, json={"value": "free", "type": None}).json()["type"] is None
    assert house.owner.put(path, json={"value": 1, "type": "date"}).status_code == 422


def test_every_version_is_kept_also_past_a_deletion(house, key):
    path = f"/v1/facts/user/ann/{key}"
    for number in range(3):
        house.owner.put(path, json={"value": number})
    assert house.owner.delete(path).status_code == 204
    assert house.owner.get(path).status_code == 404
    assert house.owner.delete(path).status_code == 404
    again = house.owner.put(path, json={"value": "again"})
    assert (again.status_code, again.json()["version"]) == (201, 5)
    first = house.owner.get(f"{path}/history", params={"limit": 2}).json()
    rest = house.owner.get(f"{path}/history", params={"cursor": first["next"]}).json()
    assert rest["next"] is None
    found = [(v["version"], v["value"], v["deleted"]) for v in (*first["versions"], *rest["versions"])]
    assert found == [(5, "again", False), (4, None, True), (3, 2, False), (2, 1, False), (1, 0, False)]
    assert house.owner.get(f"/v1/facts/user/ann/{key}x/history").status_code == 404


def test_writing_the_same_again_makes_no_version(house, key):
    path, body = f"/v1/facts/user/ann/{key}", {"value": {"a": 1}, "type": "object", "confidence": 0.7}
    made = house.owner.put(path, json=body)
    same = house.owner.put(path, json=body)
    assert (made.status_code, same.status_code) == (201, 200)
    assert same.json() == made.json()
    assert house.owner.put(path, json=body | {"confidence": 0.8}).json()["version"] == 2


def test_a_write_that_expects_another_version_answers_412_and_changes_nothing(house, key):
    path = f"/v1/facts/global/-/{key}"
    missing = house.owner.put(path, json={"value": 1, "version": 1})
    assert missing.status_code == 412
    assert "none now" in missing.json()["detail"]
    assert house.owner.put(path, json={"value": 1}, headers={"If-None-Match": "*"}).status_code == 201
    assert house.owner.put(path, json={"value": 2, "version": 0}).status_code == 412
    assert house.owner.put(path, json={"value": 2}, headers={"If-None-Match": "*"}).status_code == 412
    changed = house.owner.put(path, json={"value": 2}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    stale = house.owner.put(path, json={"value": 3, "version": 1})
    assert (stale.status_code, stale.json()["title"]) == (412, "Precondition Failed")
    assert "version 2" in stale.json()["detail"]
    assert house.owner.delete(path, headers={"If-Match": '"1"'}).status_code == 412
    assert house.owner.get(path).json()["value"] == 2
    assert house.owner.delete(path, headers={"If-Match": '"2"'}).status_code == 204


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"If-Match": '"one"'}, {}), ({"If-Match": "*"}, {}), ({"If-None-Match": '"1"'}, {}), ({}, {"version": -1}),
        ({"If-Match": '"1"'}, {"version": 2}), ({"If-Match": '"1"', "If-None-Match": "*"}, {}), ({}, {"version": "1"}),
        ({"If-Match": '"' + "9" * 30 + '"'}, {}), ({}, {"version": 2**63}),
    ],
)  # fmt: skip
def test_an_expectation_that_can_not_be_read_is_refused(house, key, headers, body):
    answer = house.owner.put(f"/v1/facts/user/ann/{key}", json={"value": 1} | body, headers=headers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["field"]


def test_of_many_who_expect_the_same_version_one_writes(house, key):
    path = f"/v1/facts/global/-/{key}"
    for version in range(3):
        with ThreadPoolExecutor(8) as threads:
            bodies = [{"value": f"{version}-{number}", "version": version} for number in range(8)]
            answers = list(threads.map(lambda body: house.owner.put(path, json=body), bodies))
        assert sorted(answer.status_code for answer in answers) == [200 if version else 201] + [412] * 7
    assert house.owner.get(path).json()["version"] == 3
    assert len(house.owner.get(f"{path}/history").json()["versions"]) == 3


def test_a_source_is_a_message_that_the_writer_may_read(house, key):
    sent = house.owner.post("/v1/conversations/alone/messages", json={"role": "user", "content": "30 minutes, please"})
    source = sent.json()["messages"][0]["id"]
    path = f"/v1/facts/user/ann/{key}"
    assert house.owner.put(path, json={"value": "30m", "source": source}).json()["source"] == source
    for wrong in (str(uuid4()), "not-an-id"):
        refused = house.owner.put(path, json={"value": "31m", "source": wrong})
        assert (refused.status_code, refused.json()["field"]) == (422, "source")
    with house.as_("agent", agent="ada") as agent:
        here = agent.put(f"{path}-too?conversation=alone", json={"value": "32m", "source": source})
        assert here.status_code == 201, here.text
        elsewhere = agent.put(f"/v1/facts/room/hall/{key}?conversation=in-hall", json={"value": 1, "source": source})
        assert (elsewhere.status_code, elsewhere.json()["field"]) == (422, "source")


def test_lists_come_by_key_in_pages(house):
    prefix = uuid4().hex
    for number in range(5):
        house.owner.put(f"/v1/facts/room/cell/{prefix}-{number}", json={"value": number})
    found, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = house.owner.get("/v1/facts/room/cell", params=params).json()
        found += [fact["key"] for fact in page["facts"] if fact["key"].startswith(prefix)]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == [f"{prefix}-{number}" for number in range(5)]
    seen, cursor = [], None
    while True:
        params = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = house.owner.get("/v1/facts", params=params).json()
        seen += [(fact["scope_kind"], fact["scope_id"], fact["key"]) for fact in page["facts"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen))
    assert set(found) <= {key for _, _, key in seen}
    for bad in ("x", "AAAA", "Cg" * 5):
        assert house.owner.get("/v1/facts", params={"cursor": bad}).json()["field"] == "cursor"


@pytest.mark.parametrize(
    ("scope", "known"), [("user/ann", True), ("user/zed", False), ("room/zed", False), ("project/zed", False)]
)
def test_facts_are_about_what_is_there(house, key, scope, known):
    answer = house.owner.put(f"/v1/facts/{scope}/{key}", json={"value": 1})
    assert answer.status_code == (201 if known else 404)
    assert house.owner.get(f"/v1/facts/{scope}").status_code == (200 if known else 404)
    if not known:
        assert f"PUT /v1/{scope.split('/')[0]}s/zed" in answer.json()["detail"]


@pytest.mark.parametrize("scope", ["global/x", "team/x", "user/%0A"])
def test_what_is_no_scope_is_refused(house, scope):
    answer = house.owner.get(f"/v1/facts/{scope}")
    assert answer.status_code == 422
    assert answer.json()["field"] in {"scope_id", "scope_kind"}


# by conversation: the scopes whose facts are read there, and those that an agent's key writes there
READS = {
    "alone": "user/ann global/-", "of-bob": "user/bob global/-", "of-nobody": "global/-",
    "dm": "user/ann room/hall global/-",
    "in-open": "user/ann project/open global/-", "in-hall": "user/ann user/bob room/hall project/open global/-",
    "in-sealed": "project/sealed", "in-cell": "room/cell project/sealed",
}  # fmt: skip
WRITES = {
    "alone": "user/ann", "of-bob": "user/bob", "of-nobody": "", "dm": "", "in-open": "user/ann project/open",
    "in-hall": "room/hall project/open", "in-sealed": "project/sealed", "in-cell": "room/cell project/sealed",
}  # fmt: skip
SCOPES = ("user/ann", "user/bob", "project/open", "project/sealed", "room/hall", "room/cell", "global/-")


@pytest.mark.parametrize("conversation", READS)
def test_in_a_place_its_own_facts_are_read_and_written_and_no_others(house, key, conversation):
    for scope in SCOPES:
        house.owner.put(f"/v1/facts/{scope}/{key}", json={"value": scope})
    where = {"conversation": conversation}
    with house.as_("agent", agent="ada") as agent, house.as_("reader", agent="ada") as reader:
        for scope in SCOPES:
            path = f"/v1/facts/{scope}/{key}"
            may_read, may_write = scope in READS[conversation].split(), scope in WRITES[conversation].split()
            for asked in (path, f"/v1/facts/{scope}", f"{path}/history"):
                assert agent.get(asked, params=where).status_code == (200 if may_read else 404), asked
                assert reader.get(asked, params=where).status_code == (200 if may_read else 404), asked
            mine, refused = f"{path}-mine", [403 if may_read else 404] * 3
            assert reader.put(mine, params=where, json={"value": 1}).status_code == 403
            wrote = [agent.put(mine, params=where, json={"value": value}).status_code for value in (1, 2)]
            wrote.append(agent.delete(mine, params=where).status_code)
            assert wrote == ([201, 200, 204] if may_write else refused), scope
        page = agent.get("/v1/facts", params=where | {"limit": 200}).json()
        listed = [fact for fact in page["facts"] if fact["key"] == key]
        found = {f"{fact['scope_kind']}/{fact['scope_id'] or '-'}" for fact in listed}
        assert found == set(READS[conversation].split())


@pytest.mark.parametrize("conversation", READS)
def test_what_the_owner_wrote_is_changed_by_the_owner_alone(house, key, conversation):
    where, bound = {"conversation": conversation}, ({"agent": "ada"}, {}, {"user": "ann"})
    with ExitStack() as stack:
        agent, platform, ann = (stack.enter_context(house.as_("agent", **one)) for one in bound)
        for scope in READS[conversation].split():
            path = f"/v1/facts/{scope}/{key}"
            assert house.owner.put(path, json={"value": scope}).status_code == 201
            for who in (agent, platform, ann):
                refused = who.put(path, params=where, json={"value": "mine"})
                assert refused.status_code in ({403, 404} if who is ann else {403}), refused.text
                assert who.delete(path, params=where).status_code == refused.status_code
            kept = house.owner.get(path).json()
            assert (kept["value"], kept["version"]) == (scope, 1)
            if scope in WRITES[conversation].split():
                problem = agent.put(path, params=where, json={"value": "mine"}).json()
                assert "the tenant's owner" in problem["detail"]
                # the same value again changes nothing, and is refused to nobody who may write here
                assert agent.put(path, params=where, json={"value": scope}).status_code == 200
                assert house.owner.put(path, params=where, json={"value": "theirs"}).status_code == 200
                assert agent.put(path, params=where, json={"value": "mine"}).status_code == 403
            assert house.owner.delete(path).status_code == 204


def test_what_an_agent_wrote_is_the_owner_s_once_the_owner_writes_it(house, key):
    path, where = f"/v1/facts/room/hall/{key}", {"conversation": "in-hall"}
    with house.as_("agent", agent="ada") as agent:
        assert agent.put(path, params=where, json={"value": 1}).status_code == 201
        assert house.owner.put(path, json={"value": 1}).json()["version"] == 2
        assert agent.put(path, params=where, json={"value": 2}).status_code == 403
        assert house.owner.delete(path).status_code == 204
        assert agent.put(path, params=where, json={"value": 3}).status_code == 201
        # in a conversation the owner writes for whoever is there
        other = f"{path}-too"
        assert house.owner.put(other, params=where, json={"value": 1}).status_code == 201
        assert agent.put(other, params=where, json={"value": 2}).status_code == 200


def test_without_a_place_a_room_and_a_user_say_where_and_the_rest_is_for_the_owner(house, key):
    for scope in SCOPES:
        house.owner.put(f"/v1/facts/{scope}/{key}", json={"value": scope})
    with house.as_("agent", agent="ada", user="ann") as ann, house.as_("agent", agent="bix", user="bob") as bob:
        assert ann.get(f"/v1/facts/room/hall/{key}").status_code == 200
        assert ann.put(f"/v1/facts/room/hall/{key}", json={"value": 1}).status_code == 403
        assert ann.put(f"/v1/facts/room/hall/{key}-mine", json={"value": 1}).status_code == 201
        assert bob.get(f"/v1/facts/room/hall/{key}").status_code == 404
        assert bob.put(f"/v1/facts/room/hall/{key}", json={"value": 1}).status_code == 404
        assert ann.get(f"/v1/facts/user/ann/{key}").json()["value"] == "user/ann"
        assert ann.put(f"/v1/facts/user/ann/{key}", json={"value": 1}).status_code == 403
        assert ann.get(f"/v1/facts/user/bob/{key}").status_code == 404
        for scope in ("global/-", "project/open"):
            answer = ann.get(f"/v1/facts/{scope}/{key}")
            assert (answer.status_code, answer.json()["field"]) == (422, "conversation")
        assert ann.get("/v1/facts").status_code == 422
        assert ann.get(f"/v1/facts/user/ann/{key}?conversation=of-bob").status_code == 404
    with house.as_("admin", user="ann") as bound:
        assert bound.put(f"/v1/facts/global/-/{key}?conversation=alone", json={"value": 1}).status_code == 403


@pytest.mark.parametrize("body", ["{}", '{"value":NaN}', '{"value":1,"other":2}', '{"value":"\\u0000"}', "[]"])
def test_a_body_that_is_none_is_refused(house, key, body):
    answer = house.owner.put(f"/v1/facts/user/ann/{key}", content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert house.owner.get(f"/v1/facts/user/ann/{key}").status_code == 404


def test_other_tenants_have_other_facts(house, keyed_service, key):
    house.owner.put(f"/v1/facts/global/-/{key}", json={"value": "ours"})
    with keyed_service.client(keyed_service.make_key(f"other-{uuid4().hex}")) as other:
        assert other.get(f"/v1/facts/global/-/{key}").status_code == 404
        assert other.get("/v1/facts").json() == {"facts": [], "next": None}


def test_the_history_can_not_be_written_by_the_application(house, key):
    house.owner.put(f"/v1/facts/global/-/{key}", json={"value": 1})
    with psycopg.connect(house.conninfo, autocommit=True) as conn:
        conn.execute("SET ROLE keepword_app")
        conn.execute("SET search_path = keepword")
        for statement in (
            "UPDATE fact_versions SET value = '2'",
            "DELETE FROM fact_versions",
            "UPDATE facts SET key = 'x'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement)


@pytest.fixture
def run(keyed_service, house, cli):
    key = keyed_service.make_key(house.tenant)

    def command(*args, stdin=None):
        return cli(keyed_service.home, "facts", *args, stdin=stdin, url=keyed_service.url, key=key)

    return command


def test_the_command_line_sets_gets_and_lists_exact_values(run, key):
    exact = '{"z":1.10,"a":9007199254740993}'
    made = run("set", "user", "ann", key, exact, "--type", "object", "--confidence", "0.9")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["version"] == 1
    assert run("get", "user", "ann", key).stdout == exact + "\n"
    piped = run("set", "user", "ann", key, "--version", "1", stdin=f"  {exact}\n")
    assert json.loads(piped.stdout)["confidence"] is None
    (line,) = (line for line in run("list", "user", "ann").stdout.splitlines() if key in line)
    assert f'"value":{exact},' in line


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("get", "user", "ann", "no-such"), "no fact 'no-such'"),
        (("set", "user", "ann", "k", "30m"), "quotes"),
        (("set", "global", "ann", "k", "1"), "'-'"),
        (("set", "user", "zed", "k", "1"), "PUT /v1/users/zed"),
        (("set", "user", "ann", "k", "1", "--version", "77"), "version 77"),
        (("get", "team", "x", "k"), "scope_kind"),
        (("list", "room", "hall", "--conversation", "alone"), "no facts of room 'hall'"),
    ],
)
def test_errors_on_the_command_line_are_one_readable_line(run, args, said):
    done = run(*args)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
