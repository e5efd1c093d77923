"""mem0 with its default store: Qdrant inside the process, on disk."""

from measure import Bench
from systems._local import Local, versions_of
from systems._mem0 import Mem0


class OnQdrant(Mem0, Local):
    def __init__(self, bench: Bench) -> None:
        Local.__init__(self, bench.folder)
        settings = {"path": str(bench.folder / "qdrant"), "on_disk": True, "collection_name": "turns"}
        Mem0.__init__(self, bench, "qdrant", settings)


def open_system(bench: Bench, _phase: str) -> OnQdrant:
    return OnQdrant(bench)


def versions() -> dict[str, str]:
    return versions_of("mem0ai", "qdrant-client")
