"""A session of a host as a conversation: made when it is first needed, in the project of its folder."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from keepword.errors import Forbidden, NotFound
from keepword.histories import names
from keepword.histories.plan import ImportOptions
from keepword.histories.repository import project_of
from keepword.hooks.configuration import HookSettings
from keepword.hooks.hosts import Host
from keepword.hooks.service import Service, part


@dataclass(frozen=True, slots=True)
class HookSession:
    host: Host
    id: str
    folder: str | None
    settings: HookSettings
    service: Service

    @property
    def conversation(self) -> str:
        return names.name(f"{self.host.kind}:{self.id}")

    @property
    def path(self) -> str:
        return f"/v1/conversations/{part(self.conversation)}"

    def options(self) -> ImportOptions:
        """Return what an import of this session's transcript would be told: both store the same."""
        return ImportOptions(
            self.host.kind, self.settings.user, datetime.now(UTC), self.host.kind, project_of=project_of
        )

    def make(self) -> None:
        """Make the conversation, with its user and project as far as the key may name them. It may be there."""
        project = project_of(self.folder) if self.folder else None
        user: str | None = self.settings.user
        try:
            self.service.call("PUT", f"/v1/users/{part(self.settings.user)}", {})
        except Forbidden:
            user = None  # a key that is bound to somebody names them itself
        if project is not None:
            try:
                self.service.call("PUT", f"/v1/projects/{part(project)}", {})
            except Forbidden:
                project = None
        body = {"kind": "session", "agent": self.host.kind, "channel": self.host.kind, "user": user, "project": project}
        with suppress(NotFound):
            self.service.call("PUT", self.path, {name: value for name, value in body.items() if value is not None})
