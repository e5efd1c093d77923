"""Users, rooms, projects, conversations and memories from the command line."""

import json
from uuid import uuid4

import pytest

from acceptance.cli.terminal import on_terminal
from keepword import __version__


@pytest.fixture
def run(service, cli):
    def command(*args, **settings):
        done = cli(service.home, *args, **({"url": service.url} | settings))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return command


@pytest.fixture
def some():
    """Give names that no other test uses."""
    mark = uuid4().hex[:8]
    return lambda name: f"{name}-{mark}"


def test_a_room_is_made_filled_and_emptied(run, some):
    room, zoe = some("kitchen"), some("zoe")
    run("users", "put", zoe, "--name", "Zoe")
    run("rooms", "put", room, "--name", "The kitchen")
    assert run("rooms", "add", room, "--user", zoe) == [{"users": [zoe], "agents": []}]
    run("rooms", "add", room, "--agent", "aide")
    run("conversations", "put", some("talk"), "--room", room, "--agent", "aide")
    (shown,) = run("rooms", "show", room)
    assert (shown["name"], shown["users"], shown["agents"]) == ("The kitchen", [zoe], ["aide"])
    assert run("rooms", "remove", room, "--agent", "aide") == [{"users": [zoe], "agents": []}]
    assert room in {row["id"] for row in run("rooms", "list")}
    assert {"id": zoe, "name": "Zoe"}.items() <= run("users", "show", zoe)[0].items()


def test_a_user_is_introduced_to_an_agent_and_withdrawn(run, some):
    agent, zoe = some("aide"), some("zoe")
    run("users", "put", zoe)
    run("agents", "introduce", agent, zoe)
    (shown,) = run("agents", "users", agent)
    assert (shown["user"], shown["introduced_at"][:2]) == (zoe, "20")
    run("agents", "withdraw", agent, zoe)
    assert run("agents", "users", agent) == []


def test_a_conversation_moves_into_a_project_and_out_of_it(run, some):
    project, talk = some("tax"), some("bills")
    run("conversations", "put", talk, "--title", "Bills")
    (made,) = run("projects", "put", project, "--isolated")
    assert made["project"]["isolated"] is True
    assert run("projects", "add", project, "--conversation", talk) == [{"conversations": [talk], "rooms": []}]
    (shown,) = run("conversations", "show", talk)
    assert (shown["project"], shown["title"]) == (project, "Bills")
    run("projects", "remove", project, "--conversation", talk)
    assert run("projects", "show", project)[0]["conversations"] == []
    (opened,) = run("projects", "put", project, "--open")
    assert opened["project"]["isolated"] is False


def test_all_pages_of_a_list_are_read_up_to_the_limit(run, some, service):
    with service.client() as client:
        for number in range(205):
            client.put(f"/v1/users/{some('page')}-{number}", json={}).raise_for_status()
    assert len([row for row in run("users", "list") if some("page") in row["id"]]) == 205
    assert len(run("users", "list", "--limit", "3")) == 3


def test_a_memory_is_found_shown_and_deleted(run, some, service):
    talk = some("talk")
    run("conversations", "put", talk)
    with service.client() as client:
        body = {"conversation": talk, "content": "Zoe is allergic to walnuts.", "type": "fact"}
        memory = client.post("/v1/semantic", json=body).raise_for_status().json()["id"]
    assert [row["id"] for row in run("memories", "list", "--in", talk)] == [memory]
    (found,) = run("memories", "search", "walnuts", "--in", talk)
    assert (found["id"], found["content"]) == (memory, "Zoe is allergic to walnuts.")
    (shown,) = run("memories", "show", memory, "--in", talk)
    assert [line.split(" ", 2)[2] for line in shown["history"]] == ["added: Zoe is allergic to walnuts."]
    run("memories", "delete", memory, "--in", talk)
    assert run("memories", "list", "--in", talk) == []


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("rooms", "add", "kitchen"), "name one of --user or --agent"),
        (("rooms", "add", "kitchen", "--user", "a", "--agent", "b"), "name one of --user or --agent"),
        (("projects", "add", "tax"), "name one of --conversation or --room"),
        (("users", "show", "nobody-at-all"), "nobody-at-all"),
        (("users", "list", "--limit", "0"), "greater than or equal to 1"),
        (("conversations", "put", "c", "--kind", "party"), "kind"),
        (("memories", "show", "no-id"), "no-id"),
    ],
)
def test_what_is_asked_wrongly_is_refused_with_the_reason(service, cli, command, text):
    done = cli(service.home, *command, url=service.url)
    assert done.returncode != 0
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_gets_a_table_without_escape_sequences_of_others(run, service, some):
    zoe = some("zoe")
    run("users", "put", zoe, "--name", "Zoe \x1b]0;pwned\x07")
    _, shown = on_terminal(service, "users", "show", zoe)
    assert "\x1b]0;" not in shown
    assert "pwned" in shown


def test_the_version_is_printed_and_completion_offered(service, cli):
    assert cli(service.home, "--version").stdout == f"{__version__}\n"
    assert "--show-completion" in cli(service.home, "--help").stdout


@pytest.mark.parametrize("name", ["queue-status", "retry-failed", "backfill-tool-synth"])
def test_names_known_from_elsewhere_do_the_same(service, cli, name):
    known = cli(service.home, "memory", name, *([] if name == "queue-status" else ["--dry-run"]))
    own = cli(service.home, "jobs", name.replace("queue-", ""), *([] if name == "queue-status" else ["--dry-run"]))
    assert (known.returncode, known.stderr) == (own.returncode, own.stderr) == (0, "")
    assert known.stdout.splitlines()[0] == own.stdout.splitlines()[0]
