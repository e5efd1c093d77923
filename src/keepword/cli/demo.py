"""keepword demo: a story of three days, and what the agent sees where."""

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from keepword.answers import Memory, Section
from keepword.cli import play
from keepword.cli.play import Scene
from keepword.cli.service import address, service
from keepword.client import Keepword, SyncClient
from keepword.config import read_settings
from keepword.errors import Conflict
from keepword.story import AGENT, ASKED_IN, QUESTION

_DAYS = {1: "Day 1", 2: "Day 2", 3: "Day 3, today"}
_SPEAKERS = {"mira": "magenta", "tom": "green", AGENT: "cyan"}
_PIPE_WIDTH = 110
_WITHHELD = 3


def demo(
    to_service: Annotated[
        bool, typer.Option("--to-service", help="Play it into the running service, in the empty tenant of the key.")
    ] = False,
) -> None:
    """Play a story of three days in a throwaway folder, and show what the agent sees in each place, and why."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    console.print("Two people, Mira and Tom, open a bakery. Their agent is called aide.", style="bold")
    if to_service:
        _play_to_service(console)
        return
    console.print("This runs in a temporary folder with a database of its own; nothing of yours is touched.")
    console.print("Making that database (some seconds) ...\n", style="dim")
    with _folder() as home, Keepword.sync(data=home, environment=False) as kw:
        started = time.monotonic()
        _play(kw, console)
        seconds = time.monotonic() - started
    console.print(f"\nPlayed in {seconds:.1f} s, and cleaned up.", style="dim")
    console.print("Your own: `keepword serve`, or `Keepword.open()` in Python; docs/quickstart.md goes on from here.")


def _play_to_service(console: Console) -> None:
    with service() as kw:
        if kw.conversations.list(limit=1).conversations:
            raise Conflict(
                "this tenant has conversations already, and the story does not belong among them; make a tenant of "
                "its own with `keepword keys create --tenant demo --role admin`, and give its key as KEEPWORD_KEY"
            )
        play.keep_questions(kw, _play(kw, console))
        where = address(read_settings().settings)
    console.print(f"\nThe story stays there. To look around in it: {where}/console")


@contextmanager
def _folder() -> Iterator[Path]:
    """Lend a folder that is gone at the end, also when a signal ends it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    folder = Path(tempfile.mkdtemp(prefix="keepword-demo-"))
    # as root the database has an account of its own, which passes through here; the data below is closed to others
    folder.chmod(0o711)
    try:
        yield folder / "data"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _play(kw: SyncClient, console: Console) -> list[Scene]:
    play.set_up(kw)
    today = datetime.now(UTC)
    for day in _DAYS:
        _show_day(kw, console, day, today)
    memories = play.wait_for_background(kw)
    _show_memories(console, play.before(kw, today), memories)
    console.print(f"\nThe same question, asked in four places: “{QUESTION}”", style="bold")
    answers = [play.ask(kw, spot, speaker) for spot, speaker in ASKED_IN]
    for scene in answers:
        _show_scene(console, scene)
    return answers


def _show_day(kw: SyncClient, console: Console, day: int, today: datetime) -> None:
    spoken = list(play.tell(kw, day, today))
    console.rule(Text(f"{_DAYS[day]}, {spoken[0][0]:%A}"), align="left")
    for at, line in spoken:
        heading = Text(f"{at:%H:%M} ", style="dim").append(line.speaker, style=_SPEAKERS[line.speaker])
        heading.append(f" in {line.spot.title}", style="dim").append(f"\n      {line.text}")
        console.print(heading)


def _show_scene(console: Console, scene: Scene) -> None:
    console.print()
    console.rule(Text(f"{scene.speaker.title()} asks in {scene.spot.title}"), align="left")
    shown = scene.composed
    console.print(f"aide sees {shown.tokens} tokens, {shown.share:.1%} of its window:")
    for section in shown.sections:
        if section.name not in {"session", "invocation"}:
            _show_section(console, section)
    if not scene.withheld:
        return
    console.print("  WITHHELD, though it comes near to the question", style="bold red")
    for withheld in scene.withheld[:_WITHHELD]:
        reason = f"{withheld.hit.run_id} · similarity {withheld.hit.similarity or 0:.2f} · {withheld.why}"
        _item(console, withheld.hit.text, reason, mark="✗", style="red")
    if len(scene.withheld) > _WITHHELD:
        console.print(f"    and {len(scene.withheld) - _WITHHELD} more", style="dim")


def _show_section(console: Console, section: Section) -> None:
    console.print(f"  {section.heading.lstrip('# ')}", style="bold cyan")
    for line in section.lines:
        # the end of a message's id is what tells it from others of the same moment
        source = f"{line.kind} …{line.id[-8:]}" if line.kind in {"message", "memory", "landmark"} else line.kind
        _item(console, line.text, f"{source} · score {line.score:.2f} · {line.reason}")


def _show_memories(console: Console, before: tuple[Memory, ...], now: tuple[Memory, ...]) -> None:
    console.print("\nIn the background, what was said becomes memories; no model is needed for that:", style="bold")
    for memory in now:
        _item(console, memory.content, f"{memory.type} · importance {memory.importance:g} · from {memory.run_id}")
    valid = {memory.id for memory in now}
    for memory in before:
        if memory.id not in valid:
            why = "true until today, then contradicted: it is marked and kept, never overwritten"
            _item(console, memory.content, why, mark="✗", style="red")


def _item(console: Console, text: str, why: str, mark: str = "-", style: str = "") -> None:
    shown = Text(f"{mark} ", style=style).append(text.strip().removeprefix("- "), style="")
    console.print(Padding(shown, (0, 0, 0, 4), expand=False))
    console.print(Padding(Text(why, style="dim"), (0, 0, 0, 6), expand=False))
