"""The OpenAI Agents SDK's own tests of sessions pass with ours, and so does the example of the how-to."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from compat import page
from compat.conftest import HERE, installed
from compat.outcomes import run_suite
from compat.sdist import unpacked
from crooked_model import crooked_model, says

VERSION = "0.24.0"
HASH = "4b4b285f4fed81fdf1b4ac426a9101658d9cd29b4fb1aaeee18f639b77e704e3"
HOWTO = HERE.parents[1] / "docs" / "howto" / "openai-agents.md"
OWN_FILE = "about SQLite's connections, locks or transactions"
OURS = page.Suite(
    "openai-agents", "OpenAI Agents: tests/memory/test_session.py", VERSION,
    "The SDK's own tests of sessions, with `keepword.adapters.openai_agents.KeepwordSession` in place of "
    "`SQLiteSession`.",
)  # fmt: skip
LEFT_OUT = {
    "test_await_mutation_cancellation_hides_later_failure_without_loop_error": "about a function inside the SDK",
    "test_sqlite_session_close_closes_worker_thread_connections": OWN_FILE,
    "test_sqlite_session_reaps_connections_from_exited_worker_threads": OWN_FILE,
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation": OWN_FILE,
    "test_sqlite_session_keeps_connections_of_live_worker_threads": OWN_FILE,
    "test_sqlite_session_closed_rejects_empty_add_items": "about the error of a closed SQLiteSession",
    "test_sqlite_session_pop_item_skips_corrupt_most_recent": "writes broken rows into SQLite",
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": "writes broken rows into SQLite",
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": "writes broken rows into SQLite",
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": "writes broken rows into SQLite",
    "test_sqlite_session_file_lock_is_shared_across_instances": OWN_FILE,
    "test_sqlite_session_failed_add_items_releases_write_lock": OWN_FILE,
    "test_sqlite_session_failed_clear_session_rolls_back": OWN_FILE,
    "test_sqlite_session_failed_pop_item_releases_write_lock": OWN_FILE,
    "test_sqlite_session_rollback_failure_evicts_connection": OWN_FILE,
    "test_sqlite_session_close_retries_quarantined_connection": OWN_FILE,
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": OWN_FILE,
}


@pytest.fixture(scope="module")
def packages() -> Path:
    return installed(HERE / "openai_agents.txt")


def test_their_tests_of_sessions_pass_with_ours(packages, service, tmp_path):
    source = unpacked(f"openai-agents=={VERSION}", HASH)
    tests = source / "tests" / "memory" / "test_session.py"
    run_suite(OURS, tests, LEFT_OUT, path=[packages, source], url=service.url, plugin="openai_agents_plugin",
              folder=tmp_path)  # fmt: skip


@pytest.mark.anyio
async def test_the_example_of_the_how_to_runs(packages, service, tmp_path):
    (example,) = re.findall(r"^```python\n(.*?)^```", HOWTO.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    first = "import agents\nagents.set_default_openai_api('chat_completions')\nagents.set_tracing_disabled(True)\n"
    text = first + example.replace("http://127.0.0.1:8002", service.url)
    async with crooked_model(says("Noted."), says("To Lisbon.")) as model:
        env = os.environ | {"PYTHONPATH": str(packages), "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", text, env=env, cwd=tmp_path, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said, wrong = await process.communicate()
        seen = str(model.bodies[-1]["messages"])
    assert process.returncode == 0, wrong.decode()[-3000:]
    assert said.decode().splitlines() == ["To Lisbon.", "We fly to Lisbon on Friday."]
    assert "We fly to Lisbon on Friday." in seen
