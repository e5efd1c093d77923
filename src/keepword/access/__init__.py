"""Who may read what; nothing else decides."""

from keepword.access.grant import (
    Actor,
    Grant,
    Threads,
    Viewer,
    everything_in,
    grant,
    is_owner,
    make_viewer,
    narrow_viewer,
    not_introduced,
)
from keepword.access.place import (
    GLOBAL_RUN,
    Acquaintance,
    AgentSessions,
    ItemOwner,
    OwnPlaces,
    Place,
    Project,
    WholeTenant,
    project_run,
)
from keepword.access.settings import TenantSettings, check_changes, parse_setting

__all__ = [
    "GLOBAL_RUN",
    "Acquaintance",
    "Actor",
    "AgentSessions",
    "Grant",
    "ItemOwner",
    "OwnPlaces",
    "Place",
    "Project",
    "TenantSettings",
    "Threads",
    "Viewer",
    "WholeTenant",
    "check_changes",
    "everything_in",
    "grant",
    "is_owner",
    "make_viewer",
    "narrow_viewer",
    "not_introduced",
    "parse_setting",
    "project_run",
]
