"""Run by the tests, with other people's parsers in its path: prints what one of them reads from a file, as JSON."""

import importlib
import json
import sys
import types
from datetime import datetime
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace


class NothingIsDrawn(MetaPathFinder, Loader):
    """Stands in for the libraries that draw: the parsers load them beside what is needed here."""

    def find_spec(self, name, _=None, __=None):
        return ModuleSpec(name, self) if name.partition(".")[0] in {"matplotlib", "wordcloud", "nltk"} else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: type(name, (), {}) if not name.startswith("__") else None
        return module

    def exec_module(self, _):
        return None


def load(name):
    return importlib.import_module(name)


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def of_polylogue(session):
    return [
        {
            "id": one.provider_message_id, "role": one.role.value, "text": one.text, "type": one.message_type.value,
            "origin": one.material_origin.value, "shown": one.is_active_path,
        }
        for one in session.messages
    ]  # fmt: skip


def polylogue_chatgpt(path):
    parser = load("polylogue.sources.parsers.chatgpt")
    return {one["conversation_id"]: of_polylogue(parser.parse(one, "x")) for one in json.loads(Path(path).read_text())}


def polylogue_claude(path):
    parser = load("polylogue.sources.parsers.claude.ai_parser")
    return {one["uuid"]: of_polylogue(parser.parse_ai(one, "x")) for one in json.loads(Path(path).read_text())}


def polylogue_claude_code(path):
    return of_polylogue(load("polylogue.sources.parsers.claude.code_parser").parse_code(lines(path), "x"))


def polylogue_codex(path):
    return of_polylogue(load("polylogue.sources.parsers.codex").parse(lines(path), "x"))


def polylogue_gemini_cli(path):
    return of_polylogue(
        load("polylogue.sources.parsers.local_agent").parse_gemini_cli(json.loads(Path(path).read_text()), "x")
    )


def convoviz_chatgpt(path):
    conversation = load("convoviz.models").Conversation
    # it imports this for type checkers alone
    conversation.model_rebuild(_types_namespace={"datetime": datetime})
    found = {}
    for one in json.loads(Path(path).read_text()):
        nodes = conversation(**one)._all_message_nodes
        found[one["conversation_id"]] = [
            {"id": node.message.id, "role": node.message.author.role, "text": node.message.text} for node in nodes
        ]
    return found


def slack_export_viewer(path):
    config = SimpleNamespace(
        archive=path, since=None, hide_channels=[], filter_user=None, skip_channel_member_change=False,
        show_attachments=True,
    )  # fmt: skip
    reader = load("slackviewer.reader").Reader(config)
    found = {}
    for name in ("channels", "groups", "dm_messages", "mpim_messages"):
        for where, said in getattr(reader, f"compile_{name}")().items():
            found[where] = [{key: one._message.get(key) for key in ("ts", "user", "text", "subtype")} for one in said]
    return found


def chat_miner(kind, path):
    parser = getattr(load("chatminer.chatparsers"), kind)(path)
    parser.parse_file()
    return [
        {"at": one.timestamp.isoformat(), "author": one.author, "text": one.message}
        for one in parser.parsed_messages._parsed_messages
    ]


PARSERS = {
    "polylogue chatgpt": polylogue_chatgpt,
    "polylogue claude": polylogue_claude,
    "polylogue claude-code": polylogue_claude_code,
    "polylogue codex": polylogue_codex,
    "polylogue gemini-cli": polylogue_gemini_cli,
    "convoviz chatgpt": convoviz_chatgpt,
    "slack-export-viewer slack": slack_export_viewer,
    "chat-miner whatsapp": lambda path: chat_miner("WhatsAppParser", path),
    "chat-miner telegram": lambda path: chat_miner("TelegramJsonParser", path),
}

if __name__ == "__main__":
    sys.meta_path.insert(0, NothingIsDrawn())
    answer = PARSERS[sys.argv[1]](sys.argv[2])
    sys.stdout.write("\n=== " + json.dumps(answer))
