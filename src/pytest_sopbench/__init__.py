"""Regression tests for agents that execute Standard Operating Procedures.

The names below are the public ones. Each is fetched when it is first used, so that importing
the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core.models import Domain, Task
    from ._core.traces import ToolCall, Trace
    from ._core.trajectory import Call, ExpectedCall, Trajectory
    from ._core.trajectory_match import TrajectoryMatch, match_trajectory
    from ._core.verdicts import Outcome, Verdict
    from ._hooks.run import Run
    from ._running.tools import Tools
    from ._sessions.public import load_session
    from ._sessions.reader import SavedSession
    from .errors import SopbenchError, ToolError, Unavailable

__all__ = [
    "Call",
    "Domain",
    "ExpectedCall",
    "Outcome",
    "Run",
    "SavedSession",
    "SopbenchError",
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
]

_HOMES = {
    "Call": "_core.trajectory",
    "Domain": "_core.models",
    "ExpectedCall": "_core.trajectory",
    "Outcome": "_core.verdicts",
    "Run": "_hooks.run",
    "SavedSession": "_sessions.reader",
    "SopbenchError": "errors",
    "Task": "_core.models",
    "ToolCall": "_core.traces",
    "ToolError": "errors",
    "Tools": "_running.tools",
    "Trace": "_core.traces",
    "Trajectory": "_core.trajectory",
    "TrajectoryMatch": "_core.trajectory_match",
    "Unavailable": "errors",
    "Verdict": "_core.verdicts",
    "load_session": "_sessions.public",
    "match_trajectory": "_core.trajectory_match",
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
