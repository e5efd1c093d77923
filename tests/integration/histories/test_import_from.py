"""`keepword import-from` against a real service: everything once, at its own time, in its own place."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from keepword.cli import make_app
from unit.histories.made import chatgpt_conversation, claude_code_lines, node, slack_zip, write_json, write_lines

KEEPWORD = str(Path(sys.executable).parent / "keepword")
KILLS = int(os.environ.get("KILLS", "2"))


@pytest.fixture
def tenant_key(keyed_service):
    return keyed_service.make_key(f"t-{uuid4().hex[:12]}")


@pytest.fixture
def owner(keyed_service, tenant_key):
    with keyed_service.client(tenant_key) as client:
        yield client


@pytest.fixture
def start(keyed_service, tenant_key):
    """Start the command as the tenant's owner."""

    def run(*args):
        env = os.environ | {"KEEPWORD_URL": keyed_service.url, "KEEPWORD_KEY": tenant_key}
        return subprocess.Popen(
            [KEEPWORD, "import-from", *map(str, args)], env=env, cwd="/", text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip

    return run


@pytest.fixture
def import_from(keyed_service, tenant_key, monkeypatch, capsys):
    """Run the command in this process, and return what it says in a pipe."""
    monkeypatch.setenv("KEEPWORD_URL", keyed_service.url)
    monkeypatch.setenv("KEEPWORD_KEY", tenant_key)
    app = make_app("import-from")

    def run(*args):
        app(["import-from", *map(str, args)], standalone_mode=False)
        return json.loads(capsys.readouterr().out)

    return run


def conversations(client):
    return {one["external_id"]: one for one in client.get("/v1/conversations?limit=200").json()["conversations"]}


def count(client):
    return sum(one["message_count"] for one in conversations(client).values())


def transcript(client, conversation):
    answer = client.get(f"/v1/conversations/{conversation}/messages?limit=200")
    return [(one["role"], one["user"], one["content"]) for one in answer.json()["messages"]]


def test_a_workspace_keeps_who_may_read_what(keyed_service, tenant_key, owner, import_from, tmp_path):
    """A direct conversation becomes no room; one of others is not imported; who left a channel does not read it."""
    report = import_from("slack", slack_zip(tmp_path / "slack.zip"), "--user", "ana", "--map", "U1=ana")
    assert (
        report["left_out"][0]["what"].startswith("a message of a direct conversation of others") or report["left_out"]
    )
    made = conversations(owner)
    assert {name: (one["kind"], one["user"], one["room"]) for name, one in made.items()} == {
        "slack:C1": ("room", None, "slack:C1"),
        "slack:G1": ("room", None, "slack:G1"),
        "slack:M1": ("room", None, "slack:M1"),
        "slack:D1": ("direct", "ana", None),
    }
    assert {
        room["id"]: sorted(owner.get(f"/v1/rooms/{room['id']}/participants").json()["users"])
        for room in owner.get("/v1/rooms").json()["rooms"]
    } == {
        "slack:C1": ["ana", "slack:U2", "slack:U3"],
        "slack:G1": ["ana"],
        "slack:M1": ["ana", "slack:U2", "slack:U3"],
    }
    assert transcript(owner, "slack:D1") == [("user", "ana", "Between us: I resign."), ("assistant", None, "Oh no.")]
    assert ("user", "slack:U4", "Somebody who left.") in transcript(owner, "slack:C1")

    readers = {
        "ana": set(made),
        "slack:U2": {"slack:C1", "slack:M1"},
        "slack:U3": {"slack:C1", "slack:M1"},
        "slack:U4": set(),
    }
    secrets = ("Between us: I resign.", "Our secret of two others.", "Of no list.", "The board meets in Oslo.")
    for user, opened in readers.items():
        with keyed_service.client(tenant_key, **{"Keepword-User": user}) as client:
            read = {name: client.get(f"/v1/conversations/{name}/messages") for name in made}
            assert {name for name, answer in read.items() if answer.status_code == 200} == opened, user
            for name in opened:
                found = client.post(
                    "/v1/search", json={"query": " ".join(secrets), "conversation": name, "limit": 50}
                ).text
                shown = {text for text in secrets if text in found or text in read[name].text}
                assert shown <= {"slack:D1": {secrets[0]}, "slack:G1": {secrets[3]}}.get(name, set()), (user, name)


def test_a_second_import_adds_only_what_is_new(owner, import_from, tmp_path):
    write_lines(tmp_path / "cc" / "s1.jsonl", claude_code_lines())
    first = import_from("claude-code", tmp_path / "cc", "--user", "tom")
    again = import_from("claude-code", tmp_path / "cc", "--user", "tom")
    more = [*claude_code_lines(), {**claude_code_lines()[1], "uuid": "u9", "message": {"content": "One more."}}]
    write_lines(tmp_path / "cc" / "s1.jsonl", more)
    third = import_from("claude-code", tmp_path / "cc", "--user", "tom")
    assert [(one["stored"], one["known"]) for one in (first, again, third)] == [(5, 0), (0, 5), (1, 5)]
    conversation = conversations(owner)["claude-code:s1"]
    assert (conversation["user"], conversation["agent"], conversation["title"]) == ("tom", "claude-code", "The port")
    assert conversation["project"] == "folder:nowhere:x"
    messages = owner.get("/v1/conversations/claude-code:s1/messages").json()["messages"]
    assert {one["created_at"][:10] for one in messages} == {"2026-01-02"}
    assert (
        owner.post("/v1/search", json={"query": "which port?"}).json()["results"][0]["text"].startswith("The port is")
    )


def test_an_edited_message_is_kept_beside_its_first_words(owner, import_from, tmp_path):
    def export(text, **more):
        return {
            "name": "Ana", "type": "personal_chat", "id": 2, "messages": [
                {"id": 1, "type": "message", "date_unixtime": "1767300000", "from": "Ana", "from_id": "user2",
                 "text": text, **more},
                {"id": 2, "type": "message", "date_unixtime": "1767300001", "from": "Tom", "from_id": "user1",
                 "text": "ok"},
            ],
        }  # fmt: skip

    path = tmp_path / "result.json"
    counts = []
    for value in (export("At 5."), export("At 6.", edited_unixtime="1767400000"), export("At 7.")):
        report = import_from("telegram", write_json(path, value), "--user", "tom")
        counts.append((report["stored"], report["known"]))
    assert counts == [(2, 0), (1, 1), (0, 2)]
    assert "what is here stays" in report["left_out"][0]["what"]
    assert transcript(owner, "telegram:2") == [
        ("assistant", None, "At 5."),
        ("assistant", None, "At 6."),
        ("user", "tom", "ok"),
    ]


def test_a_dry_run_stores_nothing(owner, import_from, tmp_path):
    report = import_from("chatgpt", write_json(tmp_path / "c.json", [chatgpt_conversation()]), "--dry-run")
    assert (report["messages"], report["conversations"], report["dry_run"]) == (6, 2, True)
    assert conversations(owner) == {}


def test_a_killed_import_goes_on_and_stores_everything_once(owner, start, import_from, tmp_path, show):
    """The same export is begun, killed in the middle again and again, and then run to its end."""
    export = []
    for number in range(40):
        nodes = [{"id": f"{number}.root", "parent": None, "children": [f"{number}.0"], "message": None}]
        nodes += [
            node(f"{number}.{turn}", f"{number}.{turn - 1}" if turn else f"{number}.root", [f"{number}.{turn + 1}"],
                 "user" if turn % 2 == 0 else "assistant", f"Talk {number}, turn {turn}. " + "Some words. " * 40)
            for turn in range(20)
        ]  # fmt: skip
        mapping = {one["id"]: one for one in nodes}
        export.append({"conversation_id": f"k{number}", "current_node": f"{number}.19", "mapping": mapping})
    path = write_json(tmp_path / "conversations.json", export)
    in_the_middle = 0
    for number in range(KILLS):
        process = start("chatgpt", path, "--user", "tom")
        while process.poll() is None and count(owner) <= (number + 1) * 800 // (KILLS + 2):
            time.sleep(0.005)
        process.kill()
        process.communicate()
        in_the_middle += 0 < count(owner) < 800
    report = import_from("chatgpt", path, "--user", "tom")
    assert in_the_middle >= KILLS - KILLS // 4, "the others came after the end"
    assert report["stored"] + report["known"] == report["messages"] == 800
    stored = [text for name in conversations(owner) for _, _, text in transcript(owner, name)]
    assert len(stored) == len(set(stored)) == 800
    show(
        f"{KILLS} kills in the middle of an import of 800 messages: {len(stored)} stored, {800 - len(set(stored))} lost"
    )
