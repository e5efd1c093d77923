"""A tenant's quota of messages, counted around an append."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from keepword.access import TenantSettings
from keepword.errors import KeepwordError
from keepword.http.guards import Caller
from keepword.http.services import Services


@asynccontextmanager
async def within_quota(services: Services, caller: Caller, messages: int, size: int) -> AsyncIterator[None]:
    """Count what is stored inside; what is not stored is not counted."""
    if services.quotas is None:
        yield
        return
    tenant_id = caller.viewer.tenant_id
    settings = (caller.place and caller.place.settings) or TenantSettings()
    await services.quotas.take(tenant_id, settings, messages, size)
    try:
        yield
    except KeepwordError:
        await services.quotas.give_back(tenant_id, settings, messages, size)
        raise
