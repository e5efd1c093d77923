"""No pattern of the package takes more than linear time, whatever it is run on."""

import ast
import gc
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

import hostile
import keepword
from keepword.compaction import extractive, landmarks
from keepword.compaction.sources import ConversationHeading, SummarySource
from keepword.compose import untrusted_text
from keepword.compose.dedupe import flatten
from keepword.embedding import message_parts
from keepword.faithfulness import Sources, check_faithful
from keepword.llm.chat import strip_thinking
from keepword.memories import rules
from keepword.model import Message
from keepword.patterns import KNOWN, KnownPattern
from keepword.recall.question import literals, named_dates, speaker_asked_for

AT = datetime(2026, 5, 1, tzinfo=UTC)
MIB = 1024 * 1024
MAX_SECONDS = 0.05
# of all pieces of 1 MiB together
MAX_SECONDS_IN_PIECES = 2.0
# what a match costs that is found and handed over, whatever the pattern
MATCH_SECONDS = 0.3e-6
# how much longer four times the text may take, and how much slower a busy machine may be
GROWTH, BUSY = 5.5, 3
# of the time that a text of this size may take before a larger one is tried; anything quadratic takes far more
SMALL, SMALL_SECONDS = 8 * 1024, 0.03
# who compiles patterns elsewhere, and why it can't hurt
EXEMPT = {
    "keepword.patterns": "the place for them",
    "keepword.postgres.queries": "reads the package's own SQL files, when it starts",
    "keepword.postgres.embedded.cluster": "reads the path of the data folder, which is a setting",
    "keepword.postgres.recall": "compiles a short pattern that the database refused; never runs it",
    "keepword.http.middleware": "matches at most 65 bytes of a header, from its beginning",
    "keepword.archive.reading": "matches the first bytes of a line of an archive, which an operator imports",
}
ROOT = Path(keepword.__file__).parent


def _import_all() -> None:
    for module in pkgutil.walk_packages(keepword.__path__, "keepword."):
        if module.name.endswith("__main__"):
            continue
        # an adapter's framework is an extra that may not be installed
        with suppress(ModuleNotFoundError) if module.name.startswith("keepword.adapters.") else nullcontext():
            importlib.import_module(module.name)


_import_all()


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        yield name, ast.parse(path.read_text())


def _imported(tree: ast.Module) -> set[str]:
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return found | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_patterns_are_compiled_in_one_place():
    others = {name for name, tree in _modules() if _imported(tree) & {"re", "regex", "re2", "sre_compile"}}
    assert others == set(EXEMPT)


def test_every_pattern_is_known_when_its_module_is_imported():
    makers = {"anywhere", "at_start", "in_short", "at_start_of_short"}
    late = [
        f"{name}:{call.lineno}"
        for name, tree in _modules()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        and getattr(function, "name", "") != "rule"  # it is called while its module is imported
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in makers
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "patterns"
    ]
    assert late == []


