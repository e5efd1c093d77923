"""Calls for summaries and landmarks."""

from uuid import UUID

from keepword import answers
from keepword.answers import LandmarkKind
from keepword.client.places import conversation_path
from keepword.client.transport import HttpTransport, given, segment


class Summaries:
    """What a conversation was about, in trees that lead down to the exact words."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def tree(self, conversation: str) -> answers.SummaryTree:
        """Read a conversation's summaries as trees, in order."""
        path = f"{conversation_path(conversation)}/summaries"
        return await self._wire.call(answers.SummaryTree, "GET", path)

    async def make(self, conversation: str) -> answers.MadeSummaries:
        """Summarise now what has no summary yet, and read them all; call again while messages are `left`."""
        path = f"{conversation_path(conversation)}/summaries"
        return await self._wire.call(answers.MadeSummaries, "POST", path)

    async def get(self, summary: UUID | str, *, cursor: str | None = None) -> answers.SummaryWithSources:
        """Read a summary and what it was made from: the summaries below it, or for a leaf its messages.

        `cursor` is an answer's `next`, where the messages were too large for one answer.
        """
        path = f"/v1/summaries/{segment(str(summary), 'summary')}"
        return await self._wire.call(answers.SummaryWithSources, "GET", path, query=given(cursor=cursor))


class Landmarks:
    """What was said and must not be paraphrased: found by Keepword, or pinned."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def pin(
        self, conversation: str, message: UUID | str | int, *, kind: LandmarkKind = "pin", text: str | None = None
    ) -> answers.Landmark:
        """Pin a part of a message word for word, or without `text` all of it; `message` is its id or its number."""
        named = {"seq": message} if isinstance(message, int) else {"message": message}
        body = given(conversation=conversation, kind=kind, text=text, **named)
        return await self._wire.call(answers.Landmark, "POST", "/v1/landmarks", body=body)

    async def unpin(self, landmark: UUID | str) -> None:
        """Unpin it; the same words of that message are not found again by themselves."""
        await self._wire.do("DELETE", f"/v1/landmarks/{segment(str(landmark), 'landmark')}")

    async def list(
        self,
        *,
        conversation: str | None = None,
        kind: LandmarkKind | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> answers.LandmarkPage:
        """List what is pinned in all that may be read in the conversation's place, oldest first."""
        query = given(conversation=conversation, kind=kind, limit=limit, cursor=cursor)
        return await self._wire.call(answers.LandmarkPage, "GET", "/v1/landmarks", query=query)


class Turns:
    """What an agent saw: composed turns, kept without their words, which are read again by whoever looks."""

    def __init__(self, wire: HttpTransport) -> None:
        self._wire = wire

    async def list(self, conversation: str, *, limit: int = 50, cursor: str | None = None) -> answers.TurnPage:
        """List the turns that were composed in a conversation, newest first."""
        path = f"{conversation_path(conversation)}/turns"
        return await self._wire.call(answers.TurnPage, "GET", path, query=given(limit=limit, cursor=cursor))

    async def get(self, turn: UUID | str) -> answers.TurnDetail:
        """Read a turn with its lines as they read now, what was left out and why."""
        return await self._wire.call(answers.TurnDetail, "GET", f"/v1/turns/{segment(str(turn), 'turn')}")
