"""Who may read what; nothing else decides."""

from keepword.access.grant import Grant, Viewer, everything_in, grant, view
from keepword.access.place import GLOBAL_RUN, Across, Everywhere, Place, Project, Roster

__all__ = [
    "GLOBAL_RUN",
    "Across",
    "Everywhere",
    "Grant",
    "Place",
    "Project",
    "Roster",
    "Viewer",
    "everything_in",
    "grant",
    "view",
]
