"""Answers from what was found: cited, faithful, and never at the cost of the results. Against real HTTP servers."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import httpx
import pytest

from crooked_model import crooked_model, hang, says, status
from keepword.answers import Hit, Inside
from keepword.llm.chat import Chat, Endpoint
from keepword.recall.synthesize import NoAnswer, Synthesizer
from patience import HANG_SECONDS

pytestmark = pytest.mark.anyio

AT = datetime(2026, 4, 18, 12, tzinfo=UTC)
QUERY = "At what pressure does pump P-7 run?"
FOUND = ("Decision: pump P-7 runs at 4 bar.", "Ann ordered a bearing from Hamburg.")


def hit(number, text, inside=()):
    return Hit(
        "message", UUID(int=number), 0, 0.9, text, "user", "ann", "helper", AT, "session:x", "x", number, (), None,
        inside, None,
    )  # fmt: skip


HITS = [hit(number, text) for number, text in enumerate(FOUND, 1)]


async def answer(model, hits=HITS, seconds=10, context_tokens=8_000):
    async with Chat(Endpoint(model.url, "m", None, context_tokens, 10)) as chat:
        return await Synthesizer(chat, seconds).answer(QUERY, hits)


async def test_each_sentence_tells_what_it_rests_on():
    async with crooked_model(says("Pump P-7 runs at 4 bar. [1]\n- A bearing came from Hamburg [2][1].")) as model:
        made = await answer(model)
    assert [(one.text, [cite.id.int for cite in one.cites]) for one in made.sentences] == [
        ("Pump P-7 runs at 4 bar.", [1]), ("A bearing came from Hamburg.", [2, 1]),
    ]  # fmt: skip
    assert made.text == "Pump P-7 runs at 4 bar. [1]\nA bearing came from Hamburg. [2][1]"
    assert made.model == "crooked"
    sent = model.bodies[0]["messages"][-1]["content"]
    assert all(text in sent for text in (QUERY, *FOUND, '[1] 2026-04-18T12:00Z ann in "x"'))


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ("Pump P-7 runs at 9 bar. [1]", "9"),
        ("Pump P-7 runs at 4 bar. [2]", "4"),
        ("Pump P-7 runs at 4 bar.", "names no finding"),
        ("Pump P-7 runs at 4 bar. [1][7]", "findings that are not"),
    ],
    ids=["invented", "wrong citation", "no citation", "unknown citation"],
)
async def test_what_does_not_hold_is_asked_for_again_with_what_was_wrong(first, named):
    async with crooked_model(says(first), says("Pump P-7 runs at 4 bar. [1]")) as model:
        made = await answer(model)
    assert made.text == "Pump P-7 runs at 4 bar. [1]"
    assert named in model.bodies[1]["messages"][-1]["content"].rpartition("refused")[2]


async def test_of_a_second_answer_only_what_holds_is_kept():
    async with crooked_model(says("Pump P-7 runs at 4 bar. [1]\nIt cost 900 euros. [1]")) as model:
        made = await answer(model)
    assert made.text == "Pump P-7 runs at 4 bar. [1]"
    assert len(model.bodies) == 2


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (says("NOTHING"), "do not answer"),
        (says("It cost 900 euros. [1]"), "900"),
        (hang, "longer than"),
        (status(400), "400"),
    ],
    ids=["nothing", "invents", "hangs", "refuses"],
)
async def test_no_answer_says_why(reply, why):
    async with crooked_model(reply) as model:
        with pytest.raises(Exception, match=why) as failed:
            await answer(model, seconds=1 if reply is hang else 60)
    assert isinstance(failed.value, NoAnswer) or why == "400"


async def test_what_matches_inside_a_summary_is_among_the_findings_once():
    inner = Inside("message", uuid4(), 0.5, "P-7 got a gauge.", "user", "bob", "helper", AT, 9)
    async with crooked_model(says("P-7 got a gauge. [2]")) as model:
        made = await answer(model, [hit(1, "Notes on P-7.", [inner]), hit(2, "P-7 is old.", [inner])])
    assert made.sentences[0].cites[0].id == inner.id
    assert model.bodies[0]["messages"][-1]["content"].count("gauge") == 1


async def test_findings_that_do_not_fit_into_the_window_are_left_out():
    many = [hit(number, f"Pump P-{number} " + "hums and " * 200) for number in range(1, 30)]
    async with crooked_model(says("Pump P-1 hums. [1]")) as model:
        made = await answer(model, many, context_tokens=4_000)
    sent = model.bodies[0]["messages"][-1]["content"]
    assert "Pump P-1 " in sent
    assert "Pump P-29 " not in sent
    assert made.left_out == 29 - sent.count("Pump P-") > 0


async def test_a_long_finding_is_read_whole_where_there_is_room_and_else_it_says_so():
    long = hit(1, "It hums. " * 600 + "Pump P-7 runs at 4 bar.")
    async with crooked_model(says("Pump P-7 runs at 4 bar. [1]")) as model:
        made = await answer(model, [long])
    assert "4 bar" in model.bodies[0]["messages"][-1]["content"]
    assert (made.shortened, made.left_out) == ((), 0)
    async with crooked_model(says("It hums. [1]")) as model:
        made = await answer(model, [long], context_tokens=2_048)
    sent = model.bodies[0]["messages"][-1]["content"]
    assert "4 bar" not in sent
    assert "... (it goes on)" in sent
    assert [cite.id for cite in made.shortened] == [long.id]


async def test_over_http_an_answer_comes_with_the_results_and_a_failure_does_not_cost_them(make_service):
    replies = says("Pump P-7 runs at 4 bar. [1]"), says("It cost 900 euros. [1]")
    async with crooked_model(*replies) as model:
        service = make_service(llm_url=model.url, embedding="none").start()
        async with httpx.AsyncClient(base_url=service.url, timeout=HANG_SECONDS) as client:
            await client.put("/v1/conversations/x", json={})
            await client.post("/v1/conversations/x/messages", json={"role": "user", "content": FOUND[0]})
            body = {"query": QUERY, "conversation": "x", "synthesize": True}
            first = (await client.post("/v1/search", json=body)).json()
            second = (await client.post("/v1/search", json=body)).json()
    assert first["answer"]["text"] == "Pump P-7 runs at 4 bar. [1]"
    assert first["answer"]["sentences"][0]["cites"][0]["id"] == first["results"][0]["id"]
    assert second["answer"] is None
    assert second["results"] == first["results"]
    assert any(line.startswith("synthesize:") and "900" in line for line in second["degraded"])


def test_without_a_model_it_says_what_to_set(service):
    with service.client() as client:
        answer_ = client.post("/v1/search", json={"query": "x", "synthesize": True})
    assert (answer_.status_code, answer_.json()["field"]) == (422, "synthesize")
    assert "KEEPWORD_LLM_URL" in answer_.json()["detail"]
