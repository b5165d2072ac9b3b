"""A saved session as a table of pandas: one row for each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from pytest_sopbench._core.metrics.counts import share_of
from pytest_sopbench._core.metrics.metric import Metric, cell_of, run_columns
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import COMPLETED
from pytest_sopbench.errors import SessionFileError

RUN = ("domain", "task", "trial", "agent", "outcome")
"""The first columns; those of metrics follow, the reason, and the share of right fields."""

BEHIND = ("calls", "duration_s", *COUNTS, "model")
"""Columns behind them; what a run did not tell is missing, and never 0."""

EXTRA = "pip install pandas"


def frame_of(records: Iterable[RunRecord]) -> Any:
    """Return a `pandas.DataFrame` with one row for each run, in the order of the records.

    The columns are those of `columns_before`, then `answer.FIELD` for each field that some run
    answered and `right.FIELD` for each that was compared, sorted, then `BEHIND`. `calls` counts
    tool calls.

    Raises:
        SessionFileError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        msg = "to_dataframe() needs pandas, which is not installed"
        raise SessionFileError(msg, hint=EXTRA) from None
    metrics = run_columns()
    rows = [_row(one, metrics) for one in records]
    before = columns_before()
    answers = sorted({name for row in rows for name in row} - {*before, *BEHIND})
    return pandas.DataFrame(rows, columns=[*before, *answers, *BEHIND])


def columns_before() -> tuple[str, ...]:
    """Return the columns before those of the answer."""
    return (*RUN, *run_columns(), "reason", "fields")


def _right(record: RunRecord) -> Mapping[str, bool]:
    """Return of each field whether it is right; of what was not judged nobody knows."""
    if any(one.held is None for one in record.compared):
        return {}
    wrong = {one.field for one in record.mismatches}
    completed = record.outcome in COMPLETED
    names = (name for name in record.expected if name not in record.ignored)
    return {f"right.{name}": completed and name not in wrong for name in names}


def _row(record: RunRecord, metrics: Mapping[str, Metric]) -> Mapping[str, Any]:
    answer: Mapping[str, JsonValue] = record.answer or {}
    return {
        "domain": record.domain,
        "task": record.task,
        "trial": record.trial,
        "agent": record.agent,
        "outcome": record.outcome.value,
        **{column: cell_of(metric, record) for column, metric in metrics.items()},
        "reason": record.reason,
        "fields": share_of(record, completed=record.outcome in COMPLETED),
        **{f"answer.{name}": value for name, value in answer.items()},
        **_right(record),
        "calls": len(record.calls),
        "duration_s": record.duration_s,
        **{name: getattr(record.usage, name) for name in COUNTS},
        "model": record.usage.model,
    }
