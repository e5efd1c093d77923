"""Make the sets that models are judged on: tokenised chunks, and what the recipe scores without the deep space.

    PYTHONPATH=bench:scripts/encoder python scripts/encoder/sets.py --dev dev.json --data FOLDER --out sets.npz

A score is linear in the deep similarity, so a model can be judged in the formula without this package. `dev.json` is
held out from training and chooses among models; LoCoMo and LongMemEval in the folder are for measuring alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from multiprocessing.pool import Pool
from pathlib import Path

import numpy as np

from _sets import LOCOMO, LONGMEMEVAL, locomo, longmemeval
from keepword.embedding import TextIndexer
from keepword.embedding.chunk import split
from keepword.embedding.instant import tokenizer
from keepword.embedding.text_indexer import TextFeatures, message_parts
from keepword.recall.question import Question, ask, first_name
from keepword.recall.recipe import recipe
from keepword.recall.score import Candidates, score

CHUNK_TOKENS = 126
DEV_QUESTIONS = 60
MANY_QUESTIONS = 200


@dataclass
class Message:
    talk: int
    seq: int
    role: str
    speaker: str
    text: str
    at: datetime


@dataclass
class Asked:
    """`evidence` are messages by place; `left_out` one that does not count, or -1."""

    kind: str
    text: str
    evidence: list[int]
    left_out: int = -1


@dataclass
class Judged:
    name: str
    messages: list[Message]
    questions: list[Asked]


def of_dev(path: Path) -> Iterator[Judged]:
    pick = random.Random(5)
    for number, scope in enumerate(json.loads(path.read_text())):
        messages: list[Message] = []
        owner = []
        for talk, turn, speaker, text in scope["rows"]:
            if messages and (messages[-1].talk, messages[-1].seq) == (talk, turn):
                messages[-1].text += f"\n{text}"
            else:
                role = "assistant" if speaker == "assistant" else "user"
                said = text.removeprefix(f"{speaker}: ")
                messages.append(Message(talk, turn, role, speaker, said, datetime(2026, 1, 1, tzinfo=UTC)))
            owner.append(len(messages) - 1)
        asked = [Asked(k, t, [owner[gold]], owner[own] if own >= 0 else -1) for k, t, gold, own in scope["questions"]]
        weights = {"third": 1, "generated": 3, "fact": 2, "answer": 2, "part": 0.3}
        asked = sorted(asked, key=lambda one: pick.random() ** (1 / weights[one.kind]), reverse=True)[:DEV_QUESTIONS]
        if asked:
            yield Judged(f"dev-{number}-{scope['source']}", messages, asked)


def of_bench(data: Path) -> Iterator[Judged]:
    scopes = [*locomo(data / LOCOMO), longmemeval(data / LONGMEMEVAL)]
    for scope in scopes:
        turns = [(number, place, turn) for number, talk in enumerate(scope.talks) for place, turn in enumerate(talk)]
        places = {turn.id: place for place, (_, _, turn) in enumerate(turns)}
        messages = [Message(talk, seq, turn.role, turn.speaker, turn.text, turn.at) for talk, seq, turn in turns]
        asked = [Asked(one.category, one.text, sorted(places[id_] for id_ in one.evidence)) for one in scope.questions]
        yield Judged(scope.name, messages, asked)


def entries(judged: Judged, pool: Pool) -> tuple[Candidates, list[str], np.ndarray, np.ndarray]:
    """The scope as the recipe sees it, the entries' texts and vectors, and the message of each."""
    texts, owners = [], []
    for place, message in enumerate(judged.messages):
        # an assistant's turns are indexed under no name that a question would name
        for part in message_parts(message.speaker, message.text, None, None, None):
            texts.append(part)
            owners.append(place)
    read = pool.map(_read, texts, 64)
    said = [judged.messages[place] for place in owners]
    users = {message.speaker for message in judged.messages if message.role == "user"}
    asker = next(iter(users)) if len(users) == 1 else None
    found = Candidates(
        ids=np.arange(len(texts)),
        conversations=np.array([[message.talk, 0] for message in said]),
        seqs=np.array([message.seq for message in said]),
        roles=np.array([ord(message.role[0]) for message in said]),
        fits=np.ones(len(texts), np.bool_),
        mine=np.array([message.role == "user" and message.speaker == asker for message in said]),
        named=np.zeros(len(texts), np.bool_),
        kinds=np.zeros(len(texts), np.int64),
        times=np.array([message.at.replace(tzinfo=None) for message in said], "datetime64[us]"),
        words=np.concatenate([one.words for one in read]),
        word_counts=np.array([len(one.words) for one in read]),
        pieces=np.concatenate([one.pieces for one in read]),
        piece_counts=np.array([len(one.pieces) for one in read]),
        instants=np.zeros(len(texts), np.float32),
        deeps=None, frequencies=None, entries=len(texts), is_whole=True, literals={},
    )  # fmt: skip
    return found, texts, np.array([one.vector for one in read]), np.array(owners)


