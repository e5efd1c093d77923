"""Who may read what; nothing else decides."""

from keepword.access.grant import Grant, Viewer, act, everything_in, grant, not_introduced, view
from keepword.access.place import (
    GLOBAL_RUN,
    Acquaintance,
    Across,
    Everywhere,
    Place,
    Project,
    Roster,
    project_run,
)
from keepword.access.settings import TenantSettings, check_changes, parse_setting

__all__ = [
    "GLOBAL_RUN",
    "Acquaintance",
    "Across",
    "Everywhere",
    "Grant",
    "Place",
    "Project",
    "Roster",
    "TenantSettings",
    "Viewer",
    "act",
    "check_changes",
    "everything_in",
    "grant",
    "not_introduced",
    "parse_setting",
    "project_run",
    "view",
]
