"""Tells the database since when this process has its memory, and when it has to give way to a fresh one.

What was erased can stay in memory that was freed and handed out again; the end of a process is what ends that for sure.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

import structlog

from keepword.errors import KeepwordError

LOOK_SECONDS = 2.0
# how often a process that begins is noted again, where the database refuses: after that it does not start
BEGIN_ATTEMPTS = 60
BEGIN_SECONDS = 0.5
# a service that was renewed goes on for so long, whatever is erased: erasures come in bursts. Twice as long each time
# that the next one comes soon after, so that long jobs end although somebody erases all the time
REST_SECONDS, MOST_REST_SECONDS = 30.0, 600.0
# a server that hangs keeps no note from the others
NOTE_SECONDS = 3.0

_log = structlog.get_logger()


class Register(Protocol):
    """Where processes are noted."""

    async def note_process(self, service: UUID, number: int, age_seconds: float, *, is_new: bool) -> bool:
        """Note that a process is there; tell whether one of its service was there before an erasure ended."""
        ...


class Everywhere:
    """The registers of several databases; one that is away is told when it is back."""

    def __init__(self, registers: Mapping[str, Register]) -> None:
        self._registers = registers
        self._noted: set[str] = set()
        self._pending: dict[str, asyncio.Task[bool]] = {}

    async def note_process(self, service: UUID, number: int, age_seconds: float, *, is_new: bool) -> bool:
        """Note it in all; tell whether it is due in one of them."""
        if is_new:
            self._noted.clear()
        for name in self._registers.keys() - self._pending.keys():
            self._pending[name] = asyncio.create_task(self._note(name, service, number, age_seconds))
        await asyncio.wait(self._pending.values(), timeout=NOTE_SECONDS)
        answered = [self._pending.pop(name) for name, task in list(self._pending.items()) if task.done()]
        return any(task.result() for task in answered)

    async def _note(self, name: str, service: UUID, number: int, age_seconds: float) -> bool:
        is_new = name not in self._noted
        try:
            due = await self._registers[name].note_process(service, number, age_seconds, is_new=is_new)
        except KeepwordError as exc:
            _log.warning("could not ask what was erased, asking again", reason=str(exc))
            return False
        self._noted.add(name)
        return due


@dataclass(slots=True)
class Presence:
    """One process: of a service, with a number in it. Make it when the process begins."""

    service: UUID
    number: int
    # of a renewed one: how long it goes on at least
    rest_seconds: float = 0
    began: float = field(default_factory=time.monotonic)
    is_new: bool = True

    async def note(self, register: Register) -> bool:
        """Note it; tell whether the processes of its service are due."""
        due = await register.note_process(self.service, self.number, self._age(), is_new=self.is_new)
        self.is_new = False
        return due and self._age() >= self.rest_seconds

    async def begin(self, register: Register) -> None:
        """Note it before it reads anything, again and again for half a minute; raises KeepwordError after that."""
        for _ in range(BEGIN_ATTEMPTS - 1):
            try:
                await self.note(register)
            except KeepwordError as exc:
                _log.warning("could not note this process, trying again", reason=str(exc))
                await asyncio.sleep(BEGIN_SECONDS)
            else:
                return
        await self.note(register)

    async def keep_noting(self, register: Register, due: asyncio.Event) -> None:
        """Note it again and again until cancelled; `due` is set when the processes of its service are."""
        while True:
            try:
                if await self.note(register):
                    due.set()
            except KeepwordError as exc:
                _log.warning("could not ask what was erased, asking again", reason=str(exc))
            await asyncio.sleep(LOOK_SECONDS)

    def next_rest_seconds(self) -> float:
        """Return how long the image after this one is to go on at least."""
        is_soon = self._age() < 2 * self.rest_seconds
        return min(MOST_REST_SECONDS, 2 * self.rest_seconds) if is_soon else REST_SECONDS

    def _age(self) -> float:
        return time.monotonic() - self.began
