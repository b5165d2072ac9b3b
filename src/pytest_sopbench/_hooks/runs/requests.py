"""What a run is made of, and what comes of it, between those who ask and those who make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.steps.approving import Approver
from pytest_sopbench._core.verdict import Verdict
from pytest_sopbench._hooks.session.domains.active_domain import ActiveDomain, TaskRef
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.tools.toolbox import Toolbox

from .reportable import ReportableRun


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is to be made of; without an `approver`, the session's own is asked."""

    ref: TaskRef
    task: Task
    agent: object
    approver: Approver | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that was made and judged; `line` is its record as it is sent and kept."""

    ask: RunRequest
    trace: Trace
    verdict: Verdict
    kept: ReportableRun
    line: str


@dataclass(frozen=True, slots=True)
class RunFactories:
    """What is needed to make runs, and belongs to those who ask for them."""

    caller: Callable[[object, Approver | None], AgentCaller]
    agent: Callable[[RunKey], object]
    toolbox: Callable[[ActiveDomain, Task], Callable[[], Toolbox]]
    is_known: Callable[[RunKey], bool]
    raised: Callable[[RunKey, BaseException], None]
