"""Searching over an index of our own: the seed's formula, what is left out, and what is said when something is away."""

import asyncio
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from keepword.access import Grant
from keepword.embedding import onnx
from keepword.errors import InvalidInput, Unavailable
from keepword.period import Calendar
from keepword.recall import RECIPES, Recall, RecallRequest, Uses
from keepword.recall import search as searching
from keepword.recall.ports import DeepQuery, EntryView, Use
from unit.recall.made import READER, candidates

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 6, 1, tzinfo=UTC)
GRANT = Grant(uuid4(), everything=True)


class MadeIndex:
    """Knows what it was told; candidates come with all that scoring wants."""

    def __init__(self, texts, question, *, deeps=None, uses=(), **known):
        self.texts = texts
        self.found = candidates(texts, question, deeps=deeps, **known)
        self.known_uses = list(uses)
        self.counted = []
        self.query = self.deep = None

    async def begin(self, grant, query):
        assert grant is GRANT
        self.query = query
        return self

    async def candidates(self, deep):
        self.deep = deep
        return self.found

    async def show(self, _, entry_ids):
        return [
            EntryView(
                "message", UUID(int=id_), 0, "session:c", "c", id_, "user", None, self.agent_of(id_), NOW, 0.5,
                str(id_), entry_id=id_,
            )
            for id_ in entry_ids
        ]  # fmt: skip

    def agent_of(self, id_):
        row = self.texts[id_ - 1]
        return "a" if isinstance(row, str) else row.get("agent", "a")

    async def uses(self, _, entry_ids):
        return [use for use in self.known_uses if use.entry_id in entry_ids]

    async def count_uses(self, _, amounts):
        self.counted.append(list(amounts.items()))


class Model:
    def __init__(self, error=None, seconds=0.0, *, is_there=True, is_tuned=True):
        self.error = error
        self.is_tuned = is_tuned
        self.seconds = seconds
        self.is_there = is_there

    async def space(self):
        if self.error:
            raise self.error
        return 2 if self.is_there else None

    async def ask(self, _):
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return DeepQuery(2, np.zeros(384, np.float32), self.is_tuned) if self.is_there else None


def recall(index, model=None):
    return Recall(index, READER.table, model or Model(), Calendar(lambda: NOW, ZoneInfo("UTC")))


async def test_the_recipe_seed_is_the_seeds_formula_exactly():
    question = "harbour pilot"
    uses = [
        Use(1, 0.9, 0, NOW - timedelta(days=10)),
        Use(2, 0.5, 7, NOW - timedelta(days=2, hours=12)),
        Use(3, 0.6, 50, NOW + timedelta(days=1)),
    ]
    deeps = [0.25, 0.75, -0.5]
    index = MadeIndex(["the harbour pilot", "a pilot", "something else"], question, deeps=deeps, uses=uses)
    found = await recall(index).search(GRANT, RecallRequest(question, recipe="seed", explain=True))
    scores = {hit.entry: hit.score for hit in found.results}
    temporal = {
        1: math.exp(-0.05 * 10) * (1 + 0.02 * 0),
        2: math.exp(-0.05 * 2.5) * (1 + 0.02 * 7),
        3: math.exp(-0.05 * 0) * (1 + 0.02 * 50),  # what was used after now was used now
    }
    words = {1: 1.0, 2: 0.5, 3: 0.0}  # both words are nearly as rare, and the best has both
    importance = {1: 0.9, 2: 0.5, 3: 0.6}
    for id_ in (1, 2, 3):
        semantic = max(deeps[id_ - 1], 0)
        wanted = 0.3 * words[id_] + 0.3 * semantic + 0.3 * temporal[id_] + 0.1 * importance[id_]
        assert scores[id_] == pytest.approx(wanted, abs=1e-3)
    for hit in found.results:
        assert sum(signal.share for signal in hit.why.signals.values()) == pytest.approx(hit.score, abs=5e-4)
        assert hit.why.signals["temporal"].value == pytest.approx(temporal[hit.entry], abs=1e-4)


