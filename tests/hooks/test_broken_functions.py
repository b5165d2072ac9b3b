"""Functions of the standard library that somebody replaced: put back where they do not work."""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import pathlib
import queue
import threading
import time
from typing import Any
from unittest.mock import MagicMock

import pytest

from pytest_sopbench._hooks.process.broken_functions import (
    INDISPENSABLE,
    Mending,
    must_be_mended,
    seen_now,
)
from pytest_sopbench._hooks.process.broken_functions import NAMES as LOOKED_AT

NAMES = {
    "builtins.__import__": builtins,
    "builtins.open": builtins,
    "builtins.repr": builtins,
    "hashlib.sha256": hashlib,
    "json.JSONEncoder": json,
    "json.dumps": json,
    "json.loads": json,
    "os.environ": os,
    "os.getpid": os,
    "os.replace": os,
    "os.write": os,
    "Path.exists": pathlib.Path,
    "Path.open": pathlib.Path,
    "Path.write_text": pathlib.Path,
    "queue.SimpleQueue": queue,
    "threading.Event": threading,
    "threading.Lock": threading,
    "threading.Thread": threading,
    "threading.current_thread": threading,
    "time.monotonic": time,
    "time.perf_counter": time,
    "time.sleep": time,
    "time.time": time,
}


def broken(*_: object, **__: object) -> None:
    msg = "mine"
    raise RuntimeError(msg)


def test_each_function_is_looked_at() -> None:
    assert sorted(NAMES) == sorted(LOOKED_AT)
    assert len(NAMES) == len(seen_now())


def test_a_process_in_which_nothing_was_replaced_needs_no_mending() -> None:
    assert [] == Mending().mend()


def test_the_quick_look_misses_nothing_that_pytest_cannot_do_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: dict[str, tuple[bool, bool]] = {}
    for name, owner in NAMES.items():
        attribute, original = name.rpartition(".")[2], getattr(owner, name.rpartition(".")[2])
        with monkeypatch.context() as patch:
            # As a wrapper that works: between two patches Python itself needs it.
            patch.setattr(owner, attribute, MagicMock(wraps=original))
            found[name] = must_be_mended(), INDISPENSABLE.are_replaced()

    assert {"builtins.__import__", "builtins.repr", "os.environ"} == {
        name for name, (quickly, _) in found.items() if quickly
    }
    assert all(quickly == thoroughly for quickly, thoroughly in found.values())
    assert not must_be_mended()


def test_the_quick_look_sees_what_was_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.delattr(builtins, "repr")
        seen = must_be_mended()

    assert seen


@pytest.mark.parametrize(("name", "owner"), NAMES.items())
def test_a_function_that_raises_is_put_back(
    monkeypatch: pytest.MonkeyPatch, name: str, owner: Any
) -> None:
    attribute = name.rpartition(".")[2]
    original = getattr(owner, attribute)
    mending = Mending()

    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, broken)
        (said,) = mending.mend()
        found = getattr(owner, attribute)

    assert original is found
    assert f"{name} was replaced by broken of {__file__}:" in said
    assert said.endswith("; it was put back")
    assert ", which does not work (" in said


@pytest.mark.parametrize(("name", "owner"), NAMES.items())
def test_a_wrapper_that_works_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, name: str, owner: Any
) -> None:
    attribute = name.rpartition(".")[2]
    original = getattr(owner, attribute)
    mending = Mending()

    def wrapper(*args: Any, **named: Any) -> Any:
        return original(*args, **named)

    wrapper.get = getattr(original, "get", None)  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, wrapper)
        said = mending.mend()
        found = getattr(owner, attribute)

    assert [] == said
    assert wrapper is found


def test_a_mock_that_was_left_behind_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    mending = Mending()

    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", MagicMock())
        (said,) = mending.mend()

    assert "json.dumps was replaced by an object of type MagicMock" in said
    assert "it returns something else" in said


def test_a_frozen_clock_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)

    assert [] == Mending().mend()


def test_what_stood_there_before_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixture may mean to have a function fail in its test."""
    mending = Mending()

    with monkeypatch.context() as patch:
        patch.setattr(json, "loads", broken)
        before = seen_now()
        patch.setattr(os, "getpid", broken)
        said = mending.mend(since=before)
        found = json.loads

    assert ["os.getpid"] == [one.partition(" ")[0] for one in said]
    assert broken is found


def test_a_replacement_that_works_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MagicMock(return_value=1.0)
    mending = Mending()

    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", clock)
        mending.mend()
        mending.mend()

    assert 1 == clock.call_count