def said_by_named(judged: Judged, owners: np.ndarray, question: Question) -> np.ndarray:
    """Tell which entries were said by somebody whom the question names."""
    said = [judged.messages[place] for place in owners]
    return np.array([one.role == "user" and first_name(one.speaker) in question.names for one in said])


@cache
def indexer() -> TextIndexer:
    return TextIndexer()


def _read(text: str) -> TextFeatures:
    return indexer().read(text)


def split_chunks(text: str) -> list[str]:
    return split(text, CHUNK_TOKENS, _count)


# of the scope that is judged now; processes are forked when it is set
_NOW: tuple[Judged, Candidates, np.ndarray, np.ndarray]


def _score(text: str) -> tuple[np.ndarray, np.ndarray]:
    judged, candidates, vectors, owners = _NOW
    question = ask(text, indexer().table)
    instants = np.asarray(vectors @ question.vector, np.float32)
    now = replace(candidates, instants=instants, named=said_by_named(judged, owners, question))
    scored = score(now, question, recipe("fast"), indexer().table)
    rest = (scored.total - scored.shares["instant"]).astype(np.float16)
    return rest, np.rint(255 * np.maximum(now.instants, 0)).astype(np.uint8)


def judge(judged: Judged, pool: Pool) -> dict[str, np.ndarray]:
    global _NOW  # noqa: PLW0603
    candidates, texts, vectors, owners = entries(judged, pool)
    _NOW = judged, candidates, vectors, owners
    texts_asked = [asked.text for asked in judged.questions]
    if len(texts_asked) > MANY_QUESTIONS:
        with multiprocessing.Pool() as forked:
            scores = forked.map(_score, texts_asked, 4)
    else:
        scores = list(map(_score, texts_asked))
    rest, near = zip(*scores, strict=True)
    chunks = [(row, chunk) for row, some in enumerate(pool.map(split_chunks, texts, 32)) for chunk in some]
    kinds = sorted({asked.kind for asked in judged.questions})
    arrays = {
        "rest": np.array(rest), "near": np.array(near),
        "owner": owners.astype(np.int32), "talk": candidates.conversations[:, 0].astype(np.int32),
        "seq": candidates.seqs.astype(np.int32),
        "chunk_owner": np.array([row for row, _ in chunks], np.int32),
        "kinds": np.array(kinds), "kind": np.array([kinds.index(one.kind) for one in judged.questions], np.int32),
        "left_out": np.array([one.left_out for one in judged.questions], np.int32),
        "evidence": np.array([place for one in judged.questions for place in one.evidence], np.int32),
        "evidence_ends": np.cumsum([len(one.evidence) for one in judged.questions]).astype(np.int32),
    }  # fmt: skip
    arrays["chunks"], arrays["chunk_ends"] = _tokens([chunk for _, chunk in chunks], 254)
    arrays["asked"], arrays["asked_ends"] = _tokens([one.text for one in judged.questions], 254)
    return arrays


def _count(text: str) -> int:
    return len(tokenizer().encode(text, add_special_tokens=False))


def _tokens(texts: list[str], most: int) -> tuple[np.ndarray, np.ndarray]:
    numbers = [np.array(one.ids[:most], np.uint16) for one in tokenizer().encode_batch(texts, add_special_tokens=False)]
    return np.concatenate(numbers), np.cumsum([len(one) for one in numbers]).astype(np.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dev", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    judged = [*(of_dev(args.dev) if args.dev else ()), *(of_bench(args.data) if args.data else ())]
    made = {}
    indexer()  # once, before the processes are forked
    with multiprocessing.Pool() as pool:
        for scope in judged:
            made |= {f"{scope.name}/{name}": array for name, array in judge(scope, pool).items()}
            print(scope.name, len(scope.messages), len(scope.questions), flush=True)
    np.savez(args.out, names=np.array([scope.name for scope in judged]), **made)


if __name__ == "__main__":
    main()
