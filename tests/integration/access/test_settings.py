"""Settings of a tenant: over HTTP, on the command line, and what the doctor says of them."""

from datetime import UTC, datetime
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

NO_QUOTAS = {"quota_messages": None, "quota_mb": None, "quota_background_seconds": None}
READS = {"session_reach": "own", "direct_reads_rooms": True, "agents_word": False, "audit_reads": False}
UNSET = {"retention_days": None, "time_zone": None}
DEFAULTS = {"profile_per_agent": False, "profiles_in_rooms": "room"} | READS | UNSET | NO_QUOTAS
OTHER_LINES = (
    "session_reach = own\ndirect_reads_rooms = true\nagents_word = false\naudit_reads = false\n"
    "retention_days = none\ntime_zone = none\n"
    "quota_messages = none\nquota_mb = none\nquota_background_seconds = none\n"
)


@pytest.fixture
def tenant_name():
    return f"settings-{uuid4().hex[:8]}"


@pytest.fixture
def client(keyed_service, tenant_name):
    with keyed_service.client(keyed_service.make_key(tenant_name)) as found:
        yield found


def test_a_setting_is_changed_alone_and_stays(client):
    assert client.get("/v1/settings").json() == DEFAULTS
    changed = client.patch("/v1/settings", json={"profiles_in_rooms": "all"})
    assert (changed.status_code, changed.json()) == (200, DEFAULTS | {"profiles_in_rooms": "all"})
    client.patch("/v1/settings", json={"profile_per_agent": True})
    expected = DEFAULTS | {"profile_per_agent": True, "profiles_in_rooms": "all"}
    assert client.get("/v1/settings").json() == expected
    assert client.patch("/v1/settings", json={}).json() == client.get("/v1/settings").json()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"profiles_in_room": "all"}, "known are: profile_per_agent, profiles_in_rooms"),
        ({"profiles_in_rooms": "ALL"}, "it is room or all"),
        ({"profiles_in_rooms": None}, "it is room or all"),
        ({"profile_per_agent": 1}, "it is false or true"),
        ({"profile_per_agent": "true"}, "it is false or true"),
        ({"session_reach": "project"}, "it is own or user"),
        ({"direct_reads_rooms": "no"}, "it is false or true"),
        ({"audit_reads": 1}, "it is false or true"),
        ({"time_zone": "Berlin"}, "it is named like Europe/Berlin"),
        ({"time_zone": "../../etc/passwd"}, "it is named like Europe/Berlin"),
        ({"time_zone": "Europe"}, "it is named like Europe/Berlin"),
        ({"time_zone": "/etc/localtime"}, "it is named like Europe/Berlin"),
        ({"time_zone": "UTC\0"}, "time_zone"),
        ({"time_zone": "Z" * 100_000}, "it is named like Europe/Berlin"),
        ({"time_zone": 2}, "it is named like Europe/Berlin"),
        ({"quota_messages": 0}, "a whole number from 1 to"),
        ({"quota_mb": True}, "a whole number from 1 to"),
        ({"quota_background_seconds": "5"}, "a whole number from 1 to"),
    ],
)
def test_a_setting_or_a_value_that_there_is_not_is_refused(client, changes, said):
    answer = client.patch("/v1/settings", json={"profile_per_agent": True} | changes)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    assert client.get("/v1/settings").json() == DEFAULTS


def test_only_the_owner_reads_and_changes_settings(keyed_service, tenant_name, client):
    for role, bound in (("reader", {}), ("agent", {}), ("admin", {"user": "ann"}), ("admin", {"agent": "ada"})):
        with keyed_service.client(keyed_service.make_key(tenant_name, role, **bound)) as other:
            assert other.get("/v1/settings").status_code == 403
            assert other.patch("/v1/settings", json={"profiles_in_rooms": "all"}).status_code == 403
    assert client.get("/v1/settings").json() == DEFAULTS


def test_the_command_line_changes_them_and_the_doctor_says_so(make_migrated_home, cli):
    home = make_migrated_home()
    shown = cli(home, "settings")
    assert shown.stdout == "profile_per_agent = false\nprofiles_in_rooms = room\n" + OTHER_LINES, shown.stderr
    assert "profiles_in_rooms is all" not in " ".join(cli(home, "doctor", embedding="none").stdout.split())
    changed = cli(home, "settings", "profiles_in_rooms=all", "profile_per_agent=true")
    assert changed.stdout == "profile_per_agent = true\nprofiles_in_rooms = all\n" + OTHER_LINES
    doctor = " ".join(cli(home, "doctor", embedding="none").stdout.split())
    assert "profiles_in_rooms is all" in doctor
    for args, said in (
        (("profiles=all",), "there is no setting 'profiles'"),
        (("profiles_in_rooms=some",), "it is room or all"),
        (("profiles_in_rooms",), "write it as name=value"),
        (("quota_mb=many",), "a whole number from 1 to"),
        (("time_zone=Mars/Olympus",), "it is named like Europe/Berlin"),
        (("--tenant", "nobody"), "no tenant 'nobody'"),
    ):
        refused = cli(home, "settings", *args)
        assert (refused.returncode, said in refused.stderr) == (1, True), refused.stderr


def test_times_are_read_in_the_zone_of_the_tenant(client):
    for path in ("users/ann", "agents/ada"):
        client.put(f"/v1/{path}", json={})
    client.put("/v1/conversations/talk", json={"user": "ann", "agent": "ada"})
    now = datetime.now(UTC)
    said = {"role": "user", "user": "ann", "content": "The ferry leaves at six.", "created_at": now.isoformat()}
    assert client.post("/v1/conversations/talk/messages", json=said).status_code == 201
    # of two zones that are 25 hours apart one is always in another day than UTC, and both in different ones
    for name in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        assert client.patch("/v1/settings", json={"time_zone": name}).json()["time_zone"] == name
        today = datetime.now(ZoneInfo(name)).replace(hour=0, minute=0, second=0, microsecond=0)
        for where in ({"conversation": "talk"}, {}):
            named = client.post("/v1/search", json={"query": "ferry", "window": "today", "recipe": "fast"} | where)
            assert datetime.fromisoformat(named.json()["searched"]["since"]) == today
            asked = {"query": "When did the ferry leave yesterday?", "recipe": "fast"} | where
            time = client.post("/v1/search", json=asked).json()["searched"]["time"]
            assert datetime.fromisoformat(time["before"]) == today
            for edge, found in (("since", 1), ("before", 0)):
                page = client.get("/v1/browse", params={edge: f"{today:%Y-%m-%d}"} | where)
                assert len(page.json()["messages"]) == found
        made = client.post("/v1/compose", json={"conversation": "talk", "message": "hello"}).json()
        assert f"today: {today:%Y-%m-%d, %A}" in made["text"]
    # null takes the service's zone again
    assert client.patch("/v1/settings", json={"time_zone": None}).json()["time_zone"] is None
    made = client.post("/v1/compose", json={"conversation": "talk", "message": "hello"}).json()
    assert f"today: {datetime.now(UTC):%Y-%m-%d}" in made["text"]