async def test_the_recipe_seed_weighs_summaries_and_memories_as_messages():
    rows = [{"text": "the harbour pilot", "kind": kind} for kind in ("message", "summary", "memory", "landmark")]
    uses = [Use(id_, 0.8, 5, NOW - timedelta(days=10)) for id_ in (1, 2, 3, 4)]
    index = MadeIndex(rows, "harbour pilot", deeps=[0.5] * 4, uses=uses)
    found = await recall(index).search(GRANT, RecallRequest("harbour pilot", recipe="seed", explain=True))
    assert len(found.results) == 4
    for hit in found.results:
        # 0.3 x 1 + 0.3 x 0.5 + 0.3 x exp(-0.5) x 1.1 + 0.1 x 0.8 = 0.3 + 0.15 + 0.2002 + 0.08
        assert hit.score == pytest.approx(0.7302, abs=1e-4)
        shares = {name: signal.share for name, signal in hit.why.signals.items() if signal.share}
        assert shares == pytest.approx({"words": 0.3, "deep": 0.15, "temporal": 0.2002, "importance": 0.08}, abs=1e-4)


@pytest.mark.parametrize(("name", "factor"), [("seed", 1.0), ("best", 0.5)])
async def test_an_explained_weight_is_the_one_that_was_used(name, factor):
    rows = [{"text": "the harbour pilot", "kind": "summary"}]
    index = MadeIndex(rows, "harbour pilot", deeps=[0.5], uses=[Use(1, 0.8, 0, NOW)])
    (hit,) = (await recall(index).search(GRANT, RecallRequest("harbour pilot", recipe=name, explain=True))).results
    assert hit.why.signals["deep"].weight == pytest.approx(RECIPES[name].deep * factor)
    for signal in ("deep", "instant", "temporal", "importance"):
        if shown := hit.why.signals.get(signal):
            assert shown.share == pytest.approx(shown.weight * shown.value, abs=1e-4)


def told(agent, text="the harbour pilot lands on friday"):
    return {"text": text, "agent": agent}


async def test_of_two_that_are_as_near_the_one_said_with_the_preferred_agent_is_first():
    index = MadeIndex([told("b"), told("a"), told(None)], "harbour pilot")
    found = await recall(index).search(GRANT, RecallRequest("harbour pilot", recipe="fast", prefer="a"))
    assert [hit.agent for hit in found.results] == ["a", None, "b"]
    high, _, low = (hit.score for hit in found.results)
    assert low < high


async def test_what_answers_the_question_is_first_whoever_it_was_said_with():
    index = MadeIndex([told("a", "the boat"), told("b")], "harbour pilot of the boat")
    found = await recall(index).search(GRANT, RecallRequest("harbour pilot of the boat", recipe="fast", prefer="a"))
    assert [hit.agent for hit in found.results] == ["b", "a"]


@pytest.mark.parametrize("name", sorted(RECIPES))
async def test_with_one_agent_preferring_it_changes_nothing(name):
    texts = ["the harbour pilot", "a pilot", "the harbour at night", "something else"]
    found = [
        (
            await recall(MadeIndex(texts, "harbour pilot")).search(
                GRANT, RecallRequest("harbour pilot", recipe=name, **more)
            )
        )
        for more in ({}, {"prefer": "a"})
    ]
    assert found[0] == found[1]


async def test_other_recipes_do_not_look_at_uses():
    index = MadeIndex(["harbour"], "harbour", uses=[Use(1, 1.0, 50, NOW)])
    (hit,) = (await recall(index).search(GRANT, RecallRequest("harbour", recipe="fast", explain=True))).results
    assert "temporal" not in hit.why.signals


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Model(Unavailable("the endpoint is away")), "the endpoint is away"),
        (Model(seconds=5), "it took too long"),
        (Model(is_there=False), "no embedder"),
    ],
)
async def test_without_the_deep_model_it_answers_and_says_so(model, said, monkeypatch):
    monkeypatch.setattr(searching, "DEEP_SECONDS", 0.05)
    index = MadeIndex(["the harbour pilot"], "harbour")
    found = await recall(index, model).search(GRANT, RecallRequest("harbour"))
    assert [hit.entry for hit in found.results] == [1]
    (line,) = found.degraded
    assert line.startswith("deep: ")
    assert said in line
    assert line.endswith("answered from words and the instant space")
    assert index.deep is None


