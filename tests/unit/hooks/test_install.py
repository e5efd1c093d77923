"""Installing hooks changes nothing else, and uninstalling brings back exactly what was there."""

import json
from pathlib import Path

import pytest

from keepword.errors import InvalidInput
from keepword.hooks.changes import BACKUP
from keepword.hooks.hosts import HOSTS
from keepword.hooks.install import changes, command_of, installation, is_installed

COMMAND = "/opt/keepword/bin/keepword"
THEIRS = {
    "theme": "dark",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}],
    },
}


def apply(place, command):
    for change in changes(place, command):
        change.write()


@pytest.mark.parametrize("host", HOSTS)
def test_uninstalling_brings_back_what_was_there(host, tmp_path):
    place = installation(host, tmp_path)
    place.file.parent.mkdir(parents=True)
    text = json.dumps(THEIRS, indent=2) + "\n"
    place.file.write_text(text)
    apply(place, COMMAND)
    installed = json.loads(place.file.read_text())
    assert is_installed(place)
    assert installed["theme"] == "dark"
    assert all(entry in installed["hooks"][event] for event, entries in THEIRS["hooks"].items() for entry in entries)
    assert place.file.with_name(place.file.name + BACKUP).read_text() == text
    before = place.file.read_text()
    apply(place, COMMAND)
    assert place.file.read_text() == before
    apply(place, None)
    assert not is_installed(place)
    assert {name: value for name, value in json.loads(place.file.read_text()).items() if name != "version"} == THEIRS


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("text", ["{not json", "[]", '{"hooks": []}', '{"hooks": {"Stop": 1}}'])
def test_a_file_that_cannot_be_read_stays_as_it_is(host, text, tmp_path):
    place = installation(host, tmp_path)
    place.file.parent.mkdir(parents=True)
    place.file.write_text(text)
    with pytest.raises(InvalidInput, match=r"not changed"):
        apply(place, COMMAND)
    assert place.file.read_text() == text


def test_the_settings_are_those_that_the_hosts_read(tmp_path):
    made = {}
    for host in HOSTS:
        place = installation(host, tmp_path)
        apply(place, COMMAND)
        made[host] = json.loads(place.file.read_text())
    called = {"type": "command"}
    stop = called | {"command": f"{COMMAND} hook claude-code stop"}
    assert made["claude-code"]["hooks"] == {
        "SessionStart": [{"matcher": "startup|resume|clear|compact", "hooks": [
            {"type": "command", "command": f"{COMMAND} hook claude-code session-start", "timeout": 5}]}],
        "UserPromptSubmit": [{"hooks": [called | {"command": f"{COMMAND} hook claude-code prompt", "timeout": 5}]}],
        "Stop": [{"hooks": [stop | {"timeout": 30, "async": True}]}],
        "PreCompact": [{"hooks": [stop | {"timeout": 30}]}],
        "SessionEnd": [{"hooks": [stop | {"timeout": 10}]}],
    }  # fmt: skip
    assert made["cursor"]["version"] == 1
    assert set(made["cursor"]["hooks"]) == {"sessionStart", "beforeSubmitPrompt", "stop"}
    assert made["gemini"]["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5000
    assert (tmp_path / ".codex" / "config.toml").read_text() == "[features]\nhooks = true\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('model = "o"  # mine\n', 'model = "o"  # mine\n\n[features]\nhooks = true\n'),
        ("[features]\nother = true\n", "[features]\nhooks = true\nother = true\n"),
        ("[features]\nhooks = true\n", "[features]\nhooks = true\n"),
    ],
)
def test_codex_keeps_the_lines_of_its_configuration(before, after, tmp_path):
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(before)
    apply(installation("codex", tmp_path), COMMAND)
    assert config.read_text() == after


def test_a_switched_off_feature_is_not_switched_on_behind_its_owner(tmp_path):
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("[features]\nhooks = false\n")
    with pytest.raises(InvalidInput, match="nothing was changed"):
        apply(installation("codex", tmp_path), COMMAND)
    assert not (tmp_path / ".codex" / "hooks.json").exists()


def test_a_program_below_a_folder_with_blanks_is_quoted_and_found_again(tmp_path):
    place = installation("claude-code", tmp_path)
    apply(place, command_of(Path("/opt/my programs/keepword")))
    assert "'/opt/my programs/keepword' hook claude-code stop" in place.file.read_text()
    assert is_installed(place)


def test_the_plugin_has_the_hooks_that_the_command_installs(tmp_path):
    place = installation("claude-code", tmp_path)
    apply(place, "keepword")
    plugin = Path(__file__).parents[3] / "integrations" / "claude-code"
    assert json.loads((plugin / "hooks" / "hooks.json").read_text()) == json.loads(place.file.read_text())
    names = [
        json.loads((plugin / ".claude-plugin" / f"{name}.json").read_text())["name"]
        for name in ("plugin", "marketplace")
    ]
    assert names == ["keepword", "keepword"]
