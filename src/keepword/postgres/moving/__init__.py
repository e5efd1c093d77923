"""Moves a tenant from one server to another while it is used, by PostgreSQL's own logical replication."""

from keepword.postgres.moving.commands import Servers, clean, make_servers, move, undo
from keepword.postgres.moving.servers import ServerAddress

__all__ = ["ServerAddress", "Servers", "clean", "make_servers", "move", "undo"]
