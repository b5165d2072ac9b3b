"""Starting threads where others have been at the functions for it, or the memory is used up."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pytest_sopbench._running import threads as starting


class DiesEarly(threading.Thread):
    """A thread that ends before it says that it has begun, as for want of memory."""

    def _bootstrap(self) -> None: ...


def test_what_was_put_in_the_place_of_start_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise AssertionError

    done = threading.Event()
    monkeypatch.setattr(threading.Thread, "start", broken)

    starting.start(threading.Thread(target=done.set, daemon=True))

    assert done.wait(60)


def test_a_thread_that_never_begins_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "PATIENCE", 0.05)

    with pytest.raises(RuntimeError, match="the new thread did not begin"):
        starting.start(DiesEarly(daemon=True))


@pytest.mark.parametrize("hook", ["settrace", "setprofile"])
def test_a_hook_under_which_no_thread_comes_to_its_work_is_put_back(
    monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    def broken(*_: Any) -> None:
        raise AssertionError

    done = threading.Event()
    before = _hooks()
    monkeypatch.setattr(threading, f"_{hook.removeprefix('set')}_hook", broken)

    starting.start(threading.Thread(target=done.set, daemon=True))

    assert done.wait(60)
    assert before == _hooks()


def test_a_hook_that_works_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def profile(_frame: Any, event: str, _about: Any) -> None:
        seen.append(event)

    done = threading.Event()
    monkeypatch.setattr(threading, "_profile_hook", profile)

    starting.start(threading.Thread(target=done.set, daemon=True))

    assert done.wait(60)
    assert profile is threading.getprofile()
    assert seen


def _hooks() -> tuple[object, object]:
    return threading.gettrace(), threading.getprofile()
