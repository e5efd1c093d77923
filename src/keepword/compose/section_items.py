"""Turns each layer's rows into items. Scores are for filling within a section, not across."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from keepword.access import Place
from keepword.answers import AgentFile, BufferedMessage, Landmark, Summary, ToolsAs
from keepword.compaction.render import call_lines
from keepword.compose.dedupe import flatten
from keepword.compose.files import composed_names
from keepword.compose.parts import Item, LandmarkItem, SummaryItem, ToolCall, ToolResult, TranscriptMessage
from keepword.compose.tool_turns import arguments_of, frame_tokens
from keepword.compose.untrusted_text import sanitize_label, shorten
from keepword.facts import StoredFact
from keepword.profiles import ProfileLine, distinct_lines
from keepword.recall import RankedHit

# facts about one user come before facts about everybody
_SCOPE_SCORES = {"user": 0.9, "room": 0.8, "project": 0.7, "global": 0.5}
_OLDER = 0.9
# a longer message is shown by its beginning and its end
MAX_MESSAGE_CHARS = 16_000


def place_items(place: Place, agent: str, user: str | None, today: date) -> list[Item]:
    where = {"room": f"room {place.room}", "direct": "a direct conversation", "session": "a session"}[place.kind]
    lines = {
        "place": where + (f", project {place.project.id}" if place.project else ""),
        "conversation": place.external_id,
        "people": ", ".join(sorted(place.users)) if place.kind == "room" else place.user,
        "agent": agent,
        "speaks now": user,
        "today": f"{today:%Y-%m-%d, %A}",
    }
    return [
        Item("place", name, f"{name}: {sanitize_label(value)}", reason="where this turn happens")
        for name, value in lines.items()
        if value
    ]


def file_items(files: Iterable[AgentFile], today: date) -> list[Item]:
    """Return the files in the order in which they are composed, each worth more than those after it."""
    order = composed_names(today)
    return [
        Item(
            "file", file.name, file.content or "", 1.0 - order.index(file.name) / 10, "the agent's own file", file.name
        )
        for file in sorted(files, key=lambda one: order.index(one.name))
    ]


def field_items(fields: Mapping[str, str]) -> list[Item]:
    return [
        Item("field", name, f"{name}: {fields[name]}", reason="working memory of this conversation")
        for name in sorted(fields)
    ]


def fact_items(facts: Iterable[StoredFact], message: str) -> list[Item]:
    message_words = set(flatten(message).split())
    return [
        Item(
            "fact", f"{fact.subject.kind}:{fact.subject.id or '-'}:{fact.key}", f"{fact.key} = {fact.value}",
            _SCOPE_SCORES[fact.subject.kind] + _overlap(message_words, f"{fact.key} {fact.value}"),
            f"fact, version {fact.version}", _whose(fact.subject.kind, fact.subject.id), fact.subject.run_id,
            fact.updated_at, (str(fact.source),) if fact.source else (),
        )
        for fact in facts
    ]  # fmt: skip


def profile_items(lines: Iterable[ProfileLine], user: str | None, place: Place) -> list[Item]:
    return [
        Item(
            "profile", str(line.memory or f"{line.profile_id}:{line.position}"), line.text, _profile_score(line, user),
            _profile_reason(line, place), "workspace" if line.user is None else f"about {line.user}",
            line.run_id, line.said_at or line.updated_at, tuple(map(str, line.sources)),
        )
        for line in distinct_lines(lines)
    ]  # fmt: skip


def _profile_score(line: ProfileLine, user: str | None) -> float:
    whose = 1.0 if line.user is not None and line.user == user else 0.7 if line.user is None else 0.5
    # lines that were shared by hand come first; the others by importance
    return whose * (1.0 if line.memory is None else 0.5 + line.importance / 2)


def _profile_reason(line: ProfileLine, place: Place) -> str:
    if line.memory is None:
        return "profile, shared by hand"
    if line.run_id == place.run_id:
        return "profile, said here"
    if place.kind == "room":
        return f"profile, said in {line.run_id} and shown here by the setting profiles_in_rooms: all"
    return f"profile, said in {line.run_id}"


def recall_items(hits: Iterable[RankedHit], agent: str) -> list[Item]:
    return [
        Item(
            hit.kind, str(hit.id), hit.text, hit.score, _because(hit, agent), _who(hit),
            hit.run_id if hit.seq is None else f"{hit.run_id} #{hit.seq}", hit.created_at, entry=hit.entry,
            similarity=hit.similarity, conversation=hit.conversation,
            seqs=hit.covers if hit.seq is None else (hit.seq, hit.seq), memories=tuple(map(str, hit.memories)),
        )
        for hit in hits
    ]  # fmt: skip


def _who(hit: RankedHit) -> str:
    # a summary tells what was said in a conversation, by whomever
    if hit.kind == "summary":
        return f"summary of {hit.conversation}" if hit.conversation else "summary"
    return hit.user or hit.agent or hit.kind


def pinned_items(landmarks: Iterable[Landmark], place: Place) -> list[LandmarkItem]:
    return [
        LandmarkItem(
            Item(
                "landmark", str(one.id), one.text, 1.0, f"pinned {one.kind}", one.user or one.agent or one.role,
                place.run_id if one.conversation == place.external_id else one.conversation, one.said_at,
                (str(one.message),),
            ),
            one.message,
        )
        for one in landmarks
    ]  # fmt: skip


def summary_items(summaries: Sequence[Summary], place: Place) -> list[SummaryItem]:
    """Return the summaries oldest first, given newest first; the newest counts most."""
    items = [
        SummaryItem(
            Item(
                "summary", str(one.id), one.content, _OLDER**age, f"{one.tier} summary of {one.message_count} messages",
                f"{one.tier} summary", place.run_id, one.earliest_at,
            ),
            one.conversation, one.first_seq, one.last_seq, _decisions(one),
        )
        for age, one in enumerate(summaries)
    ]  # fmt: skip
    return items[::-1]


def _decisions(summary: Summary) -> tuple[str, ...]:
    # an agent that tells a summary may put anything there
    decisions = summary.key_decisions
    return tuple(one for one in decisions if isinstance(one, str)) if isinstance(decisions, Sequence) else ()


def transcript_messages(
    entries: Iterable[BufferedMessage], place: Place, agent: str, tools_as: ToolsAs = "calls"
) -> list[TranscriptMessage]:
    """Return the last messages; with `tools_as` "calls", the agent's tool calls also as calls and results."""
    return [_transcript_message(entry, place, agent, tools_as) for entry in entries]


