"""Misses as annotations of GitHub: commands to its runner, which shows each at the row's line.

Ten are shown of a step, so those come first that a reviewer can do something about: tasks that
were lost since the baseline. What was not correct before either is no news, and has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.comparison import ComparisonResult, GroupComparison
from pytest_sopbench._core.gates.conditions import GateState
from pytest_sopbench._core.gates.decide import RowPlace, SessionPage
from pytest_sopbench._core.hiding import ready_to_cut, without_commands
from pytest_sopbench._core.model.task import TaskKey, TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure import value_line
from pytest_sopbench._reports.terminal.comparison import lost_records
from pytest_sopbench._reports.text import cut, one_line

MOST: Final = 10
"""More of one level GitHub leaves out, without a word."""

_TITLE: Final = 200
_MESSAGE: Final = 1_000
_NO_NEWS: Final = frozenset({Outcome.CORRECT, Outcome.NOT_RUN, Outcome.UNAVAILABLE})
"""What says nothing against the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What is said of one task: `error` or `warning`, a title and a text."""

    task: TaskName
    level: str
    title: str
    text: str


def annotations_of(page: SessionPage) -> tuple[Annotation, ...]:
    """Return what there is to be said, lost tasks first; the last one says how many it left out."""
    told = [*_annotations(page)]
    shown, left = told[:MOST], len(told) - MOST
    if left <= 0:
        return tuple(shown)
    last = shown[-1]
    more = f"{last.text}; and {left} more task{'s' * (left > 1)}"
    return (
        *shown[:-1],
        Annotation(task=last.task, level=last.level, title=last.title, text=more),
    )


def annotation_line(one: Annotation, place: RowPlace | None) -> str:
    """Return the command to the runner; without a place it stands on the page of the run."""
    parts = {"file": place.path, "line": f"{place.line}"} if place is not None else {}
    parts["title"] = one.title
    said = ",".join(f"{name}={_property(text)}" for name, text in parts.items())
    return f"::{one.level} {said}::{_data(one.text)}"


def _annotations(page: SessionPage) -> Iterator[Annotation]:
    """Yield one for each task that matters, the most urgent first."""
    pooled = _comparable(page)
    lost = lost_records(page.asked, frozenset(pooled.lost)) if pooled is not None else ()
    broken = [one for one in page.records if page.forgiven.unforgiven(one)]
    level = "error" if _fails(page) else "warning"
    seen: set[tuple[TaskName, str]] = set()
    for kind, records in (("lost", lost), ("rule", broken), ("miss", _misses(page, pooled))):
        for record in records:
            key = TaskName(record.domain, record.task), record.agent
            if key not in seen:
                seen.add(key)
                since = f"lost since {pooled.name}" if kind == "lost" and pooled else ""
                worst = "error" if kind != "miss" else level
                yield _annotation(page, record, level=worst, since=since)


def _comparable(page: SessionPage) -> GroupComparison | None:
    """Return what the baseline says, unless it says nothing of this session."""
    pooled = page.comparison.pooled if page.comparison is not None else None
    return None if pooled is None or pooled.tier is ComparisonResult.NOT_COMPARABLE else pooled


def _misses(page: SessionPage, pooled: GroupComparison | None) -> Iterator[RunRecord]:
    """Yield misses: with a baseline those of tasks that are new or changed."""
    news = None if pooled is None else frozenset(pooled.not_correct)
    for one in page.asked:
        names = {TaskKey(one.domain, one.task), TaskKey(one.domain, one.task, one.agent)}
        if one.outcome not in _NO_NEWS and (news is None or names & news):
            yield one


def _fails(page: SessionPage) -> bool:
    """Whether misses fail the session: a gate that holds forgives them, and so does a shard."""
    holds = bool(page.gates) and all(one.state is GateState.HOLDS for one in page.gates)
    return not (holds or page.not_evaluated)


def _annotation(page: SessionPage, record: RunRecord, *, level: str, since: str) -> Annotation:
    name = TaskName(record.domain, record.task)
    by = f" by {record.agent}" if page.leaderboard is not None else ""
    trial = f" (trial {record.trial})" if record.trial > 1 else ""
    rules = [
        f"breaks rule {one.id}{_clause(one.clause)}" for one in page.forgiven.unforgiven(record)
    ]
    told = [] if record.outcome is Outcome.CORRECT else [value_line(record)]
    what = since or (record.outcome.value if told else rules[0])
    return Annotation(
        task=name,
        level=level,
        title=_shown(f"{name}{trial}{by}: {what}", _TITLE),
        text=_shown("; ".join((*told, *rules)), _MESSAGE),
    )


def _clause(clause: str) -> str:
    return f" ({clause})" if clause else ""


def _shown(text: str, width: int) -> str:
    """Return a text that is harmless when the runner writes it into its log."""
    return without_commands(cut(one_line(ready_to_cut(text)), width))


def _data(text: str) -> str:
    """Escape a text as GitHub reads it: the sign of an escape first."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