async def scores_of(deeps, recipe_name, *, is_tuned=True):
    texts = ["the harbour pilot", *(["a pilot"] * (len(deeps) - 1))]
    index = MadeIndex(texts, "harbour pilot", deeps=deeps)
    request = RecallRequest("harbour pilot", recipe=recipe_name, explain=True)
    found = await recall(index, Model(is_tuned=is_tuned)).search(GRANT, request)
    return {hit.entry: hit.score for hit in found.results}, found


@pytest.mark.parametrize(("missing", "is_enough"), [(1, True), (2, False), (20, False)])
async def test_best_answers_as_fast_until_enough_of_the_scope_is_embedded(missing, is_enough):
    deeps = [np.nan] * missing + [0.9] * (20 - missing)
    best, found = await scores_of(deeps, "best")
    fast, _ = await scores_of(deeps, "fast")
    assert (best == fast) is not is_enough
    assert found.searched["embedded"] == 1 - missing / 20
    weights = {name: found.results[0].why.signals[name].weight for name in ("instant", "deep")}
    assert weights == ({"instant": 0.15, "deep": 0.7} if is_enough else {"instant": 0.2, "deep": 0})


async def test_a_model_that_was_not_tuned_for_conversation_counts_less():
    _, found = await scores_of([0.9] * 5, "best", is_tuned=False)
    assert [found.results[0].why.signals[name].weight for name in ("instant", "deep")] == [0.2, 0.2]


async def test_a_score_is_the_same_whether_all_or_none_of_it_was_said_by_whom_the_query_names():
    texts, query = ["the harbour pilot lands", "the pilot waits"], "When does Bob meet the harbour pilot?"
    scores = {}
    for named in ((True, True), (False, False), (False, True)):
        rows = [{"text": text, "named": is_named} for text, is_named in zip(texts, named, strict=True)]
        found = await recall(MadeIndex(rows, query)).search(GRANT, RecallRequest(query, recipe="fast", explain=True))
        scores[named] = {hit.entry: hit.score for hit in found.results}
        assert [hit.why.total for hit in found.results] == sorted(
            (hit.why.total for hit in found.results), reverse=True
        )
    assert scores[True, True] == pytest.approx(scores[False, False], abs=1e-4)
    assert scores[False, True][1] < scores[True, True][1]
    assert scores[False, True][2] == pytest.approx(scores[True, True][2], abs=1e-4)


async def test_a_score_does_not_depend_on_what_the_filter_excludes():
    texts, query = ["the harbour pilot lands", "the pilot waits"], "When does Bob meet the harbour pilot?"
    scores = []
    for named in (True, False):
        index = MadeIndex([texts[0], {"text": texts[1], "named": named}], query)
        index.found = replace(index.found, fits=np.array([True, False]))
        found = await recall(index).search(GRANT, RecallRequest(query, recipe="fast"))
        scores.append([hit.score for hit in found.results if hit.entry == 1])
    assert scores[0] == pytest.approx(scores[1])


TALK = [
    "We fly on Friday.", "(saw 2 messages, 320 chars) ok.", "the deploy needs KW-1204", "sounds good, see you then",
    "the Passat broke down near Kassel, towed by a guy named Rudi, invoice 4711", "my sister Mia turns nine in June",
]  # fmt: skip


class RealModel(Model):
    async def ask(self, text):
        return DeepQuery(2, onnx.Model().embed([text])[0], is_tuned=True)


async def find(query, **options):
    model = onnx.Model()
    deeps = np.array(model.embed(TALK)) @ model.embed([query])[0]
    index = MadeIndex(TALK, query, deeps=deeps, whole=True)
    index.found = replace(index.found, frequencies=None, entries=len(TALK))
    return (await recall(index, RealModel()).search(GRANT, RecallRequest(query, **options))).results


@pytest.mark.parametrize("recipe_name", ["best", "fast"])
@pytest.mark.parametrize("query", ["xyzzy", "asdfgh qwerty", "blorptastic quuxification", "wkjhfwkejf"])
async def test_what_matches_nothing_finds_nothing(query, recipe_name):
    assert await find(query, recipe=recipe_name) == ()


@pytest.mark.parametrize(
    ("query", "wanted"), [("when is the flight?", 1), ("Who towed my car?", 5), ("When is Mia's birthday?", 6)]
)
async def test_the_right_answer_is_first_and_a_least_score_cuts_by_what_is_shown(query, wanted):
    hits = await find(query)
    assert hits[0].entry == wanted
    assert all(0 < hit.score < 1 for hit in hits)
    assert await find(query, min_score=hits[0].score - 1e-6) == hits[:1]
    assert await find(query, min_score=min(1, hits[0].score + 1e-4)) == ()


