"""Who may read what; nothing else decides."""

from keepword.access.grant import Grant, Viewer, everything_in, grant, view
from keepword.access.place import Across, Everywhere, Place, Project, Roster

__all__ = ["Across", "Everywhere", "Grant", "Place", "Project", "Roster", "Viewer", "everything_in", "grant", "view"]