def _uses(known: KnownPattern) -> list[Callable[[str], int]]:
    pattern = known.pattern
    if known.use == "at_start":
        return [lambda text: bool(pattern.match(text)), lambda text: bool(pattern.fullmatch(text))]
    return [lambda text: sum(1 for _ in pattern.finditer(text))]


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Keep the collection of garbage out of the times: in a process that ran other tests it takes half a second."""
    gc.disable()
    yield
    gc.enable()


def _seconds(use: Callable[[str], int], text: str, enough: float = 0.0) -> tuple[float, int]:
    """Return the least CPU time of three runs, and the number of matches; one that is quick enough counts at once."""
    best, matches = float("inf"), 0
    for _ in range(3):
        began = time.thread_time()
        matches = use(text)
        best = min(best, time.thread_time() - began)
        # what takes ten times as long does not get quick by trying again
        if best <= enough or best > 10 * enough > 0:
            break
    return best, matches


def _distinct() -> list[KnownPattern]:
    return list({(one.pattern, one.use, one.most_chars): one for one in KNOWN}.values())


def slow(known: KnownPattern) -> str | None:
    """Say on what a pattern is too slow; None if it is not."""
    return _slow_in_pieces(known, known.most_chars) if known.most_chars else _slow_in_long(known)


def _slow_in_pieces(known: KnownPattern, most_chars: int) -> str | None:
    """One piece of the greatest length may take as long as 1 MiB may; and 1 MiB of them not for ever."""
    pieces = MIB / most_chars
    for text in hostile.texts(most_chars):
        for use in _uses(known):
            enough = min(MAX_SECONDS, MAX_SECONDS_IN_PIECES / pieces)
            seconds, matches = _seconds(use, text, enough)
            if seconds > BUSY * (enough + MATCH_SECONDS * matches):
                return f"{seconds * 1000:.2f} ms for {most_chars} characters of {text[:40]!r}"
    return None


def _slow_in_long(known: KnownPattern) -> str | None:
    found: list[tuple[float, int, Callable[[str], int]]] = []
    for number, text in enumerate(hostile.texts(SMALL)):
        for use in _uses(known):
            for size in (256, 512, 1024, 2048, SMALL):
                seconds, _ = _seconds(use, text[:size], SMALL_SECONDS)
                if seconds > SMALL_SECONDS:
                    return f"{seconds * 1000:.0f} ms for {size} characters of {text[:40]!r}"
            found.append((seconds, number, use))
    found.sort(key=lambda one: -one[0])
    slowest = ((use, hostile.MAKERS[number](MIB)) for _, number, use in found[:3])
    return next((reason for use, text in slowest if (reason := _slow_at_full_size(use, text))), None)


def _slow_at_full_size(use: Callable[[str], int], text: str) -> str | None:
    part, _ = _seconds(use, text[: MIB // 16], MAX_SECONDS)
    if part > BUSY * MAX_SECONDS:
        return f"{part * 1000:.0f} ms for 64 KiB of {text[:40]!r}"
    seconds, matches = _seconds(use, text, MAX_SECONDS)
    if seconds <= MAX_SECONDS + MATCH_SECONDS * matches:
        return None
    # a machine that does much else takes longer for everything; then the growth tells
    quarter, _ = _seconds(use, text[: len(text) // 4])
    if seconds > GROWTH * quarter or seconds > BUSY * (MAX_SECONDS + MATCH_SECONDS * matches):
        return f"{seconds * 1000:.0f} ms for 1 MiB of {text[:40]!r} with {matches} matches"
    return None


@pytest.mark.parametrize("known", _distinct(), ids=lambda known: known.pattern.pattern[:40])
def test_a_pattern_takes_linear_time_on_hostile_text(known):
    # what is not linear is slow every time; a disturbed measurement is made again
    assert slow(known) is None or slow(known) is None


@pytest.mark.parametrize(
    "source",
    [
        r"^[ \t]*(?:#*[ \t]*(?:known)?[ \t]*(?:memory)\b)",  # cubic in blanks
        r"<(?=\s*[/!?|]?\s*(?:system))",
        r"[\w@#$~./:\\+-]*[\w/]",
        r"\[(?:image|file)\b[^\]]*\]",
        r"\bhttps?://[^\s]*?\bspec\b",
        r"\s+$",
    ],
)
def test_a_pattern_that_is_not_linear_is_found(source):
    assert slow(KnownPattern(re.compile(source, re.IGNORECASE | re.MULTILINE), "anywhere"))


def _message(text: str) -> Message:
    return Message(UUID(int=1), "c", 1, "user", "ann", "helper", text, None, None, None, [], {}, None, AT)


def _summarize(text: str) -> object:
    return extractive.summarize(
        SummarySource(ConversationHeading("c", "helper", "api"), "thread", [_message(text)]), len(text) // 4
    )


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "rules": lambda text: rules.extract([_message(text)]),
    "landmarks": landmarks.detect,
    "extractive summary": _summarize,
    "faithfulness gate": lambda text: check_faithful(text, Sources([text])),
    "neutralise": untrusted_text.sanitize,
    "dedupe": flatten,
    "question": lambda text: (named_dates(text[:8000]), speaker_asked_for(text[:8000]), literals(text[:8000])),
    "parts of a message": lambda text: message_parts("ann", text, None, None, None),
    "thinking": strip_thinking,
}
# a text four times as long may take so many times as long: sorting and hashing are a little more than linear
MOST_GROWTH = 8


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_reads_messages_takes_linear_time_on_hostile_text(name):
    use = FUNCTIONS[name]
    use("warm")
    for small, large in zip(hostile.texts(8 * 1024), hostile.texts(32 * 1024), strict=True):
        little, _ = _seconds(lambda text: bool(use(text)), small, enough=MAX_SECONDS)
        most = max(little * MOST_GROWTH, MAX_SECONDS)
        much, _ = _seconds(lambda text: bool(use(text)), large, enough=most)
        assert much <= most, f"{much:.3f} s after {little:.3f} s for {large[:40]!r}"
