"""LoCoMo and LongMemEval by the protocol in docs/recall.md: turns, questions, and which turns are evidence."""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

LOCOMO = "locomo10.json"
LONGMEMEVAL = "longmemeval_oracle.json.gz"


@dataclass(frozen=True)
class Turn:
    id: str
    role: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Asked:
    text: str
    evidence: frozenset[str]
    category: str


@dataclass
class Scope:
    """What is searched together: conversations of turns, and the questions about them."""

    name: str
    talks: list[list[Turn]] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)


def find(data: Path, name: str) -> Path | None:
    path = data / name if data.is_dir() else data
    return path if path.name == name and path.exists() else None


def locomo(path: Path) -> Iterator[Scope]:
    for number, sample in enumerate(json.loads(path.read_text())):
        talk = sample["conversation"]
        scope = Scope(f"locomo-{number}")
        turns = [turn for session in _sessions(talk) for turn in session]
        scope.talks.append(turns)
        known = {turn.id for turn in turns}
        for asked in sample["qa"]:
            evidence = frozenset(asked.get("evidence") or ())
            if asked["category"] in {1, 2, 3, 4} and evidence and evidence <= known:
                scope.questions.append(Asked(asked["question"], evidence, str(asked["category"])))
        yield scope


def _sessions(talk: dict) -> Iterator[list[Turn]]:
    numbers = sorted(int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        began = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield [
            Turn(
                said["dia_id"],
                "user",
                said["speaker"],
                said["text"] + (f" [shares photo: {said['blip_caption']}]" if said.get("blip_caption") else ""),
                began + timedelta(seconds=place),
            )
            for place, said in enumerate(talk[f"session_{number}"])
        ]


def longmemeval(path: Path) -> Scope:
    samples = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    scope = Scope("longmemeval")
    seen: dict[str, str] = {}
    for sample in samples:
        evidence = set()
        dates = sample["haystack_dates"]
        for id_, date, session in zip(sample["haystack_session_ids"], dates, sample["haystack_sessions"], strict=True):
            if id_ not in seen:
                seen[id_] = f"s{len(seen)}"
                scope.talks.append(_turns(seen[id_], date, session))
            evidence |= {f"{seen[id_]}:{place}" for place, said in enumerate(session) if said.get("has_answer")}
        if not sample["question_id"].endswith("_abs") and evidence:
            scope.questions.append(Asked(sample["question"], frozenset(evidence), sample["question_type"]))
    return scope


def haystacks(path: Path) -> Iterator[tuple[str, frozenset[str], list[Turn]]]:
    """Yield LongMemEval's questions, each with the turns that answer it and all that was said in its sessions."""
    for sample in json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()):
        sessions = sorted(
            zip(sample["haystack_dates"], sample["haystack_sessions"], strict=True), key=lambda one: one[0]
        )
        talks = [_turns(f"s{number}", date, session) for number, (date, session) in enumerate(sessions)]
        answers = {
            turn.id
            for (_, session), talk in zip(sessions, talks, strict=True)
            for said, turn in zip(session, talk, strict=True)
            if said.get("has_answer")
        }
        if answers:
            yield sample["question"], frozenset(answers), [turn for talk in talks for turn in talk]


def _turns(name: str, date: str, session: list[dict]) -> list[Turn]:
    began = datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
    return [
        Turn(f"{name}:{place}", said["role"], said["role"], said["content"], began + timedelta(seconds=place))
        for place, said in enumerate(session)
    ]
