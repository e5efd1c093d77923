"""A new account: what is on the machine is found, imported and followed; hooks are installed beside it."""

import json
import shlex

import pytest

from keepword.cli import make_app
from unit.histories.made import chatgpt_conversation, claude_code_lines, codex_lines, write_json, write_lines


@pytest.fixture
def home(tmp_path, keyed_service, monkeypatch):
    """Make a home with three histories; the command line acts as the owner of a tenant of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".local" / "state"))
    monkeypatch.setenv("KEEPWORD_URL", keyed_service.url)
    monkeypatch.setenv("KEEPWORD_KEY", keyed_service.make_key(f"t-{tmp_path.name}"))
    write_lines(tmp_path / ".claude" / "projects" / "-x" / "s1.jsonl", claude_code_lines())
    write_lines(tmp_path / ".codex" / "sessions" / "2026" / "rollout-x-0199.jsonl", codex_lines())
    (tmp_path / "Downloads").mkdir()
    write_json(tmp_path / "Downloads" / "conversations.json", [chatgpt_conversation()])
    (tmp_path / "Downloads" / "letter.txt").write_text("Dear all,\n")
    return tmp_path


def run(*args):
    make_app(args[0])(list(args), standalone_mode=False)


def test_init_finds_imports_and_installs_without_a_question(home, capsys):
    run("init", "--yes", "--user", "tom")
    shown = capsys.readouterr().out
    for title in ("Claude Code", "Codex", "ChatGPT"):
        assert title in shown
    ask = shlex.split(shown.splitlines()[-1].removeprefix("Ask it: keepword "))
    assert ask[:2] == ["search", "Where is the boat?"]
    assert "hook claude-code stop" in (home / ".claude" / "settings.json").read_text()
    assert "hook codex prompt" in (home / ".codex" / "hooks.json").read_text()
    run("search", "where does the boat lie?")
    assert "Porto" in json.loads(capsys.readouterr().out.splitlines()[0])["text"]
    # what init ends with shows the question, and beside it the answer
    run(*ask)
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert any("Porto" in one["text"] or "Lisbon" in one["text"] for one in (first, *first["context"]))


def test_watch_appends_what_has_grown(home, capsys):
    file = home / ".claude" / "projects" / "-x" / "s1.jsonl"
    run("watch", "claude-code", "--once", "--user", "tom")
    assert "5 new messages of s1.jsonl" in capsys.readouterr().out
    with file.open("a") as log:
        log.write(json.dumps({**claude_code_lines()[1], "uuid": "u9", "message": {"content": "One more."}}) + "\n")
    run("watch", "claude-code", "--once", "--user", "tom")
    assert "1 new messages" in capsys.readouterr().out


@pytest.mark.usefixtures("home")
def test_auto_lists_and_asks_first(capsys, monkeypatch):
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    run("import-from", "auto", "--user", "tom")
    shown = capsys.readouterr().out
    assert "Nothing was imported." in shown
    run("conversations", "list")
    assert capsys.readouterr().out == ""
