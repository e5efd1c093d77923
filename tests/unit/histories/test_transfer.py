"""How a transfer hands out its work: each conversation in its order, and no worker idle while there is work."""

import asyncio
from datetime import UTC, datetime

import pytest

from keepword.errors import NotFound
from keepword.histories.drafts import to_drafts
from keepword.histories.plan import Batch, TargetPlace
from keepword.histories.records import HistoryMessage
from keepword.histories.report import ImportReport
from keepword.histories.transfer import AT_ONCE, Transfer

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 19, tzinfo=UTC)


def batch(talk: str, number: int) -> Batch:
    place = TargetPlace(f"chatgpt:{talk}", "session", None, "tom", "chatgpt")
    draft = {"role": "user", "content": f"{talk} {number}", "event_id": f"{talk}-{number}"}
    return Batch(place, (draft,), f"{talk}{number}", {"tom": None}, frozenset(), {})


class Rooms:
    """Answers as a service in which all batches are stored already; notes who leaves."""

    def __init__(self) -> None:
        self.left: list[str] = []

    async def __call__(self, method: str, path: str, _body: object = None) -> object:
        if method == "DELETE":
            self.left.append(path)
            if path.endswith("/kim"):
                raise NotFound("no user 'kim' in room 'general'")
        return {"settings": {"imported": {"from": "slack", "batches": ["known"]}}, "title": None}


async def test_who_left_a_room_leaves_it_also_after_a_run_that_was_killed():
    """The killed run let them in and stored what they said; the next one knows their batches by digest."""
    service, report = Rooms(), ImportReport("slack")
    place = TargetPlace("slack:general", "room", None, None, "slack", room="general")
    draft = {"role": "user", "content": "Bye", "user": "lee", "event_id": "1"}
    known = Batch(place, (draft,), "known", {"lee": None}, frozenset(), {}, frozenset({"lee", "kim"}))
    await Transfer(service, "slack", report).run([known])
    assert service.left == [f"/v1/rooms/general/participants/users/{user}" for user in ("kim", "lee")]
    assert report.known == 1


class Service:
    """Answers as a service does that takes its time for appends to one conversation."""

    def __init__(self, slow: str = "") -> None:
        self.appended: list[str] = []
        self.at_work: set[str] = set()
        self.most = 0
        self._slow = slow
        self.forty_stored = asyncio.Event()

    async def __call__(self, method: str, path: str, body: object = None) -> object:
        if method != "POST" or not isinstance(body, list):
            return {"settings": {}, "title": None}
        assert path not in self.at_work, "two batches of one conversation at once"
        self.at_work.add(path)
        self.most = max(self.most, len(self.at_work))
        if self._slow and self._slow in path:
            await asyncio.wait_for(self.forty_stored.wait(), 30)
        for _ in range(3):
            await asyncio.sleep(0)
        self.at_work.discard(path)
        self.appended += [draft["content"] for draft in body]
        if len(self.appended) == 40:
            self.forty_stored.set()
        return {"messages": [{"duplicate": False} for _ in body]}


async def test_each_conversation_keeps_its_order():
    service, report = Service(), ImportReport("chatgpt")
    items = [batch(f"talk{talk}", number) for number in range(7) for talk in range(9)]
    await Transfer(service, "chatgpt", report).run(items)
    for talk in range(9):
        mine = [text for text in service.appended if text.startswith(f"talk{talk} ")]
        assert mine == [f"talk{talk} {number}" for number in range(7)]
    assert report.stored == 63
    assert service.most == AT_ONCE


async def test_a_slow_conversation_holds_up_no_other():
    """Forty talks are stored while one append has not answered yet."""
    service, report = Service(slow="slow"), ImportReport("chatgpt")
    items = [batch("slow", 0), *(batch(f"talk{number}", 0) for number in range(40))]
    await Transfer(service, "chatgpt", report).run(items)
    assert service.appended[-1] == "slow 0"
    assert report.stored == 41


async def test_no_sign_is_lost_where_a_long_message_is_cut():
    message = HistoryMessage("talk", "1", "user", "a" + "ü" * 600_000)
    drafts = [one for one in to_drafts(message) if isinstance(one, dict)]
    assert len(drafts) > 1
    assert "".join(draft["content"] for draft in drafts) == message.text
