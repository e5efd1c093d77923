"""Memory as tools of the Model Context Protocol, for any client that speaks it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from keepword.mcp.ports import Memory

if TYPE_CHECKING:
    from keepword.mcp.server import answer, make_server, serve_stdio

__all__ = ["Memory", "answer", "load", "make_server", "serve_stdio"]


def load() -> None:
    """Load the SDK at the first use: it takes half as long as all other imports together."""
    import_module("keepword.mcp.server")


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("keepword.mcp.server"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
