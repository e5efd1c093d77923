"""ChatGPT's export: conversations.json, or conversations-000.json and so on."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from keepword.histories import json_stream
from keepword.histories.options import ReadOptions
from keepword.histories.records import (
    HistoryMessage,
    Omission,
    Record,
    Thread,
    from_epoch,
    given,
    mapping,
    sequence,
    text_or_none,
)
from keepword.histories.source import Source

_PRIVATE_OPEN, _PRIVATE_CLOSE = "\ue200", "\ue201"
_THINKING = frozenset({"thoughts", "reasoning_recap"})
_TEXT_FIELDS = ("text", "result", "summary", "content")


def read(source: Source, names: list[str], options: ReadOptions) -> Iterator[Record]:
    for name in names:
        where = source.shown(name)
        head = source.head(name).lstrip()
        # some exports are one object with the list inside, or a single conversation
        path = "item" if head[:1] == b"[" else "conversations.item" if b'"conversations"' in head[:200] else ""
        with source.open(name) as file:
            for one in json_stream.elements(file, where, path):
                if isinstance(one, Omission):
                    yield one
                else:
                    yield from _conversation(mapping(one), where, options)


def _conversation(conversation: Mapping[str, Any], where: str, options: ReadOptions) -> Iterator[Record]:
    thread = text_or_none(conversation.get("conversation_id") or conversation.get("id"))
    nodes = mapping(conversation.get("mapping"))
    if thread is None:
        yield Omission("an object that is no conversation", where)
        return
    where = f"{where} {thread}"
    if conversation.get("is_do_not_remember") and not options.also_forgotten:
        yield Omission("a conversation that is marked as not to be remembered", where)
        return
    template = text_or_none(conversation.get("conversation_template_id") or conversation.get("gizmo_id"))
    project = template if template and template.startswith("g-p-") else None
    title = text_or_none(conversation.get("title"))
    talk = _up(nodes, _current(conversation, nodes))
    yield Thread(thread, title=title, project=project, metadata=given(archived=conversation.get("is_archived") or None))
    for node in talk:
        yield from _message(thread, mapping(nodes[node]).get("message"), where, {})
    yield from _branches(Thread(thread, title=title, project=project), nodes, talk, where)


def _current(conversation: Mapping[str, Any], nodes: Mapping[str, Any]) -> str | None:
    current = conversation.get("current_node")
    if current in nodes:
        return str(current)
    leaves = [name for name, node in nodes.items() if not sequence(mapping(node).get("children"))]
    return max(leaves, key=lambda name: _created(nodes[name]), default=None)


def _created(node: Any) -> float:
    created = mapping(mapping(node).get("message")).get("create_time")
    return float(created) if isinstance(created, int | float) else 0.0


def _up(nodes: Mapping[str, Any], current: str | None) -> list[str]:
    """Return the nodes from the first to the current one; a circle of parents ends the walk."""
    path: list[str] = []
    seen: set[str] = set()
    while current is not None and current in nodes and current not in seen:
        seen.add(current)
        path.append(current)
        current = mapping(nodes[current]).get("parent")
    return path[::-1]


def _branches(talk: Thread, nodes: Mapping[str, Any], on_path: list[str], where: str) -> Iterator[Record]:
    """Yield edits and regenerations, each branch as a thread of its own: they are words, but not the talk."""
    shown = frozenset(on_path)
    seen = set(on_path)
    for root in nodes:
        if root in seen or mapping(nodes[root]).get("parent") not in shown:
            continue
        branch = list(_below(nodes, root, seen))
        records = [
            record
            for node in branch
            for record in _message(f"{talk.id}~{root}", mapping(nodes[node]).get("message"), where, {"branch": root})
        ]
        if any(isinstance(record, HistoryMessage) for record in records):
            metadata = {"branch_of": talk.id}
            yield Thread(f"{talk.id}~{root}", title=talk.title, project=talk.project, metadata=metadata)
        yield from records
    for node in nodes:
        if node not in seen and mapping(nodes[node]).get("message"):
            yield Omission("a message that no other leads to", where)


def _below(nodes: Mapping[str, Any], root: str, seen: set[str]) -> Iterator[str]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node in seen or node not in nodes:
            continue
        seen.add(node)
        yield node
        waiting += reversed(
            [child for child in sequence(mapping(nodes[node]).get("children")) if isinstance(child, str)]
        )


def _message(thread: str, raw: Any, where: str, metadata: Mapping[str, Any]) -> Iterator[Record]:
    message = mapping(raw)
    if not message:
        return
    author = mapping(message.get("author"))
    role, content, about = author.get("role"), mapping(message.get("content")), mapping(message.get("metadata"))
    kind = content.get("content_type")
    if (left_out := _left_out(role, kind, message, about)) is not None:
        if left_out:
            yield Omission(left_out, where)
        return
    text, attachments, omissions = _content(content, where)
    yield from omissions
    attachments += [_file(mapping(one)) for one in sequence(about.get("attachments"))]
    said: dict[str, Any] = {
        "thread": thread, "id": str(message.get("id")), "at": from_epoch(message.get("create_time")),
        "attachments": tuple(attachments), "metadata": {**metadata, **given(model=about.get("model_slug"))},
    }  # fmt: skip
    if not (text.strip() or attachments):
        if kind != "text":
            yield Omission(f"a message of type {kind!r} without words", where)
        return
    if role == "tool":
        yield HistoryMessage(role="tool", tool_name=text_or_none(author.get("name")), tool_result=text, **said)
    elif role == "assistant" and message.get("recipient") not in {"all", None}:
        yield HistoryMessage(role="assistant", tool_name=str(message["recipient"]), tool_args=_arguments(text), **said)
    else:
        yield HistoryMessage(role="user" if role == "user" else "assistant", text=text, **said)


def _left_out(role: Any, kind: Any, message: Mapping[str, Any], about: Mapping[str, Any]) -> str | None:
    """Return why a message is not imported; an empty text for what holds nothing, None if it is."""
    if role not in {"user", "assistant", "tool", "system"}:
        return f"a message of role {role!r}"
    if kind in _THINKING:
        return "thinking"
    if kind in {"user_editable_context", "model_editable_context"} or about.get("is_user_system_message"):
        return "custom instructions"
    if role == "system" or message.get("weight") == 0 or about.get("is_visually_hidden_from_conversation"):
        return "a hidden message" if _has_words(mapping(message.get("content"))) else ""
    return None


def _has_words(content: Mapping[str, Any]) -> bool:
    return any(
        isinstance(part, str) and part.strip() for part in [*sequence(content.get("parts")), content.get("text")]
    )


def _content(content: Mapping[str, Any], where: str) -> tuple[str, list[dict[str, Any]], list[Omission]]:
    texts: list[str] = []
    attachments: list[dict[str, Any]] = []
    omissions: list[Omission] = []
    for part in sequence(content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(mapping(part).get("text"), str):
            texts.append(part["text"])
        elif "asset_pointer" in mapping(part):
            attachments.append(_asset(part))
        elif part is not None:
            omissions.append(Omission(f"a part of type {mapping(part).get('content_type')!r}", where))
    if "parts" not in content:
        text = next((content[name] for name in _TEXT_FIELDS if isinstance(content.get(name), str)), "")
        texts.append("\n".join(filter(None, (content.get("title"), content.get("url"), text))) if text else "")
    return _without_marks("\n".join(text for text in texts if text)), attachments, omissions


def _without_marks(text: str) -> str:
    """Take out the marks of citations, which stand between two characters of the private area."""
    if _PRIVATE_OPEN not in text:
        return text
    first, *marked = text.split(_PRIVATE_OPEN)
    return first + "".join(part.partition(_PRIVATE_CLOSE)[2] if _PRIVATE_CLOSE in part else part for part in marked)


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"input": text}


def _asset(part: Mapping[str, Any]) -> dict[str, Any]:
    return given(
        type="image" if part.get("content_type") == "image_asset_pointer" else str(part.get("content_type")),
        file_id=part.get("asset_pointer"), bytes=part.get("size_bytes"), width=part.get("width"),
        height=part.get("height"),
    )  # fmt: skip


def _file(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "file"} | given(
        name=one.get("name"), file_id=one.get("id"), bytes=one.get("size"), media_type=one.get("mime_type")
    )
