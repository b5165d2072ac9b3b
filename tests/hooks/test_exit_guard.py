"""What becomes of `os._exit` and of Ctrl-C while a session runs, and after it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from types import ModuleType
from typing import Any, ClassVar

import pytest

from pytest_sopbench._hooks.exit_guard import ExitGuard
from pytest_sopbench._hooks.results.recorder import interrupts_held_back


class LeftError(Exception):
    """In place of the end of the process."""


def leave(status: int) -> None:
    raise LeftError(status)


@pytest.fixture
def holder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that did `from os import _exit` before the guard stood."""
    module = ModuleType("holder")
    module.__dict__["end"] = leave
    monkeypatch.setitem(sys.modules, "holder", module)
    return module


class Standing:
    """A guard, with what it asks for."""

    def __init__(self, config: pytest.Config) -> None:
        self.status: int | None = None
        self.left = 0
        self.guard = ExitGuard(config, lambda: self.status, self._leave)

    def _leave(self) -> None:
        self.left += 1


@pytest.fixture
def standing(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, holder: ModuleType
) -> Generator[Standing]:
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(ExitGuard, "_say", lambda *_: None)
    found = Standing(pytestconfig)
    found.guard.stand()
    yield found
    found.guard.step_down()


@pytest.mark.parametrize(
    ("session", "given", "status"),
    [
        pytest.param(None, 0, 1, id="success in the middle"),
        pytest.param(None, 256, 1, id="success modulo 256"),
        pytest.param(None, -256, 1, id="success modulo -256"),
        pytest.param(None, False, 1, id="success as a boolean"),
        pytest.param(None, 1, 1, id="the failure of pytest-timeout"),
        pytest.param(None, 7, 7, id="another failure"),
        pytest.param(1, 0, 1, id="success after a failure"),
        pytest.param(4, 0, 4, id="success after wrong usage"),
        pytest.param(0, 0, 0, id="success after success"),
        pytest.param(0, 3, 3, id="failure after success"),
    ],
)
def test_no_status_is_better_than_that_of_the_session(
    standing: Standing, session: int | None, given: int, status: int
) -> None:
    standing.status = session

    with pytest.raises(LeftError) as left:
        os._exit(given)

    assert (status,) == left.value.args


def test_the_status_may_be_given_by_name(standing: Standing) -> None:
    with pytest.raises(LeftError) as left:
        os._exit(status=0)

    assert (1,) == left.value.args


def test_a_name_that_another_module_had_before_is_guarded(standing: Standing, holder: Any) -> None:
    with pytest.raises(LeftError) as left:
        holder.end(0)

    assert (1,) == left.value.args


@pytest.mark.parametrize(("status", "left"), [(None, 0), (1, 1)], ids=["middle", "end"])
def test_only_an_ended_session_is_left_in_order(
    standing: Standing, status: int | None, left: int
) -> None:
    standing.status = status

    with pytest.raises(LeftError):
        os._exit(0)

    assert left == standing.left


def test_a_forked_child_ends_as_it_likes(
    standing: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)

    with pytest.raises(LeftError) as left:
        os._exit(0)

    assert (0,) == left.value.args


class Pretender:
    """What says that it is a module and has no names, such as a library of cffi."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return ModuleType


def test_what_only_says_that_it_is_a_module_is_passed_over(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, holder: Any
) -> None:
    monkeypatch.setitem(sys.modules, "pretender", Pretender())
    monkeypatch.setattr(os, "_exit", leave)
    before = holder.end
    guard = Standing(pytestconfig).guard

    guard.stand()
    after = holder.end
    guard.step_down()

    assert before is not after


class Later(ModuleType):
    """A module that is loaded when it is asked for an attribute, as `LazyLoader` makes them."""

    asked: ClassVar[list[str]] = []

    def __getattribute__(self, name: str) -> Any:
        Later.asked.append(name)
        return super().__getattribute__(name)


def test_a_module_that_is_loaded_when_it_is_used_is_not_loaded(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "later", Later("later"))
    monkeypatch.setattr(os, "_exit", leave)
    Later.asked.clear()
    guard = Standing(pytestconfig).guard

    guard.stand()
    guard.step_down()

    assert [] == Later.asked


def test_a_guard_that_steps_down_leaves_everything_as_it_was(
    standing: Standing, holder: Any
) -> None:
    standing.guard.step_down()

    assert leave is os._exit
    assert leave is holder.end


def test_another_program_takes_the_place_of_no_session(standing: Standing) -> None:
    before = os.execv

    with (
        standing.guard.exec_refused(),
        pytest.raises(PermissionError, match="in the place of the session"),
    ):
        os.execv("/bin/true", ["true"])  # noqa: S606 - refused before it starts

    assert before is os.execv


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_comes_after_the_block_that_holds_it_back() -> None:
    done: list[str] = []

    def enter() -> None:
        with interrupts_held_back():
            press_ctrl_c()
            done.append("entered")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        enter()

    assert ["entered"] == done


def test_one_that_was_held_back_comes_once() -> None:
    def impatient() -> None:
        with interrupts_held_back():
            press_ctrl_c()
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        impatient()
    with interrupts_held_back():
        pass


def test_the_handler_of_before_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    with interrupts_held_back():
        assert before is not signal.getsignal(signal.SIGINT)

    assert before is signal.getsignal(signal.SIGINT)


def test_a_handler_that_somebody_else_has_set_stays() -> None:
    before = signal.getsignal(signal.SIGINT)

    with interrupts_held_back():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_error_inside_is_raised_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), interrupts_held_back():
        raise ZeroDivisionError


def test_a_thread_that_gets_no_signals_goes_on_unguarded() -> None:
    done: list[str] = []

    def work() -> None:
        with interrupts_held_back():
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert ["worked"] == done
