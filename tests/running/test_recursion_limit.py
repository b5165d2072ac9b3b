"""The recursion limit of a process, which a thread of a run may not lower for the others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from pytest_sopbench._running.observing.problem import (
    kept_recursion_limit,
    restored_recursion_limit,
)


@pytest.fixture(autouse=True)
def limit() -> Iterator[int]:
    before = sys.getrecursionlimit()
    yield before
    sys.setrecursionlimit(before)


def in_thread(work: Callable[[], None]) -> None:
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)


def test_a_thread_lowers_it_for_nobody(limit: int) -> None:
    with kept_recursion_limit():
        in_thread(lambda: sys.setrecursionlimit(50))

        assert limit == sys.getrecursionlimit()


def test_a_thread_may_raise_it_and_put_it_back(limit: int) -> None:
    seen: list[int] = []

    def raise_it() -> None:
        sys.setrecursionlimit(limit + 100)
        seen.append(sys.getrecursionlimit())
        sys.setrecursionlimit(limit)
        seen.append(sys.getrecursionlimit())

    with kept_recursion_limit():
        in_thread(raise_it)

    assert [limit + 100, limit] == seen


def test_what_the_main_thread_has_raised_stays_raised(limit: int) -> None:
    with kept_recursion_limit():
        sys.setrecursionlimit(limit + 500)
        in_thread(lambda: sys.setrecursionlimit(limit))

        assert limit + 500 == sys.getrecursionlimit()


def test_the_main_thread_sets_what_it_likes(limit: int) -> None:
    with kept_recursion_limit():
        sys.setrecursionlimit(limit - 1)

        assert limit - 1 == sys.getrecursionlimit()


def test_what_is_no_limit_is_refused_as_ever() -> None:
    with kept_recursion_limit(), pytest.raises(ValueError, match="recursion limit"):
        sys.setrecursionlimit(0)


def test_a_block_that_has_lowered_it_lowers_it_no_longer(limit: int) -> None:
    with restored_recursion_limit():
        sys.setrecursionlimit(limit - 1)

    assert limit == sys.getrecursionlimit()


def test_a_block_that_has_raised_it_has_raised_it(limit: int) -> None:
    with restored_recursion_limit():
        sys.setrecursionlimit(limit + 1)

    assert limit + 1 == sys.getrecursionlimit()


def test_python_s_own_function_stands_there_again() -> None:
    before = sys.setrecursionlimit

    with kept_recursion_limit():
        assert before is not sys.setrecursionlimit

    assert before is sys.setrecursionlimit
