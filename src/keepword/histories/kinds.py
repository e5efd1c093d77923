"""The kinds of histories: by what a file is known, and who reads it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from keepword.errors import InvalidInput
from keepword.histories import (
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    discord,
    gemini_cli,
    letta,
    mem0,
    slack,
    telegram,
    whatsapp,
)
from keepword.histories.options import ReadOptions
from keepword.histories.records import Record
from keepword.histories.source import Source
from keepword.wording import instead, nearest

_SLACK_DAY_CHARS = len("2026-01-01.json")
# in what a kind's files are told from others: most of them have one sort of file
_CHECKED_FILES = 25
_CHAT_LINES = 20


@dataclass(frozen=True, slots=True)
class HistoryKind:
    """`name` is what the command line calls it. `is_talk`: several people speak, so who they are is asked."""

    name: str
    title: str
    read: Callable[[Source, list[str], ReadOptions], Iterator[Record]]
    hint: str
    is_talk: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        HistoryKind("claude-code", "Claude Code", claude_code.read, "~/.claude/projects"),
        HistoryKind("chatgpt", "ChatGPT", chatgpt.read, "the zip of its data export, or conversations.json"),
        HistoryKind("claude", "Claude.ai", claude_ai.read, "the zip of its data export, or conversations.json"),
        HistoryKind("codex", "Codex", codex.read, "~/.codex/sessions"),
        HistoryKind("slack", "Slack", slack.read, "the zip of a workspace's export", is_talk=True),
        HistoryKind("telegram", "Telegram", telegram.read, "result.json of Telegram Desktop", is_talk=True),
        HistoryKind("whatsapp", "WhatsApp", whatsapp.read, "the zip or text of an exported chat", is_talk=True),
        HistoryKind("discord", "Discord", discord.read, "the JSON of DiscordChatExporter", is_talk=True),
        HistoryKind("mem0", "mem0", mem0.read, "memories as JSON"),
        HistoryKind("gemini-cli", "Gemini CLI", gemini_cli.read, "~/.gemini/tmp"),
        HistoryKind("letta", "Letta", letta.read, "an agent file, .af"),
    )
}


def find_kind(name: str) -> HistoryKind:
    if name not in KINDS:
        raise InvalidInput(f"{name!r} is no kind of history; {instead(KINDS, nearest(name, KINDS))}", "kind")
    return KINDS[name]


def files_of(source: Source, kind: HistoryKind) -> list[str]:
    """Return the files of that kind. Raises InvalidInput that says what the source looks like, where there is none."""
    sizes = source.sizes()
    if not sizes:
        raise InvalidInput(f"{source.path} is empty", "path")
    names = [name for name in sizes if _may_be(kind.name, name) and kind_of(source, name) == kind.name]
    if kind.name == "slack" and not any(name.rpartition("/")[2] in slack.LISTS for name in sizes):
        names = []
    if not names:
        like = looks_like(source, sizes)
        meant = f"; it looks like {KINDS[like].title}: import it as {like}" if like else f"; expected: {kind.hint}"
        raise InvalidInput(f"{source.path} holds no history of {kind.title}{meant}", "path")
    return names


def looks_like(source: Source, sizes: dict[str, int]) -> str | None:
    """Return the kind that the first files which are of any kind have."""
    names = [name for name in sizes if not name.endswith((".png", ".jpg", ".webp", ".dat"))]
    lists = [name for name in names if name.rpartition("/")[2] in slack.LISTS]
    for name in [*lists, *names][:_CHECKED_FILES]:
        if (kind := kind_of(source, name)) is not None:
            return kind
    return None


def _may_be(kind: str, name: str) -> bool:
    base = name.rpartition("/")[2]
    if kind == "whatsapp":
        return base.endswith(".txt")
    if kind == "letta":
        return base.endswith((".af", ".json"))
    if kind in {"claude-code", "codex"}:
        return base.endswith((".jsonl", codex.PACKED)) and "/subagents/" not in f"/{name}"
    return base.endswith((".json", ".jsonl")) and not base.startswith(".")


def kind_of(source: Source, name: str) -> str | None:
    """Return the kind of history that a file holds, by its name and its beginning."""
    base = name.rpartition("/")[2]
    if base in slack.LISTS or (len(base) == _SLACK_DAY_CHARS and base[4:8:3] == "--"):
        return "slack"
    if base.endswith(codex.PACKED):
        return "codex"
    if base.endswith(".af"):
        return "letta"
    head = source.head(name).decode("utf-8", errors="replace")
    if base.endswith(".txt"):
        first = [whatsapp.parse_line(line) for line in head.lstrip("\ufeff\u200e").splitlines()[:_CHAT_LINES]]
        return "whatsapp" if any(first) else None
    return _by_fields(base, head)


def _by_fields(base: str, head: str) -> str | None:
    """Tell a kind by the fields that its files begin with; the first that fits."""

    def has(*names: str) -> bool:
        return all(f'"{name}"' in head for name in names)

    if base.endswith(".jsonl"):
        lines: list[tuple[str, bool]] = [
            ("codex", has("payload") or has("record_type")),
            ("gemini-cli", has("sessionId") and (has("projectHash") or has("startTime") or has("$set"))),
            ("claude-code", has("sessionId") or has("uuid", "message")),
            ("codex", has("role", "content", "type") and "rollout" in base),
            ("mem0", has("id") and (has("memory") or has("payload"))),
        ]
        return next((kind for kind, fits in lines if fits), None)
    whole: list[tuple[str, bool]] = [
        ("chatgpt", has("mapping") and base != "shared_conversations.json"),
        ("claude", has("chat_messages") or (base == "memories.json" and has("conversations_memory"))),
        ("claude", base == "projects.json" and has("prompt_template")),
        ("discord", has("guild", "channel")),
        ("gemini-cli", has("sessionId", "messages")),
        ("letta", '\\"messages\\"' in head or has("agents") or has("core_memory") or has("agent_type")),
        ("telegram", has("personal_information") or has("chats", "list") or (has("messages") and _is_telegram(head))),
        ("mem0", has("id") and (has("memory") or has("payload"))),
    ]
    return next((kind for kind, fits in whole if fits), None)


def _is_telegram(head: str) -> bool:
    return '"date_unixtime"' in head or '"personal_chat"' in head or '_group"' in head or '_channel"' in head
