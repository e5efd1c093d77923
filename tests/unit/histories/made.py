"""Small histories of every kind, as their programs write them."""

import json
import zipfile
from collections import Counter
from pathlib import Path

from keepword.histories.kinds import files_of, find_kind
from keepword.histories.options import ReadOptions
from keepword.histories.records import HistoryMessage, Omission
from keepword.histories.source import open_source

NO_OPTIONS = ReadOptions()


def read(kind, path, options=NO_OPTIONS):
    source = open_source(path)
    history = find_kind(kind)
    return list(history.read(source, files_of(source, history), options))


def messages(records):
    return [one for one in records if isinstance(one, HistoryMessage)]


def omissions(records):
    counts = Counter()
    for one in records:
        if isinstance(one, Omission):
            counts[one.what] += one.count
    return dict(counts)


def said(records):
    return [(one.thread, one.role, one.author, one.text) for one in messages(records)]


def write_lines(path: Path, lines) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_json(path: Path, value) -> Path:
    path.write_text(json.dumps(value))
    return path


def node(name, parent, children, role, *parts, **more):
    author = more.pop("author", {"role": role, "name": None, "metadata": {}})
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {"id": name, "author": author, "content": content, "create_time": 1.7e9, "recipient": "all", **more}
    return {"id": name, "parent": parent, "children": children, "message": message}


def chatgpt_conversation():
    """Return a conversation with a regenerated answer, a tool call, thinking and a hidden message."""
    nodes = [
        {"id": "root", "parent": None, "children": ["system"], "message": None},
        node("system", "root", ["ask"], "system", "You are helpful.", weight=0),
        node("ask", "system", ["old", "new"], "user", "Where is the boat?"),
        node("old", "ask", [], "assistant", "In Lisbon."),
        node("new", "ask", ["think"], "assistant", "It lies in Porto\ue200cite\ue202turn0\ue201.", metadata={}),
        node("think", "new", ["call"], "assistant", content={"content_type": "thoughts", "thoughts": []}),
        node("call", "think", ["result"], "assistant", recipient="web",
             content={"content_type": "code", "text": '{"q": 1}'}),
        node("result", "call", ["pay"], "tool", content={"content_type": "execution_output", "text": "200"},
             author={"role": "tool", "name": "web"}),
        node("pay", "result", [], "user", "Pay for it.",
             content={"content_type": "multimodal_text",
                      "parts": ["Pay for it.", {"content_type": "image_asset_pointer", "asset_pointer": "sediment://f1"}]}),
    ]  # fmt: skip
    return {
        "conversation_id": "c1", "title": "Boats", "current_node": "pay", "create_time": None,
        "mapping": {one["id"]: one for one in nodes},
    }  # fmt: skip


def claude_code_lines(session="s1"):
    def line(uuid, role, content, **more):
        at = f"2026-01-02T03:04:0{len(uuid)}Z"
        message = {"role": role, "content": content}
        return {
            "type": role,
            "uuid": uuid,
            "sessionId": session,
            "timestamp": at,
            "cwd": "/nowhere/x",
            "message": message,
            **more,
        }

    return [
        {"type": "ai-title", "aiTitle": "The port", "sessionId": session},
        line("u1", "user", "The port is 8431."),
        line("a1", "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted."},
                                 {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
        line("r1", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a\nb"}]),
        line("u1", "user", "a second u1"),
        line("i1", "user", "<keepword-memory>\nold\n</keepword-memory>\nGo on.<system-reminder>no</system-reminder>"),
        line("m1", "user", "caveat", isMeta=True),
        line("c1", "user", "all so far", isCompactSummary=True),
        line("s1", "assistant", "of a subagent", isSidechain=True),
        line("k1", "user", "<command-name>/clear</command-name><command-args></command-args>"),
    ]  # fmt: skip


def codex_lines(session="0199"):
    def item(**payload):
        return {"timestamp": "2026-01-02T03:04:05Z", "type": "response_item", "payload": payload}

    def text(role, *texts, kind="input_text"):
        return item(type="message", role=role, content=[{"type": kind, "text": one} for one in texts])

    return [
        {"timestamp": "2026-01-02T03:04:05Z", "type": "session_meta", "payload": {"id": session, "cwd": "/nowhere/x"}},
        text("developer", "rules"),
        text("user", "# AGENTS.md instructions for x", "<environment_context>x</environment_context>"),
        text("user", "Rename the port."),
        {"timestamp": "t", "type": "event_msg", "payload": {"type": "user_message", "message": "Rename the port."}},
        item(type="reasoning", encrypted_content="x"),
        item(type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="k1"),
        item(type="function_call_output", call_id="k1", output="a\nb"),
        text("assistant", "Done.", kind="output_text"),
        {"timestamp": "t", "type": "compacted", "payload": {"message": "all so far"}},
    ]


def slack_zip(path: Path) -> Path:
    """Write a workspace: a channel, a private one, a direct conversation of two, one of two others, one of three."""
    people = [{"id": f"U{number}", "name": name, "profile": {"real_name": name.title()}}
              for number, name in enumerate(("ana", "ben", "cem", "dia"), 1)]  # fmt: skip
    day = "2026-01-02.json"
    first = {
        "type": "message",
        "user": "U1",
        "text": "Ask <@U2> &amp; see <https://a.example|the page>",
        "ts": "1767300000.000100",
    }
    bot = {"type": "message", "subtype": "bot_message", "bot_id": "B1", "text": "Build 7 is green."}
    between = [
        {**first, "text": "Between us: I resign."},
        {**first, "user": "U2", "text": "Oh no.", "ts": "1767300005.0"},
    ]
    files = {
        "users.json": people,
        "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2", "U3"]}],
        "groups.json": [{"id": "G1", "name": "board", "members": ["U1"]}],
        "dms.json": [{"id": "D1", "members": ["U1", "U2"]}, {"id": "D2", "members": ["U2", "U3"]}],
        "mpims.json": [{"id": "M1", "name": "mpdm-ana--ben--cem-1", "members": ["U1", "U2", "U3"]}],
        f"general/{day}": [
            first,
            {**first, "user": "U4", "text": "Somebody who left.", "ts": "1767300001.000100"},
            {**first, "subtype": "thread_broadcast", "thread_ts": "1767300000.000000"},
            {"type": "message", "subtype": "channel_join", "user": "U2", "text": "joined", "ts": "1767300002.000100"},
            {**bot, "ts": "1767300003.000100"},
            {"type": "message", "subtype": "tombstone", "text": "This message was deleted.", "ts": "1767300004.000100"},
        ],
        f"board/{day}": [{**first, "text": "The board meets in Oslo."}],
        f"D1/{day}": between,
        f"D2/{day}": [{**first, "user": "U3", "text": "Our secret of two others."}],
        f"mpdm-ana--ben--cem-1/{day}": [{**first, "text": "The three of us."}],
        f"D9/{day}": [{**first, "text": "Of no list."}],
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in files.items():
            file.writestr(name, json.dumps(value))
    return path
