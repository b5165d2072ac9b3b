"""The runs that an earlier session has finished, in a process whose items ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.keys import MASK, RunKey
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.lines.run_line import from_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.file.event_logs import trace_name, traces_folder

from .reportable import ReportableRun
from .requests import RunRequest, RunResult

RESUMED: Final = "sop_resumed"
"""What a worker is told: the runs to take over, and where their event logs lie."""

_TAKEN_OVER = pytest.StashKey["ResumedRuns"]()


class ResumedRuns:
    """Gives the runs that need not be made.

    A built-in test needs no more than the record. A user's test may look at everything, so it is
    given the trace of the run's event log; where there is none, the run is made again.
    """

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.lines: dict[RunKey, str] = {}
        self.session: Path | None = None
        self._known: dict[RunKey, bool] = {}

    def has(self, ref: TaskRef) -> bool:
        """Tell whether a run need not be made."""
        key = ref.key
        if key in self.lines and key not in self._known:
            self._known[key] = self.find(RunRequest(ref, ref.task, None)) is not None
        return self._known.get(key, False)

    def needs_nothing(self, key: RunKey) -> bool:
        """Tell whether a run is surely not made, without a look at its task or its log."""
        return key in self.lines and self._known.get(key, key not in self._asked_by_tests)

    def find(self, ask: RunRequest) -> RunResult | None:
        """Return a run that need not be made, else `None`."""
        ref, task = ask.ref, ask.task
        line = self.lines.get(ref.key)
        if line is None:
            return None
        record = from_line(line)
        if record.task_hash != task.hash:
            return None
        kept = ReportableRun(record=record, taken_over=True)
        if ref.key not in self._asked_by_tests:
            from pytest_sopbench._core.records.reconstruct import trace_of, verdict_of  # noqa: PLC0415 - only where a session is resumed

            return RunResult(ask, trace_of(record), verdict_of(record), kept, line)
        trace = self._logged(ref, record)
        verdict = judge(ref.domain.rules, task, trace)
        # What a redaction took out of a log may be what decided.
        if trace is None or verdict.outcome is not record.outcome:
            return None
        return RunResult(ask, trace, verdict, kept, line)

    def for_worker(self, *, local: bool) -> dict[str, Any]:
        """Return what a worker needs; `local`: it sees the disk of this process."""
        session = str(self.session) if local and self.session is not None else None
        return {"runs": [[*key, line] for key, line in self.lines.items()], "session": session}

    def take_from(self, given: Mapping[str, Any]) -> None:
        """Take over what `for_worker` returned in the controller."""
        self.lines = {RunKey(*run[:-1]): run[-1] for run in given["runs"]}
        self.session = Path(given["session"]) if given["session"] else None

    @cached_property
    def _asked_by_tests(self) -> frozenset[RunKey]:
        # Known when the first item runs: everything was collected before.
        return frozenset(self._sop.plan.tests.keys.values())

    def _logged(self, ref: TaskRef, record: RunRecord) -> Trace | None:
        """Return the whole trace of a run, or `None` where it was not kept, or not as it was."""
        if ref.domain.domain.private_columns or self.session is None or not record.trace:
            return None
        path = traces_folder(self.session) / trace_name(ref.key)
        try:
            from pytest_sopbench._core.records.event_log_reading import trace_of_log  # noqa: PLC0415 - only where event logs are kept

            log = path.read_text("ascii")
            masked = MASK in log and self._sop.options.redaction.masks_texts
            return None if masked else trace_of_log(log)
        except (OSError, ValueError):
            return None


def taken_over_of(sop: SopSession) -> ResumedRuns:
    """Return what this process takes over, which is the same for all that ask."""
    stash = sop.config.stash
    if _TAKEN_OVER not in stash:
        taken = stash[_TAKEN_OVER] = ResumedRuns(sop)
        given: Mapping[str, Any] = getattr(sop.config, "workerinput", {})
        if RESUMED in given:
            taken.take_from(given[RESUMED])
    return stash[_TAKEN_OVER]
