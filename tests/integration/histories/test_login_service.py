"""The unit that starts Keepword at login. launchd was not tried: what it is given is checked, and that it is called."""

import os
import plistlib
import sys
from pathlib import Path

import pytest

from keepword.cli import login_service

PROGRAM = Path("/opt/keep word/bin/keepword")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Make a home, and programs that note how they were called; they end with what CODE says."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("launchctl", "systemctl"):
        file = tmp_path / name
        file.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\necho no >&2\nexit ${{CODE:-0}}\n')
        file.chmod(0o755)
    return tmp_path


def test_launchd_gets_a_property_list(home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert login_service.find_manager() == "launchd"
    assert login_service.start("launchd", PROGRAM, home / "serve.log")
    file = home / "Library" / "LaunchAgents" / "dev.keepword.serve.plist"
    unit = plistlib.loads(file.read_bytes())
    assert (unit["ProgramArguments"], unit["RunAtLoad"]) == ([str(PROGRAM), "serve"], True)
    assert (home / "called").read_text() == f"bootstrap gui/{os.getuid()} {file}\n"


def test_systemd_gets_a_unit_and_a_refusal_is_said(home, monkeypatch, capsys):
    assert login_service.find_manager() == "systemd"
    assert login_service.start("systemd", PROGRAM, home / "serve.log")
    assert (
        "ExecStart='/opt/keep word/bin/keepword' serve" in (home / ".config/systemd/user/keepword.service").read_text()
    )
    assert (home / "called").read_text() == "--user enable --now keepword.service\n"
    monkeypatch.setenv("CODE", "1")
    assert not login_service.start("systemd", PROGRAM, home / "serve.log")
    assert "systemctl did not take" in capsys.readouterr().out
