"""The MCP server is added beside what is there, and taken out again without a trace."""

import json
import tomllib
from pathlib import Path

import pytest

from keepword.errors import InvalidInput
from keepword.hooks.changes import BACKUP
from keepword.hooks.hosts import HOSTS
from keepword.hooks.install import changes, command_of, installation
from keepword.hooks.mcp_entry import McpCommand, mcp_changes, mcp_file

PROGRAM = "/opt/keep word/bin/keepword"
COMMAND = McpCommand(PROGRAM, "http://10.0.0.1:8002", "/home/tom/key")
ARGS = ["mcp", "--key-file", "/home/tom/key"]
THEIRS_JSON = json.dumps({"numStartups": 7, "mcpServers": {"other": {"command": "x"}}}, indent=2) + "\n"
THEIRS_TOML = '# mine\nmodel = "o5"\n\n[mcp_servers.other]\ncommand = "x"\n\n[tui]\ntheme = "dark"\n'


def theirs(host):
    return THEIRS_TOML if host == "codex" else THEIRS_JSON


def read(file):
    text = file.read_text()
    return tomllib.loads(text)["mcp_servers"] if file.suffix == ".toml" else json.loads(text)["mcpServers"]


def apply(host, file, command):
    made = mcp_changes(host, file, command)
    for change in made:
        change.write()
    return len(made)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("is_there", [True, False])
def test_it_is_added_once_and_taken_out_whole(host, is_there, tmp_path):
    file = mcp_file(host, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if is_there:
        file.write_text(theirs(host))
    assert apply(host, file, COMMAND) == 1
    entry = read(file)["keepword"]
    assert (entry["command"], entry["args"], entry["env"]) == (PROGRAM, ARGS, {"KEEPWORD_URL": "http://10.0.0.1:8002"})
    assert apply(host, file, COMMAND) == 0
    assert apply(host, file, McpCommand(PROGRAM)) == 1
    assert "env" not in read(file)["keepword"]
    assert apply(host, file, None) == 1
    assert apply(host, file, None) == 0
    if is_there:
        assert file.read_text() == theirs(host)
        assert file.with_name(file.name + BACKUP).read_text() == theirs(host)


@pytest.mark.parametrize("host", HOSTS)
def test_hooks_and_the_server_stand_beside_each_other(host, tmp_path):
    place, file = installation(host, tmp_path), mcp_file(host, tmp_path)
    for change in changes(place, command_of(Path(PROGRAM))):
        change.write()
    apply(host, file, COMMAND)
    before = place.file.read_text()
    assert changes(place, command_of(Path(PROGRAM))) == []
    apply(host, file, None)
    assert "keepword" in before
    assert "hook" in place.file.read_text()


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("claude-code", "{not json"), ("gemini", "[]"), ("cursor", '{"mcpServers": []}'), ("codex", "= no toml"),
        ("claude-code", '{"mcpServers": {"keepword": {"command": "/bin/sh"}}}'),
        ("codex", '[mcp_servers.keepword]\ncommand = "/bin/sh"\n'),
        ("codex", 'mcp_servers.keepword = { command = "/x/keepword", args = ["mcp"] }\n'),
    ],
)  # fmt: skip
def test_what_can_not_be_read_or_is_another_s_stays_as_it_is(host, text, tmp_path):
    file = mcp_file(host, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    with pytest.raises(InvalidInput, match=str(file)):
        apply(host, file, COMMAND)
    assert file.read_text() == text


def test_a_folder_has_servers_of_its_own(tmp_path):
    assert mcp_file("claude-code", Path("/home/tom"), tmp_path) == tmp_path / ".mcp.json"
    assert mcp_file("cursor", Path("/home/tom"), tmp_path) == tmp_path / ".cursor" / "mcp.json"
