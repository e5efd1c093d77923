"""An agent's short-term memory: scratch fields with a lifetime, the last messages, and what was already injected."""

from keepword.working.fields import WorkingMemory
from keepword.working.ledger import InjectionLedger
from keepword.working.ports import WorkingStores

__all__ = ["InjectionLedger", "WorkingMemory", "WorkingStores"]
