"""Histories of assistants and coding agents: what is the talk, and what is left out and said."""

import json

from keepword.histories.records import HistoryFile, HistoryMemory, Thread
from unit.histories.made import (
    chatgpt_conversation,
    claude_code_lines,
    codex_lines,
    messages,
    omissions,
    read,
    said,
    write_json,
    write_lines,
)


def test_chatgpt_reads_the_shown_talk_and_keeps_the_other_answer_as_a_branch(tmp_path):
    records = read("chatgpt", write_json(tmp_path / "conversations.json", [chatgpt_conversation()]))
    assert said(records) == [
        ("c1", "user", None, "Where is the boat?"),
        ("c1", "assistant", None, "It lies in Porto."),
        ("c1", "assistant", None, ""),
        ("c1", "tool", None, ""),
        ("c1", "user", None, "Pay for it."),
        ("c1~old", "assistant", None, "In Lisbon."),
    ]
    call, result, pay = messages(records)[2:5]
    assert (call.tool_name, call.tool_args, result.tool_result) == ("web", {"q": 1}, "200")
    assert pay.attachments[0]["file_id"] == "sediment://f1"
    assert messages(records)[5].metadata["branch"] == "old"
    assert omissions(records) == {"a hidden message": 1, "thinking": 1}


def test_chatgpt_in_parts_and_as_one_object_is_read_as_well(tmp_path):
    one = chatgpt_conversation()
    write_json(tmp_path / "conversations-000.json", [one])
    write_json(tmp_path / "conversations-001.json", {"conversations": [{**one, "conversation_id": "c2"}]})
    records = read("chatgpt", tmp_path)
    assert [one.id for one in records if isinstance(one, Thread)] == ["c1", "c1~old", "c2", "c2~old"]


def test_chatgpt_leaves_out_what_is_not_to_be_remembered_and_survives_a_circle(tmp_path):
    circle = chatgpt_conversation()
    circle["mapping"]["root"]["parent"] = "pay"
    records = read(
        "chatgpt", write_json(tmp_path / "c.json", [{**chatgpt_conversation(), "is_do_not_remember": True}, circle])
    )
    assert len([one for one in messages(records) if one.thread == "c1"]) == 5
    assert omissions(records)["a conversation that is marked as not to be remembered"] == 1


def test_a_torn_export_is_imported_up_to_the_tear_and_says_so(tmp_path):
    text = json.dumps([chatgpt_conversation(), {**chatgpt_conversation(), "conversation_id": "c2"}])
    path = tmp_path / "conversations.json"
    path.write_text(text[: len(text) - 400])
    records = read("chatgpt", path)
    assert {one.thread for one in messages(records)} == {"c1", "c1~old"}
    assert "the file is torn: imported up to there" in omissions(records)


def test_claude_code_reads_talk_and_tools_and_nothing_that_poses_as_the_user(tmp_path):
    path = write_lines(tmp_path / "-x" / "s1.jsonl", claude_code_lines())
    with path.open("a") as file:
        file.write('{"type": "user", "uuid": "torn')
    records = read("claude-code", tmp_path)
    assert [(one.id, one.role, one.text, one.tool_name, one.tool_result) for one in messages(records)] == [
        ("u1", "user", "The port is 8431.", None, None),
        ("a1", "assistant", "Noted.", None, None),
        ("a1#2", "assistant", "", "Bash", None),
        ("r1", "tool", "", None, "a\nb"),
        ("i1", "user", "Go on.", None, None),
    ]
    assert omissions(records) == {
        "thinking": 1, "a line that is there twice": 1, "a line of the program's own": 1, "a machine's recap": 1,
        "a subagent's message": 1, "injected text": 1, "the file is torn: imported up to there": 1,
    }  # fmt: skip
    assert [one for one in records if isinstance(one, Thread)][-1].title == "The port"


def test_codex_takes_each_item_once_and_leaves_out_what_was_injected(tmp_path):
    write_lines(tmp_path / "2026/01/02/rollout-2026-01-02T03-04-05-0199.jsonl", codex_lines())
    records = read("codex", tmp_path)
    assert [(one.role, one.text, one.tool_name, one.tool_result) for one in messages(records)] == [
        ("user", "Rename the port.", None, None),
        ("assistant", "", "shell", None),
        ("tool", "", None, "a\nb"),
        ("assistant", "Done.", None, None),
    ]
    assert omissions(records) == {
        "a message of role 'developer'": 1, "injected text": 2, "an event that repeats others": 1, "thinking": 1,
        "a machine's recap": 1,
    }  # fmt: skip


