"""Items of the OpenAI Agents SDK as messages, and back: what a session gives back is what was put in."""

import json
from collections.abc import Mapping
from typing import Any

from keepword.model import Message

# where a message keeps an item that its role and content do not say whole
ITEM = "openai_item"
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def to_message(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that stands for an item. Raises TypeError for what JSON can't write."""
    whole = json.loads(json.dumps(item, allow_nan=False))
    message = _message(whole)
    return message if to_plain(message) == whole else message | {"metadata": {ITEM: whole}}


def to_item(message: Message) -> dict[str, Any] | None:
    """Return the item of a message; None for one of others that has no text."""
    item = message.metadata.get(ITEM)
    if isinstance(item, dict):
        return item
    return to_plain({"role": message.role, "content": message.content}) if message.content else None


def to_plain(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the item that a message without metadata is read as."""
    if set(message) != {"role", "content"} or message["role"] == "tool":
        return None
    return dict(message)


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    kind, role = item.get("type", "message"), _ROLES.get(str(item.get("role")), "assistant")
    if kind == "message" and (text := _text(item.get("content"))):
        return {"role": role, "content": text}
    if kind == "function_call" and isinstance(item.get("name"), str) and item["name"]:
        return {"role": "assistant", "tool_name": item["name"][:200], "tool_args": _arguments(item.get("arguments"))}
    if kind == "function_call_output":
        return {"role": "tool", "tool_result": _text(item.get("output")) or json.dumps(item.get("output"))}
    # reasoning, calls of hosted tools and the like: kept, and not searched
    return {"role": role, "attachments": [{"type": str(kind)}]}


def _arguments(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") or part.get("refusal") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
