"""The 70 % rule, in windows of every size: when it fires, what is shown then, and what is named as left out."""

import random
import time
from uuid import uuid4

import pytest

from keepword import tokens

WINDOWS = (2_000, 4_000, 8_000, 16_000, 32_000, 48_000, 64_000, 128_000)
# of the window, by the last forty messages alone; forty messages of 16,000 characters are 1.1 of the largest
LOADS = {2_000: 1.96, 4_000: 1.3, 8_000: 0.91, 16_000: 1.96, 32_000: 1.1, 48_000: 1.3, 64_000: 0.91, 128_000: 0.95}
UNLIMITED = 100_000_000
WAIT_SECONDS = 60
PLACES = "Oslo Lisbon Bergen Madeira Turin Gdansk Porto Riga".split()
LINE_TOKENS = 28


def sentence(chance):
    return f"Boat {chance.randrange(10_000)} left {chance.choice(PLACES)} before {chance.choice(PLACES)} was told. "


def message(chance, size):
    text = sentence(chance)
    while tokens.count(text) < size:
        text += sentence(chance)
    return text.strip()


def talk(service, window, share, *, files=False, count=40):
    """Make a conversation whose messages together take a share of the agent's window."""
    chance, name = random.Random(window), f"talk-{uuid4().hex[:8]}"
    texts = [message(chance, share * window / count - LINE_TOKENS) for _ in range(count)]
    with service.client() as client:
        client.put(f"/v1/agents/{name}", json={"context_window": window})
        if files:
            content = "\n".join(message(chance, 20) for _ in range(window // 60))
            client.put(f"/v1/agents/{name}/files/SOUL.md", json={"content": content})
        client.put(f"/v1/conversations/{name}", json={"agent": name})
        messages = [{"role": "user", "content": text} for text in texts]
        assert client.post(f"/v1/conversations/{name}/messages", json=messages).status_code == 201
    return name


def compose(service, name, **more):
    with service.client() as client:
        body = {"conversation": name, "message": "Which boat was late?", "workspace_tokens": UNLIMITED, **more}
        answer = client.post("/v1/compose", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


def everything(service, name, window):
    """Return the tokens of all that would be shown if nothing had to be cut; files have their quarter."""
    whole = compose(service, name, dry_run=True, window_tokens=UNLIMITED, workspace_tokens=window // 4)
    return whole["tokens"]


def in_section(made, name):
    return [line for section in made["sections"] if section["name"] == name for line in section["lines"]]


def missing(made):
    named = [one for one in made["left_out"] if one["section"] == "transcript"]
    return sum(one["count"] for one in named if one["reason"] != "summarised")


def summarised(made):
    return sum(one["count"] for one in made["left_out"] if one["reason"] == "summarised")


@pytest.mark.parametrize("files", [False, True], ids=["without files", "with files"])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_conversation_that_passes_the_threshold_gives_way_to_its_summary(service, window, files):
    name = talk(service, window, LOADS[window], files=files)
    assert everything(service, name, window) > 0.7 * window
    made = compose(service, name)
    raw = [line for line in in_section(made, "transcript") if line["kind"] == "message"]
    assert made["compacted"] > 0
    assert made["tokens"] <= window
    (summary,) = in_section(made, "summary")
    assert summarised(made) == made["compacted"]
    assert len(raw) + summarised(made) == 40
    assert missing(made) == 0
    with service.client() as client:
        (stored,) = client.get(f"/v1/conversations/{name}/summaries").json()["summaries"]
    lines = stored["summary"]["content"].split("\n")
    cut = [one["count"] for one in made["left_out"] if (one["section"], one["kind"]) == ("summary", "line")]
    # whole, or as much as the window has room for
    assert all(line in summary["text"] for line in lines) or (cut and made["share"] > 0.9)
    assert made["proposed_tokens"] > 0.7 * window


@pytest.mark.parametrize("files", [False, True], ids=["without files", "with files"])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_conversation_under_the_threshold_is_shown_as_it_is(service, window, files):
    # fewer than forty messages where forty short ones are more than that
    count = min(40, int(0.35 * window / 50))
    name = talk(service, window, 0.35, files=files, count=count)
    assert everything(service, name, window) <= 0.7 * window
    made = compose(service, name)
    assert made["compacted"] == 0
    assert in_section(made, "summary") == []
    assert len(in_section(made, "transcript")) == count
    assert missing(made) == summarised(made) == 0
    assert made["proposed_tokens"] == made["tokens"]


def test_messages_that_do_not_fit_are_named_in_text_chat_and_data(service):
    name = talk(service, 4_000, 1.96)
    made = compose(service, name, dry_run=True)
    (gap,) = [line for line in in_section(made, "transcript") if line["kind"] == "more"]
    (named,) = [one for one in made["left_out"] if one["section"] == "transcript"]
    shown = len(in_section(made, "transcript")) - 1
    assert (named["count"], named["first_seq"], named["last_seq"]) == (40 - shown, 1, 40 - shown)
    assert (named["reason"], named["conversation"]) == ("over the window", name)
    said = f"{40 - shown} messages are not shown here: #1 to #{40 - shown} do not fit the window"
    assert said in gap["text"]
    system, quotes, named_gap, *_ = made["messages"]
    assert quotes["content"].startswith("(Quotes from memory")
    assert said in named_gap["content"]
    assert said not in system["content"]
    assert said in made["anthropic"]["messages"][0]["content"]


def test_a_summary_that_stands_for_messages_is_shown_again_though_the_ledger_knows_it(service):
    name = talk(service, 4_000, 1.3)
    first, second = (compose(service, name, ledger=True) for _ in range(2))
    assert first["compacted"] > second["compacted"] == 0
    assert in_section(first, "summary")[0]["text"] == in_section(second, "summary")[0]["text"]
    assert summarised(second) == summarised(first)


def test_the_newest_messages_stay_where_summaries_cover_everything(make_service):
    service = make_service(worker="true", embedding="none").start()
    name = talk(service, 4_000, 1.3)
    with service.client() as client:
        client.patch(f"/v1/conversations/{name}", json={"active": False})
        deadline = time.monotonic() + WAIT_SECONDS
        while _covered(client, name) < 40:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    made = compose(service, name)
    shown = in_section(made, "transcript")
    assert made["compacted"] == 0
    assert 0 < len(shown) <= 10
    assert "#40]" in shown[-1]["text"]
    assert summarised(made) == 40 - len(shown)
    assert in_section(made, "summary")


def _covered(client, name):
    tree = client.get(f"/v1/conversations/{name}/summaries").json()["summaries"]
    return max((one["summary"]["last_seq"] for one in tree), default=0)


def test_one_turn_compacts_several_windows_where_no_worker_did(service):
    name = talk(service, 4_000, 2.5, count=120)
    made = compose(service, name)
    assert made["compacted"] >= 100
    assert missing(made) == 0
    assert made["proposed_tokens"] > 0.7 * 4_000
    with service.client() as client:
        tree = client.get(f"/v1/conversations/{name}/summaries").json()["summaries"]
    assert sum(one["summary"]["message_count"] for one in tree) == made["compacted"]
    assert len(tree) >= 2
