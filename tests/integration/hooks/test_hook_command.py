"""`keepword hook` as a host calls it: a process that gets an event and answers JSON, whatever happens."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from unit.histories.made import claude_code_lines, codex_lines, write_lines

KEEPWORD = str(Path(sys.executable).parent / "keepword")
# what the hosts' own schemas allow in an answer; they refuse or ignore anything else
ALLOWED = {"continue", "decision", "reason", "stopReason", "suppressOutput", "systemMessage", "hookSpecificOutput"}


@pytest.fixture
def tenant_key(keyed_service):
    return keyed_service.make_key(f"t-{uuid4().hex[:12]}")


@pytest.fixture
def call(keyed_service, tenant_key, tmp_path):
    """Call a hook; the answer and the seconds that it took."""

    def run(host, event, *, url=None, **given):
        env = {
            "PATH": os.environ["PATH"], "HOME": str(tmp_path), "USER": "tom", "LOGNAME": "tom",
            "KEEPWORD_URL": url or keyed_service.url, "KEEPWORD_KEY": tenant_key,
        }  # fmt: skip
        begin = time.monotonic()
        done = subprocess.run(
            [KEEPWORD, "hook", host, event], input=json.dumps(given), env=env, cwd=tmp_path, text=True,
            capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout), time.monotonic() - begin

    return run


def test_what_one_session_said_is_in_the_prompt_of_the_next_and_is_not_stored_again(
    keyed_service, tenant_key, call, tmp_path
):
    first = write_lines(tmp_path / "one.jsonl", claude_code_lines("one"))
    call("claude-code", "stop", session_id="one", cwd="/nowhere/x", transcript_path=str(first))
    event = {
        "session_id": "two",
        "cwd": "/nowhere/x",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Which port was it?",
    }
    answer, _ = call("claude-code", "prompt", **event)
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert "The port is 8431." in context
    assert context.startswith("<keepword-memory>\n")
    assert set(answer) <= ALLOWED
    assert call("claude-code", "prompt", **event)[0] == {}, "the ledger gives a line once"

    line = {**claude_code_lines("two")[1], "message": {"role": "user", "content": f"Which port was it?\n{context}"}}
    second = write_lines(tmp_path / "two.jsonl", [line])
    for _ in range(2):
        call("claude-code", "stop", session_id="two", cwd="/nowhere/x", transcript_path=str(second))
    with keyed_service.client(tenant_key) as client:
        stored = client.get("/v1/conversations/claude-code:two/messages").json()["messages"]
        made = client.get("/v1/conversations/claude-code:two").json()
        one = client.get("/v1/conversations/claude-code:one/messages").json()["messages"]
    assert [message["content"] for message in stored] == ["Which port was it?"]
    assert (made["user"], made["agent"], made["project"]) == ("tom", "claude-code", "folder:nowhere:x")
    assert [message["event_id"] for message in one] == ["u1", "a1", "a1#2", "r1", "i1"]


def test_a_transcript_is_read_on_from_where_it_ended_and_a_torn_line_waits(keyed_service, tenant_key, call, tmp_path):
    lines = [json.dumps(line) + "\n" for line in codex_lines("c1")]
    path = tmp_path / "rollout-x-c1.jsonl"
    event = {"session_id": "c1", "cwd": "/nowhere/x", "transcript_path": str(path), "hook_event_name": "Stop"}
    for text in ("".join(lines[:4]), "".join(lines[:7]) + lines[7][:20], "".join(lines)):
        path.write_text(text)
        answer, _ = call("codex", "stop", **event)
        assert answer == {}
    with keyed_service.client(tenant_key) as client:
        stored = client.get("/v1/conversations/codex:c1/messages").json()["messages"]
    said = [one["content"] or one["tool_name"] or one["tool_result"] for one in stored]
    assert [(one["role"], text, one["event_id"]) for one, text in zip(stored, said, strict=True)] == [
        ("user", "Rename the port.", "line-4"), ("assistant", "shell", "k1"), ("tool", "a\nb", "k1:output"),
        ("assistant", "Done.", "line-9"),
    ]  # fmt: skip


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "cursor"])
def test_a_host_never_fails_because_of_its_memory(host, call):
    """The service is away, or takes the connection and never answers: the host goes on, and a new session is told."""
    prompt = {"session_id": "s", "conversation_id": "s", "prompt": "Where is the boat that we bought?"}
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        at = f"http://127.0.0.1:{silent.getsockname()[1]}"
        answer, seconds = call(host, "prompt", url=at, **prompt)
    assert answer == {}
    assert seconds < 30, "a hook gives up after 1.5 s; a busy machine may take its time to start it"
    answer, _ = call(host, "session-start", url="http://127.0.0.1:9", **prompt)
    assert ("this session has no memory" in answer.get("systemMessage", "")) == (host != "cursor")
    assert set(answer) <= ALLOWED


@pytest.mark.parametrize(
    "prompt", ["ok", "/clear", "<system-reminder>a long reminder of the program</system-reminder>", None]
)
def test_trivial_prompts_ask_nothing(prompt, call):
    assert call("claude-code", "prompt", url="http://127.0.0.1:9", session_id="s", prompt=prompt)[0] == {}


def test_a_hook_loads_nothing_of_the_service():
    code = (
        "import sys; import keepword.hooks.command;"
        "print(sorted({'pydantic', 'fastapi', 'httpx', 'numpy', 'typer', 'psycopg', 'structlog'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
