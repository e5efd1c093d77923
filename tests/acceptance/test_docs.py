"""What the pages show works: their commands are run against a real service, and their links lead somewhere.

A block is run if the comment `<!-- run: name -->` stands before it; the blocks of one name and page are one script.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import KEEPWORD, environment
from crooked_model import crooked_model, says, status
from patience import HANG_SECONDS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DEFAULT_URL = "http://127.0.0.1:8002"
_FENCE = re.compile(r"(?:<!-- run: (\w+) -->\n)?```(\w*)\n(.*?)\n```", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
# fails where the service refuses, which curl alone does not
CURL = '#!/bin/sh\nexec {curl} -sS --fail-with-body "$@"\n'


def script(page, name) -> str:
    blocks = [text for found, _, text in _FENCE.findall((ROOT / page).read_text(encoding="utf-8")) if found == name]
    assert blocks, f"{page} has no block {name}"
    return "\n".join(blocks)


@pytest.fixture(scope="module")
def documented(make_migrated_home, service_type):
    """Return the service that all pages talk to, as they would on one machine."""
    made = service_type(make_migrated_home()).start()
    yield made
    made.stop()


@pytest.fixture
def bin_folder(tmp_path) -> Path:
    """Return a folder with the commands that the pages use; all others they must bring themselves."""
    made = tmp_path / "bin"
    made.mkdir()
    (made / "curl").write_text(CURL.format(curl=shutil.which("curl")))
    (made / "curl").chmod(0o755)
    (made / "keepword").symlink_to(KEEPWORD)
    return made


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("docs/quickstart.md", "quickstart"),
        ("docs/howto/rooms.md", "rooms"),
        ("docs/howto/claude-memory-tool.md", "memory_tool"),
        ("README.md", "readme"),
        ("docs/howto/coming-from-mem0-or-langgraph.md", "threads"),
        ("docs/howto/mem0.md", "mem0"),
    ],
)
def test_the_commands_of_a_page_work(page, name, documented, bin_folder, tmp_path):
    text = script(page, name).replace(DEFAULT_URL, documented.url).replace(".venv/bin/keepword", "keepword")
    env = environment(documented.home, url=documented.url) | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def privacy_blocks() -> list[str]:
    page = (ROOT / "docs/privacy.md").read_text(encoding="utf-8")
    return [text for _, language, text in _FENCE.findall(page) if language == "sh"]


@pytest.mark.parametrize("number", range(len(privacy_blocks())))
def test_every_command_of_the_privacy_page_works(number, make_service, bin_folder, tmp_path):
    """Each block finds a talk of Ann's, a room and a tenant; what asks is answered yes."""
    service = make_service(worker="true").start()
    text = privacy_blocks()[number].replace(DEFAULT_URL, service.url)
    with service.client() as client:
        client.put("/v1/users/ann", json={}).raise_for_status()
        client.put("/v1/rooms/team", json={}).raise_for_status()
        client.put("/v1/conversations/demo", json={"user": "ann"}).raise_for_status()
        for said in ("I like tea.", "We fly on Friday.", "I live in Lisbon."):
            client.post("/v1/conversations/demo/messages", json={"role": "user", "content": said}).raise_for_status()
    env = environment(service.home, url=service.url) | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    for line in text.splitlines() if "erase" in text else [text]:
        if "tenant acme" in line:
            env["KEEPWORD_KEY"] = service.make_key("acme")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=False, input="y\n", timeout=HANG_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_python_of_the_quickstart_works(documented, tmp_path):
    text = script("docs/quickstart.md", "python").replace(DEFAULT_URL, documented.url)
    subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True)
    with documented.client() as client:
        said = client.get("/v1/conversations/demo/messages").json()["messages"]
    assert "m3" in {message["event_id"] for message in said}
    contents = [message["content"] for message in said]
    assert contents.count("Is the hotel booked?") <= 1, "the command line said that already"


@pytest.mark.anyio
async def test_the_agent_in_20_lines_remembers(documented, tmp_path):
    """Twice, as two days: what was said on the first is in what the model sees on the second."""
    text = script("docs/howto/agent.md", "agent")
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
    (tmp_path / "agent.py").write_text(text)
    async with crooked_model(says("Noted."), says("You fly on Friday.")) as model:
        env = environment(documented.home, url=documented.url) | {"MODEL_URL": model.url}
        heard = [await _talk(tmp_path, env, line) for line in ("We fly on Friday.", "When do we fly?")]
        assert [answer in said for answer, said in zip(("Noted.", "You fly on Friday."), heard, strict=True)] == [
            True
        ] * 2
        seen = str(model.bodies[-1]["messages"])
    assert "We fly on Friday." in seen
    assert "When do we fly?" in seen
    with documented.client() as client:
        said = client.get("/v1/conversations/kitchen/messages").json()["messages"]
    assert [message["role"] for message in said] == ["user", "assistant"] * 2


@pytest.mark.anyio
async def test_the_agent_in_20_lines_keeps_what_was_said_when_the_model_fails(documented, tmp_path):
    (tmp_path / "agent.py").write_text(script("docs/howto/agent.md", "agent"))
    said = f"We fly on Friday, says {tmp_path.name}."
    async with crooked_model(status(500, b"overloaded")) as model:
        env = environment(documented.home, url=documented.url) | {"MODEL_URL": model.url}
        await _talk(tmp_path, env, said, returncode=1)
    with documented.client() as client:
        (kept,) = client.get("/v1/conversations/kitchen/messages?order=desc&limit=1").json()["messages"]
    assert (kept["role"], kept["content"]) == ("user", said)


def test_the_agent_in_20_lines_says_that_it_needs_a_model(documented):
    text = script("docs/howto/agent.md", "agent")
    env = {name: value for name, value in environment(documented.home).items() if name != "MODEL_URL"}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "set MODEL_URL to an OpenAI-compatible API, such as http://127.0.0.1:11434/v1\n"


async def _talk(folder, env, line, returncode=0) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "agent.py", cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate(f"{line}\n\n".encode())
    assert process.returncode == returncode
    return out.decode()


def anchors(page) -> set[str]:
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_leads_somewhere(page):
    broken = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_reached_from_the_readme():
    reached, to_see = set(), [ROOT / "README.md"]
    while to_see:
        page = to_see.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in _LINK.findall(page.read_text(encoding="utf-8")))
        to_see += [(page.parent / link).resolve() for link in links if link and not re.match(r"[a-z]+:", link)]
    assert set(PAGES) - reached == set()
