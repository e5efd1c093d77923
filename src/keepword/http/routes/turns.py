"""Composed turns: what an agent saw, to look at later."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from keepword.answers import TurnDetail, TurnPage
from keepword.http import authorize
from keepword.http.cursors import parse_time_cursor, time_cursor
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.queries import ListQuery
from keepword.http.responses import require, respond, respond_page
from keepword.http.schemas import PathName

router = APIRouter(prefix="/v1", tags=["compose"])


@router.get("/conversations/{external_id}/turns", response_model=TurnPage, responses=documented(404))
async def list_turns(caller: CallerDep, external_id: PathName, query: Annotated[ListQuery, Query()]) -> Response:
    """List the turns that were composed in a conversation, newest first: sizes, and how they were composed."""
    place, grant = authorize.in_conversation(caller, external_id)
    before = parse_time_cursor(query.cursor)
    turns = await caller.services.turns.list(grant.only(place.run_id), place, before, query.limit + 1)
    return respond_page(TurnPage, turns, query.limit, lambda one: time_cursor(one.created_at, one.id))


@router.get("/turns/{turn_id}", response_model=TurnDetail, responses=documented(404))
async def get_turn(caller: CallerDep, turn_id: UUID) -> Response:
    """Read one with its lines, what was left out and why.

    No text was kept: each is read now, under the caller's grant in the turn's place. What may not be read there any
    more shows its kind and size alone.
    """
    services = caller.services
    place, grant = await authorize.of_derived(caller, turn_id, "turn")
    kept = require(await services.turns.get(grant.only(place.run_id), turn_id), f"no turn {turn_id}")
    place, grant = authorize.with_reach(caller.viewer, place, kept.turn.reach)
    shown = await services.turn_reader.show(grant, place, kept, with_files=not caller.viewer.is_person)
    return respond(TurnDetail, shown)
