"""The base class of `Keepword` and `Client`: all calls, written once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from keepword import answers
from keepword.answers import EntryKind, QuotesIn, SearchMode, SectionName, ToolsAs
from keepword.client.derived import Landmarks, Summaries, Turns
from keepword.client.files import Files
from keepword.client.imports import Imports
from keepword.client.items import Items
from keepword.client.knowledge import Facts, Ledger, Memories, WorkingMemory
from keepword.client.operations import Jobs, Keys
from keepword.client.places import Agents, Audit, Conversations, Projects, Rooms, Users, conversation_path
from keepword.client.transport import HttpTransport, When, given, segment
from keepword.client.webhooks import Webhooks
from keepword.model import Draft, KeyRole, Reach, Receipt, Role


class BaseClient:
    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire
        self.conversations = Conversations(wire)
        self.users = Users(wire)
        self.agents = Agents(wire)
        self.rooms = Rooms(wire)
        self.projects = Projects(wire)
        self.audit = Audit(wire)
        self.keys = Keys(wire)
        self.jobs = Jobs(wire)
        self.imports = Imports(wire)
        self.webhooks = Webhooks(wire)
        self.facts = Facts(wire)
        self.files = Files(wire)
        self.memories = Memories(wire)
        self.summaries = Summaries(wire)
        self.landmarks = Landmarks(wire)
        self.turns = Turns(wire)
        self.working = WorkingMemory(wire)
        self.ledger = Ledger(wire)
        self.items = Items(wire)

    def acting(self, *, agent: str | None = None, user: str | None = None) -> "BaseClient":
        """Return the same calls, made for this agent or user: what they may not see is not there."""
        return BaseClient(self._wire.acting(agent, user))

    async def append(
        self,
        conversation: str,
        content: str | Sequence[Mapping[str, Any]] = "",
        *,
        role: Role = "user",
        user: str | None = None,
        agent: str | None = None,
        tool_name: str | None = None,
        tool_args: Any = None,
        tool_result: Any = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        attachments: Iterable[Any] = (),
        metadata: dict[str, Any] | None = None,
        event_id: str | None = None,
        created_at: datetime | None = None,
    ) -> Receipt:
        """Append one message; when this returns it is on disk. `event_id` makes a retry store nothing twice.

        `content` is a text, or content parts as the OpenAI and Anthropic APIs have them.
        """
        message = given(
            role=role, content=content if isinstance(content, str) else list(content), user=user, agent=agent,
            tool_name=tool_name, tool_args=tool_args, tool_result=tool_result,
            tool_calls=tool_calls and list(tool_calls), tool_call_id=tool_call_id, attachments=list(attachments),
            metadata=metadata or {}, event_id=event_id, created_at=created_at,
        )  # fmt: skip
        return (await self.append_all(conversation, [message]))[0]

    async def append_all(
        self, conversation: str, messages: Iterable[Draft | Mapping[str, Any]], *, is_import: bool = False
    ) -> Sequence[Receipt]:
        """Append up to 1,000 messages, all or nothing; the receipts are in their order.

        A mapping is sent as it is: the fields of a message by name, such as `{"role": "user", "content": "hello"}`, or
        a message of the OpenAI or Anthropic API. With `is_import`, an unbound admin may send times in the future.
        """
        path = f"{conversation_path(conversation)}/messages"
        body = [_sent(draft) for draft in messages]
        query = {"import": "true"} if is_import else None
        return (await self._wire.call(answers.Receipts, "POST", path, body=body, query=query)).messages

    async def search(
        self,
        query: str,
        *,
        conversation: str | None = None,
        reach: Reach | None = None,
        mode: SearchMode | None = None,
        recipe: str | None = None,
        kinds: Sequence[EntryKind] | None = None,
        agent: str | None = None,
        user: str | None = None,
        since: When | None = None,
        before: When | None = None,
        window: str | None = None,
        time_words: bool = True,
        limit: int = 10,
        min_score: float | None = None,
        context: int = 0,
        expand: bool = True,
        explain: bool = False,
        synthesize: bool = False,
    ) -> answers.SearchResults:
        """Find what matters in all that may be read in the conversation's place, best first.

        Without a conversation the whole tenant is searched, which its owner alone may do. `reach` is for this call, in
        place of what was chosen for the session. `time_words` reads "yesterday" or "when did we last" in the query,
        unless a time is given.
        """
        body = given(
            query=query, conversation=conversation, reach=reach, mode=mode, recipe=recipe, kinds=kinds and list(kinds),
            agent=agent, user=user, since=since, before=before, window=window, time_words=time_words, limit=limit,
            context=context, min_score=min_score, expand=expand, explain=explain, synthesize=synthesize,
        )  # fmt: skip
        return await self._wire.call(answers.SearchResults, "POST", "/v1/search", body=body)

    async def browse(
        self,
        conversation: str | None = None,
        *,
        limit: int = 50,
        order: Literal["asc", "desc"] = "asc",
        cursor: str | None = None,
        since: When | None = None,
        before: When | None = None,
        window: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        role: Role | None = None,
        reach: Reach | None = None,
        retracted: bool | None = None,
    ) -> answers.MessagePage:
        """Read all that may be read in the conversation's place, in time order, a page at a time."""
        query = given(
            conversation=conversation, limit=limit, order=order, cursor=cursor, since=since, before=before,
            window=window, agent=agent, user=user, role=role, reach=reach, retracted=retracted,
        )  # fmt: skip
        return await self._wire.call(answers.MessagePage, "GET", "/v1/browse", query=query)

    async def compose(
        self,
        conversation: str,
        message: str,
        *,
        reach: Reach | None = None,
        agent: str | None = None,
        user: str | None = None,
        window_tokens: int | None = None,
        budget_tokens: int | None = None,
        landmark_tokens: int | None = None,
        workspace_tokens: int | None = None,
        summary_tokens: int | None = None,
        sections: Sequence[SectionName] | None = None,
        ledger: bool = False,
        dry_run: bool = False,
        template: str | None = None,
        recipe: str | None = None,
        quotes_in: QuotesIn | None = None,
        tools_as: ToolsAs | None = None,
    ) -> answers.ComposedContext:
        """Return all that the agent should see before it answers the message, within budget.

        With `ledger`, what was injected before in this conversation is left out; with `dry_run` nothing is counted,
        marked or compacted. `quotes_in` "system" puts what is quoted into the system message;
        `tools_as` "text" tells of tool calls in words, for a model call that declares no tools.
        """
        body = given(
            conversation=conversation, message=message, reach=reach, agent=agent, user=user,
            window_tokens=window_tokens, budget_tokens=budget_tokens, landmark_tokens=landmark_tokens,
            workspace_tokens=workspace_tokens,
            summary_tokens=summary_tokens,
            sections=None if sections is None else list(sections), ledger=ledger, dry_run=dry_run, template=template,
            recipe=recipe, quotes_in=quotes_in, tools_as=tools_as,
        )  # fmt: skip
        return await self._wire.call(answers.ComposedContext, "POST", "/v1/compose", body=body)

    async def request(
        self, method: str, path: str, *, body: str | None = None, query: Mapping[str, Any] | None = None
    ) -> str:
        """Make any request of the API, with JSON text as body and answer: for what has no call of its own here.

        Nothing is read or written anew, so that a number keeps all the digits that it was written with.
        """
        return await self._wire.text(method, path, body=body, query=query)

    async def sources(
        self, ids: Iterable[UUID | str], *, conversation: str | None = None, reach: Reach | None = None
    ) -> Sequence[answers.Source]:
        """Read up to 100 messages, summaries, memories and landmarks by their ids; what may not be read is missing."""
        query = given(id=[str(one) for one in ids], conversation=conversation, reach=reach)
        return (await self._wire.call(answers.Sources, "GET", "/v1/sources", query=query)).sources

    async def access(
        self,
        conversation: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        role: KeyRole | None = None,
        bound: Literal["nobody", "agent", "user", "both"] | None = None,
        message: Sequence[UUID | str] | None = None,
        reach: Reach | None = None,
    ) -> answers.AccessReport:
        """Tell what they may read in the conversation's place, and which of up to 100 messages they would see there."""
        query = given(
            conversation=conversation,
            user=user,
            agent=agent,
            role=role,
            bound=bound,
            message=None if message is None else [str(one) for one in message],
            reach=reach,
        )
        return await self._wire.call(answers.AccessReport, "GET", "/v1/access", query=query)

    async def erase_tenant(self, *, dry_run: bool = False) -> answers.Erasure:
        """Erase all that the key's tenant has, and revoke its keys, this one too. Of the owner's alone."""
        query = {"dry_run": "true"} if dry_run else None
        return await self._wire.call(answers.Erasure, "DELETE", "/v1/tenant", query=query)

    async def erasure(self, erasure_id: UUID | str) -> answers.Erasure:
        """Tell how far an erasure is."""
        path = f"/v1/erasures/{segment(str(erasure_id), 'erasure_id')}"
        return await self._wire.call(answers.Erasure, "GET", path)

    async def whoami(self) -> answers.WhoAmI:
        """Tell what this key may do, and for whom it acts."""
        return await self._wire.call(answers.WhoAmI, "GET", "/v1/whoami")

    async def service(self) -> answers.ServiceReport:
        """Tell what the doctor finds, and the service's settings: for the owner, on the service's machine."""
        return await self._wire.call(answers.ServiceReport, "GET", "/v1/service")

    async def stats(self, conversation: str | None = None) -> answers.Stats:
        """Tell how it stands: alerts, queues, coverage and a census."""
        return await self._wire.call(answers.Stats, "GET", "/v1/stats", query={"conversation": conversation})

    async def growth(self, *, days: int = 30) -> answers.Growth:
        """Count the messages of each of the last days, up to 366. Of the owner's alone."""
        return await self._wire.call(answers.Growth, "GET", "/v1/stats/growth", query={"days": days})

    async def demo(self) -> answers.Demo:
        """Open a tenant of its own for the demo's story: for the owner, on the service's machine."""
        return await self._wire.call(answers.Demo, "POST", "/v1/demo")


def _sent(draft: Draft | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(draft, Draft):
        return draft
    return given(**{field.name: getattr(draft, field.name) for field in fields(draft)})
