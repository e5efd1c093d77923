"""Keepword: a memory service for AI agents."""

from importlib.metadata import version

__version__ = version("keepword")
