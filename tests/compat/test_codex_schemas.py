"""What our hooks answer to Codex is what its published JSON Schemas allow, for every event that we take.

CODEX names a clone of github.com/openai/codex, bare or not: the schemas are read from it, and none is kept here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import jsonschema
import pytest

from unit.histories.made import codex_lines, write_lines

KEEPWORD = str(Path(sys.executable).parent / "keepword")
CLONE = os.environ.get("CODEX")
FOLDER = "codex-rs/hooks/schema/generated"
# our name of an event, and theirs of its schemas
EVENTS = {"session-start": "session-start", "prompt": "user-prompt-submit", "stop": "stop"}

pytestmark = pytest.mark.skipif(CLONE is None, reason="CODEX names no clone of github.com/openai/codex")


def schema(event, side):
    shown = subprocess.run(
        ["git", "-C", CLONE, "show", f"HEAD:{FOLDER}/{event}.command.{side}.schema.json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(shown.stdout)


def given(event, transcript):
    """Return what Codex sends with an event; its own schema says whether it would."""
    common = {
        "session_id": "two", "cwd": "/nowhere/x", "transcript_path": str(transcript), "model": "gpt-5",
        "permission_mode": "default",
    }  # fmt: skip
    return common | {
        "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "Which port was renamed?", "turn_id": "t1"},
        "stop": {
            "hook_event_name": "Stop", "stop_hook_active": False, "turn_id": "t1", "last_assistant_message": "Done.",
        },
    }[event]  # fmt: skip


@pytest.fixture
def call(keyed_service, tmp_path):
    key = keyed_service.make_key(f"t-{uuid4().hex[:12]}")

    def run(event, value, url=None):
        env = {
            "PATH": os.environ["PATH"], "HOME": str(tmp_path), "USER": "tom", "LOGNAME": "tom",
            "KEEPWORD_URL": url or keyed_service.url, "KEEPWORD_KEY": key,
        }  # fmt: skip
        done = subprocess.run(
            [KEEPWORD, "hook", "codex", event], input=json.dumps(value), env=env, cwd=tmp_path, text=True,
            capture_output=True, timeout=120, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    return run


def test_answers_are_what_its_schemas_allow(call, tmp_path, show):
    """With memory, with nothing to say, and without a service."""
    transcript = write_lines(tmp_path / "rollout-x-one.jsonl", codex_lines("one"))
    call("stop", given("stop", transcript) | {"session_id": "one"})
    answers = {}
    for event, theirs in EVENTS.items():
        asked = given(event, transcript)
        jsonschema.validate(asked, schema(theirs, "input"))
        for url in (None, "http://127.0.0.1:9"):
            answer = call(event, asked, url)
            jsonschema.validate(answer, schema(theirs, "output"))
            answers[event, url is None] = answer
    assert "port" in answers["prompt", True]["hookSpecificOutput"]["additionalContext"]
    assert answers["session-start", False]["systemMessage"]
    with_words = sum(map(bool, answers.values()))
    show(f"Codex: {len(answers)} answers to {len(EVENTS)} events as its schemas allow, {with_words} of them with words")
