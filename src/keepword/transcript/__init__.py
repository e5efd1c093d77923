"""Every word of every conversation: appended once, never changed, read in order."""

from keepword.transcript.append import MAX_BATCH, append, entries_of, require_append
from keepword.transcript.conversations import NewConversation, change, put
from keepword.transcript.page import Page, PageRequest, browse, read
from keepword.transcript.ports import Sealed

__all__ = [
    "MAX_BATCH",
    "NewConversation",
    "Page",
    "PageRequest",
    "Sealed",
    "append",
    "browse",
    "change",
    "entries_of",
    "put",
    "read",
    "require_append",
]
