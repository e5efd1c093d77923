"""Changes of other programs' settings: nothing else in the file changes, and the first time a backup is made."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepword.errors import InvalidInput

BACKUP = ".keepword-backup"


@dataclass(frozen=True, slots=True)
class Change:
    """What a file would hold. `before` is None for a file that is not there."""

    file: Path
    before: str | None
    after: str

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        backup = self.file.with_name(self.file.name + BACKUP)
        if self.before is not None and not backup.exists():
            backup.write_text(self.before, encoding="utf-8")
            backup.chmod(self.file.stat().st_mode & 0o777)
        partial = self.file.with_name(self.file.name + ".keepword-partial")
        partial.write_text(self.after, encoding="utf-8")
        if self.before is not None:
            partial.chmod(self.file.stat().st_mode & 0o777)
        partial.replace(self.file)


def read_text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8") if file.exists() else None
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"{file} can't be read ({exc}); it was not changed") from exc


def parse_object(file: Path, text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise InvalidInput(f"{file} is no JSON ({exc}); it was not changed. Put it right, and install again") from exc
    if not isinstance(value, dict):
        raise InvalidInput(f"{file} holds no JSON object; it was not changed")
    return value
