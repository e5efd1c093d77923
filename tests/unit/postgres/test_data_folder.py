"""A data folder has one holder at a time, and its server is stopped by the last who uses it."""

import threading

import pytest

from keepword.errors import AlreadyRunning, StartError
from keepword.postgres.embedded.folder import lock_data_folder, use_server
from patience import HANG_SECONDS


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path):
    with lock_data_folder(tmp_path), pytest.raises(AlreadyRunning, match="process"), lock_data_folder(tmp_path):
        pass


def test_who_is_told_to_wait_gets_it_when_it_is_free(tmp_path):
    held, free = threading.Event(), threading.Event()

    def first() -> None:
        with lock_data_folder(tmp_path):
            held.set()
            free.wait(HANG_SECONDS)

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(HANG_SECONDS)
    threading.Timer(0.2, free.set).start()
    with lock_data_folder(tmp_path, HANG_SECONDS):
        assert free.is_set()
    thread.join()


def test_who_does_not_want_to_wait_waits_while_the_server_is_started_or_stopped(tmp_path):
    held, free = threading.Event(), threading.Event()

    def first() -> None:
        with lock_data_folder(tmp_path) as holder:
            holder.brief()
            held.set()
            free.wait(HANG_SECONDS)

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(HANG_SECONDS)
    with pytest.raises(AlreadyRunning), lock_data_folder(tmp_path, brief_seconds=0.1):
        pass
    threading.Timer(0.2, free.set).start()
    with lock_data_folder(tmp_path):
        assert free.is_set()
    thread.join()


def test_a_holder_that_goes_on_is_not_waited_for(tmp_path):
    with lock_data_folder(tmp_path) as holder:
        holder.brief()
        holder.lasting()
        with pytest.raises(AlreadyRunning), lock_data_folder(tmp_path):
            pass


def test_only_the_last_user_is_told_that_nobody_uses_the_server(tmp_path):
    with use_server(tmp_path) as first, use_server(tmp_path) as second:
        first.end()
        assert not first.was_last()
        second.end()
        assert second.was_last()


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "other").write_text("not ours")
    (tmp_path / "lock").symlink_to(tmp_path / "other")
    with pytest.raises(StartError, match="data folder"), lock_data_folder(tmp_path):
        pass
    assert (tmp_path / "other").read_text() == "not ours"
