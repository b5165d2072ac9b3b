"""Clients that runs share, made while pytest changes the environment for its next test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_sopbench.agents.clients.shared import environment, shared


def failing_first(error: KeyError) -> Any:
    """Return a maker that fails once."""
    outcomes: Iterator[Any] = iter([error, "client"])

    def make() -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, KeyError):
            raise outcome
        return outcome

    return make


def test_a_client_is_made_though_the_name_of_a_test_vanished_meanwhile() -> None:
    key = object()

    assert "client" == shared(key, failing_first(KeyError("PYTEST_CURRENT_TEST")))


def test_another_missing_key_is_an_error_of_its_own() -> None:
    with pytest.raises(KeyError, match="region"):
        shared(object(), failing_first(KeyError("region")))


class Shrinking(dict[str, str]):
    """An environment that loses each name as soon as it is listed."""

    def __iter__(self) -> Iterator[str]:
        names = list(self.keys())
        self.clear()
        return iter(names)


def test_a_name_that_vanishes_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", Shrinking(OPENAI_BASE_URL="x", OTHER="y"))

    found = environment("OPENAI_")

    assert frozenset({("OPENAI_BASE_URL", None)}) == found
