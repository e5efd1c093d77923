"""Compose as an agent calls it: over HTTP, on a real database."""

import json
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

import pytest

from keepword import tokens
from keepword.postgres import migrate


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


@pytest.fixture
def names():
    """Return names that no other test uses: a room, two people, an agent."""
    tag = uuid4().hex[:8]
    return {name: f"{name}-{tag}" for name in ("team", "ann", "bob", "ada", "plan", "dm", "apollo")}


@pytest.fixture
def room(client, names):
    """A room where ann and bob talk to ada, and ann's direct conversation with ada."""
    for user in ("ann", "bob"):
        client.put(f"/v1/users/{names[user]}", json={})
    client.put(f"/v1/agents/{names['ada']}", json={"context_window": 50_000})
    client.put(f"/v1/rooms/{names['team']}", json={})
    for user in ("ann", "bob"):
        client.put(f"/v1/rooms/{names['team']}/participants/users/{names[user]}")
    client.put(f"/v1/rooms/{names['team']}/participants/agents/{names['ada']}")
    client.put(f"/v1/conversations/{names['plan']}", json={"room": names["team"], "agent": names["ada"]})
    client.put(f"/v1/conversations/{names['dm']}", json={"kind": "direct", "user": names["ann"], "agent": names["ada"]})
    return names["plan"]


