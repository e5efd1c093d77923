"""Loaded into the run of the OpenAI Agents SDK's own tests: what they call SQLiteSession is a session of ours."""

import hashlib
import os
from contextlib import ExitStack

from keepword.adapters.openai_agents import KeepwordSession
from keepword.client import Client, SyncClient

OPENED = ExitStack()
CLIENTS: list[SyncClient] = []


class SessionInstead(KeepwordSession):
    """Takes the arguments of SQLiteSession; each database file has conversations of its own."""

    def __init__(self, session_id, db_path=None, *, session_settings=None) -> None:
        database = hashlib.sha256(str(db_path or id(self)).encode()).hexdigest()[:16]
        super().__init__(f"{session_id}-{database}", CLIENTS[0], session_settings=session_settings)

    def close(self) -> None:
        """There is nothing to close: all sessions share a client."""


def pytest_sessionstart() -> None:
    CLIENTS.append(OPENED.enter_context(Client.sync(os.environ["KEEPWORD_URL"])))


def pytest_sessionfinish() -> None:
    OPENED.close()


def pytest_collection_modifyitems(items) -> None:
    for module in {item.module for item in items}:
        module.SQLiteSession = SessionInstead
