"""Passes over tests whose runs must not begin: what is left of them, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.records.lines.run_line import to_line
from pytest_sopbench._hooks.runs.reportable import make_reportable
from pytest_sopbench._hooks.runs.requests import RunRequest, RunResult
from pytest_sopbench._hooks.runs.run_cache import LEFT, PendingReport
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.session import REF, SESSION


def attach_not_run(item: pytest.Item) -> None:
    """Have the next report of an item tell that its run, which nobody had planned, never began."""
    ref: TaskRef = item.stash[REF]
    sop = item.config.stash[SESSION]
    verdict = judge(ref.domain.rules, ref.task, None)
    kept = make_reportable(sop, ref, ref.task, None, verdict)
    # It took no time; how it ended nobody asks, since the verdict is made.
    trace = Trace(ending=Ending.TIMED_OUT)
    done = RunResult(RunRequest(ref, ref.task, None), trace, verdict, kept, to_line(kept.record))
    item.stash[LEFT] = PendingReport(done, 0.0)


def tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tear down what the item before this one has left for it, and the next one does not need."""
    # pytest has no public way to pass over an item; what fixtures raise here is reported as usual.
    state: Any = item.session._setupstate  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above

    def exact() -> None:
        state.teardown_exact(nextitem)

    call = _called(exact, "teardown")
    if call.excinfo is not None:
        # Other plugins lay down at the set-up of an item what they want at its end.
        for one in (_called(_nothing, "setup"), call):
            report = item.ihook.pytest_runtest_makereport(item=item, call=one)
            item.ihook.pytest_runtest_logreport(report=report)


def _called(what: Callable[[], None], when: Any) -> Any:
    return pytest.CallInfo.from_call(  # pyright: ignore[reportUnknownVariableType] - pytest leaves it generic
        what, when=when, reraise=(KeyboardInterrupt, pytest.exit.Exception)
    )


def _nothing() -> None:
    """Be the set-up of an item that is not set up."""
