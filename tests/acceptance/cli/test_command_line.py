"""Appending and browsing from the command line, in a pipe and on a terminal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from acceptance.cli.terminal import on_terminal
from keepword.cli import make_app
from keepword.postgres import migrate

KEEPWORD = str(Path(sys.executable).parent / "keepword")


@pytest.fixture
def run(service, cli):
    def command(*args, stdin=None, **settings):
        return cli(service.home, *args, stdin=stdin, **({"url": service.url} | settings))

    return command


@pytest.fixture
def name():
    return f"c {uuid4().hex}/é".replace("/", ":")


def test_what_is_appended_is_browsed_as_json_lines_in_a_pipe(run, name):
    first = run("append", name, "Grüße, 世界 🙂", "--event-id", "e1")
    assert first.returncode == 0, first.stderr
    receipt = json.loads(first.stdout)
    assert (receipt["seq"], receipt["duplicate"]) == (1, False)
    again = run("append", name, "Grüße, 世界 🙂", "--event-id", "e1")
    assert json.loads(again.stdout) == receipt | {"duplicate": True}
    run("append", name, "an answer", "--role", "assistant")
    browsed = run("browse", name)
    lines = [json.loads(line) for line in browsed.stdout.splitlines()]
    assert [(line["role"], line["content"]) for line in lines] == [
        ("user", "Grüße, 世界 🙂"),
        ("assistant", "an answer"),
    ]
    assert lines[0]["id"] == receipt["id"]
    newest = [json.loads(line) for line in run("browse", name, "--newest", "--limit", "1").stdout.splitlines()]
    assert [line["content"] for line in newest] == ["an answer"]


def test_json_lines_come_in_through_a_pipe_and_out_the_same(run, name):
    messages = [
        {"role": "user", "content": f"line {number}\nsecond", "metadata": {"n": number}} for number in range(1500)
    ]
    done = run("append", name, stdin="".join(json.dumps(message) + "\n" for message in messages))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == list(range(1, 1501))
    out = run("browse", name, "--limit", "200").stdout.splitlines()
    assert [json.loads(line)["metadata"]["n"] for line in out] == list(range(200))


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_who_reads_no_further_makes_no_error(service, run, name, unbuffered):
    assert run("append", name, "the only line").returncode == 0
    env = os.environ | {"KEEPWORD_URL": service.url, "PYTHONUNBUFFERED": unbuffered}
    reads, writes = os.pipe()
    os.close(reads)
    for args, status in ((("browse", name), 0), (("browse", name, "--nothing-like-it"), 2)):
        done = subprocess.run([KEEPWORD, *args], env=env, cwd="/", stdout=writes, stderr=subprocess.PIPE, check=False)
        assert done.returncode == status, done.stderr
        assert bool(done.stderr) == (status != 0), done.stderr
    os.close(writes)


def test_a_terminal_gets_a_table_with_every_word_as_it_is(service, run, name):
    text = "[bold]not bold[/bold] [/nothing] :smile: \x1b[31mred\x1b[0m \x07 end"
    assert run("append", name, text).returncode == 0
    assert run("append", name, "x" * 300).returncode == 0
    status, shown = on_terminal(service, "browse", name)
    assert status == 0, shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "┃" in plain
    assert "[bold]not bold[/bold] [/nothing] :smile: " in plain
    assert "\x1b[31mred" not in shown
    assert "\x07" not in shown
    assert plain.count("x") >= 300


def test_facts_are_a_table_on_a_terminal_with_values_as_they_are(service, run):
    key = f"[bold]{uuid4().hex}"
    assert run("facts", "set", "global", "-", key, '["[red]", 1.10]', "--type", "array").returncode == 0
    status, shown = on_terminal(service, "facts", "list", "global", "-", columns=140)
    assert status == 0, shown
    assert key in shown
    assert '["[red]", 1.10]' in shown
    status, shown = on_terminal(service, "facts", "set", "global", "-", key)
    assert status == 1
    assert "pipe" in shown


def test_nothing_to_append_on_a_terminal_is_said(service, name):
    status, shown = on_terminal(service, "append", name)
    assert status == 1
    assert "pipe" in shown


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (("append", "c", "hi", "--role", "robot"), None, "role"),
        (("append", "c"), "{not json}\n", "line 1 is not JSON"),
        (("append", "c"), '{"role": "user", "content": "ok"}\n[1]\n', "1"),
        (("append", "a/b", "hi"), None, "keepword: "),
        (("append", "", "hi"), None, "keepword: "),
        (("browse", "there-is-none"), None, "no conversation 'there-is-none'"),
        (("browse", "there-is-none", "--limit", "0"), None, "limit"),
        (("browse", "there-is-none", "--since", "yesterday"), None, "since"),
        (("browse", "x", "--agent", "not:a:slug"), None, "Keepword-Agent"),
        (("browse", "x", "--user", "Zoë"), None, "keepword: "),
    ],
)
def test_errors_are_one_readable_line(run, args, stdin, said):
    done = run(*args, stdin=stdin)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_service_that_is_not_there_is_named(run):
    done = run("browse", "c", url="http://127.0.0.1:1")
    assert done.returncode == 1
    assert "http://127.0.0.1:1" in done.stderr
    assert "keepword serve" in done.stderr


def test_the_key_comes_from_the_settings_and_is_not_shown(keyed_service, cli):
    key = keyed_service.make_key(f"t-{uuid4().hex}")
    good = cli(keyed_service.home, "append", "c", "hi", url=keyed_service.url, key=key)
    assert good.returncode == 0, good.stderr
    bad = cli(keyed_service.home, "browse", "c", url=keyed_service.url, key=key + "x")
    assert bad.returncode == 1
    assert key not in bad.stderr + bad.stdout
    odd = cli(keyed_service.home, "browse", "c", url=keyed_service.url, key="schlüssel")
    assert odd.returncode == 1
    assert "Traceback" not in odd.stderr


@pytest.fixture
def quick(service):
    """Run the command in this process: loading it again for each call takes longer than all that it does."""
    runner = CliRunner()

    def command(*args):
        return runner.invoke(make_app(), args, env={"KEEPWORD_URL": service.url, "KEEPWORD_HOME": str(service.home)})

    return command


def lines(result):
    assert result.exception is None, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_browsing_takes_the_filters_of_a_search(quick, name):
    lines(quick("append", name, "a question"))
    lines(quick("append", name, "an answer", "--role", "assistant"))
    for where in ([name], [name, "--place"]):
        found = lines(quick("browse", *where, "--role", "assistant", "--window", "last_24h", "--by-agent", "default"))
        assert [line["content"] for line in found] == ["an answer"]
        assert lines(quick("browse", *where, "--by-user", "nobody")) == []
    # without a conversation it is the tenant that is read
    (newest,) = lines(quick("browse", "--newest", "--limit", "1", "--role", "assistant"))
    assert newest["content"] == "an answer"
    assert "last_14d" in str(quick("browse", name, "--window", "someday").exception)


def test_searching_gives_json_lines_in_a_pipe_and_says_what_is_wrong(quick, name):
    lines(quick("append", name, "The otter swims at dawn."))
    lines(quick("append", name, "Nothing else."))
    options = ("--recipe", "fast", "--mode", "words", "--why", "--context", "1")
    (hit,) = lines(quick("search", "otter", "--in", name, *options))
    assert hit["text"] == "The otter swims at dawn."
    assert hit["why"]["signals"]["words"]["share"] > 0
    assert [turn["text"] for turn in hit["context"]] == ["Nothing else."]
    none = quick("search", "otter", "--in", name, "--kind", "summary", "--recipe", "fast")
    assert lines(none) == []
    assert "nothing here passes the filters" in none.stderr
    assert "best, fast, seed" in str(quick("search", "otter", "--recipe", "secret").exception)
    (stats,) = lines(quick("stats", "--in", name))
    assert stats["census"] == {"message": 2}


def test_a_hit_on_a_terminal_names_who_spoke(service, quick, name):
    user = f"ann-{uuid4().hex[:6]}"
    with service.client() as client:
        assert client.put(f"/v1/users/{user}", json={}).is_success
        assert client.put(f"/v1/conversations/{name}", json={"agent": "helper", "user": user}).is_success
    lines(quick("append", name, "The otter swims at dawn."))
    lines(quick("append", name, "The otter sleeps at noon.", "--role", "assistant"))
    anonymous = f"{name}-2"
    lines(quick("append", anonymous, "The otter eats at dusk."))
    for where, said, who in (
        (name, "swims", f"user {user}"), (name, "sleeps", "assistant helper"), (anonymous, "eats", "user"),
    ):  # fmt: skip
        for command in (("search", "otter", "--in", where, "--recipe", "fast"), ("browse", where)):
            _, shown = on_terminal(service, *command, columns=200)
            row = next(line for line in shown.splitlines() if said in line)
            assert who in [cell.strip() for cell in row.split("│")], (command, row)


def test_summaries_are_made_now_and_printed(service, quick, name):
    for said in ("Decision: the otter swims \x1b[31mat dawn.", "Good."):
        lines(quick("append", name, said))
    (thread,) = lines(quick("conversations", "summarize", name))
    assert (thread["tier"], thread["message_count"]) == ("thread", 2)
    assert "Decision: the otter swims" in thread["content"]
    assert lines(quick("conversations", "summarize", name)) == [thread]
    status, shown = on_terminal(service, "conversations", "summarize", name)
    assert status == 0
    assert "thread, 2 messages" in shown
    assert "\x1b[31mat" not in shown
    assert "no conversation" in str(quick("conversations", "summarize", f"{name}-nobody").exception)


def test_alone_it_shows_what_there_is(cli, tmp_path):
    done = cli(tmp_path)
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert done.stderr == ""


def test_a_name_that_is_no_file_name_is_told_which_there_are(run):
    done = run("agents", "files", "put", "helper", "../x", stdin="Be kind.")
    assert done.returncode == 1
    assert "'../x' is no file name" in done.stderr
    assert "SOUL.md, IDENTITY.md" in done.stderr


def test_a_terminal_gets_hits_and_stats_as_tables(service, quick, name):
    lines(quick("append", name, "The otter [bold]swims[/bold] \x1b[31mat dawn."))
    status, shown = on_terminal(service, "search", "otter", "--in", name, "--recipe", "fast", "--why", columns=160)
    assert status == 0
    assert "[bold]swims[/bold]" in shown
    assert "\x1b[31mat" not in shown
    assert "words +" in shown
    status, shown = on_terminal(service, "stats")
    assert status == 0
    assert "alert: none" in shown
    assert "instant-v1" in shown


def test_old_conversations_are_read_for_memories_from_the_command_line(make_service, cli):
    service = make_service().start()  # without a worker
    with service.client() as client:
        for number in range(3):
            client.put(f"/v1/conversations/old-{number}", json={})
            said = {"role": "user", "content": f"I own boat number {number}."}
            client.post(f"/v1/conversations/old-{number}/messages", json=said)
        with migrate.owner(service.conninfo) as conn:
            conn.execute(
                "DELETE FROM extractions WHERE conversation_id = (SELECT min(id::text)::uuid FROM conversations)"
            )
        first = cli(service.home, "jobs", "extract")
        assert first.stdout == "2 conversations read, 2 memories made\n", first.stderr
        assert "2/2" in first.stderr
        second = cli(service.home, "jobs", "extract", "--backfill")
        assert second.stdout == "3 conversations read, 1 memories made\n", second.stderr
        # each backfill reads everything again, and makes nothing twice
        assert cli(service.home, "jobs", "extract", "--backfill").stdout == "3 conversations read, 0 memories made\n"
        assert len(client.get("/v1/semantic").json()["memories"]) == 3


def test_a_command_without_a_key_says_where_to_put_one(keyed_service, cli):
    done = cli(keyed_service.home, "stats", url=keyed_service.url)
    assert done.returncode == 1
    assert "a key is needed" in done.stderr
    assert "KEEPWORD_KEY" in done.stderr
