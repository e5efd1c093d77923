"""One free-text memory of the workspace and one per member, each written as a whole."""

from keepword.profiles.ports import MemoryType, Profile, Profiles, Selection
from keepword.profiles.use import MAX_MEMORY_BYTES, change, create, find, remove, select, upsert

__all__ = [
    "MAX_MEMORY_BYTES",
    "MemoryType",
    "Profile",
    "Profiles",
    "Selection",
    "change",
    "create",
    "find",
    "remove",
    "select",
    "upsert",
]