def say(client, conversation, text, user=None, role="user"):
    answer = client.post(
        f"/v1/conversations/{conversation}/messages",
        json={"role": role, "content": text, **({"user": user} if user else {})},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["messages"][0]["id"]


def compose(client, conversation, message="When do we fly?", **more):
    answer = client.post("/v1/compose", json={"conversation": conversation, "message": message, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def lines(made, section):
    return [line for one in made["sections"] if one["name"] == section for line in one["lines"]]


def test_every_layer_has_its_section_in_order(client, room, names):
    for number in range(45):
        say(client, room, f"Message number {number} about the boat trip to Oslo", names["ann"])
    pinned = say(client, room, "decision: we fly on Friday", names["bob"])
    client.post("/v1/landmarks", json={"conversation": room, "message": pinned, "kind": "decision"})
    for number in range(41):
        say(client, room, f"Chat {number} about dinner", names["ann"])
    client.put(f"/v1/facts/room/{names['team']}/airline", json={"value": "SAS"})
    client.put(f"/working-memory/{room}", json={"data": {"scratchpad": "book seats"}})
    client.post(
        "/episodic/store", json={"agent_id": names["ada"], "conversation_id": room, "summary": "They plan a trip."}
    )
    memory = {"type": "memory", "attributes": {"type": "user", "memory": "Ann gets seasick"}}
    memory["relationships"] = {"membership": {"data": {"type": "membership", "id": names["ann"]}}}
    made_memory = client.post(
        "/v1/memories", json={"data": memory}, headers={"Content-Type": "application/vnd.api+json"}
    )
    assert made_memory.status_code == 201, made_memory.text
    made = compose(client, room, "When do we take the boat trip?", user=names["ann"])
    assert [section["name"] for section in made["sections"]] == [
        "session", "facts", "profile", "recall", "landmarks", "summary", "transcript", "invocation",
    ]  # fmt: skip
    assert made["degraded"] == [] or all(line.startswith("deep") for line in made["degraded"])
    assert made["window_tokens"] == 50_000
    assert made["share"] == pytest.approx(made["tokens"] / 50_000, abs=1e-4)
    assert tokens.count(made["text"]) <= made["tokens"]
    assert made["injected_tokens"] <= 4_000
    gap, *shown = lines(made, "transcript")
    assert len(shown) == 40
    assert "47 messages are not shown here: #1 to #47" in gap["text"]
    older = {"section": "transcript", "kind": "message", "count": 47, "reason": "older"}
    assert {**older, "conversation": room, "first_seq": 1, "last_seq": 47} in made["left_out"]
    assert "scratchpad: book seats" in made["text"]
    assert 'airline = "SAS"' in made["text"]
    assert "decision: we fly on Friday" in lines(made, "landmarks")[0]["text"]
    recalled = lines(made, "recall")
    assert {line["kind"] for line in recalled} == {"message"}
    assert all(line["reason"].startswith("found by") and line["score"] > 0 for line in recalled)
    shown = {line["id"] for line in lines(made, "transcript")}
    assert shown.isdisjoint(line["id"] for line in recalled)
    assert [message["role"] for message in made["messages"][:2]] == ["system", "user"]
    system, quotes = (message["content"] for message in made["messages"][:2])
    for quoted in ("scratchpad: book seats", 'airline = "SAS"', "decision: we fly on Friday", recalled[0]["text"]):
        assert quoted in quotes
        assert quoted not in system
        assert quoted not in made["anthropic"]["system"]
    old = compose(client, room, "When do we take the boat trip?", quotes_in="system", dry_run=True)
    assert "scratchpad: book seats" in old["messages"][0]["content"]
    assert 'airline = "SAS"' in old["anthropic"]["system"]
    assert made["messages"][-1]["content"].endswith("When do we take the boat trip?")
    assert "RAW TRANSCRIPT" not in made["anthropic"]["system"]


def test_what_was_said_in_a_direct_conversation_never_reaches_a_room(client, room, names):
    """The Nexus seed shows a prompt of a room with a fact out of a direct conversation; here that can't happen."""
    secret = say(client, names["dm"], "decision: my salary is 90000, remember it", names["ann"])
    client.post("/v1/landmarks", json={"conversation": names["dm"], "message": secret, "kind": "decision"})
    client.put(f"/working-memory/{names['dm']}", json={"data": {"scratchpad": "salary 90000"}})
    client.post(
        "/episodic/store",
        json={"agent_id": names["ada"], "conversation_id": names["dm"], "summary": "Salary is 90000."},
    )
    say(client, room, "Shall we talk about pay?", names["bob"])
    asked = "What is Ann's salary? Remember the decision."
    for user in (names["ann"], names["bob"], None):
        made = compose(client, room, asked, **({"user": user} if user else {}))
        assert "90000" not in json.dumps(made)
    assert "90000" in compose(client, names["dm"], asked)["text"]


def test_what_was_said_to_the_agent_that_answers_comes_before_what_another_was_told(client, room, names):
    other = f"other-{names['ada']}"
    client.put(f"/v1/agents/{other}", json={})
    client.put(f"/v1/rooms/{names['team']}/participants/agents/{other}")
    told = {names["ada"]: "The badge code of the annex is 4411.", other: "The badge code of the garage is 7722."}
    for agent in (other, names["ada"], other):
        body = {"role": "user", "content": told[agent], "user": names["bob"], "agent": agent}
        assert client.post(f"/v1/conversations/{room}/messages", json=body).status_code == 201

    def first(agent):
        asked = {"agent": agent, "sections": ["recall"], "dry_run": True}
        recalled = lines(compose(client, room, "What is the badge code?", **asked), "recall")
        (another,) = told.keys() - {agent}
        reasons = {line["reason"].partition("; ")[2] for line in recalled}
        assert reasons == {"", f"said with {another}, which counts less"}
        return max(recalled, key=lambda line: line["score"])

    for agent, text in told.items():
        assert text in first(agent)["text"], agent


def test_compose_takes_a_recipe(client, room, names):
    say(client, room, "The badge code of the annex is 4411.", names["bob"])

    def score(name):
        made = compose(client, room, "What is the badge code?", sections=["recall"], recipe=name)
        return lines(made, "recall")[0]["score"]

    scores = {name: score(name) for name in ("best", "fast", "seed")}
    # said just now and never used: 0.3 of words, 0.3 of time and 0.05 of importance are certain
    assert scores["seed"] > 0.64
    # too little may be embedded yet for `best` to differ
    assert scores["seed"] not in {scores["best"], scores["fast"]}
    refused = client.post("/v1/compose", json={"conversation": room, "message": "x", "recipe": "secret"})
    assert (refused.status_code, refused.json()["field"]) == (422, "recipe")
    assert "best, fast, seed" in refused.json()["detail"]


def test_an_isolated_project_gets_nothing_from_outside(client, room, names):
    client.put(f"/v1/projects/{names['apollo']}", json={"isolated": True})
    client.put("/v1/facts/global/-/motto-of-compose", json={"value": "stay dry"})
    lone = f"lone-{names['apollo']}"
    client.put(f"/v1/conversations/{lone}", json={"user": names["ann"], "project": names["apollo"]})
    assert "stay dry" in compose(client, room, "what is the motto")["text"]
    assert "stay dry" not in compose(client, lone, "what is the motto")["text"]


def test_the_message_that_was_appended_already_stands_there_once(client, room, names):
    say(client, room, "hello there", names["ann"])
    id_ = say(client, room, "When does the ferry leave?", names["ann"])
    made = compose(client, room, "When does the ferry leave?", user=names["ann"])
    assert made["text"].count("When does the ferry leave?") == 1
    assert [line["id"] for line in lines(made, "invocation")] == [id_]


def test_with_the_ledger_on_nothing_is_injected_twice_until_it_changes_or_is_evicted(client, room, names):
    client.put(f"/v1/facts/room/{names['team']}/airline", json={"value": "SAS"})
    asked = {"ledger": True, "sections": ["facts"]}
    dry = compose(client, room, dry_run=True, **asked)
    (line,) = [line for line in lines(dry, "facts") if "airline" in line["text"]]
    assert [one["id"] for one in lines(compose(client, room, **asked), "facts")].count(line["id"]) == 1
    assert "airline" not in compose(client, room, **asked)["text"]
    client.put(f"/v1/facts/room/{names['team']}/airline", json={"value": "Norwegian"})
    assert "Norwegian" in compose(client, room, **asked)["text"]
    assert "Norwegian" not in compose(client, room, **asked)["text"]
    client.post(f"/ledger/{room}/evict", json={"item_key": f"fact:{line['id']}"})
    assert "Norwegian" in compose(client, room, **asked)["text"]
    assert "Norwegian" in compose(client, room, sections=["facts"])["text"]


def test_landmarks_that_do_not_fit_are_counted(client, room, names):
    for number in range(8):
        id_ = say(client, room, f"decision: item {number} costs {number * 1000} crowns and we buy it", names["bob"])
        client.post("/v1/landmarks", json={"conversation": room, "message": id_, "kind": "decision"})
    made = compose(client, room, sections=["landmarks"], landmark_tokens=150)
    *shown, more = lines(made, "landmarks")
    assert more["kind"] == "more"
    assert f" {8 - len(shown)} more landmarks" in more["text"]
    assert "item 7 " in shown[0]["text"]
    assert sum(line["tokens"] for line in (*shown, more)) <= 150


def test_of_many_landmarks_the_most_used_come_first(service, client, room, names):
    for number in range(8):
        id_ = say(client, room, f"decision: item {number} costs {number * 1000} crowns and we buy it", names["bob"])
        client.post("/v1/landmarks", json={"conversation": room, "message": id_, "kind": "decision"})
    with migrate.owner(service.conninfo) as owner:
        owner.execute(
            "SELECT count_uses(e.tenant_id, ARRAY[e.id], ARRAY[3]) FROM entries e "
            "WHERE e.kind = 'landmark' AND e.run_id = %s AND e.text LIKE %s",
            (f"room:{names['team']}", "%item 2 %"),
        )
    first, second, *_ = lines(compose(client, room, sections=["landmarks"], landmark_tokens=150), "landmarks")
    assert "item 2 " in first["text"]
    assert "item 7 " in second["text"]


@pytest.mark.parametrize(
    ("template", "heading"),
    [("keepword", "## RECALL"), ("nexus", "[RECALL]"), ("aegis", "[Episodic Memory -- Relevant Past Conversations]")],
)
def test_three_templates_are_built_in(client, room, names, template, heading):
    say(client, room, "The ferry to Oslo leaves at nine", names["ann"])
    made = compose(client, room, "When does the ferry leave?", template=template, sections=["recall"])
    assert heading in made["text"].split("\n")
    assert template != "aegis" or "- (similarity: " in made["text"]


def test_the_template_aegis_prints_the_similarity_that_its_search_answers(client):
    name = f"aegis-{uuid4().hex}"
    query, summary = "What did we file for the ranch?", "Previously filed Rule 37 exception for Mitchell Ranch 2H..."
    body = {"agent_id": "helper", "user_id": name, "conversation_id": name, "summary": summary}
    client.post("/episodic/store", json=body).raise_for_status()
    asked = {"agent_id": "helper", "user_id": name, "query": query}
    (found,) = client.post("/episodic/search", json=asked).json()["memories"]
    body = {"conversation": name, "message": query, "template": "aegis", "sections": ["recall"]}
    made = client.post("/v1/compose", json=body).json()
    (section,) = [section for section in made["sections"] if section["name"] == "recall"]
    heading, line = "[Episodic Memory -- Relevant Past Conversations]", f"(similarity: {found['similarity']:.2f})"
    assert f"{heading}\n- {line} {summary}" in made["text"]
    assert section["lines"][0]["score"] != found["similarity"]


def test_others_can_be_put_into_the_data_folder(service, client, room):
    folder = service.home / "templates"
    folder.mkdir(exist_ok=True)
    (folder / "mine.toml").write_text('heading = "<<$title>>"\nline = "* $text"\n')
    assert "<<SESSION CONTEXT>>" in compose(client, room, template="mine")["text"]


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"window_tokens": 30}, 422, "that is the minimum"),
        ({"message": "word " * 300, "window_tokens": 100}, 422, "tokens with its attribution, but the window has 100"),
        ({"sections": ["gossip"]}, 422, "sections.0"),
        ({"sections": ["facts", "facts"]}, 422, "twice"),
        ({"budget_tokens": -1}, 422, "budget_tokens"),
        ({"landmark_tokens": -1}, 422, "landmark_tokens"),
        ({"workspace_tokens": -1}, 422, "workspace_tokens"),
        ({"window_tokens": 0}, 422, "window_tokens"),
        ({"message": "  "}, 422, "message is empty"),
        ({"user": "mallory"}, 404, "no conversation"),
        ({"agent": "stranger"}, 404, "no conversation"),
        ({"conversation": "nowhere"}, 404, "no conversation"),
        ({"template": "../../etc/passwd"}, 422, "no template"),
        ({"colour": "red"}, 422, "colour"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(client, room, change, status, said):
    answer = client.post("/v1/compose", json={"conversation": room, "message": "hi", **change})
    assert answer.status_code == status, answer.text
    assert said in answer.json()["detail"]


def test_a_minimal_window_is_enough(client, room):
    refused = client.post("/v1/compose", json={"conversation": room, "message": "hi", "window_tokens": 30})
    minimum = int(refused.json()["detail"].split("alone take ")[1].split(";")[0])
    assert compose(client, room, "hi", window_tokens=minimum)["tokens"] == minimum


def test_a_reader_may_compose_but_mark_nothing(keyed_service):
    tenant = f"tenant-{uuid4().hex[:8]}"
    with keyed_service.client(keyed_service.make_key(tenant)) as admin:
        admin.put("/v1/conversations/talk", json={})
        admin.put("/v1/facts/global/-/motto", json={"value": "stay dry"})
    with keyed_service.client(keyed_service.make_key(tenant, "reader")) as reader:
        assert "stay dry" in compose(reader, "talk")["text"]
        answer = reader.post("/v1/compose", json={"conversation": "talk", "message": "hi", "ledger": True})
        assert answer.status_code == 403


def test_the_command_prints_what_the_agent_would_see(service, client, cli, room, names):
    say(client, room, "The ferry to Oslo leaves at nine", names["ann"])
    done = cli(service.home, "compose", room, "When does the ferry leave?", url=service.url)
    assert done.returncode == 0, done.stderr
    assert "## RAW TRANSCRIPT" in done.stdout
    why = cli(service.home, "compose", room, "When does the ferry leave?", "--why", url=service.url)
    assert "among the last" in why.stdout


def put_file(client, agent, name, content):
    answer = client.put(f"/v1/agents/{agent}/files/{name}", json={"content": content})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_agents_own_files_come_first_in_their_order(client, room, names):
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    for name, content in (
        ("MEMORY.md", "Ann prefers mornings."), ("SOUL.md", "Be kind."), (f"{today}.md", "Ferry day."),
        ("1999-01-01.md", "Old notes."), ("draft.md", "Not composed."),
    ):  # fmt: skip
        put_file(client, names["ada"], name, content)
    made = compose(client, room)
    assert made["sections"][0]["name"] == "workspace"
    assert [line["id"] for line in lines(made, "workspace")] == ["SOUL.md", "MEMORY.md", f"{today}.md"]
    assert "### SOUL.md\nBe kind." in made["text"]
    assert lines(compose(client, room, workspace_tokens=20), "workspace")[0]["id"] == "SOUL.md"


def test_files_keep_every_version(client, names):
    agent, path = names["ada"], f"/v1/agents/{names['ada']}/files/SOUL.md"
    assert put_file(client, agent, "SOUL.md", "Be kind.")["version"] == 1
    assert put_file(client, agent, "SOUL.md", "Be kind.")["version"] == 1
    assert put_file(client, agent, "SOUL.md", "Be brief.")["version"] == 2
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    assert client.delete(path).status_code == 404
    assert put_file(client, agent, "SOUL.md", "Be back.")["version"] == 4
    versions = client.get(f"{path}/history").json()["versions"]
    assert [one["content"] for one in versions] == ["Be back.", None, "Be brief.", "Be kind."]


@pytest.mark.parametrize("name", ["..", "..%2Fx.md", "a%2Fb.md", ".env", "a..b", "x%00y", "%5Cx", "a%20b", "é.md"])
def test_a_files_name_is_a_name_and_never_a_path(client, names, name):
    answer = client.put(f"/v1/agents/{names['ada']}/files/{name}", json={"content": "x"})
    assert answer.status_code in {404, 405, 422}
    assert client.get(f"/v1/agents/{names['ada']}/files").json() == {"files": [], "next": None}


def test_a_file_has_a_limit(client, names):
    answer = client.put(f"/v1/agents/{names['ada']}/files/SOUL.md", json={"content": "x" * (256 * 1024 + 1)})
    assert answer.status_code == 413


def test_a_folder_is_synced_from_the_command_line(service, cli, names, tmp_path):
    (tmp_path / "SOUL.md").write_text("Be kind.")
    (tmp_path / "TOOLS.md").write_text("hammer")
    (tmp_path / "secret.txt").write_text("no")
    run = partial(cli, service.home, "agents", "files", url=service.url)
    first = run("sync", names["ada"], str(tmp_path))
    assert [json.loads(line)["name"] for line in first.stdout.splitlines()] == ["SOUL.md", "TOOLS.md"], first.stderr
    assert run("sync", names["ada"], str(tmp_path)).stdout == ""
    assert run("put", names["ada"], "MEMORY.md", stdin="tea").stdout == "1\n"
    assert run("get", names["ada"], "MEMORY.md").stdout == "tea"
    listed = [line.split("\t")[0] for line in run("list", names["ada"]).stdout.splitlines()]
    assert listed == ["MEMORY.md", "SOUL.md", "TOOLS.md"]
    assert run("put", names["ada"], "../up.md", stdin="x").returncode == 1
