"""Files as memory: trees of text files, of agents, users with an agent, rooms and projects."""

from keepword.files.commands import MemoryCommand, execute
from keepword.files.operations import (
    MAX_FILE_BYTES,
    TreeWriter,
    find,
    find_version,
    list_versions,
    redact,
    search,
)
from keepword.files.paths import ROOT, check_path
from keepword.files.ports import FileTrees, Tree, TreeKind, TreeLimits

__all__ = [
    "MAX_FILE_BYTES",
    "ROOT",
    "FileTrees",
    "MemoryCommand",
    "Tree",
    "TreeKind",
    "TreeLimits",
    "TreeWriter",
    "check_path",
    "execute",
    "find",
    "find_version",
    "list_versions",
    "redact",
    "search",
]
