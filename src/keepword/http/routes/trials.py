"""Trying out what Keepword would make of a text. Nothing is stored."""

from contextlib import nullcontext
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from keepword.answers import ExtractionTrial
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.memory_schemas import TryExtraction
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.http.slots import pass_gate, released_slot
from keepword.memories.trial import TrialRequest

router = APIRouter(prefix="/v1/try", tags=["memories"])

_EXAMPLE = {"text": "Ann: I moved to Oslo in May.\nAssistant: Noted.\nBen: Decision: we fly on 3 June."}
_BUSY = "another trial of this tenant is running, and one may at once; try again in a moment"

TryExtractionDep = Annotated[TryExtraction, Depends(JsonBody(TryExtraction))]


@router.post(
    "/extraction",
    response_model=ExtractionTrial,
    responses=documented(400, 413, 415),
    openapi_extra=takes(TryExtraction, _EXAMPLE),
)
async def try_extraction(caller: CallerDep, body: TryExtractionDep) -> Response:
    """Tell what would be remembered of a talk, by rules or model, and what would be refused; nothing is stored."""
    services = caller.services
    settings = await authorize.own_settings(caller)
    agents_word = settings.agents_word if body.agents_word is None else body.agents_word
    request = TrialRequest(body.text, body.user, body.agent, body.at or services.clock(), body.model, agents_word)
    async with pass_gate(services.trial_gate, caller.key, _BUSY):
        with released_slot() if body.model else nullcontext():
            return respond(ExtractionTrial, await services.trials.run(request, services.run))
