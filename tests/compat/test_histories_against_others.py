"""What our readers find in a file is what other people's parsers find in it: the same messages with the same texts.

HISTORIES names a folder with further files, such as fixtures of those parsers: <kind>/<file>.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from keepword.histories.options import ReadOptions
from unit.histories.made import (
    claude_code_lines,
    codex_lines,
    messages,
    node,
    omissions,
    read,
    slack_zip,
    write_json,
    write_lines,
)

HERE = Path(__file__).parent
FURTHER = Path(os.environ.get("HISTORIES", HERE / "none"))
SEED = 20261118
WORDS = "boat harbour ticket Lisbon oven invoice decision port walnut meeting 8431 Żółw naïve 漢字 🙂".split()


@pytest.fixture
def parse(history_parsers, tmp_path_factory):
    # convoviz does not load without a zip among the downloads
    home = tmp_path_factory.mktemp("home")
    (home / "Downloads").mkdir()
    (home / "Downloads" / "export.zip").touch()

    def run(name, path):
        done = subprocess.run(
            [sys.executable, HERE / "parse.py", name, path], capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(history_parsers), "TZ": "UTC", "HOME": str(home)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.rpartition("\n=== ")[2])

    return run


def further(kind):
    return sorted((FURTHER / kind).glob("*")) if (FURTHER / kind).is_dir() else []


def sentence(chance):
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 30)))


def chatgpt_export(path, conversations=60):
    """Write random trees: answers regenerated, questions edited, at any depth."""
    chance = random.Random(SEED)
    export = []
    for number in range(conversations):
        nodes = {"r": {"id": "r", "parent": None, "children": [], "message": None}}
        for turn in range(chance.randint(1, 40)):
            parent = chance.choice(list(nodes)[-3:])
            name = f"{number}-{turn}"
            role = chance.choice(["user", "assistant"])
            nodes[name] = node(name, parent, [], role, sentence(chance), create_time=1.7e9 + turn, status="finished",
                               weight=1.0, metadata={}, end_turn=True)  # fmt: skip
            nodes[parent]["children"].append(name)
        leaves = [name for name, one in nodes.items() if not one["children"]]
        export.append({
            "title": sentence(chance), "create_time": 1.7e9, "update_time": 1.7e9, "mapping": nodes,
            "moderation_results": [], "current_node": chance.choice(leaves), "conversation_id": f"c{number}",
        })  # fmt: skip
    return write_json(path / "conversations.json", export)


def triples(found):
    return sorted((one["id"], one["role"], one["text"]) for one in found)


def ours(records):
    return sorted((one.id, one.role, one.text) for one in messages(records))


def test_chatgpt_as_polylogue_and_convoviz_read_it(parse, tmp_path, show):
    path = chatgpt_export(tmp_path)
    records = read("chatgpt", path)
    for name in ("polylogue chatgpt", "convoviz chatgpt"):
        theirs = [one for several in parse(name, path).values() for one in several]
        assert triples(theirs) == ours(records), name
    shown = [one for several in parse("polylogue chatgpt", path).values() for one in several if one["shown"]]
    talk = [one for one in messages(records) if "~" not in one.thread]
    assert triples(shown) == sorted((one.id, one.role, one.text) for one in talk)
    assert omissions(records) == {}
    show(f"ChatGPT: {len(messages(records))} messages ({len(talk)} shown) as polylogue and convoviz read them")


AUTHORED = {"human_authored", "assistant_authored"}


def test_claude_code_as_polylogue_reads_it(parse, tmp_path, show):
    chance = random.Random(SEED)
    lines = claude_code_lines()
    for number in range(300):
        role = ("user", "assistant")[number % 2]
        content = sentence(chance) if number % 3 else [{"type": "text", "text": sentence(chance)}]
        at = f"2026-01-02T04:{number // 60:02}:{number % 60:02}Z"
        message = {"role": role, "content": content}
        lines.append({"type": role, "uuid": f"g{number}", "sessionId": "s1", "timestamp": at, "message": message})
    files = [write_lines(tmp_path / "s1.jsonl", lines), *further("claude-code")]
    compared = 0
    for path in files:
        theirs = {
            (one["id"], one["role"], one["text"])
            for one in parse("polylogue claude-code", path)
            # it numbers messages that have no id
            if one["origin"] in AUTHORED and one["type"] == "message" and not one["id"].startswith("msg-")
        }
        records = messages(read("claude-code", path))
        mine = {(one.id, one.role, one.text) for one in records if one.text and one.tool_result is None}
        sidechain = {
            line.get("uuid") for line in map(json.loads, path.read_text().splitlines()) if line.get("isSidechain")
        }
        plain = {one for one in theirs if one[0] not in sidechain and "<" not in one[2]}
        assert plain <= mine, path
        further_ids = {one[0] for one in mine} - {one[0] for one in theirs} - _with_tools(path)
        assert [id_ for id_ in further_ids if not id_.startswith("line-")] == [], path
        compared += len(plain)
    show(f"Claude Code: {compared} messages of {len(files)} files as polylogue reads them")


def _with_tools(path):
    """Return the ids of lines whose text polylogue writes together with their tool calls and thinking."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {
        line.get("uuid")
        for line in lines
        if isinstance(line.get("message"), dict) and isinstance(line["message"].get("content"), list)
    }


