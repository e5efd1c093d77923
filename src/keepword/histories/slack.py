"""Slack's export: lists of people and channels, and a file for each day of each channel."""

import html
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
    given,
    mapping,
    sequence,
    text_or_none,
)
from keepword.histories.source import Source

_LISTS: Mapping[str, ThreadKind] = {
    "channels.json": "room", "groups.json": "room", "mpims.json": "room", "dms.json": "direct"
}  # fmt: skip
LISTS = frozenset({*_LISTS, "users.json"})
_TALK = frozenset(
    {None, "me_message", "file_share", "thread_broadcast", "reply_broadcast", "bot_message", "file_comment"}
)
_DELETED = frozenset({"tombstone", "message_deleted"})


def read(source: Source, names: list[str], _: ReadOptions) -> Iterator[Record]:
    people: dict[str, str] = {}
    for raw in _listed(source, names, "users.json"):
        if isinstance(raw, Omission):
            yield raw
            continue
        person = _person(mapping(raw))
        people[person.id] = person.handle or person.name or person.id
        yield person
    threads: dict[str, Thread] = {}
    for list_, kind in _LISTS.items():
        for raw in _listed(source, names, list_):
            if isinstance(raw, Omission):
                yield raw
                continue
            channel = mapping(raw)
            # channels lie in folders of their names, direct conversations in folders of their ids
            for folder in (channel.get("name"), channel.get("id")):
                threads |= {str(folder): _thread(channel, kind)} if folder else {}
    yield from _folders(source, names, threads, people)


def _listed(source: Source, names: list[str], list_: str) -> Iterator[Any]:
    for name in names:
        if name.rpartition("/")[2] == list_:
            with source.open(name) as file:
                yield from json_stream.elements(file, source.shown(name), "item")


def _person(user: Mapping[str, Any]) -> Person:
    profile = mapping(user.get("profile"))
    name = profile.get("real_name") or user.get("real_name") or profile.get("display_name") or user.get("name")
    return Person(
        str(user.get("id")), text_or_none(name), text_or_none(user.get("name")), is_bot=bool(user.get("is_bot"))
    )


def _thread(channel: Mapping[str, Any], kind: ThreadKind) -> Thread:
    name = text_or_none(channel.get("name"))
    members = tuple(str(member) for member in sequence(channel.get("members")))
    return Thread(
        str(channel.get("id")), kind, f"#{name}" if name and kind == "room" else name, members,
        metadata=given(topic=mapping(channel.get("topic")).get("value"), archived=channel.get("is_archived") or None),
    )  # fmt: skip


def _folders(
    source: Source, names: list[str], threads: Mapping[str, Thread], people: Mapping[str, str]
) -> Iterator[Record]:
    current: Thread | None = None
    seen: set[str] = set()
    for name in sorted(names):
        folder = name.rpartition("/")[0].rpartition("/")[2]
        if name.rpartition("/")[2] in LISTS:
            continue
        thread = threads.get(folder)
        where = source.shown(name)
        if thread is None:
            # it may be a direct conversation: who may read it is not known
            yield Omission("a day of a folder that no list of channels names", where)
            continue
        if thread != current:
            current, seen = thread, set()
            yield thread
        with source.open(name) as file:
            for raw in json_stream.elements(file, where, "item"):
                yield raw if isinstance(raw, Omission) else _message(thread.id, mapping(raw), where, people, seen)


def _message(
    thread: str, message: Mapping[str, Any], where: str, people: Mapping[str, str], seen: set[str]
) -> HistoryMessage | Omission:
    subtype, ts = message.get("subtype"), text_or_none(message.get("ts"))
    if subtype in _DELETED:
        return Omission("a deleted message", where)
    if message.get("type", "message") != "message" or subtype not in _TALK or ts is None:
        return Omission(f"a line of type {subtype or message.get('type')!r}", where)
    if ts in seen:
        return Omission("a message that is there twice", where)
    seen.add(ts)
    text = _text(message, people)
    attachments = tuple(_file(mapping(one)) for one in sequence(message.get("files")))
    if not text.strip() and not attachments:
        return Omission("a message without words", where)
    author = text_or_none(message.get("user") or message.get("bot_id") or message.get("username"))
    is_bot = subtype == "bot_message" or "user" not in message
    edited = mapping(message.get("edited")).get("ts")
    replied = message.get("thread_ts")
    return HistoryMessage(
        thread, ts, "assistant" if is_bot else "user", text, author, from_epoch(ts), attachments=attachments,
        metadata=given(
            reply_to=replied if replied != ts else None, edited_at=edited, bot=message.get("username"),
            reactions={str(mapping(one).get("name")): mapping(one).get("count")
                       for one in sequence(message.get("reactions"))},
        ),
        edited=text_or_none(edited),
    )  # fmt: skip


def _text(message: Mapping[str, Any], people: Mapping[str, str]) -> str:
    text = message.get("text")
    lines = [_readable(text, people)] if isinstance(text, str) and text else []
    if not lines:
        lines = ["".join(_rich(message.get("blocks"), people)).strip()]
    for one in map(mapping, sequence(message.get("attachments"))):
        parts = [one.get("pretext"), one.get("title"), one.get("text") or one.get("fallback")]
        lines += [_readable(part, people) for part in parts if isinstance(part, str) and part]
    return "\n".join(line for line in dict.fromkeys(lines) if line)


def _readable(text: str, people: Mapping[str, str]) -> str:
    """Write Slack's marks as people see them: <@U1>, <#C1|name>, <!here>, <url|text>."""
    first, *marked = text.split("<")
    pieces = [first]
    for piece in marked:
        inside, closed, rest = piece.partition(">")
        pieces += [_mark(inside, people), rest] if closed else ["<", piece]
    return html.unescape("".join(pieces))


def _mark(inside: str, people: Mapping[str, str]) -> str:
    target, _, label = inside.partition("|")
    if target.startswith("@"):
        return f"@{label or people.get(target[1:], target[1:])}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label if label and target.startswith("!date") else f"@{label.lstrip('@') or target[1:]}"
    if not label or label == target:
        return target
    return f"{label} ({target})"


def _rich(value: Any, people: Mapping[str, str]) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _rich(one, people)
    elif isinstance(value, dict):
        kind = value.get("type")
        if kind == "user":
            yield f"@{people.get(str(value.get('user_id')), value.get('user_id'))}"
        elif kind == "link":
            yield str(value.get("text") or value.get("url") or "")
        elif kind == "emoji":
            yield f":{value.get('name')}:"
        elif isinstance(value.get("text"), str):
            yield value["text"]
        else:
            yield from _rich([value.get("text"), value.get("elements"), value.get("fields")], people)
            yield "\n" if kind in {"rich_text_section", "section", "header", "context"} else ""


def _file(one: Mapping[str, Any]) -> dict[str, Any]:
    # its address carries a token, and ends after a while
    return {"type": "file"} | given(
        name=one.get("name") or one.get("title"), media_type=one.get("mimetype"), bytes=one.get("size"),
        file_id=one.get("id"),
    )  # fmt: skip
