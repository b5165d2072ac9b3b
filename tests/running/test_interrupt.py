"""A Ctrl-C waits for what must not be left half done."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pytest_sopbench._running.interrupt import deferred_interrupts


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_comes_after_the_block_that_defers_it() -> None:
    done: list[str] = []

    def books() -> None:
        with deferred_interrupts():
            press_ctrl_c()
            done.append("entered")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        books()

    assert ["entered"] == done


def test_the_handler_of_before_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    with deferred_interrupts():
        pass

    assert before is signal.getsignal(signal.SIGINT)


def test_an_error_inside_is_raised_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), deferred_interrupts():
        raise ZeroDivisionError


def test_a_thread_that_gets_no_signals_goes_on_unguarded() -> None:
    done: list[str] = []

    def work() -> None:
        with deferred_interrupts():
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert ["worked"] == done
