"""The arguments of the tools that read messages; those of the others are in write_arguments.py and files.py.

Unknown ones are refused.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from keepword.answers import EntryKind, SearchMode
from keepword.model import Reach, Role
from keepword.period import PERIODS
from keepword.recall import RECIPES
from keepword.recall.search import MAX_CONTEXT
from keepword.recall.search import MAX_LIMIT as MAX_HITS
from keepword.transcript.page import MAX_LIMIT as MAX_MESSAGES

_WINDOWS = {"enum": list(PERIODS)}
# recipes and windows are those of the running service: the schema lists them, and the service checks them
Window = Annotated[str, Field(json_schema_extra=_WINDOWS)]
Recipe = Annotated[str, Field(json_schema_extra={"enum": sorted(RECIPES)})]

_PLACE = (
    "Id of the conversation whose place to read in: its room, direct conversation or session, with all that may be "
    "known there. Leave it out to use the place that this server was set up with, or else everything (owners only)."
)
_AGENT = "Only messages that this agent said or was told (its slug, such as helper)."
_USER = "Only messages that this user said (the id, such as alice)."
_SINCE = "Only from this time on: a day such as 2026-01-31 (its start), or ISO 8601 such as 2026-01-31T09:00:00Z."
_BEFORE = "Only before this time, not including it: a day (its start, so not the day itself), or ISO 8601."
_WINDOW = (
    "Only a named stretch of time, by the service's clock and time zone; together with since and before, all hold."
)
_REACH = (
    "Which sessions to read from a session: own (this one alone), user (default where it can be had; all sessions of "
    "the same user with the same agent), project (all of its project). Elsewhere it has no effect."
)


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    conversation: str | None = Field(None, description=_PLACE)

    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True, exclude_unset=True)


class Search(Arguments):
    query: str = Field(
        description="What to look for: a question in plain words, names, or a literal such as src/main.py or KW-1204. "
        "With mode regex a POSIX regular expression, case-insensitive."
    )
    mode: SearchMode = Field(
        "hybrid",
        description="hybrid (default; words, meaning and neighbouring turns together), words (exact word forms; fts is "
        "the same), meaning (paraphrases; ignores literals), trigram (misspelt or partial strings), regex (patterns).",
    )
    recipe: Recipe | None = Field(
        None, description="How signals are weighed. best (default), fast (no model is called), seed (favours recent)."
    )
    kinds: list[EntryKind] | None = Field(
        None, min_length=1, max_length=4, description="Only these kinds of memory; default: all."
    )
    agent: str | None = Field(None, description=_AGENT)
    user: str | None = Field(None, description=_USER)
    since: str | None = Field(None, description=_SINCE)
    before: str | None = Field(None, description=_BEFORE)
    window: Window | None = Field(None, description=_WINDOW)
    time_words: bool = Field(
        True,
        description='Read words for time in the query, such as "yesterday", "on Wednesday", "in May" or "when did we '
        'last"; since, before and window go before them. False takes them as words like others.',
    )
    limit: int = Field(10, ge=1, le=MAX_HITS, description="How many results at most.")
    min_score: float | None = Field(
        None, ge=0, le=1, description="Leave out results with a lower score: the chance that one answers the query."
    )
    context: int = Field(
        0, ge=0, le=MAX_CONTEXT, description="How many turns before and after each hit to return with it."
    )
    expand: bool = Field(True, description="Follow the best summaries down to what they were made from.")
    synthesize: bool = Field(
        False, description="Also answer in a few sentences, each citing its findings. Needs a language model."
    )
    explain: bool = Field(False, description="Return with each hit why it is there: signals, weights, matched words.")
    reach: Reach | None = Field(None, description=_REACH)


class Browse(Arguments):
    agent: str | None = Field(None, description=_AGENT)
    user: str | None = Field(None, description=_USER)
    role: Role | None = Field(None, description="Only what was said in this role.")
    since: str | None = Field(None, description=_SINCE)
    before: str | None = Field(None, description=_BEFORE)
    window: Window | None = Field(None, description=_WINDOW)
    order: Literal["asc", "desc"] = Field("desc", description="desc: newest first (default). asc: oldest first.")
    limit: int = Field(20, ge=1, le=MAX_MESSAGES, description="How many messages at most.")
    cursor: str | None = Field(
        None, description="next or previous of an earlier page, to go on from there; keep order as it was."
    )
    reach: Reach | None = Field(None, description=_REACH)

    def given(self) -> dict[str, Any]:
        # the defaults here are a model's, not the route's
        return self.model_dump(exclude_none=True)


class Stats(Arguments):
    pass


def schema(model: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without titles and defaults, which only take up tokens."""
    schema = model.model_json_schema()
    return {
        "type": "object",
        "properties": {name: _plain(value) for name, value in schema["properties"].items()},
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """Say an optional field as its type alone: it can be left out, and null is accepted all the same."""
    plain = {name: value for name, value in field.items() if name != "title" and value is not None}
    for choice in plain.pop("anyOf", ()):
        if choice != {"type": "null"}:
            plain |= choice
    return plain
