"""What is deployed: the files name settings that exist, and install the lock as `make serve` does."""

import re
from pathlib import Path

import pytest

from keepword import __version__
from keepword.config import Settings, variable

ROOT = Path(__file__).parents[3]
FILES = sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file())
PAGE = (ROOT / "docs" / "howto" / "deploy.md").read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_a_file_names_settings_that_exist_and_stands_on_the_page(file):
    named = set(re.findall(r"KEEPWORD_[A-Z_]+", file.read_text()))
    assert named <= {variable(key) for key in Settings.model_fields}
    assert file.relative_to(ROOT).as_posix() in PAGE


def test_the_image_installs_what_is_pinned():
    lines = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "--no-deps --require-hashes -r requirements/run.txt" in lines


def test_the_image_gets_all_that_the_package_is_built_from():
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = set(re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE))
    assert {name for names in copied for name in names.split()} == allowed


def test_manifests_name_this_version():
    tags = re.findall(r"image: keepword:(\S+)", (ROOT / "deploy" / "kubernetes" / "keepword.yaml").read_text())
    assert set(tags) == {__version__}
