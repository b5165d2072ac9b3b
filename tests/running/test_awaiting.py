"""Sync code that waits for async code, and the other way round."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_sopbench._running import event_loop as awaiting


def test_work_that_is_cancelled_before_it_begins_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin: list[Callable[[], None]] = []
    done: list[str] = []

    monkeypatch.setattr(awaiting, "start", lambda thread: begin.append(thread.run))
    future = awaiting.in_thread(lambda: done.append(""))

    future.cancel()
    begin[0]()

    assert future.cancelled()
    assert [] == done
