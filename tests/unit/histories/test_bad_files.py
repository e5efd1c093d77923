"""Files that are of another kind, made to do harm, or beyond the limits: refused or limited, with the reason."""

import io
import json
import zipfile
from datetime import UTC, datetime

import pytest

from keepword.errors import BrokenArchive, InvalidInput, NotFound, TooLarge
from keepword.histories import source
from keepword.histories.drafts import MAX_TEXT_BYTES
from keepword.histories.injected import without_injected
from keepword.histories.kinds import files_of, find_kind
from keepword.histories.people import People
from keepword.histories.plan import Batch, ImportOptions, Planner
from keepword.histories.records import HistoryMessage, Person, Thread
from keepword.histories.report import ImportReport
from keepword.histories.source import open_source
from unit.histories.made import chatgpt_conversation, read, slack_zip, write_json

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def plan(records, kind="chatgpt", **options):
    report = ImportReport(kind)
    mapping, most = options.pop("mapping", {}), options.pop("most", 100)
    planner = Planner(
        ImportOptions(kind, "tom", NOW, kind, mapping=mapping, **options),
        People(kind, "tom", report, mapping, most),
        report,
    )
    return [item for item in planner.items(records) if isinstance(item, Batch)], report


def test_a_file_of_another_kind_says_which_it_looks_like(tmp_path):
    slack = slack_zip(tmp_path / "slack.zip")
    with pytest.raises(InvalidInput, match=r"holds no history of ChatGPT; it looks like Slack: import it as slack"):
        read("chatgpt", slack)
    other = write_json(tmp_path / "conversations.json", [chatgpt_conversation()])
    with pytest.raises(InvalidInput, match="looks like ChatGPT"):
        read("claude", other)
    with pytest.raises(InvalidInput, match="expected: "):
        read("telegram", write_json(tmp_path / "x.json", {"nothing": 1}))
    with pytest.raises(InvalidInput, match=r"did you mean chatgpt\?"):
        find_kind("chatgtp")
    with pytest.raises(NotFound, match="there is no"):
        open_source(tmp_path / "nowhere")


def test_a_zip_that_leads_out_of_itself_is_refused(tmp_path):
    path = tmp_path / "slip.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../conversations.json", "[]")
    with pytest.raises(BrokenArchive, match="leads out of it"):
        open_source(path)


def test_a_zip_bomb_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "RATIO_FROM_BYTES", 1 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", b"0" * (4 << 20))
    with pytest.raises(TooLarge, match="times as much"):
        open_source(path)


def test_a_folder_s_links_are_not_followed(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = write_json(tmp_path / "secret.json", [chatgpt_conversation()])
    (inside / "conversations.json").symlink_to(secret)
    with pytest.raises(InvalidInput, match="is empty"):
        files_of(open_source(inside), find_kind("chatgpt"))


def test_times_that_cannot_be_take_that_of_the_message_before():
    def at(value):
        return HistoryMessage("t", str(value), "user", "x", at=value)

    good = datetime(2025, 5, 5, tzinfo=UTC)
    batches, report = plan(
        [Thread("t"), at(good), at(datetime(1, 1, 2, tzinfo=UTC)), at(datetime(9999, 1, 1, tzinfo=UTC)), at(None)]
    )
    assert [draft["created_at"] for draft in batches[0].drafts] == [good.isoformat()] * 4
    assert report.left_out["a time that can't be: the message before gives its own"].count == 2


@pytest.mark.parametrize("said", [-1e18, 1e300, "9" * 40, "nan"])
def test_a_time_beyond_the_calendar_is_counted(said, tmp_path):
    conversation = chatgpt_conversation()
    conversation["mapping"]["ask"]["message"]["create_time"] = said
    _, report = plan(read("chatgpt", write_json(tmp_path / "conversations.json", [conversation])))
    assert report.left_out["a time that can't be: the message before gives its own"].example == "ask"


def test_ids_and_texts_over_the_limits_are_shortened_and_told_apart():
    long = "a/b" * 100
    text = "é" * MAX_TEXT_BYTES
    batches, report = plan([
        Thread(long), HistoryMessage(long, long, "user", text),
        HistoryMessage(long, long + "c", "user", "nul\0 \ud800"),
        HistoryMessage(long, "tool", "tool", tool_result=text), HistoryMessage(long, "nan", "assistant", tool_name="x",
                                                                           tool_args={"a": float("nan")}),
    ])  # fmt: skip
    drafts = [draft for batch in batches for draft in batch.drafts]
    assert len(batches[0].place.external_id) <= 200
    assert "/" not in batches[0].place.external_id
    assert len({draft["event_id"] for draft in drafts}) == len(drafts)
    assert "".join(draft.get("content", "") for draft in drafts[:-3]) == text
    assert all(len(json.dumps(draft).encode()) < 8 << 20 for draft in drafts)
    assert drafts[-3]["content"] == "nul \ufffd"
    assert set(report.left_out) == {
        "a message over 1 MiB: it is kept in parts", "signs that can't be stored: they were taken out",
        "a tool's result over 1 MiB: its beginning is kept",
    }  # fmt: skip


def test_a_hundred_thousand_people_are_refused_with_what_to_do():
    def crowd():
        yield Thread("r", "room")
        for number in range(100_000):
            yield Person(f"u{number}")
            yield HistoryMessage("r", str(number), "user", "hi", f"u{number}")

    with pytest.raises(TooLarge, match="--max-people"):
        plan(crowd(), "slack", most=10_000)


def test_a_line_without_end_is_skipped_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr("keepword.histories.json_stream.MAX_LINE_BYTES", 100)
    path = tmp_path / "s.jsonl"
    good = {"type": "user", "uuid": "1", "sessionId": "s", "message": {"content": "hi"}}
    path.write_text(json.dumps(good) + "\n" + '{"x": "' + "y" * 1000 + '"}\n' + json.dumps(good | {"uuid": "2"}) + "\n")
    report = ImportReport("claude-code")
    for record in read("claude-code", path):
        if not isinstance(record, Thread | HistoryMessage):
            report.omit(record)
    assert "a line over 0 MiB" in report.left_out


@pytest.mark.parametrize("opening", ["<system-reminder>", "<keepword-memory>", "<command-name>"])
def test_tags_without_end_cost_no_more_than_the_text(opening):
    text = opening * 40_000
    assert without_injected(text).strip().startswith("<") or opening == "<command-name>"


def test_a_source_counts_what_it_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"[]" * 1000)
    opened = open_source(path)
    with opened.open("a.json") as file:
        assert isinstance(file, io.BufferedReader)
        file.read()
    assert opened.read_bytes == 2000
