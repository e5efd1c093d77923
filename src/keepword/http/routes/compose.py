"""Compose: the context of one agent turn."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import AfterValidator, Field

from keepword.access import narrow_viewer
from keepword.answers import ComposedContext, QuotesIn, SectionName, ToolsAs
from keepword.compose import ORDER
from keepword.compose import ComposeRequest as Turn
from keepword.compose.template_loader import DEFAULT
from keepword.http import authorize
from keepword.http.body import JsonBody, takes
from keepword.http.guards import CallerDep
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.http.schemas import ASKED_REACH, Body, Name, Slug, TurnText
from keepword.model import Reach
from keepword.recall import RECIPES
from keepword.recall.recipe import DEFAULT as DEFAULT_RECIPE

router = APIRouter(prefix="/v1", tags=["compose"])

MAX_TOKENS = 100_000_000

_EXAMPLE = {"conversation": "demo", "message": "When do we fly?", "budget_tokens": 2000}


def _distinct(names: list[SectionName]) -> list[SectionName]:
    if len(set(names)) < len(names):
        raise ValueError("names a section twice")
    return names


class ComposeBody(Body):
    """One turn: where it happens, who speaks to whom, and how much room there is."""

    conversation: Name = Field(description="its place decides what may be read")
    reach: Reach | None = Field(None, description=f"{ASKED_REACH}. Default: what the template says")
    message: Annotated[TurnText, Field(min_length=1)] = Field(description="what the agent is asked now")
    agent: Slug | None = Field(None, description="who answers; default: the key's agent, else the conversation's")
    user: Name | None = Field(None, description="who speaks; default: the key's user, else the conversation's")
    window_tokens: int | None = Field(None, ge=1, le=MAX_TOKENS, description="default: the agent's context window")
    budget_tokens: int = Field(4_000, ge=0, le=MAX_TOKENS, description="for injected context")
    landmark_tokens: int = Field(1_000, ge=0, le=MAX_TOKENS, description="for landmarks alone")
    workspace_tokens: int = Field(8_000, ge=0, le=MAX_TOKENS, description="for the agent's own files alone")
    summary_tokens: int = Field(8_000, ge=0, le=MAX_TOKENS, description="for summaries alone")
    sections: Annotated[list[SectionName], AfterValidator(_distinct)] | None = Field(
        None, description=f"which to fill, of {', '.join(ORDER)}; session and invocation are always there. Default: all"
    )
    ledger: bool = Field(False, description="skip what was injected before in this conversation, and note what is now")
    dry_run: bool = Field(False, description="count no use, mark nothing, compact nothing")
    template: Annotated[str, Field(min_length=1, max_length=64)] = DEFAULT
    recipe: str = Field(DEFAULT_RECIPE, description=f"how recall weighs its signals: {', '.join(sorted(RECIPES))}")
    quotes_in: QuotesIn = Field(
        "user",
        description="the chat message that holds facts, profile, recall, landmarks, summaries and working memory; in "
        "`system` a model may read them as instructions",
    )
    tools_as: ToolsAs = Field(
        "calls",
        description="how `messages` and `anthropic` show the agent's tool calls and their results: as the API's own "
        "structures, or told in `text`, for a call that declares no tools",
    )

    def turn(self, agent: str, user: str | None) -> Turn:
        return Turn(
            self.message, agent, user, self.window_tokens, self.budget_tokens, self.landmark_tokens,
            self.workspace_tokens, frozenset(ORDER if self.sections is None else self.sections), self.ledger,
            self.dry_run, self.template, self.recipe, self.summary_tokens, self.quotes_in, self.tools_as,
        )  # fmt: skip


ComposeBodyDep = Annotated[ComposeBody, Depends(JsonBody(ComposeBody))]


@router.post(
    "/compose",
    response_model=ComposedContext,
    responses=documented(400, 403, 404, 413, 415),
    openapi_extra=takes(ComposeBody, _EXAMPLE),
)
async def compose(caller: CallerDep, body: ComposeBodyDep) -> Response:
    """Return all that the agent should see before it answers, within budget, from what may be read in that place."""
    viewer = narrow_viewer(caller.viewer, body.agent, body.user)
    place, _ = await authorize.in_turn(caller, viewer, body.conversation)
    reach = body.reach or caller.services.composer.template(body.template).reach
    place, grant = authorize.with_reach(viewer, place, reach)
    turn = body.turn(viewer.agent or place.agent, viewer.user or place.user)
    if viewer.is_person:
        turn = replace(turn, sections=turn.sections - {"workspace"})  # the agent's files are not for its users
    services = caller.services
    with services.replica_reads():
        composed = await services.composer.compose(grant, place, turn)
    services.turn_log.note(grant, place, turn, composed, services.clock())
    return respond(ComposedContext, composed)
