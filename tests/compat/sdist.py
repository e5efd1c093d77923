"""Test suites of other people, out of their packages' sources on PyPI."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from compat.conftest import CACHE


def unpacked(requirement: str, sha256: str) -> Path:
    """Return the folder of a package's source; skip the test where it can't be had."""
    folder = CACHE / f"{requirement.replace('==', '-')}-{sha256[:16]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as partial:
            _download(requirement, sha256, Path(partial))
            (archive,) = Path(partial).glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(partial, filter="data")
            (top,) = (one for one in Path(partial).iterdir() if one.is_dir())
            top.rename(folder)
    return folder


def _download(requirement: str, sha256: str, folder: Path) -> None:
    name, wanted = requirement.partition("==")[0], folder / "wanted.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name, "--require-hashes",
         "--dest", folder, "-r", wanted],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"{requirement} can't be had from PyPI: {done.stderr.strip().splitlines()[-1]}")
