"""Who may read what; nothing else decides."""

from keepword.access.grant import Grant, Viewer, grant, view
from keepword.access.place import Across, Everywhere, Place, Project, Roster

__all__ = ["Across", "Everywhere", "Grant", "Place", "Project", "Roster", "Viewer", "grant", "view"]
