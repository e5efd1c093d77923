"""What a caller learns, by anything but words, of what was said where the caller can't read.

    python bench/word_oracle.py            with 25 requests an attack, and then with 1,000
    REQUESTS=25 python bench/word_oracle.py

Ann says 40 of 1,118 words to an agent alone. The attacker has a key bound to another user of the tenant, and a copy of
Keepword of his own in which the same was said except by Ann: every answer that differs from the copy's is a hint. Each
attack names words; by chance one in 28 is right. Exits 1 if an attack does better than chance.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from _guessing import Guesses, chance_of, find_by_groups, highest
from _service import Connection, Served, served
from keepword.embedding.instant import tokenizer
from keepword.embedding.words import stem
from keepword.postgres import migrate
from keepword.postgres.keys import NewKey, make_key

REQUESTS = [int(number) for number in os.environ.get("REQUESTS", "25,1000").split(",")]
WORDS, SAID = 1_118, 40
USES = 4  # counts below that were once hidden
TERMS = 48  # a search weighs so many words of its query
PATTERN_CHARS = 1_000
SLOW_SECONDS = 0.5
SIGNIFICANT = 0.01
# what differs between any two places, and moves with the clock
OF_EACH_PLACE = frozenset({"id", "entry", "entry_id", "created_at", "text", "content", "request_id"})
SENTENCE = "Please keep it to yourself, but the {} was settled on Monday and I have not told anybody."
NOTHING = "weather"


def candidates() -> list[str]:
    """Return words with stems of their own, that no sentence here holds."""
    taken = {stem(word.strip(".,").lower()) for word in [*SENTENCE.split(), NOTHING]}
    found: dict[str, str] = {}
    for word, _ in sorted(tokenizer().get_vocab().items(), key=lambda pair: pair[1]):
        stemmed = stem(word) if word.isascii() and word.isalpha() and len(word) >= 6 else None
        if stemmed and stemmed not in taken:
            found.setdefault(stemmed, word)
    return random.Random(1118).sample(sorted(found.values()), WORDS)


@dataclass(frozen=True)
class Place:
    """A tenant in which the attacker has a session."""

    connection: Connection

    def ask(self, path: str, body: dict[str, Any]) -> tuple[int, Any, float]:
        started = time.perf_counter()
        status, raw = self.connection.request("POST", path, json.dumps(body | {"conversation": "bob-s"}).encode())
        return status, json.loads(raw), time.perf_counter() - started

    def search(self, query: str, **asked: Any) -> tuple[int, Any, float]:
        return self.ask("/v1/search", {"query": query, "recipe": "fast"} | asked)


@dataclass(frozen=True)
class Attacker:
    target: Place
    copy: Place
    words: Sequence[str]

    def differs(self, path: str, body: dict[str, Any]) -> bool:
        told, expected = (place.ask(path, body)[:2] for place in (self.target, self.copy))
        return list(values(told)) != list(values(expected))

    def by_weights(self, requests: int) -> Guesses:
        """Compare what each word weighs, 48 in a search; the words were said four times in the own session."""
        groups = [self.words[start : start + TERMS] for start in range(0, len(self.words), TERMS)][:requests]
        named = [word for group in groups for word in self._weighing_otherwise(group)]
        return Guesses(named, sum(map(len, groups)))

    def _weighing_otherwise(self, group: Sequence[str]) -> Iterator[str]:
        terms = [
            place.search(" ".join(group), explain=True)[1]["results"][0]["why"]["terms"]
            for place in (self.target, self.copy)
        ]
        yield from (word for word in group if terms[0].get(stem(word)) != terms[1].get(stem(word)))

    def by_scores(self, requests: int) -> Guesses:
        """Compare scores, signals, ranks, the order of equals, counts and hints, in groups that are halved."""

        def oracle(group: Sequence[str]) -> bool:
            asked = {"query": " ".join(group), "recipe": "fast", "explain": True, "limit": 50}
            return self.differs("/v1/search", asked)

        return find_by_groups(self.words, oracle, requests, TERMS)

    def by_turns(self, requests: int) -> Guesses:
        """Compare the tokens, sections, amounts left out and warnings of composed turns, in groups that are halved."""

        def oracle(group: Sequence[str]) -> bool:
            return self.differs("/v1/compose", {"message": " ".join(group), "recipe": "fast"})

        return find_by_groups(self.words, oracle, requests, TERMS)

    def by_found(self, requests: int) -> Guesses:
        """Count what is found by beginnings of words, as a box that completes them would, in groups that are halved."""

        def oracle(group: Sequence[str]) -> bool:
            pattern = "|".join(rf"\m{word[:5]}" for word in group)
            return self.differs("/v1/search", {"query": pattern, "mode": "regex", "limit": 50})

        return find_by_groups(self.words, oracle, requests, TERMS)

    def by_slow_patterns(self, requests: int) -> Guesses:
        """See whether a pattern that is slow where the words stand is slow, in groups that are halved."""

        def oracle(group: Sequence[str]) -> bool:
            pattern = rf"(....+)(.+)(.+)(.+).*({'|'.join(group)}).*\1\2\3\4"
            status, _, seconds = self.target.search(pattern, mode="regex")
            return status == 422 or seconds > SLOW_SECONDS

        return find_by_groups(self.words, oracle, requests, PATTERN_CHARS // 20)

    def by_time(self, mode: str, requests: int) -> Guesses:
        """Take the words whose searches take longest."""
        asked = self.words[:requests]
        return highest({word: self.target.search(word, mode=mode)[2] for word in asked}, SAID)

    def attacks(self) -> dict[str, Callable[[int], Guesses]]:
        return {
            "slow patterns": self.by_slow_patterns,
            "what beginnings of words find": self.by_found,
            "time of searches by words": lambda requests: self.by_time("words", requests),
            "time of searches by trigrams": lambda requests: self.by_time("trigram", requests),
            "composed turns": self.by_turns,
            # the words are said in the own session from here on
            "weights of words": self.by_weights,
            "scores, ranks, order, counts": self.by_scores,
            "time of searches, all words said here too": lambda requests: self.by_time("hybrid", requests),
        }


def values(told: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what an answer tells beside texts and ids, in order."""
    if isinstance(told, dict):
        for key in sorted(told.keys() - OF_EACH_PLACE):
            yield from values(told[key], f"{name}.{key}")
    elif isinstance(told, list | tuple):
        yield f"{name}.length", len(told)
        for value in told:
            yield from values(value, name)
    elif not isinstance(told, str):
        yield name, told


