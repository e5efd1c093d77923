"""Telegram Desktop's result.json, of one chat or of a whole account."""

from collections.abc import Iterator, Mapping
from typing import Any

from keepword.histories import json_stream
from keepword.histories.options import ReadOptions
from keepword.histories.records import (
    HistoryMessage,
    Omission,
    Person,
    Record,
    Thread,
    ThreadKind,
    from_epoch,
    from_iso,
    given,
    mapping,
    sequence,
    text_or_none,
)
from keepword.histories.source import Source

_CHATS = ("chats.list.item", "left_chats.list.item", "")
_LISTS = frozenset(f"{chat}.messages.item".lstrip(".") for chat in _CHATS)
_KINDS: Mapping[str, ThreadKind] = {
    "personal_chat": "direct", "bot_chat": "direct", "saved_messages": "session", "replies": "session",
    "verification_codes": "session", "private_group": "room", "private_supergroup": "room", "public_supergroup": "room",
    "private_channel": "room", "public_channel": "room",
}  # fmt: skip


class _Chat:
    """The chat that is being read: what stands before its messages."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.values: dict[str, Any] = {}
        self.thread: Thread | None = None

    def thread_start(self, where: str) -> Iterator[Record]:
        if self.thread is not None:
            return
        kind = self.values.get("type")
        id_ = text_or_none(self.values.get("id")) or f"{self.values.get('name') or 'chat'} {self.number}"
        # who may read a chat of an unknown type is not known: its owner alone
        self.thread = Thread(id_, _KINDS.get(str(kind), "session"), text_or_none(self.values.get("name")))
        if kind not in _KINDS:
            yield Omission(f"the type {kind!r} of a chat: it is kept for its owner alone", where)
        yield self.thread

    @property
    def is_bot(self) -> bool:
        return self.values.get("type") == "bot_chat"


def read(source: Source, names: list[str], options: ReadOptions) -> Iterator[Record]:
    for name in names:
        with source.open(name) as file:
            yield from _file(json_stream.members(file, source.shown(name), _LISTS), source.shown(name), options)


def _file(pieces: Iterator[Any], where: str, options: ReadOptions) -> Iterator[Record]:
    owner: str | None = None
    chat = _Chat(1)
    known: set[str] = set()
    for piece in pieces:
        if isinstance(piece, Omission):
            yield piece
            continue
        path, value = piece
        around, _, field = path.rpartition(".")
        if path == "personal_information.user_id":
            owner = f"user{value}"
        elif path in _LISTS:
            yield from chat.thread_start(where)
            yield from _message(chat, mapping(value), where, owner, options, known)
        elif value is json_stream.END and path in _CHATS:
            chat = _Chat(chat.number + 1)
        elif around in _CHATS and value is not json_stream.END:
            chat.values[field] = value


def _message(
    chat: _Chat, message: Mapping[str, Any], where: str, owner: str | None, options: ReadOptions, known: set[str]
) -> Iterator[Record]:
    thread = chat.thread or Thread("")
    if message.get("type") != "message":
        yield Omission(f"a service message {message.get('action')!r}", where)
        return
    text = _text(message.get("text"))
    attachments = tuple(_attachments(message))
    if not text.strip() and not attachments:
        yield Omission("a message without words", where)
        return
    name = text_or_none(message.get("from"))
    author = text_or_none(message.get("from_id")) or name or "deleted account"
    is_owner = author == owner or bool({author, name} & options.owner_names) or _is_other_side(chat, author)
    if author not in known:
        known.add(author)
        yield Person(author, name, is_bot=chat.is_bot and not is_owner, is_owner=is_owner)
    at = from_epoch(message.get("date_unixtime")) or from_iso(message.get("date"))
    edited = text_or_none(message.get("edited_unixtime") or message.get("edited"))
    id_ = text_or_none(message.get("id")) or f"{message.get('date_unixtime')} {author} {len(text)}"
    yield HistoryMessage(
        thread.id, id_, "assistant" if chat.is_bot and not is_owner else "user", text, None if is_owner else author, at,
        attachments=attachments, edited=edited,
        metadata=given(
            reply_to=message.get("reply_to_message_id"), forwarded_from=message.get("forwarded_from"),
            via_bot=message.get("via_bot"), edited_at=edited,
        ),
    )  # fmt: skip


def _is_other_side(chat: _Chat, author: str) -> bool:
    """Tell whether this is the owner, in the export of one personal chat: its id is that of the other one."""
    other = chat.values.get("id")
    return chat.values.get("type") in {"personal_chat", "bot_chat"} and other is not None and author != f"user{other}"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    pieces = [piece if isinstance(piece, str) else mapping(piece).get("text") for piece in sequence(value)]
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _attachments(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, kind in (("photo", "image"), ("file", str(message.get("media_type") or "file"))):
        if isinstance(path := message.get(name), str):
            file = None if path.startswith("(") else path.rpartition("/")[2]
            yield {"type": kind} | given(
                name=message.get("file_name") or file, media_type=message.get("mime_type"),
                bytes=message.get(f"{name}_file_size") or message.get("file_size"), emoji=message.get("sticker_emoji"),
            )  # fmt: skip
    if message.get("location_information") or message.get("poll") or message.get("contact_information"):
        kind = next(name for name in ("location_information", "poll", "contact_information") if message.get(name))
        yield {"type": kind, "value": message[kind]}
