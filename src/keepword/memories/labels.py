"""What an add of mem0's clients says of the memories to come: its messages carry it in their metadata, under `mem0`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from keepword.memories.extracted import ExtractedMemory
from keepword.model import Message

KEY = "mem0"


@dataclass(frozen=True, slots=True)
class Labels:
    metadata: Mapping[str, Any] = field(default_factory=dict)
    categories: Sequence[str] = ()
    expires_at: datetime | None = None

    def written(self, messages: int | None = None) -> dict[str, Any]:
        """Return a message's metadata; of the last of an add, `messages` is how many were added, itself included."""
        written: dict[str, Any] = {} if messages is None else {"messages": messages}
        if self.metadata:
            written["metadata"] = dict(self.metadata)
        if self.categories:
            written["categories"] = list(self.categories)
        if self.expires_at is not None:
            written["expires_at"] = self.expires_at.isoformat()
        return {KEY: written} if written else {}


def ends_add(metadata: Mapping[str, Any]) -> bool:
    """Tell whether a message is the last of an add."""
    found = metadata.get(KEY)
    return isinstance(found, Mapping) and "messages" in found


def read_labels(metadata: Mapping[str, Any]) -> Labels:
    """Read what a message carries. Whoever appends writes its metadata: what is of another shape is left out."""
    found = metadata.get(KEY)
    if not isinstance(found, Mapping):
        return Labels()
    own, categories, expires_at = found.get("metadata"), found.get("categories"), found.get("expires_at")
    return Labels(
        own if isinstance(own, Mapping) else {},
        [one for one in categories if isinstance(one, str)] if isinstance(categories, list) else (),
        _time(expires_at) if isinstance(expires_at, str) else None,
    )


def labelled(memories: Sequence[ExtractedMemory], messages: Sequence[Message]) -> list[ExtractedMemory]:
    """Give the memories the labels of the messages that they were found in; of several, the last one's."""
    labels = {message.id: read_labels(message.metadata) for message in messages if KEY in message.metadata}
    return [_with_labels(one, labels) for one in memories] if labels else list(memories)


def _with_labels(memory: ExtractedMemory, labels: Mapping[UUID, Labels]) -> ExtractedMemory:
    for source in memory.sources:
        if source in labels:
            one = labels[source]
            memory = replace(
                memory, metadata=one.metadata, categories=one.categories, expires_at=one.expires_at
            )  # fmt: skip
    return memory


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None
