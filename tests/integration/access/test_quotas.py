"""A tenant may use so much on a day, if the settings say so; others are not touched by that."""

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from keepword import Client
from keepword.access import TenantSettings
from keepword.errors import OverQuota
from keepword.postgres import migrate
from keepword.postgres.quotas import PostgresQuotas, Quotas
from keepword.postgres.settings import change_settings

MESSAGE = {"role": "user", "content": "hello"}
PATH = "/v1/conversations/talk/messages"


@pytest.fixture(scope="module")
def limiting_service(service_type, make_migrated_home):
    """Start a service with quotas, for tenants of each test's own."""
    made = service_type(make_migrated_home(), quota_messages="5", quota_mb="1").start()
    yield made
    made.stop()


@pytest.fixture
def names():
    return [f"{name}-{uuid4().hex[:8]}" for name in ("one", "two")]


@pytest.fixture
def limited(limiting_service, names):
    yield from two_tenants(limiting_service, names)


def two_tenants(service, names):
    clients = [service.client(service.make_key(name)) for name in names]
    for client in clients:
        client.put("/v1/conversations/talk", json={}).raise_for_status()
    yield clients
    for client in clients:
        client.close()


def count_refused(client):
    found = re.search(r'keepword_over_quota_total\{quota="messages"\} (\S+)', client.get("/metrics").text)
    return float(found[1]) if found else 0.0


def test_over_the_messages_of_a_day_the_answer_is_429_until_midnight(limited):
    one, two = limited
    refused_before = count_refused(one)
    assert one.post(PATH, json=[MESSAGE] * 4).status_code == 201
    refused = one.post(PATH, json=[MESSAGE] * 2)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    assert "KEEPWORD_QUOTA_MESSAGES" in refused.json()["detail"]
    assert one.post(PATH, json=MESSAGE).status_code == 201
    assert one.post(PATH, json=MESSAGE).status_code == 429
    assert len(one.get(PATH).json()["messages"]) == 5
    assert two.post(PATH, json=MESSAGE).status_code == 201
    assert count_refused(one) == refused_before + 2


def test_over_the_bytes_of_a_day_too_and_what_is_not_stored_is_not_counted(limited):
    one, _ = limited
    assert one.post(PATH, json={"role": "user", "content": "x" * 1_000_001}).status_code == 429
    for _ in range(8):
        assert one.post("/v1/conversations/talk/messages", json=MESSAGE | {"user": "stranger"}).status_code == 404
    assert one.post(PATH, json={"role": "user", "content": "x" * 900_000}).status_code == 201
    assert one.post(PATH, json={"role": "user", "content": "x" * 200_000}).status_code == 429


def test_in_python_it_is_an_error_that_says_when_to_come_back(limited):
    one, _ = limited
    key = one.headers["authorization"].removeprefix("Bearer ")
    with Client.sync(str(one.base_url), key) as kw:
        for _ in range(5):
            kw.append("talk", "hello")
        with pytest.raises(OverQuota) as raised:
            kw.append("talk", "hello")
    assert raised.value.retry_after_seconds > 0


@pytest.fixture
def unlimited(keyed_service, names):
    """Make two tenants in a service without quotas of its own."""
    yield from two_tenants(keyed_service, names)


def test_one_tenant_may_have_a_quota_of_its_own(unlimited, keyed_service, names, cli):
    one, two = unlimited
    assert one.patch("/v1/settings", json={"quota_messages": 3}).json()["quota_messages"] == 3
    assert one.post(PATH, json=[MESSAGE] * 3).status_code == 201
    refused = one.post(PATH, json=MESSAGE)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    assert "3 messages (quota_messages, else KEEPWORD_QUOTA_MESSAGES)" in refused.json()["detail"]
    assert two.post(PATH, json=[MESSAGE] * 50).status_code == 201
    assert cli(keyed_service.home, "settings", "--tenant", names[1], "quota_mb=1").returncode == 0
    assert two.post(PATH, json={"role": "user", "content": "x" * 1_000_001}).status_code == 429
    assert cli(keyed_service.home, "settings", "--tenant", names[0], "quota_messages=none").returncode == 0
    assert one.post(PATH, json=MESSAGE).status_code == 201