def test_codex_as_polylogue_reads_it(parse, tmp_path, show):
    chance = random.Random(SEED)
    lines = codex_lines()
    for number in range(300):
        role, kind = (("user", "input_text"), ("assistant", "output_text"))[number % 2]
        payload = {
            "type": "message",
            "id": f"m{number}",
            "role": role,
            "content": [{"type": kind, "text": sentence(chance)}],
        }
        lines.append({"timestamp": "2026-01-02T03:04:05Z", "type": "response_item", "payload": payload})
    files = [write_lines(tmp_path / "rollout-x.jsonl", lines), *further("codex")]
    compared = 0
    for path in files:
        theirs = parse("polylogue codex", path)
        records = messages(read("codex", path))
        said = [(one["role"], one["text"]) for one in theirs if one["origin"] in AUTHORED and one["type"] == "message"]
        assert said == [(one.role, one.text) for one in records if one.text], path
        results = [one["text"] for one in theirs if one["type"] == "tool_result"]
        assert results == [one.tool_result for one in records if one.role == "tool"], path
        compared += len(said) + len(results)
    show(f"Codex: {compared} messages and results of {len(files)} files as polylogue reads them")


def test_claude_ai_and_gemini_cli_as_polylogue_reads_them(parse, tmp_path, show):
    chance = random.Random(SEED)
    export = [
        {"uuid": f"c{number}", "name": "x", "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
         "chat_messages": [
             {"uuid": f"{number}-{turn}", "sender": ("human", "assistant")[turn % 2],
              "text": (text := sentence(chance)),
              "content": [{"type": "text", "text": text}], "created_at": f"2026-01-02T03:04:{turn:02}Z"}
             for turn in range(chance.randint(1, 30))]}
        for number in range(20)
    ]  # fmt: skip
    path = write_json(tmp_path / "conversations.json", export)
    theirs = [one for several in parse("polylogue claude", path).values() for one in several]
    records = read("claude", path)
    assert triples(theirs) == ours(records)
    session = {
        "sessionId": "g1", "projectHash": "h", "startTime": "2026-01-02T03:04:05Z",
        "lastUpdated": "2026-01-02T03:04:05Z",
        "messages": [{"id": str(turn), "timestamp": "2026-01-02T03:04:05Z", "type": ("user", "gemini")[turn % 2],
                      "content": sentence(chance)} for turn in range(100)],
    }  # fmt: skip
    gemini = write_json(tmp_path / "session-1.json", session)
    found = parse("polylogue gemini-cli", gemini)
    assert [(one["role"], one["text"]) for one in found] == [
        (one.role, one.text) for one in messages(read("gemini-cli", gemini))
    ]
    show(f"Claude.ai: {len(theirs)} messages, Gemini CLI: {len(found)}, as polylogue reads them")


