"""The TypeScript client: built by its own compiler, run by Node against a real service."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Build the client in a folder of its own, from packages that the lock file names."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm here")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    installed = subprocess.run(["npm", "ci", "--silent"], cwd=folder, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"npm can't install the compiler: {installed.stderr[-300:]}")
    subprocess.run(["npm", "run", "build", "--silent"], cwd=folder, check=True)
    return folder


def test_every_call_works_against_a_service(built, make_service):
    service = make_service(worker="true").start()
    env = os.environ | {"KEEPWORD_URL": service.url, "KEEPWORD_KEY": service.make_key("default")}
    tests = sorted(str(path) for path in (built / "test").glob("*.mjs"))
    run = subprocess.run(["node", "--test", *tests], env=env, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# fail 0" in run.stdout or "fail 0" in run.stdout


def test_it_needs_no_package_at_run_time():
    assert '"dependencies"' not in (CLIENT / "package.json").read_text()
    assert "resolved" not in (CLIENT / "package-lock.json").read_text()
