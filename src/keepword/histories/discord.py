"""Discord's channels as DiscordChatExporter writes them: one JSON file for each channel, thread or part."""

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
    from_iso,
    given,
    mapping,
    sequence,
    text_or_none,
)
from keepword.histories.source import Source

_TALK = frozenset({"Default", "Reply", "0", "19", "ChatInputCommand", "ContextMenuCommand", "20", "23"})
_DIRECT = frozenset({"DirectTextChat", "1"})
_NO_GUILD = "0"
_LISTS = frozenset({"messages.item"})


def read(source: Source, names: list[str], options: ReadOptions) -> Iterator[Record]:
    known: set[str] = set()
    for name in names:
        where = source.shown(name)
        with source.open(name) as file:
            values: dict[str, Any] = {}
            thread: Thread | None = None
            for piece in json_stream.members(file, where, _LISTS):
                if isinstance(piece, Omission):
                    yield piece
                elif piece[0] not in _LISTS:
                    values[piece[0]] = piece[1]
                else:
                    if thread is None:
                        thread = _thread(values)
                        yield thread
                    yield from _message(thread, mapping(piece[1]), where, options, known)


def _thread(values: Mapping[str, Any]) -> Thread:
    name, kind = text_or_none(values.get("channel.name")), str(values.get("channel.type"))
    guild = text_or_none(values.get("guild.name"))
    is_direct = kind in _DIRECT
    return Thread(
        str(values.get("channel.id")), "direct" if is_direct else "room", name if is_direct else f"#{name}",
        metadata=given(
            guild=None if values.get("guild.id") == _NO_GUILD else guild, category=values.get("channel.category"),
            topic=values.get("channel.topic"),
        ),
    )  # fmt: skip


def _message(
    thread: Thread, message: Mapping[str, Any], where: str, options: ReadOptions, known: set[str]
) -> Iterator[Record]:
    author = mapping(message.get("author"))
    id_, author_id = text_or_none(message.get("id")), text_or_none(author.get("id"))
    if str(message.get("type")) not in _TALK or id_ is None or author_id is None:
        yield Omission(f"a message of type {message.get('type')!r}", where)
        return
    forwarded = mapping(message.get("forwardedMessage"))
    text = str(message.get("content") or forwarded.get("content") or "")
    text = "\n".join(filter(None, (text, *_embeds(message))))
    files = sequence(message.get("attachments")) + sequence(forwarded.get("attachments"))
    attachments = tuple(_file(mapping(one)) for one in files)
    attachments += tuple(
        given(type="sticker", name=mapping(one).get("name")) for one in sequence(message.get("stickers"))
    )
    if not text.strip() and not attachments:
        yield Omission("a message without words", where)
        return
    is_bot = bool(author.get("isBot"))
    is_owner = _is_owner(thread, author, options)
    if author_id not in known:
        known.add(author_id)
        name = author.get("nickname") or author.get("name")
        yield Person(author_id, text_or_none(name), text_or_none(author.get("name")), is_bot, is_owner)
    edited = text_or_none(message.get("timestampEdited"))
    yield HistoryMessage(
        thread.id, id_, "assistant" if is_bot else "user", text, None if is_owner else author_id,
        from_iso(message.get("timestamp")), attachments=attachments, edited=edited,
        metadata=given(
            reply_to=mapping(message.get("reference")).get("messageId"), edited_at=edited,
            pinned=message.get("isPinned") or None, forwarded=bool(forwarded) or None,
        ),
    )  # fmt: skip


def _is_owner(thread: Thread, author: Mapping[str, Any], options: ReadOptions) -> bool:
    names = {text_or_none(author.get(name)) for name in ("id", "name", "nickname")}
    if names & options.owner_names:
        return True
    # a direct channel has the name of the other one
    return thread.kind == "direct" and not options.owner_names and thread.title not in names


def _embeds(message: Mapping[str, Any]) -> Iterator[str]:
    for one in map(mapping, sequence(message.get("embeds"))):
        if not message.get("content"):
            yield from (one[name] for name in ("title", "description") if isinstance(one.get(name), str) and one[name])


def _file(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "file"} | given(
        name=one.get("fileName"), bytes=one.get("fileSizeBytes"), file_id=one.get("id"),
        url=one.get("canonicalUrl") or one.get("url"),
    )  # fmt: skip
