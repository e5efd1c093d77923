"""mem0's own clients against a real service: Python's (sync and async), npm's, and the command `mem0`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat import page
from compat.conftest import CACHE, HERE, installed

SECTION = page.Suite(
    "mem0", "mem0: MemoryClient of Python and npm, mem0-cli", "mem0ai 2.2.1 (PyPI), 3.3.1 (npm), mem0-cli 0.2.13",
    "Every call of the Python client that Keepword serves, sync and async, by `tests/compat/mem0_calls.py`; the same "
    "calls of npm's client, by `mem0_calls.js`; eight commands of `mem0`. No model is used.",
)  # fmt: skip
LEFT_OUT = {
    "create_memory_export, get_memory_export": "not served; `keepword export` writes a tenant as a file",
    "get_summary, get_profile, generate_profile, sample_profiles, profile settings": "not served",
    "project.create, project.delete, project members": "not served; tenants and keys are made on the machine",
    "mem0-ts/src/client/tests/integration": "in mem0's repository alone, not on npm; played once by hand",
}
COUNTS: dict[str, list[str | None]] = {}


@pytest.fixture(scope="module")
def working(service_type, make_migrated_home):
    """A service without a key, which reads messages for memories."""
    made = service_type(make_migrated_home(), worker="true", embedding="none").start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def packages() -> Path:
    return installed(HERE / "mem0.txt")


@pytest.fixture(scope="module")
def node_modules() -> Path:
    """Return the folder in which npm's client is installed, as the lock file pins it; skip where it can't be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is missing: Node.js 20 is needed for npm's client")
    folder = CACHE / "mem0-npm-3.3.1"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "mem0_npm" / name, folder / name)
    done = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--prefer-offline"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"mem0ai can't be had from npm: {done.stderr.strip().splitlines()[-1]}")
    return folder


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_every_call_of_pythons_client_works(packages, working, kind, tmp_path):
    command = [sys.executable, HERE / "mem0_calls.py", working.url, kind]
    check(f"python {kind}", played(command, tmp_path, PYTHONPATH=str(packages)), least=21)


def test_every_call_of_npms_client_works(node_modules, working, tmp_path):
    script = shutil.copy(HERE / "mem0_calls.js", node_modules / "mem0_calls.js")
    check("npm", played(["node", script, working.url], tmp_path), least=15)


def test_the_command_mem0_works(packages, working, tmp_path):
    def mem0(*args):
        env = os.environ | {
            "PYTHONPATH": str(packages), "HOME": str(tmp_path), "MEM0_TELEMETRY": "False", "MEM0_API_KEY": "local",
            "MEM0_BASE_URL": working.url,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "mem0_cli", *args],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    outcomes: list[str | None] = []

    def passes(said, *args):
        status, told = mem0(*args)
        outcomes.append(None if status == 0 and said in told else f"mem0 {' '.join(args)}: {status} {told[-600:]}")
        return told

    passes("", "status")
    passes("", "add", "Has two cats.", "--user-id", "cli", "--no-infer")
    passes("two cats", "list", "--user-id", "cli")
    listed = json.loads(passes("two cats", "search", "cats", "--user-id", "cli", "--threshold", "0", "-o", "json"))
    id_ = (listed if isinstance(listed, list) else listed.get("results") or listed["data"])[0]["id"]
    passes("two cats", "get", id_)
    passes("", "update", id_, "Has three cats.")
    passes("cli", "entity", "list", "users")
    passes("", "delete", id_, "--force")
    check("cli", outcomes, least=8)


def played(command, folder, **env) -> list[str | None]:
    """Run a script that prints a line for each call; return the error of each, or None."""
    done = subprocess.run(
        list(map(str, command)), env=os.environ | env | {"MEM0_TELEMETRY": "False", "HOME": str(folder)}, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"call"')]
    assert lines, done.stderr[-3000:]
    return [f"{one['call']}: {one['error']}" if "error" in one else None for one in lines]


def check(part: str, outcomes: list[str | None], least: int) -> None:
    COUNTS[part] = outcomes
    if set(COUNTS) == {"python sync", "python async", "npm", "cli"}:
        every = [one for some in COUNTS.values() for one in some]
        page.write(page.Outcome(SECTION, len(every), every.count(None), LEFT_OUT))
    assert [one for one in outcomes if one] == []
    assert len(outcomes) >= least
