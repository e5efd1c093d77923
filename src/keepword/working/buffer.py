"""The buffer's rules: which messages it shows, in which order, and how one is written down."""

from collections.abc import Sequence

from pydantic import TypeAdapter

from keepword.answers import BufferedMessage
from keepword.model import Draft, Receipt
from keepword.transcript.append import attribute
from keepword.transcript.chat_formats import CALL_ID
from keepword.working.ports import CommittedAppend

SIZE = 50
MAX_CALL_ID_CHARS = 200  # find_call_id in SQL has the same
DEFAULT_LIMIT = 40  # what a prompt's raw transcript takes

_entry = TypeAdapter(BufferedMessage)


def buffered_messages(appended: CommittedAppend) -> list[BufferedMessage]:
    """Return what an append added, in the order of the transcript: by time, then by sequence."""
    place, viewer = appended.place, appended.viewer
    added = [
        _from_draft(place.external_id, attribute(viewer, place, draft, number), receipt)
        for number, (draft, receipt) in enumerate(zip(appended.drafts, appended.receipts, strict=True))
        if not receipt.duplicate
    ]
    return sorted(added, key=lambda entry: (entry.ts, entry.seq))


def first_and_last_seq(added: Sequence[BufferedMessage]) -> tuple[int, int]:
    seqs = [entry.seq for entry in added]
    return min(seqs), max(seqs)


def write(entry: BufferedMessage) -> str:
    return _entry.dump_json(entry).decode()


def parse(text: str) -> BufferedMessage:
    return _entry.validate_json(text)


def _call_id(draft: Draft) -> str | None:
    call_id = draft.metadata.get(CALL_ID)
    return call_id[:MAX_CALL_ID_CHARS] if isinstance(call_id, str) else None


def _from_draft(conversation: str, draft: Draft, receipt: Receipt) -> BufferedMessage:
    return BufferedMessage(
        receipt.id, conversation, receipt.seq, draft.role, draft.user, draft.agent, receipt.created_at, draft.content,
        draft.tool_name, draft.tool_args, draft.tool_result, tuple(draft.attachments), _call_id(draft),
    )  # fmt: skip
