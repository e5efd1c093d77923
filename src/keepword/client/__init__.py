"""Keepword for Python programs: in this process, or behind an address, with the same calls."""

from keepword.client.blocking import BlockingFace
from keepword.client.embedded import Keepword
from keepword.client.face import Face
from keepword.client.remote import Client

__all__ = ["BlockingFace", "Client", "Face", "Keepword"]
