"""What extraction would do with a talk that is only tried."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from keepword.answers.derived import LandmarkKind
from keepword.answers.knowledge import MemoryType, Refusal, SaidBy
from keepword.model import Role

TrialOutcome = Literal["kept", "merged", "superseded"]


@dataclass(frozen=True, slots=True)
class TriedMessage:
    """A message of the talk as it was read; `secrets` of it are hidden, here and from extraction."""

    number: int
    role: Role
    user: str | None
    agent: str | None
    text: str
    secrets: int


@dataclass(frozen=True, slots=True)
class TriedMemory:
    """A memory that would be made, from the messages in `sources`."""

    number: int
    type: MemoryType
    text: str
    importance: float
    confidence: float
    user: str | None
    agent: str | None
    said_by: SaidBy
    found_by: Annotated[str, Field(description="`rules`, or the model's name")]
    sources: tuple[int, ...]
    outcome: Annotated[TrialOutcome, Field(description="merged: another one says the same; superseded: one ends it")]
    other: Annotated[int | None, Field(description="the memory that it merges into, or that supersedes it")]


@dataclass(frozen=True, slots=True)
class RefusedSentence:
    """A sentence from which the rules take nothing, whatever it says."""

    message: int
    text: str
    reason: Refusal


@dataclass(frozen=True, slots=True)
class RefusedMemory:
    """A memory that the model wrote and the faithfulness check threw out."""

    type: MemoryType
    text: str
    sources: tuple[int, ...]
    offending: Annotated[
        tuple[str, ...], Field(description="what no source names; empty if most words are not in the sources")
    ]


@dataclass(frozen=True, slots=True)
class TriedLandmark:
    message: int
    kind: LandmarkKind
    text: str


@dataclass(frozen=True, slots=True)
class ExtractionTrial:
    """What would be kept of a talk, and what would not; nothing was stored.

    `model` read it beside the rules, or `rules` alone did; `reason` says why a model that was asked did not read all.
    """

    messages: tuple[TriedMessage, ...]
    memories: tuple[TriedMemory, ...]
    landmarks: tuple[TriedLandmark, ...]
    passed_over: Annotated[tuple[RefusedSentence, ...], Field(description="sentences that the rules pass over")]
    thrown_out: Annotated[tuple[RefusedMemory, ...], Field(description="what the check refused of the model's")]
    model: str
    reason: str | None
    is_cut: Annotated[bool, Field(description="true if the talk has more messages than are read")]
