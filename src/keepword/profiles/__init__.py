"""One free-text memory of the workspace and one per member: lines with their sources, read as one text."""

from keepword.profiles.operations import MAX_MEMORY_BYTES, change, create, find, remove, select
from keepword.profiles.ports import Profile, ProfileLine, Profiles, ProfileType, Selection
from keepword.profiles.text import distinct_lines, render

__all__ = [
    "MAX_MEMORY_BYTES",
    "Profile",
    "ProfileLine",
    "ProfileType",
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