def test_slack_as_slack_export_viewer_reads_it(parse, tmp_path, show):
    files = [slack_zip(tmp_path / "slack.zip"), *further("slack")]
    compared = 0
    for path in files:
        theirs = [one for several in parse("slack-export-viewer slack", path).values() for one in several]
        records = read("slack", path)
        said = messages(records)
        left_out = sum(omissions(records).values()) - omissions(records).get(
            "a day of a folder that no list of channels names", 0
        )
        assert len(theirs) == len(said) + left_out, path
        texts = {(one.id, one.text) for one in said}
        plain = [one for one in theirs if not one["subtype"] and one["text"] and not set("<>&") & set(one["text"])]
        assert [one for one in plain if (one["ts"], one["text"]) not in texts and not _longer(one, said)] == [], path
        compared += len(theirs)
    show(f"Slack: {compared} messages of {len(files)} workspaces as slack-export-viewer reads them")


def _longer(one, said):
    """Tell whether ours has the same words and those of a preview below them."""
    return any(mine.id == one["ts"] and mine.text.startswith(one["text"]) for mine in said)


def squeezed(text):
    """Return a text without blanks: chat-miner writes lines and pieces of a text one behind another."""
    return "".join(text.split())


def whatsapp_chat(path, order, is_twelve):
    chance = random.Random(SEED)
    lines = []
    for number in range(200):
        day, month, hour, minute = number % 28 + 1, number % 12 + 1, number % 24, number % 60
        date = "/".join({"d": f"{day:02}", "m": f"{month:02}", "y": "23"}[part] for part in order)
        half = f" {'AM' if hour < 12 else 'PM'}" if is_twelve else ""
        time = f"{(hour % 12 or 12) if is_twelve else f'{hour:02}'}:{minute:02}{half}"
        lines.append(f"{date}, {time} - {('Ana', 'Tom', 'Cem')[number % 3]}: {sentence(chance)}\n")
        if number % 7 == 0:
            lines.append(f"{sentence(chance)}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_whatsapp_and_telegram_as_chat_miner_reads_them(parse, tmp_path, show):
    files = [
        whatsapp_chat(tmp_path / f"{order}{twelve}.txt", order, twelve) for order in ("dmy", "mdy") for twelve in (0, 1)
    ]
    files += [path for path in further("whatsapp") if path.suffix == ".txt"]
    compared = 0
    for path in files:
        theirs = [
            one for one in parse("chat-miner whatsapp", path) if one["author"] != "System" and one["text"].strip(" .")
        ]
        said = messages(read("whatsapp", path, ReadOptions(frozenset({"Tom"}))))
        mine = [(one.at.strftime("%Y-%m-%dT%H:%M:00"), one.author or "Tom", squeezed(one.text)) for one in said]
        assert sorted((one["at"], one["author"], squeezed(one["text"])) for one in theirs) == sorted(mine), path
        compared += len(mine)
    show(f"WhatsApp: {compared} messages of {len(files)} chats as chat-miner reads them")

    chance = random.Random(SEED)
    chat = {"name": "Group", "type": "private_group", "id": 5, "messages": [
        {"id": number, "type": "message", "date": "2026-01-02T03:04:05", "date_unixtime": str(1767300000 + number),
         "from": f"P{number % 3}", "from_id": f"user{number % 3}",
         "text": sentence(chance) if number % 2 else ["a ", {"type": "bold", "text": sentence(chance)}]}
        for number in range(200)]}  # fmt: skip
    compared = 0
    for path in (write_json(tmp_path / "result.json", chat), *further("telegram")):
        theirs = parse("chat-miner telegram", path)
        records = read("telegram", path)
        names = {one.id: one.name for one in records if type(one).__name__ == "Person"}
        mine = [(names[one.author], squeezed(one.text)) for one in messages(records)]
        assert sorted((one["author"], squeezed(one["text"])) for one in theirs) == sorted(mine), path
        compared += len(mine)
    show(f"Telegram: {compared} messages as chat-miner reads them")
