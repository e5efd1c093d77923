"""One free-text memory of the workspace and one per member: lines with their sources, read as one text."""

from keepword.profiles.ports import MemoryType, Profile, ProfileLine, Profiles, Selection
from keepword.profiles.text import distinct_lines, render
from keepword.profiles.use import MAX_MEMORY_BYTES, change, create, find, remove, select

__all__ = [
    "MAX_MEMORY_BYTES",
    "MemoryType",
    "Profile",
    "ProfileLine",
    "Profiles",
    "Selection",
    "change",
    "create",
    "distinct_lines",
    "find",
    "remove",
    "render",
    "select",
]
