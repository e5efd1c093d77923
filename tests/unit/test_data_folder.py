"""A data folder has one holder at a time."""

import threading

import pytest

from keepword.errors import AlreadyRunning
from keepword.postgres.embedded import hold


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path):
    with hold(tmp_path), pytest.raises(AlreadyRunning, match="process"), hold(tmp_path):
        pass


def test_who_is_told_to_wait_gets_it_when_it_is_free(tmp_path):
    held, free = threading.Event(), threading.Event()

    def first() -> None:
        with hold(tmp_path):
            held.set()
            free.wait(20)

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(20)
    threading.Timer(0.2, free.set).start()
    with hold(tmp_path, 20):
        assert free.is_set()
    thread.join()
