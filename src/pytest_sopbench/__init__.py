"""Regression tests for agents that execute Standard Operating Procedures.

The names below are the public ones. Each is fetched when it is first used, so that importing
the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_sopbench._core.fields.comparison import Match
    from pytest_sopbench._core.model.trace import Answer, Mismatch
    from pytest_sopbench._core.steps import (
        ApprovalDecision,
        ApprovalRequest,
        Procedure,
        Step,
        split_sop,
    )
    from pytest_sopbench._core.trajectory.calls import Call, ExpectedCall, Trajectory
    from pytest_sopbench._hooks.runs.shown import Run
    from pytest_sopbench._sessions.reader import load_session
    from pytest_sopbench._sessions.saved import SavedSession

    from ._core.domain import Domain
    from ._core.gates.decide import SessionPage
    from ._core.metrics.metric import Metric
    from ._core.metrics.summary import Summary
    from ._core.model.task import OutputField, RunKey, Task
    from ._core.model.trace import ToolCall, Trace
    from ._core.records.record import RunRecord
    from ._core.trajectory.match import TrajectoryMatch, match_trajectory
    from ._core.verdict import Outcome, Verdict
    from ._running.tools.toolbox import Tools
    from .errors import SopbenchError, ToolError, Unavailable

__all__ = [
    "Answer",
    "ApprovalDecision",
    "ApprovalRequest",
    "Call",
    "Domain",
    "ExpectedCall",
    "Match",
    "Metric",
    "Mismatch",
    "Outcome",
    "OutputField",
    "Procedure",
    "Run",
    "RunKey",
    "RunRecord",
    "SavedSession",
    "SessionPage",
    "SopbenchError",
    "Step",
    "Summary",
    "Task",
    "ToolCall",
    "ToolError",
    "Tools",
    "Trace",
    "Trajectory",
    "TrajectoryMatch",
    "Unavailable",
    "Verdict",
    "load_session",
    "match_trajectory",
    "split_sop",
]

_HOMES = {
    "Answer": "_core.model.trace",
    "ApprovalDecision": "_core.steps",
    "ApprovalRequest": "_core.steps",
    "Call": "_core.trajectory.calls",
    "Domain": "_core.domain",
    "ExpectedCall": "_core.trajectory.calls",
    "Match": "_core.fields.comparison",
    "Metric": "_core.metrics.metric",
    "Mismatch": "_core.model.trace",
    "Outcome": "_core.verdict",
    "OutputField": "_core.model.task",
    "Procedure": "_core.steps",
    "Run": "_hooks.runs.shown",
    "RunKey": "_core.model.task",
    "RunRecord": "_core.records.record",
    "SavedSession": "_sessions.saved",
    "SessionPage": "_core.gates.decide",
    "SopbenchError": "errors",
    "Step": "_core.steps",
    "Summary": "_core.metrics.summary",
    "Task": "_core.model.task",
    "ToolCall": "_core.model.trace",
    "ToolError": "errors",
    "Tools": "_running.tools.toolbox",
    "Trace": "_core.model.trace",
    "Trajectory": "_core.trajectory.calls",
    "TrajectoryMatch": "_core.trajectory.match",
    "Unavailable": "errors",
    "Verdict": "_core.verdict",
    "load_session": "_sessions.reader",
    "match_trajectory": "_core.trajectory.match",
    "split_sop": "_core.steps",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
