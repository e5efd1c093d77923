"""Every word of every conversation: appended once, never changed, read in order."""

from keepword.transcript.append import MAX_BATCH, append, entries_of, require_append, require_said
from keepword.transcript.chat_formats import name_results
from keepword.transcript.conversations import NewConversation, assign, change, put, require_entry, require_named
from keepword.transcript.page import PageRequest, browse, cursor_after, parse_cursor, read
from keepword.transcript.ports import PAGE_BYTES, AppendOptions, PreparedMessage

__all__ = [
    "MAX_BATCH",
    "PAGE_BYTES",
    "AppendOptions",
    "NewConversation",
    "PageRequest",
    "PreparedMessage",
    "append",
    "assign",
    "browse",
    "change",
    "cursor_after",
    "entries_of",
    "name_results",
    "parse_cursor",
    "put",
    "read",
    "require_append",
    "require_entry",
    "require_named",
    "require_said",
]
