"""Messages without their secrets: memories, summaries and landmarks are made from these."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keepword.model import Message
from keepword.secret_text import HIDDEN, hide


def hide_secrets(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with `[secret]` in the place of each secret; the stored ones stay as they are."""
    return [_hidden(message) for message in messages]


def _hidden(message: Message) -> Message:
    return replace(
        message,
        content=hide(message.content),
        tool_args=_hidden_json(message.tool_args),
        tool_result=None if message.tool_result is None else hide(message.tool_result),
        attachments=_hidden_json(list(message.attachments)),
    )


def _hidden_json(value: Any) -> Any:
    if value is None or value == []:
        return value
    written = json.dumps(value, ensure_ascii=False)
    if (hidden := hide(written)) == written:
        return value
    try:
        return json.loads(hidden)
    except ValueError:  # a secret that was no text stood without quotes
        return HIDDEN
