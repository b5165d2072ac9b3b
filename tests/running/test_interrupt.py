"""A Ctrl-C waits for what must not be left half done."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pytest_sopbench._running.observing.problem import Deferral, standing_watch, watched_interrupts


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_comes_after_the_block_that_holds_it_back() -> None:
    done: list[str] = []
    deferral = Deferral()

    def books() -> None:
        with deferral:
            press_ctrl_c()
            done.append("entered")
        done.append("after")

    with deferral.installed(), pytest.raises(KeyboardInterrupt):
        books()

    assert ["entered"] == done


def test_ctrl_c_outside_of_such_a_block_comes_at_once() -> None:
    deferral = Deferral()

    with deferral.installed(), pytest.raises(KeyboardInterrupt):
        press_ctrl_c()


def test_one_that_was_held_back_comes_once() -> None:
    deferral = Deferral()

    def impatient() -> None:
        with deferral:
            press_ctrl_c()
            press_ctrl_c()

    with deferral.installed():
        with pytest.raises(KeyboardInterrupt):
            impatient()
        with deferral:
            pass


def test_the_handler_of_before_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    with Deferral().installed():
        assert before is not signal.getsignal(signal.SIGINT)

    assert before is signal.getsignal(signal.SIGINT)


def test_a_handler_that_somebody_else_has_set_stays() -> None:
    before = signal.getsignal(signal.SIGINT)

    with Deferral().installed():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_error_inside_is_raised_as_it_is() -> None:
    deferral = Deferral()

    with deferral.installed(), pytest.raises(ZeroDivisionError), deferral:
        raise ZeroDivisionError


def test_a_thread_that_gets_no_signals_goes_on_unguarded() -> None:
    done: list[str] = []
    deferral = Deferral()

    def work() -> None:
        with deferral.installed(), deferral:
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert ["worked"] == done


def test_a_ctrl_c_is_noted_also_where_it_is_swallowed() -> None:
    with watched_interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        press_ctrl_c()

    assert interrupts.seen


def test_a_watch_for_many_runs_tells_each_of_its_own_alone() -> None:
    with standing_watch():
        with watched_interrupts() as first, pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
        seen = first.seen
        with watched_interrupts() as second:
            pass

    assert (True, False) == (seen, second.seen)


def test_a_watch_for_many_runs_exchanges_the_handler_once() -> None:
    before = signal.getsignal(signal.SIGINT)

    with standing_watch():
        once = signal.getsignal(signal.SIGINT)
        with watched_interrupts():
            inside = signal.getsignal(signal.SIGINT)

    assert inside is once is not before
    assert before is signal.getsignal(signal.SIGINT)


def test_a_run_after_an_agent_that_set_its_own_handler_is_watched_all_the_same() -> None:
    before = signal.getsignal(signal.SIGINT)

    try:
        with standing_watch():
            with watched_interrupts():
                signal.signal(signal.SIGINT, lambda *_: None)
            with watched_interrupts() as later:
                press_ctrl_c()
    finally:
        signal.signal(signal.SIGINT, before)

    assert later.seen


def test_after_a_watch_for_many_runs_each_is_watched_by_itself() -> None:
    with standing_watch():
        pass

    with watched_interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        press_ctrl_c()

    assert interrupts.seen


def test_in_a_thread_that_gets_no_signals_nothing_is_noted() -> None:
    seen: list[bool] = []

    def work() -> None:
        with standing_watch(), watched_interrupts() as interrupts:
            seen.append(interrupts.seen)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [False] == seen