def _transcript_message(entry: BufferedMessage, place: Place, agent: str, tools_as: ToolsAs) -> TranscriptMessage:
    is_own = entry.agent in {None, agent}
    call, result = (_call(entry), _result(entry)) if is_own and tools_as == "calls" else (None, None)
    spoken = "\n".join(_spoken(entry)) if call or result else ""
    return TranscriptMessage(
        Item(
            "message", str(entry.id), shorten(_text(entry), MAX_MESSAGE_CHARS), 1.0,
            "among the last messages",
            (entry.user or "user") if entry.role == "user" else (entry.agent or entry.role),
            f"{place.run_id} #{entry.seq}", entry.ts, extra_tokens=frame_tokens(call, result),
        ),
        entry.conversation, entry.seq, "assistant" if entry.role == "assistant" and is_own else "user",
        call, result, shorten(spoken, MAX_MESSAGE_CHARS),
    )  # fmt: skip


def _call(entry: BufferedMessage) -> ToolCall | None:
    if entry.role not in {"assistant", "tool"} or entry.tool_name is None or not _is_call(entry):
        return None
    return ToolCall(entry.tool_call_id, entry.tool_name, arguments_of(entry.tool_args, MAX_MESSAGE_CHARS))


def _result(entry: BufferedMessage) -> ToolResult | None:
    if entry.role not in {"assistant", "tool"} or entry.tool_result is None:
        return None
    return ToolResult(entry.tool_call_id, entry.tool_name, shorten(entry.tool_result, MAX_MESSAGE_CHARS))


def _is_call(entry: BufferedMessage) -> bool:
    return entry.tool_name is not None and (entry.tool_args is not None or entry.tool_result is None)


def _spoken(entry: BufferedMessage) -> Iterator[str]:
    if entry.text:
        yield entry.text
    if entry.attachments:
        yield f"attached: {json.dumps(list(entry.attachments), ensure_ascii=False)}"


def _text(entry: BufferedMessage) -> str:
    return "\n".join(filter(None, (entry.text, *call_lines(entry))))


def _because(hit: RankedHit, agent: str) -> str:
    reason = f"found by {', '.join(hit.why.arms)}" if hit.why else "found by search"
    if hit.superseded_by is not None:
        reason += "; superseded since"
    return reason if hit.agent in {None, agent} else f"{reason}; said with {hit.agent}, which counts less"


def _whose(kind: str, id_: str | None) -> str:
    return "workspace" if id_ is None else f"{kind} {id_}"


def _overlap(message_words: set[str], text: str) -> float:
    own = set(flatten(text.replace("_", " ")).split())
    return len(own & message_words) / len(own) if own else 0.0
