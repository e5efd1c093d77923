"""Loaded into the run of Anthropic's own tests: their tools keep files in Keepword, in the tree of a new agent each.

Where the tests look into the folder that their own tool writes, they look into that tree.
"""

import os
from contextlib import ExitStack
from uuid import uuid4

import pytest

from keepword.adapters.anthropic import KeepwordAsyncMemoryTool, KeepwordMemoryTool
from keepword.client import Client

OPENED = ExitStack()
TREES = {}


class Root:
    """Stands for the folder /memories, or a file in it."""

    def __init__(self, files, agent, name="") -> None:
        self.files, self.agent, self.name = files, agent, name
        TREES[str(self)] = self

    def __truediv__(self, name) -> "Root":
        return Root(self.files, self.agent, f"{self.name}/{name}")

    def __str__(self) -> str:
        return f"/{self.agent}{self.name}"

    def write_bytes(self, content) -> None:
        self.files.put(f"/memories{self.name}", content.decode())

    def read_bytes(self) -> bytes:
        return self.files.get(f"/memories{self.name}").content.encode()

    def mkdir(self, **_) -> None:
        """It is always there."""

    def is_dir(self) -> bool:
        return self.files.command({"command": "view", "path": "/memories"}).startswith("Here're")


class AsyncRoot(Root):
    async def is_dir(self) -> bool:
        return super().is_dir()


def snapshot(base_path) -> dict[str, str]:
    files = TREES[base_path].files
    return {file.path.removeprefix("/"): files.get(file.path).content for file in files.list().files}


@pytest.fixture(scope="session")
def keepword():
    return OPENED.enter_context(Client.sync(os.environ["KEEPWORD_URL"]))


@pytest.fixture
def sync_local_filesystem_tool(keepword):
    agent = f"claude-{uuid4().hex}"
    tool = KeepwordMemoryTool(keepword.acting(agent=agent).files)
    tool.memory_root = tool.base_path = Root(keepword.acting(agent=agent).files, agent)
    return tool


@pytest.fixture
async def async_local_filesystem_tool(keepword):
    agent = f"claude-{uuid4().hex}"
    async with Client(os.environ["KEEPWORD_URL"], agent=agent) as client:
        tool = KeepwordAsyncMemoryTool(client.files)
        tool.memory_root = tool.base_path = AsyncRoot(keepword.acting(agent=agent).files, agent)
        yield tool


def pytest_collection_modifyitems(items) -> None:
    for module in {item.module for item in items}:
        module.get_directory_snapshot = snapshot
        module.Path = lambda text: TREES[text]
    for item in items:
        for name in ("sync_local_filesystem_tool", "async_local_filesystem_tool"):
            ours = item._fixtureinfo.name2fixturedefs.get(name)
            if ours:
                item._fixtureinfo.name2fixturedefs[name] = ours[:1]


def pytest_sessionfinish() -> None:
    OPENED.close()
