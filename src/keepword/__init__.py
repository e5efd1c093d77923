"""Keepword: a memory service for AI agents."""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepword.client import Client, Keepword
    from keepword.model import Draft

__version__ = version("keepword")
__all__ = ["Client", "Draft", "Keepword", "__version__"]

# loaded when they are first asked for: a command line and a service need no client
_LAZY = {"Client": "keepword.client", "Keepword": "keepword.client", "Draft": "keepword.model"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'keepword' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
