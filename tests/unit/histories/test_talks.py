"""Histories of talks between people: who speaks, and which kind of place it was."""

import pytest

from keepword.errors import InvalidInput
from keepword.histories.options import ReadOptions
from keepword.histories.records import Person, Thread
from unit.histories.made import messages, omissions, read, said, slack_zip, write_json


def test_slack_reads_days_marks_and_bots_once(tmp_path):
    records = read("slack", slack_zip(tmp_path / "slack.zip"))
    assert {one.id: one.kind for one in records if isinstance(one, Thread)} == {
        "C1": "room", "G1": "room", "M1": "room", "D1": "direct", "D2": "direct",
    }  # fmt: skip
    assert [one for one in said(records) if one[0] == "C1"] == [
        ("C1", "user", "U1", "Ask @ben & see the page (https://a.example)"),
        ("C1", "user", "U4", "Somebody who left."),
        ("C1", "assistant", "B1", "Build 7 is green."),
    ]
    assert omissions(records) == {
        "a message that is there twice": 1, "a line of type 'channel_join'": 1, "a deleted message": 1,
        "a day of a folder that no list of channels names": 1,
    }  # fmt: skip


def test_telegram_knows_the_owner_and_the_kind_of_each_chat(tmp_path):
    def chat(id_, kind, *pairs):
        made = [
            {
                "id": number,
                "type": "message",
                "date_unixtime": "1767300000",
                "from": name,
                "from_id": f"user{user}",
                "text": text,
            }
            for number, (user, name, text) in enumerate(pairs)
        ]
        return {
            "name": f"chat {id_}",
            "type": kind,
            "id": id_,
            "messages": [*made, {"type": "service", "action": "pin"}],
        }

    account = {
        "personal_information": {"user_id": 1},
        "chats": {"list": [
            chat(2, "personal_chat", (1, "Tom", "mine"), (2, "Ana", ["bold ", {"type": "bold", "text": "words"}])),
            chat(9, "private_group", (2, "Ana", "to all")), chat(7, "strange", (3, None, "unknown")),
        ]},
        "left_chats": {"list": [chat(8, "public_channel", (1, "Tom", "before I left"))]},
    }  # fmt: skip
    records = read("telegram", write_json(tmp_path / "result.json", account))
    assert [(one.id, one.kind) for one in records if isinstance(one, Thread)] == [
        ("2", "direct"), ("9", "room"), ("7", "session"), ("8", "room"),
    ]  # fmt: skip
    assert said(records) == [
        ("2", "user", None, "mine"), ("2", "user", "user2", "bold words"), ("9", "user", "user2", "to all"),
        ("7", "user", "user3", "unknown"), ("8", "user", None, "before I left"),
    ]  # fmt: skip
    assert Person("user1", "Tom", is_owner=True) in records
    assert omissions(records)["the type 'strange' of a chat: it is kept for its owner alone"] == 1


WHATSAPP = {
    "ios": "[12.03.22, 14:08:18] Ana: Hello\nsecond line\n[13.03.22, 09:00:00] Tom: a: b\n"
    "\u200e[13.03.22, 09:01:00] Tom: \u200eimage omitted\n",
    "android": "3/12/22, 2:08\u202fPM - Ana: Hello\nsecond line\n3/13/22, 9:00\u202fAM - Tom: a: b\n"
    "3/13/22, 9:01\u202fAM - Tom: <Media omitted>\n",
    "finnish": "12.3.2022 klo 14.08 - Ana: Hello\nsecond line\n13.3.2022 klo 9.00 - Tom: a: b\n"
    "13.3.2022 klo 9.01 - Tom: <Media omitted>\n",
}


@pytest.mark.parametrize("way", WHATSAPP)
def test_whatsapp_reads_each_way_of_dates(way, tmp_path):
    path = tmp_path / "WhatsApp Chat with Ana.txt"
    path.write_text(WHATSAPP[way], encoding="utf-8")
    records = read("whatsapp", path)
    first, second, picture = messages(records)
    assert (first.author, first.text, second.author, second.text) == ("Ana", "Hello\nsecond line", None, "a: b")
    assert [(one.at.month, one.at.day, one.at.hour) for one in (first, second)] == [(3, 12, 14), (3, 13, 9)]
    assert picture.text == ""
    assert picture.attachments[0]["type"] in {"image", "media"}
    assert next(one for one in records if isinstance(one, Thread)).kind == "direct"


def test_whatsapp_asks_where_a_file_does_not_tell(tmp_path):
    path = tmp_path / "_chat.txt"
    path.write_text("[01.02.22, 14:08:18] Ana: Hello\n[01.02.22, 14:08:18] Tom: Hi\n[01.02.22, 14:08:18] Tom: Hi\n")
    with pytest.raises(InvalidInput, match="--day-first"):
        read("whatsapp", path)
    (omission,) = omissions(read("whatsapp", path, ReadOptions(day_first=True)))
    assert "say which one you are" in omission
    records = read("whatsapp", path, ReadOptions(frozenset({"Tom"}), day_first=True))
    assert [one.author for one in messages(records)] == ["Ana", None, None]
    assert len({one.id for one in messages(records)}) == 3


def test_discord_tells_a_direct_channel_from_others(tmp_path):
    def export(kind, name, *pairs):
        return {
            "guild": {"id": "0", "name": "Direct Messages"}, "channel": {"id": "77", "type": kind, "name": name},
            "messages": [
                {"id": str(number), "type": "Default", "timestamp": "2026-01-02T03:04:05+02:00", "content": text,
                 "author": {"id": author, "name": author, "isBot": False}, "attachments": []}
                for number, (author, text) in enumerate(pairs)
            ],
        }  # fmt: skip

    pairs = [("ana", "hello"), ("tom", "hi")]
    direct = read("discord", write_json(tmp_path / "a.json", export("DirectTextChat", "ana", *pairs)))
    assert said(direct) == [("77", "user", "ana", "hello"), ("77", "user", None, "hi")]
    assert next(one for one in direct if isinstance(one, Thread)).kind == "direct"
    group = read("discord", write_json(tmp_path / "b.json", export("GuildTextChat", "talk", *pairs)))
    assert next(one for one in group if isinstance(one, Thread)).kind == "room"
    assert [one.author for one in messages(group)] == ["ana", "tom"]
