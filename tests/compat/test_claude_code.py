"""Claude Code's own program with our hooks and a stub for the model: a session knows what the one before was told.

The program comes with the wheel of claude-agent-sdk. It calls the stub alone; nothing of it goes into the project.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest

from compat.conftest import installed

HERE = Path(__file__).parent
KEEPWORD = str(Path(sys.executable).parent / "keepword")
PROMPT_SECONDS = 300
TOLD = "Our release server listens on port 8431, keep that in mind."


class Model(ThreadingHTTPServer):
    """Answers every message of Anthropic's API with the same words, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.sent = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._answer("application/json", b'{"input_tokens": 1}')
            return
        asked = json.loads(body)
        self.server.sent.append(body.decode())
        message = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": asked["model"],
                   "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}}  # fmt: skip
        text = {"type": "text", "text": "Noted."}
        if not asked.get("stream"):
            whole = {**message, "content": [text], "stop_reason": "end_turn"}
            self._answer("application/json", json.dumps(whole).encode())
            return
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text["text"]}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
             "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]  # fmt: skip
        stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        self._answer("text/event-stream", stream.encode())

    def do_GET(self):
        self._answer("application/json", b"{}")

    def do_HEAD(self):
        self._answer("application/json", b"")

    def _answer(self, kind, content):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def program():
    found = sorted(installed(HERE / "claude_code.txt").glob("claude_agent_sdk/_bundled/claude*"))
    if not found:
        pytest.skip("the wheel of claude-agent-sdk has no program for this machine")
    return found[0]


@pytest.fixture
def model():
    server = Model()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def variables(keyed_service, model, tmp_path):
    """Return the environment of a person with an own home, service and model; nothing else is called."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "USER": "tom", "LOGNAME": "tom", "TERM": "dumb",
        "KEEPWORD_URL": keyed_service.url, "KEEPWORD_KEY": keyed_service.make_key(f"t-{uuid4().hex[:12]}"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_address[1]}", "ANTHROPIC_API_KEY": "sk-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip


def run(command, folder, env):
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=env, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=PROMPT_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_one_session_was_told_is_in_the_next_one_s_request(
    program, model, variables, keyed_service, tmp_path, show
):
    folder = tmp_path / "project"
    folder.mkdir()
    assert "wrote" in run([KEEPWORD, "hooks", "install", "claude-code", "--mcp"], folder, variables)
    version = run([program, "--version"], folder, variables).split()[0]
    assert "Noted." in run([program, "-p", TOLD], folder, variables)
    assert not any("<keepword-memory>" in sent for sent in model.sent)
    with keyed_service.client(variables["KEEPWORD_KEY"]) as client:
        (kept,) = client.get("/v1/conversations").json()["conversations"]
        said = client.get(f"/v1/conversations/{kept['external_id']}/messages").json()["messages"]
    assert [(one["role"], one["content"]) for one in said] == [
        ("user", TOLD), ("assistant", "Noted."),
    ]  # fmt: skip

    model.sent.clear()
    run([program, "-p", "Which port does the release server listen on?"], folder, variables)
    asked = [sent for sent in model.sent if "<keepword-memory>" in sent]
    assert asked, [sent[:2000] for sent in model.sent]
    memory = asked[0].partition("<keepword-memory>")[2].partition("</keepword-memory>")[0]
    assert "8431" in memory
    with keyed_service.client(variables["KEEPWORD_KEY"]) as client:
        found = client.get("/v1/browse?limit=200").json()["messages"]
    assert not any("keepword-memory" in one["content"] for one in found), "what was injected is not stored"
    servers = run([program, "mcp", "list"], folder, variables)
    assert "keepword" in servers
    show(
        f"Claude Code {version}: a fact of session one is in session two's request; {servers.splitlines()[-1].strip()}"
    )