def test_over_http_a_quota_can_only_be_lowered(unlimited, keyed_service, names, cli):
    one, _ = unlimited
    assert one.patch("/v1/settings", json={"quota_messages": 100, "quota_mb": 10}).status_code == 200
    assert one.patch("/v1/settings", json={"quota_messages": 50}).status_code == 200
    both = {"quota_messages": 40, "quota_mb": 11}
    for raised in ({"quota_messages": 51}, {"quota_messages": None}, {"quota_mb": 11}, both):
        refused = one.patch("/v1/settings", json=raised)
        assert refused.status_code == 403
        assert "keepword settings" in refused.json()["detail"]
    assert one.get("/v1/settings").json()["quota_messages"] == 50
    assert cli(keyed_service.home, "settings", "--tenant", names[0], "quota_messages=60").returncode == 0
    assert one.get("/v1/settings").json()["quota_messages"] == 60


def test_a_tenants_own_quota_counts_before_that_of_the_service(limited):
    one, _ = limited
    assert one.patch("/v1/settings", json={"quota_messages": 6}).status_code == 403
    assert one.patch("/v1/settings", json={"quota_messages": 2}).status_code == 200
    assert one.post(PATH, json=[MESSAGE] * 3).status_code == 429
    assert one.post(PATH, json=[MESSAGE] * 2).status_code == 201


@pytest.mark.anyio
async def test_a_tenants_own_background_time_is_counted_and_its_work_waits(pool, conninfo, tenant, make_tenant):
    day = [datetime.now(UTC)]
    quotas = PostgresQuotas(pool, Quotas(), lambda: day[0])
    other = make_tenant()
    with migrate.owner(conninfo) as conn:
        change_settings(conn, tenant.name, {"quota_background_seconds": 10})
    await quotas.note_background({tenant.id: 6.0, other.id: 1000.0})
    await quotas.require_background(tenant.id)
    await quotas.note_background({tenant.id: 6.0})
    with pytest.raises(OverQuota, match="quota_background_seconds"):
        await quotas.require_background(tenant.id)
    await quotas.require_background(other.id)
    with psycopg.connect(conninfo) as conn:
        query = "SELECT tenant_id, background_ms FROM keepword.usage_by_day WHERE tenant_id = ANY(%s)"
        assert conn.execute(query, ([tenant.id, other.id],)).fetchall() == [(tenant.id, 12_000)]
    day[0] += timedelta(days=1)
    await quotas.require_background(tenant.id)


@pytest.mark.anyio
async def test_a_tenant_over_its_background_time_waits_until_tomorrow(pool, tenant, make_tenant):
    day = [datetime(2026, 5, 1, 23, 0, tzinfo=UTC)]
    quotas = PostgresQuotas(pool, Quotas(background_seconds=10), lambda: day[0])
    other = make_tenant()
    await quotas.note_background({tenant.id: 6.0, other.id: 1.0})
    await quotas.require_background(tenant.id)
    await quotas.note_background({tenant.id: 6.0})
    with pytest.raises(OverQuota) as raised:
        await quotas.require_background(tenant.id)
    assert raised.value.retry_after_seconds == 3600
    await quotas.require_background(other.id)
    day[0] = datetime(2026, 5, 2, 0, 0, tzinfo=UTC)
    await quotas.require_background(tenant.id)


@pytest.mark.anyio
async def test_without_a_limit_nothing_is_counted(pool, conninfo, tenant):
    quotas = PostgresQuotas(pool, Quotas(), lambda: datetime.now(UTC))
    await quotas.take(tenant.id, TenantSettings(), 10**9, 10**15)
    await quotas.note_background({tenant.id: 10**6})
    await quotas.require_background(tenant.id)
    with psycopg.connect(conninfo) as conn:
        query = "SELECT count(*) FROM keepword.usage_by_day WHERE tenant_id = %s"
        assert conn.execute(query, (tenant.id,)).fetchone() == (0,)
