"""Search as a caller sees it, over real HTTP and a real database."""

import base64
import random
import threading
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from keepword.embedding import TextIndexer
from keepword.period import PERIODS
from keepword.postgres import migrate
from keepword.recall import RECIPES
from patience import HANG_SECONDS, stretched

READER = TextIndexer()
MODES = ("hybrid", "words", "meaning", "trigram", "regex")
SAID = (
    {"role": "user", "user": "ann", "agent": "ada", "content": "The harbour pilot asks about src/dock/crane.py today."},
    {"role": "assistant", "agent": "ada", "content": "The harbour pilot was told on the phone."},
    {"role": "user", "user": "bob", "agent": "ben", "content": "The harbour pilot lost ticket KW-1204 somewhere."},
    {"role": "assistant", "agent": "ben", "content": "The harbour pilot will look for it in the crane."},
)
START = datetime(2024, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
INSERT = """
    INSERT INTO entries (tenant_id, kind, source_id, run_id, visibility, created_at, searchable, text, words, pieces,
        lexemes, instant)
    SELECT id, 'summary', gen_random_uuid(), %(run_id)s, 'public', %(created_at)s, true, %(text)s, %(words)s,
        %(pieces)s, %(lexemes)s::int[], %(instant)s::public.halfvec FROM keepword.tenants WHERE name = %(tenant)s
"""


class World:
    """A tenant with a room: four messages on four days, the fifth day's summary, and a session elsewhere."""

    def __init__(self, service):
        self.service = service
        self.tenant = f"search-{uuid4().hex}"
        self.client = service.client(service.make_key(self.tenant))
        put = self.client.put
        put("/v1/rooms/hall", json={})
        for user, agent in (("ann", "ada"), ("bob", "ben")):
            put(f"/v1/users/{user}", json={})
            put(f"/v1/agents/{agent}", json={})
            put(f"/v1/rooms/hall/participants/users/{user}")
            put(f"/v1/rooms/hall/participants/agents/{agent}")
        put("/v1/conversations/talk", json={"room": "hall", "agent": "ada"})
        said = [message | {"created_at": (START + n * DAY).isoformat()} for n, message in enumerate(SAID)]
        self.append("talk", *said)
        self.summarise("The harbour pilot asked and was answered.", START + 4 * DAY)
        self.talk("elsewhere", "The harbour pilot of another place.", user="ann", agent="ada")

    def append(self, name, *messages):
        answer = self.client.post(f"/v1/conversations/{name}/messages", json=list(messages))
        assert answer.status_code == 201, answer.text
        return answer.json()["messages"]

    def talk(self, name, *texts, **place):
        assert self.client.put(f"/v1/conversations/{name}", json=place).status_code == 201
        return self.append(name, *({"role": "user", "content": text} for text in texts)) if texts else []

    def summarise(self, text, time):
        with migrate.owner(self.service.conninfo) as conn:
            (tenant_id,) = conn.execute("SELECT id FROM tenants WHERE name = %s", (self.tenant,)).fetchone()
            entry = READER.index_entry(text, (str(tenant_id), "room:hall"), whole=False)
            vector = str(READER.read(text).vector.tolist())
            values = {"words": entry.words, "pieces": entry.pieces, "lexemes": entry.lexemes, "instant": vector}
            named = {"run_id": "room:hall", "created_at": time, "text": text, "tenant": self.tenant}
            conn.execute(INSERT, values | named)

    def ask(self, query, **asked):
        answer = self.client.post("/v1/search", json={"query": query, "recipe": "fast"} | asked)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def find(self, query, **asked):
        return self.ask(query, **asked)["results"]


@pytest.fixture(scope="module")
def world(keyed_service):
    made = World(keyed_service)
    yield made
    made.client.close()


@pytest.fixture
def name():
    return f"c-{uuid4().hex}"


def query_for(mode):
    return "harbour +pilot" if mode == "regex" else "harbour pilot"


def at(days):
    return (START + days * DAY).isoformat()


FILTERS = [
    ({}, {1, 2, 3, 4, None}),
    ({"kinds": ["message"]}, {1, 2, 3, 4}),
    ({"kinds": ["summary"]}, {None}),
    ({"kinds": ["summary", "message"], "before": at(1)}, {1}),
    ({"kinds": ["memory", "landmark"]}, set()),
    ({"agent": "ben"}, {3, 4}),
    ({"user": "ann"}, {1}),
    ({"user": "ann", "agent": "ben"}, set()),
    ({"since": at(2)}, {3, 4, None}),
    ({"before": at(2)}, {1, 2}),
    ({"since": at(1), "before": at(3), "agent": "ada"}, {2}),
    ({"since": "2024-03-03"}, {3, 4, None}),
    ({"before": "2024-03-03"}, {1, 2}),
    ({"since": "2024-03-01T12:00:01", "before": "2024-03-04"}, {2, 3}),
    ({"window": "last_14d"}, set()),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("asked", "wanted"), FILTERS, ids=[str(asked) for asked, _ in FILTERS])
def test_every_filter_holds_in_every_mode_and_for_every_kind(world, mode, asked, wanted):
    found = world.ask(query_for(mode), mode=mode, conversation="talk", **asked)
    assert {hit["seq"] for hit in found["results"]} == wanted
    assert {hit["kind"] for hit in found["results"]} == {"message" if seq else "summary" for seq in wanted}
    assert found["searched"]["mode"] == mode
    if not wanted:
        assert found["hint"]


def test_fts_is_another_word_for_words(world):
    words, fts = (world.ask("harbour pilot", mode=mode, conversation="talk") for mode in ("words", "fts"))
    assert fts == words
    assert fts["searched"]["mode"] == "words"


@pytest.mark.parametrize("mode", MODES)
def test_the_tenants_owner_finds_in_every_place(world, mode):
    found = world.find(query_for(mode), mode=mode, limit=50)
    assert {"talk", "elsewhere", None} <= {hit["conversation"] for hit in found}


@pytest.mark.parametrize("mode", MODES)
def test_a_hit_says_who_when_where_and_what(world, mode):
    (hit,) = world.find(query_for(mode), mode=mode, conversation="talk", user="bob", explain=True)
    shown = {name: hit[name] for name in ("kind", "text", "role", "user", "agent", "run_id", "conversation", "seq")}
    assert shown == {
        "kind": "message", "text": SAID[2]["content"], "role": "user", "user": "bob", "agent": "ben",
        "run_id": "room:hall", "conversation": "talk", "seq": 3,
    }  # fmt: skip
    assert datetime.fromisoformat(hit["created_at"]) == START + 2 * DAY
    page = world.client.get("/v1/conversations/talk/messages", params={"user": "bob"}).json()
    assert hit["id"] == page["messages"][0]["id"]


@pytest.mark.parametrize("window", PERIODS)
@pytest.mark.parametrize("mode", MODES)
def test_a_window_lets_in_what_lies_in_it(world, mode, window):
    name = f"window-{mode}-{window}"
    now = datetime.now(UTC)
    times = [now - timedelta(hours=hours) for hours in (0, 13, 30, 100, 200, 400)]
    world.talk(name)
    lines = [
        {"role": "user", "content": f"harbour pilot {n}", "created_at": t.isoformat()} for n, t in enumerate(times)
    ]
    world.append(name, *lines)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    since, before = {
        "today": (midnight, None), "yesterday": (midnight - DAY, midnight),
        "this_morning": (midnight, midnight + DAY / 2), "this_week": (midnight - now.weekday() * DAY, None),
        "last_24h": (now - DAY, None), "last_7d": (now - 7 * DAY, None), "last_14d": (now - 14 * DAY, None),
    }[window]  # fmt: skip
    wanted = {n for n, t in enumerate(times, 1) if t >= since and (before is None or t < before)}
    found = world.ask(query_for(mode), mode=mode, conversation=name, window=window)
    assert {hit["seq"] for hit in found["results"]} == wanted
    assert datetime.fromisoformat(found["searched"]["since"]) - since < timedelta(minutes=5)


@pytest.mark.parametrize("recipe", sorted(RECIPES))
@pytest.mark.parametrize("mode", ["hybrid", "words", "meaning"])
def test_the_signals_of_an_explained_hit_add_up_to_its_score(world, mode, recipe):
    hits = world.find(
        "Where is the ticket KW-1204 that I lost in March 2024?",
        mode=mode, recipe=recipe, conversation="talk", explain=True,
    )  # fmt: skip
    assert hits[0]["seq"] == 3
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    for hit in hits:
        signals = hit["why"]["signals"]
        assert sum(signal["share"] for signal in signals.values()) == pytest.approx(hit["why"]["total"], abs=1e-3)
        is_calibrated = mode == "hybrid" and recipe != "seed"
        assert (hit["score"] == pytest.approx(hit["why"]["total"], abs=1e-3)) is not is_calibrated
        assert all(signal["rank"] >= 1 for signal in signals.values())
        assert hit["why"]["arms"]
    if mode == "hybrid" and recipe != "seed":
        why = hits[0]["why"]
        assert {"words", "instant", "literal"} <= set(why["arms"])
        assert why["terms"]["ticket"]["by"] == "own"
        assert why["signals"]["date"]["share"] > 0
    unexplained = world.find("ticket", mode=mode, recipe=recipe, conversation="talk")
    assert all(hit["why"] is None for hit in unexplained)


def test_a_least_score_leaves_out_the_rest_in_every_mode(world):
    for mode in ("hybrid", "words", "meaning", "trigram"):
        asked = {"mode": mode, "conversation": "talk"}
        scores = [hit["score"] for hit in world.find("harbour pilot", **asked)]
        least = max(scores) - 1e-6
        kept = [hit["score"] for hit in world.find("harbour pilot", min_score=min(least, 1), **asked)]
        assert kept == [score for score in scores if score >= min(least, 1)] != []
    refused = world.client.post("/v1/search", json={"query": "harbour", "min_score": 50})
    assert (refused.status_code, refused.json()["field"]) == (422, "min_score")


@pytest.mark.parametrize("mode", ["trigram", "regex"])
def test_a_literal_hit_is_explained_by_its_mode(world, mode):
    (hit,) = world.find("KW-1204", mode=mode, conversation="talk", explain=True)
    assert hit["why"]["arms"] == [mode]
    assert hit["why"]["signals"][mode]["share"] == hit["score"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_context_are_the_turns_beside_a_hit(world, mode):
    (hit,) = world.find(query_for(mode), mode=mode, conversation="talk", user="bob", context=1)
    assert [turn["seq"] for turn in hit["context"]] == [2, 4]
    (hit,) = world.find(query_for(mode), mode=mode, conversation="talk", user="bob", context=10)
    assert [turn["seq"] for turn in hit["context"]] == [1, 2, 4]
    assert hit["context"][0]["text"] == SAID[0]["content"]
    (hit,) = world.find(query_for(mode), mode=mode, conversation="talk", user="bob")
    assert hit["context"] == []


@pytest.mark.parametrize(
    ("query", "seq"),
    [("src/dock/crane.py", 1), ("dock/crane", 1), ("KW-1204", 3), ("kw-1204", 3), ("what of KW-1204?", 3)],
)
@pytest.mark.parametrize("mode", ["hybrid", "trigram"])
def test_paths_and_ids_are_found_to_the_letter(world, query, seq, mode):
    if mode == "trigram" and query.endswith("?"):
        query = query.split()[-1]
    assert world.find(query, mode=mode, conversation="talk")[0]["seq"] == seq


def test_signs_that_patterns_know_are_taken_as_they_are(world, name):
    world.talk(name, "the rate is 100%_exact/half here", "the rate is 100 exact halves here")
    first, *_ = world.find("100%_exact/half", conversation=name, explain=True)
    assert first["seq"] == 1
    assert first["why"]["signals"]["literal"]["value"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_long_message_is_found_by_each_of_its_parts_and_once(world, name, mode):
    filler = "\n\n".join(f"Paragraph {n} speaks of lanterns and other quiet things." for n in range(600))
    text = f"The overture of the walrus.\n\n{filler}\n\nAt the very end a walrus sings of amber."
    (stored, _) = world.talk(name, text, "Something short.")
    for query in ("overture", "walrus", "amber"):
        hit, *others = world.find(query, mode=mode, conversation=name)
        assert hit["id"] == stored["id"]
        assert all(other["id"] != stored["id"] for other in others)
        assert len(hit["text"]) <= 8000
        if mode != "meaning":
            assert query in hit["text"]
            assert hit["part"] == {"overture": 0, "amber": 4}.get(query, hit["part"])


@pytest.mark.parametrize("mode", MODES)
def test_encoded_bytes_are_marked_and_not_found(world, name, mode):
    noise = base64.b64encode(random.Random(1).randbytes(3000)).decode()
    mixed = f"The picture of the lighthouse: {noise}"
    _, kept = world.talk(name, noise, mixed, user="ann", agent="ada")
    for query in (noise[:60], "ann"):
        assert all(hit["id"] == kept["id"] for hit in world.find(query, mode=mode, conversation=name))
    assert world.find("lighthouse", mode=mode, conversation=name)[0]["id"] == kept["id"]
    with migrate.owner(world.service.conninfo) as conn:
        rows = conn.execute(
            "SELECT e.searchable FROM entries e JOIN conversations c ON c.id = e.conversation_id "
            "WHERE c.external_id = %s ORDER BY e.seq", (name,),
        ).fetchall()  # fmt: skip
    assert rows == [(False,), (True,)]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("Grüße aus Zürich, sagt Ærøskøbing", {"words": "zurich", "trigram": "Zürich", "regex": "grüsse|grüße"}),
        (
            "会議は東京で開かれます",
            {"words": "東京", "hybrid": "東京の会議", "regex": "東京", "trigram": "東京で開かれ"},
        ),
        ("Встреча в порту Мурманска", {"words": "мурманска", "trigram": "Мурманск", "regex": "порту"}),
        ("😀 party at noon 🎉", {"words": "party", "regex": "😀"}),
        ("नमस्ते बंदरगाह", {"hybrid": "बंदरगाह", "regex": "बंदरगाह"}),
    ],
)
def test_words_of_all_scripts_are_found(world, name, text, queries):
    (stored, _) = world.talk(name, text, "something else entirely")
    for mode, query in queries.items():
        found = world.find(query, mode=mode, conversation=name)
        assert [hit["id"] for hit in found[:1]] == [stored["id"]], (mode, query)


def test_what_was_just_appended_is_found_at_once_by_words_and_by_meaning(world, name):
    world.talk(name)
    for number in range(15):
        (stored,) = world.append(name, {"role": "user", "content": f"Physician number{number} visits the clinic."})
        (hit,) = world.find(f"number{number}", mode="words", conversation=name)
        assert hit["id"] == stored["id"]
        near = world.find("doctor in a hospital", mode="meaning", conversation=name, limit=50)
        assert stored["id"] in {hit["id"] for hit in near}


LARGE = 3600


@pytest.fixture(scope="module")
def large(world):
    """A room that is too large to be compared whole, with one needle near its beginning."""
    chance = random.Random(7)
    words = ["mast", "sail", "deck", "rope", "wind", "tide", "port", "crew", "hull", "keel", "wave", "gull"]
    texts = [" ".join(chance.choices(words, k=40)) for _ in range(LARGE)]
    texts[100] = "The zeppelin over " + texts[100]
    world.talk("large")
    for start in range(0, LARGE, 900):
        world.append("large", *({"role": "user", "content": text} for text in texts[start : start + 900]))
    return "large"


@pytest.mark.parametrize("mode", MODES)
def test_in_a_large_place_the_needle_is_found_and_so_is_what_is_new(world, large, mode):
    assert world.find("zeppelin", mode=mode, conversation=large)[0]["seq"] == 101
    token = f"obelisk{mode}"
    (stored,) = world.append(large, {"role": "user", "content": f"An {token} of granite stands here."})
    query = "granite obelisk" if mode == "meaning" else token
    found = world.find(query, mode=mode, conversation=large)
    if mode == "meaning":
        assert stored["id"] in {hit["id"] for hit in found}
    else:
        assert found[0]["id"] == stored["id"]
    searched = world.ask("zeppelin", conversation=large)["searched"]
    assert not searched["everything_compared"]
    assert searched["compared"] < LARGE


@pytest.mark.parametrize("mode", MODES)
def test_filters_hold_in_a_large_place_too(world, large, mode):
    late = (datetime.now(UTC) + DAY).isoformat()
    for asked in ({"since": late}, {"user": "nobody"}, {"agent": "nobody"}, {"kinds": ["memory"]}):
        found = world.ask("zeppelin", mode=mode, conversation=large, **asked)
        assert found["results"] == [], asked
        assert found["hint"]


# back references are what the database's own expressions are slow at
SLOW = (r"(.*)\1(.*)\2(.*)\3(.*)\4$", r"^(.*)\1(.*)\2(.*)\3(.*)\4(.*)\5$")


def test_a_pattern_that_takes_too_long_is_stopped_and_others_are_served_meanwhile(world, large):
    answers = []

    def ask(pattern):
        started = time.monotonic()
        with world.service.client() as client:
            client.headers = world.client.headers
            body = {"query": pattern, "mode": "regex", "conversation": large}
            answers.append((client.post("/v1/search", json=body), time.monotonic() - started))

    threads = [threading.Thread(target=ask, args=(pattern,)) for pattern in SLOW]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    waits = []
    while any(thread.is_alive() for thread in threads):
        started = time.monotonic()
        world.find("zeppelin", conversation="talk")
        waits.append(time.monotonic() - started)
    for thread in threads:
        thread.join()
    for answer, seconds in answers:
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] == "query"
        assert "more specific" in answer.json()["detail"]
        assert 1.5 < seconds < stretched(6)  # 2 s, and what a busy machine adds
    assert len(waits) > 3
    assert sorted(waits)[len(waits) // 2] < stretched(1)


@pytest.mark.parametrize(
    "pattern", ["(a{1,200}){1,200}", "(((((((((a*)*)*)*)*)*)*)*)*)*b", "x" * 1000, "(?:" * 300 + ")" * 300]
)
def test_a_monstrous_pattern_is_answered_in_time(world, pattern):
    started = time.monotonic()
    answer = world.client.post("/v1/search", json={"query": pattern, "mode": "regex", "conversation": "talk"})
    assert answer.status_code in {200, 422}, answer.text
    assert time.monotonic() - started < stretched(6)


@pytest.mark.parametrize(
    ("pattern", "position"), [("a(b", 1), ("[a-", 0), ("ab**c[", None), ("*a", 0), (r"a\9", None), ("a{5,1}", None)]
)
def test_an_invalid_pattern_is_refused_with_its_position(world, pattern, position):
    answer = world.client.post("/v1/search", json={"query": pattern, "mode": "regex", "conversation": "talk"})
    assert answer.status_code == 422
    assert answer.json()["field"] == "query"
    assert "(position " in answer.json()["detail"]
    if position is not None:
        assert f"(position {position})" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("asked", "status", "field", "said"),
    [
        ({"query": ""}, 422, "query", "empty"),
        ({"query": " \n", "mode": "meaning"}, 422, "query", "browse"),
        ({"query": None}, 422, "query", "string"),
        ({}, 422, "query", "required"),
        ({"query": "x", "since": at(2), "before": at(1)}, 422, "since", "is not earlier than before"),
        ({"query": "x", "since": at(1), "before": at(1)}, 422, "since", "is not earlier than before"),
        ({"query": "x", "window": "yesterday", "since": "2999-01-01T00:00:00Z"}, 422, "since", "is not earlier"),
        ({"query": "x", "recipe": "secret"}, 422, "recipe", "best, fast, seed"),
        ({"query": "x", "window": "someday"}, 422, "window", ", ".join(PERIODS)),
        ({"query": "x", "mode": "magic"}, 422, "mode", "'trigram' or 'regex'"),
        ({"query": "x", "kinds": ["rumour"]}, 422, "kinds.0", "'landmark'"),
        ({"query": "x", "kinds": []}, 422, "kinds", "at least 1"),
        ({"query": "x", "limit": 0}, 422, "limit", "1"),
        ({"query": "x", "limit": 51}, 422, "limit", "50"),
        ({"query": "x", "context": 11}, 422, "context", "10"),
        ({"query": "x", "context": -1}, 422, "context", "0"),
        ({"query": "x", "since": "yesterday"}, 422, "since", "2024-01-31T12:00:00Z"),
        ({"query": "x", "since": "2026-02-30"}, 422, "since", "a day as 2024-01-31 (got '2026-02-30')"),
        ({"query": "x", "before": "0001-01-01"}, 422, "before", "years 2 and 9998"),
        ({"query": "x", "agent": "no:id"}, 422, "agent", "colon"),
        ({"query": "x", "user": "a/b"}, 422, "user", "slash"),
        ({"query": "x", "top_k": 5}, 422, "top_k", "did you mean limit?"),
        ({"query": "a\0b"}, 422, "query", "NUL"),
        ({"query": "x" * 100_000}, 413, "query", "32768"),
        ({"query": "x" * 2000, "mode": "regex"}, 422, "query", "1000"),
        ({"query": "x" * 2000, "mode": "trigram"}, 422, "query", "1000"),
        ({"query": "x", "conversation": "nowhere"}, 404, None, "'nowhere'"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_can_not_be_asked_is_refused_with_what_can(world, asked, status, field, said):
    answer = world.client.post("/v1/search", json=asked)
    assert answer.status_code == status, answer.text
    assert answer.json().get("field") == field
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("mode", MODES)
def test_a_place_that_the_viewer_is_not_in_is_not_there(world, mode):
    key = world.service.make_key(world.tenant, "agent", agent="ben")
    with world.service.client(key) as client:
        body = {"query": "pilot", "mode": mode, "conversation": "elsewhere"}
        foreign = client.post("/v1/search", json=body)
        absent = client.post("/v1/search", json=body | {"conversation": "nowhere"})
        assert foreign.status_code == absent.status_code == 404
        assert foreign.json()["detail"] == absent.json()["detail"].replace("nowhere", "elsewhere")
        assert client.post("/v1/search", json=body | {"conversation": "talk"}).status_code == 200
        assert client.post("/v1/search", json={"query": "pilot", "mode": mode}).status_code == 403


def times_used(world, name):
    with migrate.owner(world.service.conninfo) as conn:
        rows = conn.execute(
            "SELECT COALESCE(u.times, 0) FROM entries e JOIN conversations c ON c.id = e.conversation_id "
            "LEFT JOIN uses u ON u.entry_id = e.id WHERE c.external_id = %s ORDER BY e.seq", (name,),
        ).fetchall()  # fmt: skip
    return [times for (times,) in rows]


def wait_for_uses(world, name, wanted):
    deadline = time.monotonic() + HANG_SECONDS
    while times_used(world, name) != wanted:
        assert time.monotonic() < deadline, times_used(world, name)
        time.sleep(0.1)


def test_what_an_agent_gets_is_counted_up_to_a_cap_and_what_a_person_looks_up_is_not(world, name):
    world.talk(name, "a cormorant dives", "nothing of the sort", user="ann", agent="ada")
    person = world.service.make_key(world.tenant, "reader", user="ann")
    body = {"query": "cormorant", "mode": "words", "conversation": name}
    with world.service.client(person) as client:
        assert len(client.post("/v1/search", json=body).json()["results"]) == 1
    world.find("cormorant", mode="words", conversation=name)
    key = world.service.make_key(world.tenant, "agent", agent="ada")
    with world.service.client(key) as client:
        client.post("/v1/search", json=body)
        wait_for_uses(world, name, [1, 0])
        # neither the person's nor the owner's search has been counted before
        with migrate.owner(world.service.conninfo) as conn:
            conn.execute("UPDATE uses SET times = 49 WHERE times = 1")
        for _ in range(2):
            client.post("/v1/search", json=body)
            wait_for_uses(world, name, [50, 0])
        client.post("/v1/search", json=body)
        time.sleep(1.5)
        assert times_used(world, name) == [50, 0]


def test_ten_searches_and_what_compose_injects_all_count(world, name):
    world.talk(name, "a cormorant dives", "nothing of the sort", user="ann", agent="ada")
    body = {"query": "cormorant", "mode": "hybrid", "recipe": "seed", "conversation": name, "explain": True, "limit": 1}
    key = world.service.make_key(world.tenant, "agent", agent="ada")
    with world.service.client(key) as client:
        assert client.post("/v1/search", json=body).json()["results"][0]["why"]["signals"]["temporal"]["value"] == 1.0
        for _ in range(9):
            client.post("/v1/search", json=body)
        wait_for_uses(world, name, [10, 0])
        # 1 + 0.02 x 10, used just now
        found = client.post("/v1/search", json=body).json()["results"][0]["why"]["signals"]["temporal"]
        assert found["value"] == pytest.approx(1.2, abs=1e-4)
        wait_for_uses(world, name, [11, 0])
        for _ in range(3):
            turn = {"conversation": name, "message": "the cormorant", "sections": ["recall"]}
            assert client.post("/v1/compose", json=turn).status_code == 200
        wait_for_uses(world, name, [14, 3])


def test_while_the_deep_model_is_away_it_answers_and_says_so(make_service):
    service = make_service(embedding="remote", embedding_url="http://127.0.0.1:9/v1", embedding_model="gone").start()
    with migrate.owner(service.conninfo) as conn:
        conn.execute("UPDATE spaces SET serving = false WHERE NOT is_instant")
        conn.execute("INSERT INTO spaces (name, dimensions, serving) VALUES ('gone-8', 8, true)")
    with service.client() as client:
        client.put("/v1/conversations/c", json={})
        client.post("/v1/conversations/c/messages", json={"role": "user", "content": "A heron stands in the reeds."})
        started = time.monotonic()
        found = client.post("/v1/search", json={"query": "heron", "conversation": "c"}).json()
        assert time.monotonic() - started < stretched(6)
        assert [hit["seq"] for hit in found["results"]] == [1]
        (line,) = found["degraded"]
        assert line.startswith("deep: ")
        assert line.endswith("answered from words and the instant space")
        fast = client.post("/v1/search", json={"query": "heron", "conversation": "c", "recipe": "fast"}).json()
        assert fast["degraded"] == []


@pytest.mark.parametrize("query", ["when is the flight?", "fly", "Friday", "When do we fly?"])
@pytest.mark.parametrize("recipe", ["best", "fast"])
def test_the_only_message_of_a_tenant_is_found(keyed_service, query, recipe):
    """The first search of whoever follows the README: no word is known to be rare yet."""
    with keyed_service.client(keyed_service.make_key(f"first-{uuid4().hex}")) as client:
        client.put("/v1/conversations/demo", json={})
        client.post("/v1/conversations/demo/messages", json={"role": "user", "content": "We fly on Friday."})
        for place in ({}, {"conversation": "demo"}):
            answer = client.post("/v1/search", json={"query": query, "recipe": recipe} | place).json()
            assert [hit["score"] > 0.1 for hit in answer["results"]] == [True]
        answer = client.post("/v1/search", json={"query": "xylophone quantum zebra", "recipe": recipe}).json()
        assert answer["results"] == []
