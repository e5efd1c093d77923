"""The shapes of what starts an import of a history."""

from typing import Annotated

from pydantic import Field

from keepword import patterns
from keepword.http.schemas import Body, Label, Name, Slug

MOST_MAPPED = 10_000
_MOST_PEOPLE = 100_000
_FILE_CHARS = 100
_UNUSUAL = patterns.anywhere(r"[^A-Za-z0-9._-]")


class NewImport(Body):
    kind: Label = Field(description="of which program: `claude-code`, `chatgpt`, `claude`, `codex`, `slack` and so on")
    file: Label = Field(
        min_length=1, description="the file's name, such as `export.zip`; a folder is sent as a zip of its files"
    )
    user: Name = Field(description="whose history it is")
    agent: Slug | None = Field(None, description="who answered; default: the kind")
    project: Name | None = Field(None, description="put all sessions into this project")
    map: dict[Annotated[str, Field(max_length=1000)], Name] | None = Field(
        None, max_length=MOST_MAPPED, description="users by the ids, handles or names that the source has"
    )
    day_first: bool | None = Field(None, description="what 3/4 means, where the file does not tell")
    also_forgotten: bool = Field(False, description="also what was marked as not to be remembered")
    max_people: int | None = Field(None, ge=1, le=_MOST_PEOPLE, description="most people that may become users")


class StartImport(Body):
    dry_run: bool = Field(False, description="only read and count; the upload is kept, and can be started again")


def file_name(sent: str) -> str:
    """Return what a file is called on our disk: its last part, in plain signs. Its ending says what it is."""
    last = sent.replace("\\", "/").rpartition("/")[2]
    return _UNUSUAL.sub("_", last)[-_FILE_CHARS:].lstrip(".") or "upload"
