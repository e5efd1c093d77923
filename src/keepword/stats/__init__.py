"""How a tenant stands: alerts, queues, coverage, and what may be read, counted by kind."""

from keepword.stats.report import StatsReader

__all__ = ["StatsReader"]