def fill(service: Served, tenant: str, secrets: Sequence[str]) -> Place:
    with migrate.owner(service.conninfo) as conn:
        owner_key, bob_key = (
            make_key(conn, NewKey(tenant, *bound)).text for bound in (("admin",), ("agent", None, "bob"))
        )
    owner = service.connect()
    owner.key = owner_key
    for user in ("ann", "bob"):
        owner.json("PUT", f"/v1/users/{user}", {})
    owner.json("PUT", "/v1/conversations/ann-s", {"kind": "direct", "user": "ann", "agent": "helper"})
    owner.json("PUT", "/v1/conversations/bob-s", {"user": "bob", "agent": "helper"})
    say(owner, "ann-s", [SENTENCE.format(word) for word in secrets])
    say(owner, "bob-s", [f"We spoke of number {number} and of nothing else." for number in range(200)])
    made = Place(service.connect())
    made.connection.key = bob_key
    return made


def say(connection: Connection, name: str, texts: Sequence[str]) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    connection.json("POST", f"/v1/conversations/{name}/messages", messages)


def wait_until_counted(service: Served) -> None:
    """Wait until the worker has counted every word of every message."""
    with migrate.owner(service.conninfo) as conn:
        conn.autocommit = True
        for _ in range(3_000):
            row = conn.execute(
                "SELECT (SELECT sum(entries) FROM entry_counts), count(*) FROM entries "
                "WHERE kind = 'message' AND part = 0"
            ).fetchone()
            if row[0] == row[1]:
                return
            time.sleep(0.2)
    sys.exit("the worker did not count the words")


def report(name: str, requests: int, guesses: Guesses, secrets: set[str], tests: int) -> bool:
    hits, named = len(secrets & set(guesses.named)), len(guesses.named)
    chance = chance_of(hits, named, SAID, WORDS)
    is_leak = chance < SIGNIFICANT / tests
    print(
        f"| {name} | {requests:,} | {guesses.tried:,} | {named} | {hits} | {named - hits} | {named * SAID / WORDS:.1f} "
        f"| {chance:.2g} | {'LEAK' if is_leak else 'no'} |",
        flush=True,
    )
    return is_leak


def attack(service: Served) -> bool:
    words = candidates()
    secrets = random.Random(40).sample(words, SAID)
    target, copy = fill(service, "target", secrets), fill(service, "copy", [NOTHING] * SAID)
    attacker = Attacker(target, copy, words)
    wait_until_counted(service)
    print("| attack | requests | words tried | named | hits | false hits | hits by chance | p | better than chance |")
    print("| --- " * 9 + "|")
    leaks: list[bool] = []
    tests = len(attacker.attacks()) * len(REQUESTS)
    for name, guess in attacker.attacks().items():
        if name == "weights of words":
            for place in (target, copy):
                say(place.connection, "bob-s", [" ".join(words)] * USES)
            wait_until_counted(service)
        leaks += [report(name, requests, guess(requests), set(secrets), tests) for requests in REQUESTS]
    told = {json.dumps(place.connection.json("GET", "/v1/stats?conversation=bob-s")) for place in (target, copy)}
    print(f"\nstats, told to the attacker: {'the same as in the copy' if len(told) == 1 else f'DIFFERENT: {told}'}")
    print(f"p: how likely so many hits are by chance; {tests} tests, so a leak is p < {SIGNIFICANT / tests:.1g}")
    return any(leaks) or len(told) > 1


def main() -> None:
    with served(embedding="none") as service:
        sys.exit(attack(service))


if __name__ == "__main__":
    main()
