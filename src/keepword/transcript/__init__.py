"""Every word of every conversation: appended once, never changed, read in order."""

from keepword.transcript.append import MAX_BATCH, append, require_append
from keepword.transcript.conversations import NewConversation, change, put
from keepword.transcript.page import Page, PageRequest, browse, read

__all__ = [
    "MAX_BATCH",
    "NewConversation",
    "Page",
    "PageRequest",
    "append",
    "browse",
    "change",
    "put",
    "read",
    "require_append",
]
