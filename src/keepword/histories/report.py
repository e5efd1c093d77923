"""What an import did: what was stored, who was found, and all that was left out, with its reason."""

import threading
from dataclasses import dataclass, field
from typing import Any

from keepword.histories.records import Omission

MAX_REASONS = 200
MAX_REASON_CHARS = 300


@dataclass(slots=True)
class FoundPerson:
    """Somebody who was found. `user` is who they are here."""

    id: str
    name: str | None
    user: str
    messages: int = 0


@dataclass(slots=True)
class LeftOut:
    count: int = 0
    example: str = ""


@dataclass(slots=True)
class ImportReport:
    """Counts of one import. `messages` were read, `stored` are new, `known` were here before."""

    kind: str
    conversations: int = 0
    messages: int = 0
    stored: int = 0
    known: int = 0
    memories: int = 0
    files: int = 0
    people: dict[str, FoundPerson] = field(default_factory=dict)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    # one thread reads while another stores
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def omit(self, omission: Omission) -> None:
        # a source's own words may be among them, as the name of a type
        what = omission.what[:MAX_REASON_CHARS]
        with self._lock:
            if what not in self.left_out and len(self.left_out) >= MAX_REASONS:
                what = "others"
            self.left_out.setdefault(what, LeftOut(0, omission.where)).count += omission.count

    def as_json(self, most_people: int = 200) -> dict[str, Any]:
        return {
            "kind": self.kind, "conversations": self.conversations, "messages": self.messages, "stored": self.stored,
            "known": self.known, "memories": self.memories, "files": self.files,
            "people_count": len(self.people),
            "people": [
                {"id": _storable(one.id), "name": one.name and _storable(one.name), "user": one.user,
                 "messages": one.messages}
                for one in sorted(self.people.values(), key=lambda one: -one.messages)[:most_people]
            ],
            "left_out": [
                {"what": _storable(what), "count": one.count, "example": _storable(one.example)}
                for what, one in sorted(self.left_out.items(), key=lambda pair: -pair[1].count)
            ],
        }  # fmt: skip


def _storable(text: str) -> str:
    """Return a source's words as every reader can take them; ids and names may be of any length there."""
    return text[:MAX_REASON_CHARS].replace("\0", "").encode(errors="replace").decode()
