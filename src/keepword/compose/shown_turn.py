"""Shows a kept turn: each line's text is read again, under the reader's grant."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from keepword.access import Grant, Place
from keepword.answers import Source, TurnDetail, TurnLine, TurnSection
from keepword.compose.compose import FACTS, PROFILE_LINES
from keepword.compose.kept_turns import KeptLine, KeptTurn
from keepword.compose.parts import Item
from keepword.compose.ports import TurnStores
from keepword.compose.section_items import fact_items, field_items, profile_items
from keepword.recall.ports import SourceReader

# lines that the kept turn holds itself: the place, the number of further landmarks, and the message
_WITHOUT_TEXT = frozenset({"place", "more", "invocation"})
_IDENTIFIED = frozenset({"message", "summary", "memory", "landmark"})
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TurnReader:
    """`layers` are those that turns are composed of."""

    layers: TurnStores
    sources: SourceReader

    async def show(self, grant: Grant, place: Place, kept: KeptTurn, *, with_files: bool) -> TurnDetail:
        """Return the turn with the texts that may be read in its place now; `with_files`: the agent's own, too."""
        lines = [line for section in kept.lines.values() for line in section]
        texts = await self._texts(grant, place, kept, lines, with_files=with_files)
        asked = kept.turn.asked or kept.said_next
        question = texts.get(("message", str(asked)))
        sections = tuple(
            TurnSection(size.name, size.tokens, tuple(_shown(line, texts, kept) for line in kept.lines[size.name]))
            for size in kept.turn.sections
        )
        return TurnDetail(
            kept.turn, question if isinstance(question, Source) else None,
            None if question is None else "asked" if kept.turn.asked else "next",
            kept.previous, sections, tuple(kept.left_out), tuple(kept.degraded),
        )  # fmt: skip

    async def _texts(
        self, grant: Grant, place: Place, kept: KeptTurn, lines: Sequence[KeptLine], *, with_files: bool
    ) -> Mapping[_Key, Source | Item]:
        kinds = {line.kind for line in lines}
        named = [*(line.id for line in lines if line.kind in _IDENTIFIED), kept.turn.asked, kept.said_next]
        sources = await self.sources.read(grant, list(dict.fromkeys(_ids(named))))
        items: list[Item] = []
        if "fact" in kinds:
            items += fact_items(await self.layers.facts.in_place(grant, ("", ""), FACTS), "")
        if "profile" in kinds:
            items += profile_items(await self.layers.profiles.lines(grant, PROFILE_LINES), kept.turn.user, place)
        if "field" in kinds:
            items += field_items(await self.layers.working.fields.get(grant, place))
        if "file" in kinds and with_files:
            files = await self.layers.files.current(grant, kept.turn.agent)
            # in no order: there are also files of other days, which that turn did not have
            items += [Item("file", file.name, file.content or "") for file in files]
        read: dict[_Key, Source | Item] = {(item.kind, item.id): item for item in items}
        return read | {(source.kind, str(source.id)): source for source in sources}


def _ids(named: Iterable[str | UUID | None]) -> Iterable[UUID]:
    for one in named:
        with suppress(ValueError):
            if one is not None:
                yield UUID(str(one))


def _shown(line: KeptLine, texts: Mapping[_Key, Source | Item], kept: KeptTurn) -> TurnLine:
    bare = TurnLine(line.kind, line.tokens, readable=True)
    shown = replace(bare, id=line.id, score=line.score, reason=line.reason)
    if line.kind in _WITHOUT_TEXT:
        return shown
    match texts.get((line.kind, line.id)):
        case Source() as source:
            return replace(
                shown, text=source.text, conversation=source.conversation, seq=source.seq,
                who=source.user or source.agent, said_at=source.created_at,
                changed=_is_later(source.changed_at, kept) and source.kind != "message",
            )  # fmt: skip
        case Item() as item:
            return replace(
                shown, text=item.text, who=item.who or None, said_at=item.when,
                changed=line.kind in {"fact", "field", "file"} and _is_later(item.when, kept),
            )  # fmt: skip
    return replace(bare, readable=False)


def _is_later(at: datetime | None, kept: KeptTurn) -> bool:
    return at is not None and at > kept.turn.created_at
