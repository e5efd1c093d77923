"""A process notes since when it has its memory, and gives way when it is told to, but not too often."""

import asyncio
from uuid import UUID

import psycopg
import pytest

from keepword import main
from keepword.errors import Unavailable, UnfitDatabase
from keepword.renewal import Everywhere, Presence

SERVICE = UUID(int=7)


class Register:
    """Tells what it was made with; raises what is an exception."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.noted = []

    async def note_process(self, service, number, age_seconds, *, is_new):
        assert age_seconds >= 0
        self.noted.append((service, number, is_new))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.anyio
async def test_a_process_is_new_once():
    presence, register = Presence(SERVICE, 2), Register(False, True)
    assert not await presence.note(register)
    assert await presence.note(register)
    assert register.noted == [(SERVICE, 2, True), (SERVICE, 2, False)]


@pytest.mark.anyio
async def test_a_process_that_was_renewed_goes_on_for_a_while():
    presence, register = Presence(SERVICE, 0, rest_seconds=30), Register(True, True)
    assert not await presence.note(register)
    presence.began -= 30
    assert await presence.note(register)


@pytest.mark.anyio
async def test_it_is_noted_again_when_the_database_was_away(monkeypatch):
    monkeypatch.setattr("keepword.renewal.LOOK_SECONDS", 0)
    due, register = asyncio.Event(), Register(Unavailable("away"), False, True)
    noting = asyncio.create_task(Presence(SERVICE, 0).keep_noting(register, due))
    await asyncio.wait_for(due.wait(), 5)
    noting.cancel()
    assert [is_new for *_, is_new in register.noted[:3]] == [True, True, False]


@pytest.mark.anyio
async def test_of_several_databases_one_that_was_away_is_told_of_a_new_process_later():
    one, other = Register(False, True), Register(Unavailable("away"), False)
    presence, registers = Presence(SERVICE, 0), Everywhere({"one": one, "other": other})
    assert not await presence.note(registers)
    assert await presence.note(registers)
    assert [is_new for *_, is_new in one.noted] == [True, False]
    assert [is_new for *_, is_new in other.noted] == [True, True]


@pytest.mark.anyio
async def test_a_process_that_can_not_be_noted_as_it_begins_is_noted_a_moment_later(monkeypatch):
    monkeypatch.setattr("keepword.renewal.BEGIN_SECONDS", 0)
    presence, register = Presence(SERVICE, 0), Register(Unavailable("closed"), Unavailable("closed"), False)
    await presence.begin(register)
    assert [is_new for *_, is_new in register.noted] == [True, True, True]


@pytest.mark.anyio
async def test_a_process_that_is_never_noted_does_not_begin(monkeypatch):
    monkeypatch.setattr("keepword.renewal.BEGIN_SECONDS", 0)
    register = Register(*[Unavailable("closed")] * 60)
    with pytest.raises(Unavailable, match="closed"):
        await Presence(SERVICE, 0).begin(register)
    assert register.answers == []


class HungRegister:
    def __init__(self):
        self.asked = 0

    async def note_process(self, service, number, age_seconds, *, is_new):  # noqa: ARG002
        self.asked += 1
        await asyncio.Event().wait()


@pytest.mark.anyio
async def test_a_database_that_hangs_keeps_no_note_from_the_others(monkeypatch):
    monkeypatch.setattr("keepword.renewal.NOTE_SECONDS", 0.01)
    hung, other = HungRegister(), Register(False, False, True)
    presence, registers = Presence(SERVICE, 0), Everywhere({"hung": hung, "other": other})
    assert [await presence.note(registers) for _ in range(3)] == [False, False, True]
    assert [is_new for *_, is_new in other.noted] == [True, False, False]
    assert hung.asked == 1


def test_a_service_that_is_renewed_again_and_again_goes_on_longer_each_time():
    presence = Presence(SERVICE, 0)
    assert presence.next_rest_seconds() == 30
    for rest, expected in ((30, 60), (60, 120), (400, 600), (600, 600)):
        presence = Presence(SERVICE, 0, rest_seconds=rest)
        presence.began -= rest
        assert presence.next_rest_seconds() == expected
        presence.began -= rest
        assert presence.next_rest_seconds() == 30


def test_an_image_that_begins_anew_waits_for_a_database_that_is_away(monkeypatch):
    monkeypatch.setattr(main, "WATCH_SECONDS", 0)
    answers = [UnfitDatabase("can't connect"), psycopg.OperationalError("the server closes"), None]

    def prepare():
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    main._until_it_works(prepare)
    assert answers == []
