"""What `@pytest.mark.sop(...)` says of a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

KNOWN = ("domain", "agent", "answer", "trials")


def check_mark(mark: pytest.Mark, where: str) -> None:
    """Refuse a mark that would otherwise be ignored in silence.

    Raises:
        pytest.UsageError: it has positional arguments, an unknown keyword or a value that its
            keyword does not take.
    """
    unknown = [name for name in mark.kwargs if name not in KNOWN]
    if mark.args or unknown:
        what = f"unknown keyword {unknown[0]!r}" if unknown else "positional arguments"
        msg = f"{where}: @pytest.mark.sop: {what}; it takes {', '.join(KNOWN)}, by keyword"
        raise pytest.UsageError(msg)
    agent = mark.kwargs.get("agent")
    if not isinstance(agent, str | None):
        msg = (
            f"{where}: @pytest.mark.sop(agent={agent!r}): one agent expected, as text\n"
            "several are given by --agent or by @pytest.fixture(params=[...]) on sop_agent"
        )
        raise pytest.UsageError(msg)
    trials = mark.kwargs.get("trials", 1)
    if type(trials) is not int or trials < 1:
        msg = f"{where}: @pytest.mark.sop(trials={trials!r}): a whole number of at least 1 expected"
        raise pytest.UsageError(msg)
    if mark.kwargs.get("answer", "ignored") != "ignored":
        msg = f"{where}: @pytest.mark.sop(answer=...): only 'ignored' is known"
        raise pytest.UsageError(msg)


def marked(marks: Iterable[pytest.Mark], keyword: str) -> Any:
    """Return what the closest mark that has the keyword says, or `None`."""
    return next((mark.kwargs[keyword] for mark in marks if keyword in mark.kwargs), None)


def marked_domains(definition: pytest.Item) -> tuple[str, ...]:
    value = marked(definition.iter_markers("sop"), "domain")
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def marked_agent(item: pytest.Item) -> str | None:
    spec: str | None = marked(item.iter_markers("sop"), "agent")
    return spec


def marked_trials(definition: pytest.Item) -> int | None:
    trials: int | None = marked(definition.iter_markers("sop"), "trials")
    return trials


def answer_ignored(item: pytest.Item) -> bool:
    answer: str | None = marked(item.iter_markers("sop"), "answer")
    return answer == "ignored"