async def test_the_fast_recipe_asks_no_model():
    index = MadeIndex(["the harbour pilot"], "harbour")
    found = await recall(index, Model(Unavailable("away"))).search(GRANT, RecallRequest("harbour", recipe="fast"))
    assert found.degraded == ()


async def test_a_message_in_parts_is_found_once_by_its_best_part():
    rows = [
        {"text": "harbour", "talk": 1, "seq": 1},
        {"text": "harbour pilot", "talk": 1, "seq": 1},
        {"text": "pilot", "talk": 1, "seq": 9},
    ]
    found = await recall(MadeIndex(rows, "harbour pilot")).search(GRANT, RecallRequest("harbour pilot", mode="words"))
    assert [hit.entry for hit in found.results] == [2, 3]


async def test_a_word_that_is_there_is_found_however_long_the_text_and_however_little_is_known():
    long = " ".join(f"word{number}" for number in range(2000)) + " harbour"
    index = MadeIndex([long, "something else"], "harbour")
    index.found = replace(index.found, entries=2)
    found = await recall(index).search(GRANT, RecallRequest("harbour"))
    assert [hit.entry for hit in found.results] == [1]
    assert 0 < found.results[0].score < 0.05


async def test_of_equals_the_first_that_was_said_is_first():
    index = MadeIndex(["harbour"] * 5, "harbour")
    # one more step of a float: how processors differ in the last row of a product
    index.found.instants[3:] = np.nextafter(index.found.instants[3:], np.float32(2))
    found = await recall(index).search(GRANT, RecallRequest("harbour", limit=3))
    assert [hit.entry for hit in found.results] == [1, 2, 3]


@pytest.mark.parametrize(
    ("texts", "request_", "said"),
    [
        ([], RecallRequest("harbour"), "nothing to search here yet"),
        (["kettle"], RecallRequest("harbour", mode="words"), "no entry has these words"),
        (["kettle"], RecallRequest("who was it", mode="words"), "too common"),
        (["kettle"], RecallRequest("who was it"), "comes close"),
    ],
)
async def test_an_empty_result_says_what_was_searched_and_what_to_try(texts, request_, said):
    found = await recall(MadeIndex(texts, request_.query)).search(GRANT, request_)
    assert found.results == ()
    assert said in found.hint
    assert found.searched["mode"] == request_.mode
    assert found.searched["compared"] == len(texts)


def test_a_window_narrows_what_since_and_before_leave():
    calendar = Calendar(lambda: NOW, ZoneInfo("UTC"))
    assert calendar.between(None, None, None) == (None, None)
    day = timedelta(days=1)
    assert calendar.between(NOW - 20 * day, None, "last_14d") == (NOW - 14 * day, None)
    assert calendar.between(NOW - 2 * day, NOW, "last_14d") == (NOW - 2 * day, NOW)
    assert calendar.between(None, NOW, "yesterday") == (NOW - day, NOW)
    with pytest.raises(InvalidInput, match="is not earlier than before"):
        calendar.between(None, NOW - 20 * day, "last_14d")


async def test_every_use_is_counted_late_in_one_go():
    index = MadeIndex([], "x")
    uses = Uses(index)
    uses.note(GRANT, [3, 1])
    uses.note(GRANT, [1, 2])
    assert index.counted == []
    await uses.flush()
    await uses.flush()
    assert index.counted == [[(1, 2), (2, 1), (3, 1)]]


async def test_which_arms_found_a_hit_can_be_told_without_the_rest_of_the_explanation():
    question = "harbour boats"
    texts = [f"the harbour has {n} boats" for n in range(130)] + ["nothing like it", "a harbour", "boats"]
    index = MadeIndex(texts, question)
    whole, arms = [
        (await recall(index).search(GRANT, RecallRequest(question, recipe="fast", limit=50, explain=how))).results
        for how in (True, "arms")
    ]
    assert [hit.why.arms for hit in arms] == [hit.why.arms for hit in whole]
    assert {len(hit.why.signals) + len(hit.why.terms) for hit in arms} == {0}