def test_codex_reads_its_older_files_without_envelopes_and_skips_subagents(tmp_path):
    old = [{"id": "o1", "timestamp": "2025-01-02T03:04:05Z"}, {"record_type": "state"},
           {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Old words."}]}]  # fmt: skip
    sub = codex_lines("sub")
    sub[0]["payload"]["source"] = {"subagent": "review"}
    write_lines(tmp_path / "rollout-a.jsonl", old)
    write_lines(tmp_path / "rollout-b.jsonl", sub)
    records = read("codex", tmp_path)
    assert said(records) == [("o1", "user", None, "Old words.")]
    assert omissions(records)["a subagent's session"] == 1


def test_claude_ai_reads_content_projects_and_its_recap(tmp_path):
    message = {
        "uuid": "m1",
        "sender": "human",
        "text": "flat",
        "created_at": "2026-01-02T03:04:05Z",
        "content": [{"type": "text", "text": "In full."}, {"type": "token_budget"}],
        "attachments": [{"file_name": "a.txt", "extracted_content": "Inside."}],
        "files": [{"file_name": "b.png"}],
    }
    answer = {"uuid": "m2", "sender": "assistant", "text": "Plain.", "parent_message_uuid": "m1"}
    other = {**answer, "uuid": "m3", "text": "Another.", "parent_message_uuid": "m1"}
    write_json(tmp_path / "conversations.json", [
        {"uuid": "c1", "chat_messages": [message, answer, other], "project": {"uuid": "p1", "name": "P"}},
        {"uuid": "c2", "is_temporary": True, "chat_messages": [message]},
    ])  # fmt: skip
    write_json(tmp_path / "memories.json", [{"account_uuid": "a", "conversations_memory": "Likes boats."}])
    records = read("claude", tmp_path)
    assert said(records) == [
        ("c1", "user", None, "In full.\nInside."),
        ("c1", "assistant", None, "Another."),
        ("c1~branches", "assistant", None, "Plain."),
        ("claude-memories", "assistant", None, "Likes boats."),
    ]
    assert [one["name"] for one in messages(records)[0].attachments] == ["a.txt", "b.png"]
    assert omissions(records) == {"a temporary conversation": 1}


def test_gemini_cli_follows_its_corrections(tmp_path):
    def message(id_, kind, content):
        return {"id": id_, "timestamp": "2026-01-02T03:04:05Z", "type": kind, "content": content}

    call = {"id": "t", "name": "ls", "args": {}, "result": "a"}
    lines = [
        {"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-02T03:04:05Z"},
        message("1", "user", "first"), message("1", "user", [{"text": "first, better"}]),
        message("2", "gemini", "answer") | {"toolCalls": [call], "thoughts": [{}]},
        message("3", "user", "taken back"), message("4", "gemini", "too"), {"$rewindTo": "3"},
        message("5", "info", "notice"),
    ]  # fmt: skip
    records = read("gemini-cli", write_lines(tmp_path / "session-1.jsonl", lines))
    assert [(one.role, one.text, one.tool_result) for one in messages(records)] == [
        ("user", "first, better", None), ("assistant", "answer", None), ("assistant", "", None), ("tool", "", "a"),
    ]  # fmt: skip
    assert omissions(records) == {"a message that was taken back": 2, "thinking": 1, "a message of type 'info'": 1}


def test_mem0_gives_memories_and_letta_talk_and_files(tmp_path):
    rows = [
        {"id": "1", "memory": "Likes tea.", "user_id": "tom"},
        {"id": "2", "payload": {"data": "Has a dog.", "user_id": "tom"}},
    ]
    records = read("mem0", write_json(tmp_path / "mem0.json", {"results": rows}))
    assert [(one.text, one.thread, one.author) for one in records if isinstance(one, HistoryMemory)] == [
        ("Likes tea.", "tom", "tom"), ("Has a dog.", "tom", "tom"),
    ]  # fmt: skip
    wrapped = '{"type": "user_message", "message": "Hi"}'
    agent = {
        "name": "ada", "block_ids": ["b"], "messages": [
            {"id": "0", "role": "system", "content": [{"type": "text", "text": "You are"}]},
            {"id": "1", "role": "user", "content": [{"type": "text", "text": '{"type": "heartbeat"}'}]},
            {"id": "2", "role": "user", "content": [{"type": "text", "text": wrapped}]},
            {"id": "3", "role": "assistant", "content": [], "tool_calls": [
                {"id": "t", "function": {"name": "send_message", "arguments": '{"message": "Hello."}'}}]},
        ],
    }  # fmt: skip
    value = {"agents": [agent], "blocks": [{"id": "b", "label": "human", "value": "Name: Tom"}], "tools": [{}]}
    twice_encoded = write_json(tmp_path / "ada.af", json.dumps(value))
    records = read("letta", twice_encoded)
    assert said(records) == [("ada", "user", None, "Hi"), ("ada", "assistant", None, "Hello.")]
    assert HistoryFile("ada", "human.md", "Name: Tom") in records
    assert omissions(records) == {"a system prompt": 1, "a heartbeat": 1, "tools of the agent file": 1}
