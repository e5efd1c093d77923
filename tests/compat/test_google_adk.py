"""The example of the how-to for Google's Agent Development Kit runs, with the kit itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compat import page
from compat.conftest import HERE, installed

HOWTO = HERE.parents[1] / "docs" / "howto" / "google-adk.md"
SUITE = page.Suite(
    "google-adk", "Google ADK: the example of docs/howto/google-adk.md", "2.13.0",
    "`keepword.adapters.google_adk.KeepwordMemoryService` with the kit's own sessions and events. "
    "The kit's package has no tests.",
)  # fmt: skip
CHECKS = """
    again = await memory.search_memory(app_name="travel", user_id="bob", query="Where do we fly?")
    assert again.memories == [], "another user's words"
    await memory.add_session_to_memory(session)
    first = (await memory.search_memory(app_name="travel", user_id="ann", query="Where do we fly?")).memories
    assert [one.content.parts[0].text for one in first] == ["We fly to Lisbon on Friday."], "stored twice"
    await memory.delete_memory(app_name="travel", user_id="bob", memory_id=first[0].id)
    assert (await memory.search_memory(app_name="travel", user_id="ann", query="Where do we fly?")).memories
    await memory.delete_memory(app_name="travel", user_id="ann", memory_id=first[0].id)
    assert not (await memory.search_memory(app_name="travel", user_id="ann", query="Where do we fly?")).memories
    await memory.add_memory(app_name="travel", user_id="ann", memories=[first[0]])
    (kept,) = (await memory.search_memory(app_name="travel", user_id="ann", query="Where do we fly?")).memories
    await memory.delete_memory(app_name="travel", user_id="ann", memory_id=kept.id)
    assert not (await memory.search_memory(app_name="travel", user_id="ann", query="Where do we fly?")).memories
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    return installed(HERE / "google_adk.txt")


def example(url) -> str:
    (text,) = re.findall(r"^```python\n(.*?)^```", HOWTO.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return text.replace("http://127.0.0.1:8002", url)


def run(packages, text, folder) -> str:
    env = os.environ | {"PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", text], env=env, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_example_of_the_how_to_runs(packages, service, tmp_path):
    assert run(packages, example(service.url), tmp_path) == "We fly to Lisbon on Friday.\n"


def test_a_memory_is_added_once_and_deleted_for_its_own_user_alone(
    packages, make_migrated_home, service_type, tmp_path
):
    fresh = service_type(make_migrated_home()).start()
    try:
        begin, end = example(fresh.url).split("\n\nasync def run()")
        run(packages, f'{begin}    await keepword.users.put("bob")\n{CHECKS}\n\nasync def run(){end}', tmp_path)
    finally:
        fresh.stop()
