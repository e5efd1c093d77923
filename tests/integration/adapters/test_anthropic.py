"""Claude's memory tool in Keepword, with Anthropic's SDK and a model that says what it is told to."""

import json
import re
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
from anthropic.lib.tools import ToolError

from keepword.adapters.anthropic import KeepwordAsyncMemoryTool, KeepwordMemoryTool
from keepword.client import Client

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "claude-memory-tool.md"


@contextmanager
def model(*contents):
    """Serve Anthropic's API: one content after the other is the answer. Yields its address and what was asked."""
    answers, asked = list(contents), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = answers.pop(0)
            body = json.dumps({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "made-up", "content": content,
                "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def call(number, **command):
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": command}


def test_the_example_of_the_how_to_runs(service, monkeypatch, capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```", HOWTO.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    create = call(1, command="create", path="/memories/seats.md", file_text="Ann prefers window seats.")
    said = {"type": "text", "text": "I'll remember that."}
    with model([call(0, command="view", path="/memories"), create], [said]) as (url, asked):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        text = example.replace("http://127.0.0.1:8002", service.url).replace(
            "= Anthropic()", "= anthropic = Anthropic()"
        )
        scope = {"__name__": "__main__"}
        exec(compile(text, str(HOWTO), "exec"), scope)
    assert capsys.readouterr().out == "I'll remember that.\nAnn prefers window seats.\n"
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    viewed, created = asked[1]["messages"][-1]["content"]
    assert str(viewed["content"]).startswith("Here're the files and directories up to 2 levels deep in /memories")
    assert created["content"] == "File created successfully at: /memories/seats.md"


def test_a_refusal_is_a_tool_error_with_the_tools_text_and_clearing_deletes_every_file(service):
    with Client.sync(service.url, agent=f"claude-{uuid4().hex}") as keepword:
        tool = KeepwordMemoryTool(keepword.files)
        for number in range(3):
            tool.call({"command": "create", "path": f"/memories/{number % 2}/{number}.md", "file_text": "here"})
        with pytest.raises(ToolError, match=r"The path /memories/x does not exist\. Please provide a valid path\."):
            tool.call({"command": "view", "path": "/memories/x"})
        with pytest.raises(ToolError, match="path"):
            tool.call({"command": "view"})
        assert tool.clear_all_memory() == "All memory cleared"
        assert tool.call({"command": "view", "path": "/memories"}).endswith(":\n0B\t/memories")
        assert len(keepword.files.versions("/memories/0/0.md").versions) == 2


@pytest.mark.anyio
async def test_the_async_tool_does_the_same(service):
    async with Client(service.url, agent=f"claude-{uuid4().hex}") as keepword:
        tool = KeepwordAsyncMemoryTool(keepword.files)
        created = await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "here"})
        assert created == "File created successfully at: /memories/a.md"
        with pytest.raises(ToolError, match=r"File /memories/a\.md already exists"):
            await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "there"})
        await tool.clear_all_memory()
        assert (await keepword.files.list()).files == ()
