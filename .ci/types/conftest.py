"""A user's conftest: fixtures and hooks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager

import pytest
from agent import Desk
from comparers import same_words

from pytest_sopbench import Outcome, RunKey, RunRecord, Summary

slow: list[str] = []


@pytest.fixture(scope="session")
def sop_agent() -> Desk:
    return Desk(limit=30)


def pytest_sop_run_finished(run: RunRecord) -> None:
    if run.outcome is Outcome.WRONG and (run.duration_s or 0) > 1:
        slow.append(run.key.task)


def pytest_sop_summary(summary: dict[str, Summary]) -> list[str] | None:
    return [f"{name}: {one.correct} of {one.runs}" for name, one in summary.items()]


def pytest_sop_comparers() -> Mapping[str, Callable[..., object]]:
    return {"same_words": same_words}


@contextmanager
def labelled(text: str) -> Generator[None]:
    print(text)
    yield


def pytest_sop_wrap_run(key: RunKey, attempt: int) -> AbstractContextManager[None]:
    return labelled(f"{key.domain}/{key.task} trial {key.trial} attempt {attempt}")
