"""A function runs beside the calling thread, and nothing is left of the thread afterwards."""

from __future__ import annotations

import os
import threading
import warnings

import pytest

from muisti.side_thread import SideThread

NAME = "muisti-aside"


def count_threads() -> int:
    return sum(one.name.startswith(NAME) for one in threading.enumerate())


def test_it_runs_one_function_at_a_time() -> None:
    side, go_on = SideThread(NAME), threading.Event()
    first = side.start(lambda: go_on.wait(10) and threading.current_thread().name)
    assert first is not None
    assert side.start(lambda: 2) is None
    go_on.set()
    assert str(first.result(10)).startswith(NAME)
    second = next(one for one in iter(lambda: side.start(lambda: 2), "") if one is not None)
    assert second.result(10) == 2
    assert count_threads() == 1
    side.close()
    side.close()
    assert count_threads() == 0
    assert side.start(lambda: 3) is None


def test_work_is_shared_and_all_of_it_is_done() -> None:
    side, called_by = SideThread(NAME), dict[int, str]()
    both = threading.Barrier(2)

    def call(number: int) -> None:
        if number < 2:
            both.wait(10)  # each thread has one of the first two
        called_by[number] = threading.current_thread().name

    side.share(call, range(20))
    assert sorted(called_by) == list(range(20))
    assert called_by[0] != called_by[1]
    assert count_threads() == 1
    side.share(lambda number: called_by.pop(number) and None, [3])
    side.close()
    side.share(lambda number: called_by.pop(number) and None, range(3))  # alone
    assert len(called_by) == 16


def test_work_is_not_shared_with_a_busy_thread() -> None:
    side, go_on = SideThread(NAME), threading.Event()
    busy = side.start(lambda: go_on.wait(10))
    assert busy is not None
    called: list[tuple[int, int]] = []
    side.share(lambda number: called.append((number, threading.get_ident())), range(5))
    assert called == [(number, threading.get_ident()) for number in range(5)]
    go_on.set()
    side.close()


@pytest.mark.parametrize("is_aside", [False, True])
def test_an_error_in_shared_work_is_raised(is_aside: bool) -> None:
    side, both = SideThread(NAME), threading.Barrier(2)

    def call(number: int) -> None:
        both.wait(10)
        if threading.current_thread().name.startswith(NAME) is is_aside:
            raise KeyError(number)

    with pytest.raises(KeyError):
        side.share(call, range(2))
    side.close()


def test_an_error_is_raised_where_the_result_is_wanted() -> None:
    side = SideThread(NAME)
    failed = side.start(lambda: 1 // 0)
    assert failed is not None
    with pytest.raises(ZeroDivisionError):
        failed.result(10)
    side.close()


def test_a_thread_that_cannot_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    side = SideThread(NAME)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert side.start(lambda: 1) is None
    started = side.start(lambda: 2)
    assert started is not None
    assert started.result(10) == 2
    side.close()


def test_closing_waits_for_the_function() -> None:
    side, ended = SideThread(NAME), threading.Event()

    def run() -> None:
        threading.Event().wait(0.05)
        ended.set()

    assert side.start(run) is not None
    side.close()
    assert ended.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    side, go_on = SideThread(NAME), threading.Event()
    busy = side.start(lambda: go_on.wait(10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a process with threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            started = side.start(lambda: 5)
            side.close()
            status = 0 if started is not None and started.result(10) == 5 else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go_on.set()
    assert busy is not None
    assert busy.result(10)
    side.close()
