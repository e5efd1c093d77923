"""What systems that live in the measuring process have in common."""

import os
from importlib.metadata import version
from pathlib import Path

from usage import disk_mb, memory_mb
from world import Doc


def versions_of(*names: str) -> dict[str, str]:
    return {name: version(name) for name in names}


class Local:
    variants: tuple[str, ...] = ("",)
    kept = "each append"
    findable_at_once = True
    appends = 1_000_000

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self, docs: list[Doc]) -> None: ...

    def fill(self, docs: list[Doc]) -> None:
        for doc in docs:
            self.append(doc)

    def append(self, doc: Doc) -> None:
        raise NotImplementedError

    def settle(self) -> None: ...

    def told(self, _docs: list[Doc]) -> dict[str, float]:
        return {}

    def memory_mb(self) -> float:
        return memory_mb(os.getpid())

    def disk_mb(self) -> float:
        return disk_mb(self.folder)

    def close(self) -> None: ...
