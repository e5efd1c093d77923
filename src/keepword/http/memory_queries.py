"""Search, browse and stats for REST and MCP: the same grants and answers."""

from dataclasses import replace
from datetime import timedelta

from keepword import transcript
from keepword.access import Grant
from keepword.answers import Growth, MessagePage, Stats
from keepword.errors import InvalidInput, ModelFailed
from keepword.http import authorize
from keepword.http.guards import Caller
from keepword.http.queries import BrowseQuery, MessageQuery, StatsQuery
from keepword.http.schemas import SearchBody
from keepword.http.services import Services
from keepword.http.slots import pass_gate, released_slot
from keepword.recall import RankedResults
from keepword.transcript import PageRequest

PATTERN_MODES = frozenset({"trigram", "regex"})
_BUSY = "other searches with mode trigram or regex are running, and few may at once; try again in a moment"


async def search(caller: Caller, body: SearchBody) -> RankedResults:
    services = caller.services
    if body.synthesize and services.synthesizer is None:
        raise InvalidInput(
            "there is no language model to answer with; set KEEPWORD_LLM_URL to an OpenAI-compatible API "
            "(and KEEPWORD_LLM_MODEL), or leave synthesize out",
            "synthesize",
        )
    place, grant = await authorize.in_place_or_tenant(caller, body.conversation, body.reach)
    asker = caller.viewer.user or (place.user if place else None)
    results = await _search(caller, body, grant, asker)
    if place is not None and place.kind == "session":
        results = replace(results, searched={**results.searched, "reach": place.reach})
    if caller.counts_uses:
        services.uses.note(grant, (hit.entry for hit in results.results))
    return await _answered(services, body, results) if body.synthesize else results


async def _search(caller: Caller, body: SearchBody, grant: Grant, asker: str | None) -> RankedResults:
    services = caller.services
    wanted = replace(body.request(), zone=caller.key.time_zone)
    with services.replica_reads():
        if body.mode not in PATTERN_MODES:
            return await services.recall.search(grant, wanted, asker)
        async with pass_gate(services.pattern_gate, caller.key, _BUSY):
            return await services.recall.search(grant, wanted, asker)


async def _answered(services: Services, body: SearchBody, results: RankedResults) -> RankedResults:
    if services.synthesizer is None or not results.results:
        return results
    try:
        with released_slot():
            return replace(results, answer=await services.synthesizer.answer(body.query, results.results))
    except ModelFailed as exc:
        # the hits are answered even if the model fails
        return replace(results, degraded=(*results.degraded, f"synthesize: {exc}"))


async def browse(caller: Caller, query: BrowseQuery) -> MessagePage:
    _, grant = await authorize.in_place_or_tenant(caller, query.conversation, query.reach)
    shown = authorize.to_read_transcript(caller, grant, query)
    with caller.services.replica_reads():
        return await transcript.browse(caller.services.transcript, shown, page_request(caller, query))


async def report(caller: Caller, query: StatsQuery) -> Stats:
    _, grant = await authorize.in_place_or_tenant(caller, query.conversation)
    with caller.services.replica_reads():
        return await caller.services.stats.report(grant)


async def growth(caller: Caller, days: int) -> Growth:
    grant = authorize.as_owner(caller)
    calendar = caller.calendar
    today = calendar.now().astimezone(calendar.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    with caller.services.replica_reads():
        return await caller.services.stats.growth(grant, today - timedelta(days=days - 1), calendar.zone)


def page_request(caller: Caller, query: MessageQuery) -> PageRequest:
    since, before = caller.calendar.between(query.since, query.before, query.window)
    return PageRequest(query.limit, query.order, query.cursor, since, before, query.agent, query.user, query.role)
