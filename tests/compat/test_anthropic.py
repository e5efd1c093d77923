"""Anthropic's own tests of the memory tool pass with ours."""

import shutil
from pathlib import Path

import pytest

from compat import page
from compat.conftest import HERE, installed
from compat.outcomes import run_suite
from compat.sdist import unpacked

VERSION = "2.8.0"
HASH = "d34e389ba0544cd64e033eb7475f46cc1ac6f2a388cdcd472b33ad4ac29ef40c"
OURS = page.Suite(
    "anthropic-memory-tool", "Anthropic: tests/lib/tools/memory_tools/test_filesystem.py", VERSION,
    "The SDK's own tests of the memory tool, with `keepword.adapters.anthropic.KeepwordMemoryTool` and "
    "`KeepwordAsyncMemoryTool` in place of the tools that write to a disk.",
)  # fmt: skip
SYNC, ASYNC = "TestBetaLocalFilesystemMemoryTool", "TestBetaAsyncLocalFilesystemMemoryTool"
UMASK = "test_mkdir_parents_not_world_writable_under_permissive_umask"
LINKS = (
    "test_symlink_validation_reject_symlink_pointing_outside_memories",
    "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside",
    "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside",
)
NO_LINKS = "about symbolic links of a disk; a tree of Keepword's has none"
LEFT_OUT = {
    **{f"{suite}::{UMASK}": "about the rights of folders on a disk" for suite in (SYNC, ASYNC)},
    **{f"{suite}::{name}": NO_LINKS for suite in (SYNC, ASYNC) for name in LINKS},
    f"{ASYNC}::test_validate_path_returns_resolved_path_not_symlink_target": NO_LINKS,
}


@pytest.fixture(scope="module")
def packages() -> Path:
    return installed(HERE / "anthropic.txt")


def test_their_tests_of_the_memory_tool_pass_with_ours(packages, service, tmp_path):
    source = unpacked(f"anthropic=={VERSION}", HASH)
    # alone: their conftest.py is about requests to their API
    tests = tmp_path / "test_filesystem.py"
    shutil.copy(source / "tests" / "lib" / "tools" / "memory_tools" / tests.name, tests)
    run_suite(OURS, tests, LEFT_OUT, path=[packages], url=service.url, plugin="anthropic_plugin", folder=tmp_path)
