"""Redis as the store of working memory, buffer and ledger. Loaded when it is used: few services have one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepword.redis.client import ping
    from keepword.redis.erasing import outside_store
    from keepword.redis.stores import working_stores

__all__ = ["outside_store", "ping", "working_stores"]

_PLACES = {
    "outside_store": "keepword.redis.erasing",
    "ping": "keepword.redis.client",
    "working_stores": "keepword.redis.stores",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
