"""How many messages each day has, for the tenant's owner."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest


@pytest.fixture
def owner(keyed_service):
    with keyed_service.client(keyed_service.make_key(f"growth-{uuid4().hex}")) as client:
        client.put("/v1/conversations/talk", json={})
        yield client


def _append(client, at: str) -> None:
    message = {"role": "user", "content": "It grows.", "created_at": at}
    assert client.post("/v1/conversations/talk/messages?import=true", json=message).status_code == 201


def _days(client, days: int = 366) -> list[tuple[str, int]]:
    answer = client.get("/v1/stats/growth", params={"days": days})
    assert answer.status_code == 200, answer.text
    return [(one["day"], one["messages"]) for one in answer.json()["days"]]


def test_messages_are_counted_by_their_own_day_in_the_tenant_s_zone(owner):
    eve = (datetime.now(UTC) - timedelta(days=3)).replace(hour=23, minute=30)
    for at in (eve, eve, eve + timedelta(days=1)):
        _append(owner, at.isoformat())
    assert _days(owner) == [(f"{eve:%Y-%m-%d}", 2), (f"{eve + timedelta(days=1):%Y-%m-%d}", 1)]
    assert _days(owner, days=3) == [(f"{eve + timedelta(days=1):%Y-%m-%d}", 1)]
    owner.patch("/v1/settings", json={"time_zone": "Asia/Tokyo"})
    assert _days(owner)[0] == (f"{eve + timedelta(days=1):%Y-%m-%d}", 2)


def test_another_tenant_s_are_not_counted_and_an_agent_s_key_may_not_ask(keyed_service, owner):
    _append(owner, (datetime.now(UTC) - timedelta(days=1)).isoformat())
    with keyed_service.client(keyed_service.make_key(f"growth-{uuid4().hex}")) as other:
        assert _days(other) == []
    agent = owner.post("/v1/keys", json={"role": "agent"}).json()
    with keyed_service.client(agent["secret"]) as client:
        assert client.get("/v1/stats/growth").status_code == 403


@pytest.mark.parametrize("days", ["0", "367", "many"])
def test_a_wrong_number_of_days_is_refused(owner, days):
    assert owner.get("/v1/stats/growth", params={"days": days}).status_code == 422
