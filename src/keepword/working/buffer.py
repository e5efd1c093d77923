"""The buffer's rules: which messages it shows, in which order, and how one is written down."""

from collections.abc import Sequence

from pydantic import TypeAdapter

from keepword.answers import BufferedMessage
from keepword.model import Message
from keepword.transcript.chat_formats import CALL_ID

SIZE = 50
MAX_CALL_ID_CHARS = 200  # find_call_id in SQL has the same
DEFAULT_LIMIT = 40  # what a prompt's raw transcript takes

_entry = TypeAdapter(BufferedMessage)


def buffered_messages(messages: Sequence[Message]) -> list[BufferedMessage]:
    """Return what an append added, in the order of the transcript: by time, then by sequence."""
    return sorted(map(_buffered, messages), key=lambda entry: (entry.ts, entry.seq))


def first_and_last_seq(added: Sequence[BufferedMessage]) -> tuple[int, int]:
    seqs = [entry.seq for entry in added]
    return min(seqs), max(seqs)


def write(entry: BufferedMessage) -> str:
    return _entry.dump_json(entry).decode()


def parse(text: str) -> BufferedMessage:
    return _entry.validate_json(text)


def _call_id(message: Message) -> str | None:
    call_id = message.metadata.get(CALL_ID)
    return call_id[:MAX_CALL_ID_CHARS] if isinstance(call_id, str) else None


def _buffered(message: Message) -> BufferedMessage:
    return BufferedMessage(
        message.id, message.conversation, message.seq, message.role, message.user, message.agent, message.created_at,
        message.content, message.tool_name, message.tool_args, message.tool_result, tuple(message.attachments),
        _call_id(message),
    )  # fmt: skip
