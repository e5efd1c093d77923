"""Make the training data of the encoder: tokenised turns in scopes, and questions with the turn that answers each.

    PYTHONPATH=scripts/encoder python scripts/encoder/prepare.py --dialogues FILE --out FOLDER    (sources.py made FILE)

Writes train.npz, and dev.json: one scope in sixteen, for choosing among models, as texts.
Golds that the data does not name (which turn states a fact, which part of a long answer) are chosen by the instant
space; generated questions whose turn is not among the first twelve by it and by shared words are left out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import questions
from sources import AGENT, ANSWERS, HUMANS, Dialogue, read

from keepword.embedding.chunk import split
from keepword.embedding.instant import tokenizer
from keepword.embedding.text_indexer import TextFeatures, TextIndexer

KINDS = ["natural", "third", "words", "generated", "fact", "answer", "part"]
NAMES = (
    "Nora Felix Ingrid Malik Priya Tomas Hannah Oscar Leila Victor Bianca Hugo Amara Stefan Yuki Rafael Greta Omar "
    "Celia Dmitri Fiona Kwame Lucia Anders Mei Patrick Sabine Theo Zara Walter Ivy Marcus Elena Gordon Nadia Russell "
    "Paige Hector Simone Clive Ruth Samir Beatriz"
).split()
CHUNK_TOKENS = 126
QUESTION_TOKENS = 46
MAX_CHUNKS = 10
# so many dialogues share a scope, and two names: names then give nothing away
TOGETHER = {HUMANS: 18, ANSWERS: 20, AGENT: 40}
DEV_EVERY = 16
# of scopes of two people, so many are told as a user's with an assistant, and asked about by that user
AS_CHAT = 0.3
MIN_FACT = 0.4
AMONG = 12


@dataclass
class Row:
    text: str
    speaker: str
    talk: int
    turn: int
    features: TextFeatures


@dataclass
class Question:
    """`gold` is a row, `asking` the row of the turn that asks it (-1: none), `alike` rows that answer it as well."""

    kind: str
    text: str
    gold: int
    asking: int = -1
    alike: tuple[int, int] = (-1, -1)


@dataclass
class Scope:
    source: str
    rows: list[Row] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def vectors(self) -> np.ndarray:
        return np.array([row.features.vector for row in self.rows], np.float32)


def grouped(dialogues: list[Dialogue], seed: int) -> list[list[Dialogue]]:
    """Dialogues that share a scope."""
    by_source: dict[str, list[Dialogue]] = defaultdict(list)
    for dialogue in dialogues:
        by_source[dialogue.source].append(dialogue)
    groups = []
    for _, some in sorted(by_source.items()):
        random.Random(seed).shuffle(some)
        amount = TOGETHER.get(some[0].kind, 18)
        groups += [some[start : start + amount] for start in range(0, len(some), amount)]
    return groups


def make_scope(task: tuple[int, list[Dialogue]]) -> Scope:
    seed, dialogues = task
    return Maker(seed).scope(dialogues)


@cache
def indexer() -> TextIndexer:
    return TextIndexer()


class Maker:
    """Makes one scope: its rows, and the questions about them."""

    def __init__(self, seed: int) -> None:
        self._pick = random.Random(seed)
        self._indexer = indexer()

    def scope(self, dialogues: list[Dialogue]) -> Scope:
        scope = Scope(dialogues[0].source)
        names = ["user", "assistant"] if self._pick.random() < AS_CHAT else self._pick.sample(NAMES, 2)
        generated = []
        for talk, dialogue in enumerate(dialogues):
            known = _known(dialogue, names)
            turns = [
                (known.get(speaker, speaker), _renamed(text, known, dialogue.kind)) for speaker, text in dialogue.turns
            ]
            spans = self._add_turns(scope, talk, turns)
            self._ask_words(scope, spans, turns, dialogue.kind)
            self._ask_next(scope, spans, turns, dialogue.kind)
            self._ask_facts(scope, spans, turns, [(known[who], line) for who, line in dialogue.facts if who in known])
            generated += [
                (spans[turn], _renamed(text, known, dialogue.kind))
                for turn, text in dialogue.questions
                if turn < len(spans)
            ]
        self._ask_generated(scope, generated)
        return scope

    def _add_turns(self, scope: Scope, talk: int, turns: list[tuple[str, str]]) -> list[tuple[int, int]]:
        spans = []
        for number, (speaker, text) in enumerate(turns):
            chunks = split(f"{speaker}: {text[:6000]}", CHUNK_TOKENS, _count)[:MAX_CHUNKS]
            spans.append((len(scope.rows), len(scope.rows) + len(chunks)))
            scope.rows += [Row(chunk, speaker, talk, number, self._indexer.read(chunk)) for chunk in chunks]
        return spans

    def _ask_words(self, scope: Scope, spans: list[tuple[int, int]], turns: list[tuple[str, str]], kind: str) -> None:
        for (first, last), (speaker, _) in zip(spans, turns, strict=True):
            is_long = last - first > 1
            for row in range(first, last):
                body = scope.rows[row].text.removeprefix(f"{speaker}: ")
                for _ in range(2 if is_long else 1):
                    if text := questions.about_words(speaker, body, self._pick):
                        scope.questions.append(Question("part" if is_long or kind == ANSWERS else "words", text, row))

    def _ask_next(self, scope: Scope, spans: list[tuple[int, int]], turns: list[tuple[str, str]], kind: str) -> None:
        """A turn that asks, and the next one, which answers."""
        for number in range(len(turns) - 1):
            (asking, _), (first, last) = spans[number], spans[number + 1]
            (speaker, text), (other, reply) = turns[number], turns[number + 1]
            if kind == ANSWERS:
                if speaker == "user" and other == "assistant" and len(text.split()) >= 3 and len(reply.split()) >= 8:
                    asked = " ".join(text.split()[:40])
                    scope.questions.append(
                        Question("answer", asked, self._nearest(scope, asked, first, last), asking, (first, last))
                    )
                continue
            if text.rstrip().endswith("?") and 4 <= len(text.split()) <= 40 and len(reply.split()) >= 5:
                scope.questions.append(Question("natural", text, first, asking, (first, last)))
            asked = questions.asked_in(text) if kind == HUMANS and len(reply.split()) >= 4 else None
            if asked and (about := questions.in_third_person(asked, _STAND_IN)):
                scope.questions.append(Question("third", _about(about, other), first, asking))

    def _ask_facts(
        self, scope: Scope, spans: list[tuple[int, int]], turns: list[tuple[str, str]], facts: list[tuple[str, str]]
    ) -> None:
        for who, line in facts:
            rows = [first for (first, _), (speaker, _) in zip(spans, turns, strict=True) if speaker == who]
            if not rows:
                continue
            near = np.array([scope.rows[row].features.vector for row in rows]) @ self._indexer.read(line).vector
            if near.max() >= MIN_FACT:
                text = _about(questions.about_fact(line, _STAND_IN, self._pick), who)
                scope.questions.append(Question("fact", text, rows[int(near.argmax())]))

    def _ask_generated(self, scope: Scope, asked: list[tuple[tuple[int, int], str]]) -> None:
        if not asked:
            return
        vectors = scope.vectors()
        frequencies = Counter(word for row in scope.rows for word in row.features.words.tolist())
        held = [set(row.features.words.tolist()) for row in scope.rows]
        for (first, last), text in asked:
            features = self._indexer.read(text)
            weights = {
                word: np.log(len(held) / frequencies[word]) for word in features.words.tolist() if word in frequencies
            }
            shared = np.array([sum(weights[word] for word in weights if word in words) for words in held])
            values = shared / max(shared.max(), 1e-6) + 2 * (vectors @ features.vector)
            gold = first + int(values[first:last].argmax())
            if (values > values[gold]).sum() < AMONG:
                scope.questions.append(Question("generated", text, gold, alike=(first, last)))

    def _nearest(self, scope: Scope, text: str, first: int, last: int) -> int:
        near = np.array([row.features.vector for row in scope.rows[first:last]]) @ self._indexer.read(text).vector
        return first + int(near.argmax())


def _known(dialogue: Dialogue, names: list[str]) -> dict[str, str]:
    """What each speaker is called here."""
    speakers = dict.fromkeys(speaker for speaker, _ in dialogue.turns)
    if dialogue.kind == HUMANS:
        # generated questions name people
        return dict(zip(speakers, speakers if dialogue.questions and names[0] == "user" else names, strict=False))
    if dialogue.kind in {AGENT, ANSWERS}:
        return {speaker: "user" if speaker == "user" else "assistant" for speaker in speakers}
    return {speaker: speaker for speaker in speakers}


_STAND_IN = "Somebody"


def _about(question: str, speaker: str) -> str:
    if speaker in {"user", "assistant"}:
        return questions.addressed(question, _STAND_IN, speaker)
    return question.replace(_STAND_IN, speaker)


def _renamed(text: str, known: dict[str, str], kind: str) -> str:
    if kind == HUMANS:
        for old, new in known.items():
            if old[0].isupper() and len(old) > 1:
                text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def _count(text: str) -> int:
    return len(tokenizer().encode(text, add_special_tokens=False))


def write_train(path: Path, scopes: list[Scope]) -> None:
    """Rows and questions of all scopes one after another; tokens joined, with offsets."""
    arrays: dict[str, list] = defaultdict(list)
    for number, scope in enumerate(scopes):
        base = len(arrays["scope"])
        arrays["row_text"] += [row.text for row in scope.rows]
        arrays["scope"] += [number] * len(scope.rows)
        for one in scope.questions:
            arrays["question_text"].append(one.text)
            arrays["kind"].append(KINDS.index(one.kind))
            arrays["gold"].append(base + one.gold)
            arrays["asking"].append(base + one.asking if one.asking >= 0 else -1)
            arrays["alike"].append([base + place if place >= 0 else -1 for place in one.alike])
    rows, row_ends = _tokens(arrays["row_text"], CHUNK_TOKENS + 32)
    asked, asked_ends = _tokens(arrays["question_text"], QUESTION_TOKENS)
    numbers = {name: np.array(arrays[name], np.int32) for name in ("scope", "kind", "gold", "asking", "alike")}
    sources = np.array([scope.source for scope in scopes])
    np.savez_compressed(
        path, rows=rows, row_ends=row_ends, questions=asked, question_ends=asked_ends, sources=sources, **numbers
    )


def _tokens(texts: list[str], most: int) -> tuple[np.ndarray, np.ndarray]:
    numbers = [np.array(one.ids[:most], np.uint16) for one in tokenizer().encode_batch(texts, add_special_tokens=False)]
    return np.concatenate(numbers), np.cumsum([len(one) for one in numbers]).astype(np.int32)


def write_dev(path: Path, scopes: list[Scope]) -> None:
    """Held-out scopes as texts; a question asks for turns, and the asking turn does not count."""
    kinds = {"third", "generated", "fact", "answer", "part"}
    found = [
        {
            "source": scope.source,
            "rows": [[row.talk, row.turn, row.speaker, row.text] for row in scope.rows],
            "questions": [[one.kind, one.text, one.gold, one.asking] for one in scope.questions if one.kind in kinds],
        }
        for scope in scopes
    ]
    path.write_text(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialogues", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    groups = grouped(read(args.dialogues), args.seed)
    indexer()  # once, before the processes are forked
    with multiprocessing.Pool() as pool:
        scopes = pool.map(make_scope, [(args.seed * 100_003 + number, some) for number, some in enumerate(groups)], 4)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for scope in scopes:
        counts[scope.source].update(["scope"] + ["row"] * len(scope.rows) + [one.kind for one in scope.questions])
    for source, count in sorted(counts.items()):
        print(source, dict(count))
    held_out = [scope for number, scope in enumerate(scopes) if number % DEV_EVERY == DEV_EVERY // 2]
    used = [scope for number, scope in enumerate(scopes) if number % DEV_EVERY != DEV_EVERY // 2]
    write_train(args.out / "train.npz", used)
    write_dev(args.out / "dev.json", held_out)
    print(f"{len(used)} scopes to train on, {len(held_out)} held out")
    show = random.Random(1)
    for kind in KINDS:
        some = [(scope, one) for scope in used for one in scope.questions if one.kind == kind]
        for scope, one in show.sample(some, min(8, len(some))):
            print(f"  {kind}: {one.text[:140]} -> {scope.rows[one.gold].text[:140]}")


if __name__ == "__main__":
    main()
