"""What the service tells its operator: the doctor's findings and settings with their origins, on this machine alone."""

from uuid import uuid4

from keepword.postgres import migrate

PATH = "/v1/service"


def test_the_owner_on_this_machine_reads_findings_and_settings_without_secrets(make_service):
    service = make_service(llm_url="http://127.0.0.1:1/v1", llm_key="sk-very-secret", llm_model="m").start()
    with service.client(service.make_key("default")) as owner:
        answer = owner.get(PATH)
    assert answer.status_code == 200, answer.text
    report = answer.json()
    findings = {one["name"]: one for one in report["findings"]}
    assert {"disk", "database", "migrations", "durability", "keys", "redis", "role keepword_app"} <= findings.keys()
    assert findings["keys"]["found"] == "every request needs one"
    assert findings["migrations"]["ok"]
    assert all(one["ok"] or one["fix"] for one in report["findings"])
    settings = {one["name"]: one for one in report["settings"]}
    assert (settings["llm_model"]["value"], settings["llm_model"]["origin"]) == ("m", "KEEPWORD_LLM_MODEL")
    assert settings["timezone"]["origin"] == "default"
    assert settings["llm_key"]["value"] == "(hidden)"
    assert "sk-very-secret" not in answer.text
    assert "sk-very-secret" not in service.log()


def test_nobody_else_reads_it(keyed_service):
    tenant = f"service-{uuid4().hex}"
    owner_key = keyed_service.make_key(tenant)
    for role, bound in (("agent", {}), ("reader", {}), ("admin", {"user": "ann"})):
        with keyed_service.client(keyed_service.make_key(tenant, role, **bound)) as client:
            assert client.get(PATH).status_code == 403
    # behind a proxy on this machine the caller is somewhere else
    with keyed_service.client(owner_key) as owner:
        refused = owner.get(PATH, headers={"X-Forwarded-For": "198.51.100.7"})
        assert refused.status_code == 403
        assert "keepword doctor" in refused.json()["detail"]
        names = owner.get(PATH).text
    assert tenant not in names
    assert "tenant " not in names


def test_entries_that_could_not_be_embedded_are_a_finding(make_service):
    service = make_service().start()
    with service.client() as owner:
        owner.put("/v1/conversations/talk", json={})
        owner.post("/v1/conversations/talk/messages", json={"role": "user", "content": "Hello there."})
        with migrate.owner(service.conninfo) as conn:
            conn.execute("UPDATE backlog SET failed = true, error = 'model is away'")
        bad = [one for one in owner.get(PATH).json()["findings"] if not one["ok"] and one["name"].startswith("space")]
        assert bad
        assert "model is away" in bad[0]["found"]
        owner.post("/v1/jobs/retry", json={"task": "embed"})
        assert not [one for one in owner.get(PATH).json()["findings"] if one["name"].startswith("space")]
