"""Claude.ai's export: conversations.json, projects.json and memories.json."""

from collections.abc import Iterator
from typing import Any

from keepword.histories import json_stream
from keepword.histories.blocks import read_blocks
from keepword.histories.options import ReadOptions
from keepword.histories.records import (
    HistoryMessage,
    Omission,
    Record,
    Thread,
    from_iso,
    given,
    mapping,
    sequence,
    text_or_none,
)
from keepword.histories.source import Source

MEMORIES = "claude-memories"
_ROLES = {"human": "user", "assistant": "assistant"}


def read(source: Source, names: list[str], options: ReadOptions) -> Iterator[Record]:
    for name in names:
        where = source.shown(name)
        base = name.rpartition("/")[2]
        with source.open(name) as file:
            path = "" if source.head(name).lstrip()[:1] == b"{" else "item"
            for one in json_stream.elements(file, where, path):
                if isinstance(one, Omission):
                    yield one
                elif base == "memories.json":
                    yield from _memories(mapping(one), where)
                elif base == "projects.json":
                    yield from _project(mapping(one), where)
                elif sequence(mapping(one).get("conversations")):
                    for inner in one["conversations"]:
                        yield from _conversation(mapping(inner), where, options)
                else:
                    yield from _conversation(mapping(one), where, options)


def _conversation(conversation: Any, where: str, options: ReadOptions) -> Iterator[Record]:
    thread = text_or_none(conversation.get("uuid"))
    messages = [mapping(one) for one in sequence(conversation.get("chat_messages"))]
    if thread is None:
        yield Omission("an object that is no conversation", where)
        return
    if conversation.get("is_temporary") and not options.also_forgotten:
        yield Omission("a temporary conversation", f"{where} {thread}")
        return
    project = mapping(conversation.get("project"))
    yield Thread(
        thread,
        title=text_or_none(conversation.get("name") or conversation.get("title")),
        project=text_or_none(project.get("uuid")),
        project_name=text_or_none(project.get("name")),
        metadata=given(summary=conversation.get("summary")),
    )
    talk = _talk(messages)
    on_path = {id(one) for one in talk}
    for message in talk:
        yield from _message(thread, message, where)
    branches = [one for one in messages if id(one) not in on_path]
    if branches:
        side = f"{thread}~branches"
        yield Thread(side, title=text_or_none(conversation.get("name")), metadata={"branch_of": thread})
        for message in branches:
            yield from _message(side, message, where)


def _talk(messages: list[Any]) -> list[Any]:
    """Return what is shown: from the newest message up by its parents, or all where no parents are told."""
    by_id = {one.get("uuid"): one for one in messages}
    if not any(one.get("parent_message_uuid") in by_id for one in messages):
        return messages
    path: list[Any] = []
    seen: set[int] = set()
    current = messages[-1]
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        path.append(current)
        current = by_id.get(current.get("parent_message_uuid"))
    return path[::-1]


def _message(thread: str, message: Any, where: str) -> Iterator[Record]:
    role = _ROLES.get(message.get("sender"))
    uuid = text_or_none(message.get("uuid"))
    if role is None or uuid is None:
        yield Omission(f"a message of sender {message.get('sender')!r}", f"{where} {thread}")
        return
    attached = [mapping(one) for one in sequence(message.get("attachments")) + sequence(message.get("files"))]
    frame = HistoryMessage(
        thread, uuid, role, at=from_iso(message.get("created_at")),  # type: ignore[arg-type]
        attachments=tuple(_attachment(one) for one in attached), metadata=_branch(thread),
    )  # fmt: skip
    content = message.get("content")
    blocks = content if isinstance(content, list) and content else message.get("text") or ""
    extracted = [one["extracted_content"] for one in attached if isinstance(one.get("extracted_content"), str)]
    parts = [{"type": "text", "text": text} for text in extracted if text]
    yield from read_blocks(frame, [*_blocks(blocks), *parts], f"{where} {thread}")


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _branch(thread: str) -> dict[str, Any]:
    return {"branch": thread} if thread.endswith("~branches") else {}


def _attachment(one: Any) -> dict[str, Any]:
    return {"type": "file"} | given(
        name=one.get("file_name"), bytes=one.get("file_size"), media_type=one.get("file_type")
    )


def _memories(one: Any, where: str) -> Iterator[Record]:
    yield Thread(MEMORIES, title="What Claude remembered")
    texts = [("conversations", one.get("conversations_memory"))]
    texts += sorted(mapping(one.get("project_memories")).items())
    for name, text in texts:
        if isinstance(text, str) and text.strip():
            metadata = {"recap": True, "of": name}
            yield HistoryMessage(MEMORIES, f"memory:{name}", "assistant", text, metadata=metadata)
    if unknown := sorted(one.keys() - {"account_uuid", "conversations_memory", "project_memories"}):
        yield Omission(f"fields of memories: {', '.join(unknown)}", where)


def _project(one: Any, where: str) -> Iterator[Record]:
    uuid = text_or_none(one.get("uuid"))
    documents = [mapping(document) for document in sequence(one.get("docs"))]
    if uuid is None or not (documents or one.get("prompt_template")):
        return
    thread = f"project-{uuid}"
    name = text_or_none(one.get("name"))
    yield Thread(thread, title=f"Files of the project {name}", project=uuid, project_name=name)
    if isinstance(one.get("prompt_template"), str) and one["prompt_template"].strip():
        yield HistoryMessage(thread, f"{uuid}:instructions", "system", one["prompt_template"])
    for document in documents:
        content = document.get("content")
        if not isinstance(content, str) or not content.strip():
            yield Omission("a document without text", where)
            continue
        yield HistoryMessage(
            thread, str(document.get("uuid")), "user", content, at=from_iso(document.get("created_at")),
            attachments=({"type": "file", "name": str(document.get("filename"))},),
        )  # fmt: skip
