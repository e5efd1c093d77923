"""Keepword for Python programs: in this process, or behind an address, with the same calls."""

from keepword.client.base import BaseClient
from keepword.client.embedded import Keepword
from keepword.client.remote import Client
from keepword.client.synchronous import SyncClient

__all__ = ["BaseClient", "Client", "Keepword", "SyncClient"]
