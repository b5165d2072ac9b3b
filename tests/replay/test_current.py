"""Which tape a request meets: that of its run, or that of the outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

import pytest

from pytest_sopbench._replay.tape.exchange import BesideTape, OutsideTape, Request
from pytest_sopbench._replay.tape.run_tape import active, current_tape, on_tape, switched_on
from pytest_sopbench.errors import MissingRecordingError

T = TypeVar("T")
REQUEST = Request(method="POST", url="https://api.example.com/v1/chat")


def in_a_new_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread that does not know the context of this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=60)


def test_nothing_is_replayed_unless_it_is_switched_on() -> None:
    assert not active()
    assert current_tape() is None


def test_thread_with_the_context_of_its_run_meets_the_tape_of_its_run() -> None:
    outside, tape = OutsideTape("refuse"), OutsideTape("let through")

    with switched_on(outside), on_tape(tape):
        met = in_a_new_thread(partial(copy_context().run, current_tape))

    assert met is tape


def test_thread_that_lost_its_context_meets_no_tape_of_any_run() -> None:
    outside, tape = OutsideTape("refuse"), OutsideTape("let through")

    with switched_on(outside), on_tape(tape):
        met = in_a_new_thread(current_tape)

    assert met is outside
    assert not active()


def test_request_of_a_lost_thread_is_refused_with_what_to_do() -> None:
    outside = OutsideTape("refuse")

    with pytest.raises(MissingRecordingError) as refused:
        in_a_new_thread(lambda: outside.answer(REQUEST))

    assert "POST /v1/chat" in str(refused.value)
    assert "copy_context" in str(refused.value)
    assert outside.seen == 1


def test_request_of_a_lost_thread_goes_out_where_recording_is_on() -> None:
    outside = OutsideTape("let through")

    assert in_a_new_thread(lambda: outside.answer(REQUEST)) is None
    assert outside.seen == 1


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:80"])
def test_test_may_speak_to_its_own_server_in_the_main_thread(host: str) -> None:
    outside = OutsideTape("refuse")

    assert threading.current_thread() is threading.main_thread()
    assert outside.answer(Request(method="GET", url=f"http://{host}/health")) is None
    assert outside.seen == 0


def test_what_a_judge_sends_while_runs_are_recorded_goes_out_and_counts_for_nobody() -> None:
    outside = OutsideTape("let through")

    with switched_on(outside), on_tape(BesideTape(refuses=False)):
        tape = in_a_new_thread(partial(copy_context().run, current_tape))

    assert tape is not None
    assert tape.answer(REQUEST) is None
    assert 0 == outside.seen


def test_what_a_judge_sends_while_runs_are_replayed_is_refused_and_no_run_pays() -> None:
    outside = OutsideTape("refuse")

    with switched_on(outside), on_tape(BesideTape(refuses=True)):
        tape = current_tape()

    assert tape is not None
    with pytest.raises(MissingRecordingError, match="compares or judges"):
        tape.answer(REQUEST)
    assert 0 == outside.seen
