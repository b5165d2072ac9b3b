"""The results of the session, recorded where the summary is printed: every planned run, once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, Final

import pytest

from pytest_sopbench._core.gates.conditions import bounded
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.tally import Tally
from pytest_sopbench._core.metrics.trials import TaskTrials, disagreements
from pytest_sopbench._core.model.task import GroupKey, RunKey, agents_of
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.records.record import RunRecord, from_line, to_line
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.exit_guard import exited
from pytest_sopbench._hooks.items.transport import (
    PAYLOAD,
    FailedBy,
    Payload,
    mark_failed_by,
)
from pytest_sopbench._hooks.results.resume import Resumption
from pytest_sopbench._hooks.results.saving import Saving
from pytest_sopbench._hooks.results.worker_crashes import AGAIN, WorkerCrashes
from pytest_sopbench._hooks.runs.prefetch import ALIKE, Likeness
from pytest_sopbench._hooks.runs.reportable import journal_folder, unreported_record
from pytest_sopbench._hooks.runs.run_cache import Runs
from pytest_sopbench._hooks.runs.shown import explain_record
from pytest_sopbench._hooks.session.consistency import check_same_inputs, learn_ids
from pytest_sopbench._hooks.session.session import SopSession, missing_runs, whole_plan
from pytest_sopbench._reports.notices import UNASKED, RunAlarms
from pytest_sopbench._reports.terminal.misses import LIMIT, MissGroups
from pytest_sopbench._reports.text import counted
from pytest_sopbench._sessions.journal import ReadJournal

# Stops a session whose first runs all end in the same error: the set-up is at fault.

_AGAIN: Final = (
    "--sop-retries=3 makes such runs again after a wait, and "
    "--sop-concurrency=auto\nfinds out how many runs at once it bears"
)
AWAY: Final = f"the provider was not available: a rate limit, or it is away\n{_AGAIN}"
AWAY_BY_TYPE: Final = {
    "AgentAwayError": f"the agent gave no answer: see that it runs\n{_AGAIN}",
    "McpServerGoneError": "the tools of the domain come from an MCP server, which is gone: "
    "see why it ended,\nand run the session again",
}
"""What to do about an error that is not of a provider, by the type of the error."""


class EarlyAbort:
    """Watches the first runs of a session.

    Args:
        begun: how many runs were begun, as far as this process knows.
    """

    def __init__(self, begun: Callable[[], int]) -> None:
        self._begun = begun
        self._likeness = Likeness()
        # The runs whose tests have begun: in the controller of xdist, these are what is known.
        self.asked: dict[RunKey, None] = {}
        self._fault = ""

    def watch(self, record: RunRecord) -> None:
        """Look at one more run, in the order in which they end."""
        if self._likeness.differ or self._likeness.alike >= ALIKE:
            return
        self._likeness.watch(record)
        problem = record.problem
        if self._likeness.alike == ALIKE and problem is not None:
            begun = counted(max(self._begun(), len(self.asked)), "run was", "runs were")
            away = AWAY_BY_TYPE.get(problem.type, AWAY)
            hint = f"\n{away}" if record.outcome is Outcome.UNAVAILABLE else ""
            self._fault = (
                f"the first {ALIKE} runs ended in the same error; {begun} started, and no more is\n"
                f"{problem.type}: {problem.message}{hint}"
            )

    def check(self) -> None:
        """Stop, once the item of the last of them was reported.

        Raises:
            pytest.UsageError: the first runs ended in one error, of the same type and message.
        """
        if self._fault:
            raise pytest.UsageError(self._fault)


# A Ctrl-C that comes while something must not be left half done.


@contextmanager
def interrupts_held_back() -> Generator[None]:
    """Let a Ctrl-C come when the block is over, if this is the thread that it reaches."""
    # pytest says where the user has interrupted, which is not here.
    __tracebackhide__ = True
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[FrameType | None] = []

    def hold(_: int, frame: FrameType | None) -> None:
        held.append(frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is hold:
            signal.signal(signal.SIGINT, before)
        if held:
            before(int(signal.SIGINT), held[-1])


INTERRUPTED: Final = "it had begun when the session was cut short"


class SessionRecorder:
    """Enters each run as its report arrives; what never arrives is entered at the end."""

    def __init__(self, sop: SopSession, runs: Runs) -> None:
        self._sop = sop
        self._runs = runs
        self._outcomes: dict[RunKey, Outcome] = {}
        sop.plan.made = self._outcomes
        self.crashes = WorkerCrashes(sop, self._outcomes)
        self._tallies: dict[GroupKey, Tally] = {}
        self._crashed: list[str] = []
        # The runs whose tests have begun, if one process makes one run at a time.
        self._started: dict[RunKey, None] = {}
        # Runs that had begun when the session was cut short.
        self.interrupted = 0
        self.resumption = Resumption(sop)
        self.saving = Saving(sop, self.resumption)
        self._closed: Mapping[str, Summary] | None = None
        self._has_begun = False
        self.groups: dict[GroupKey, Summary] = {}
        self._journals = journal_folder(sop)
        self._first_runs = EarlyAbort(self._begun)
        # The first of them, or all if each is printed in full; the groups know all.
        self.misses: list[RunRecord] = []
        self.miss_groups = MissGroups()
        self.breaking: list[RunRecord] = []
        self.special = RunAlarms()
        self._tell_again: Callable[[RunRecord], None] | None = None

    @property
    def has_runs(self) -> bool:
        plan = self._sop.plan
        has_runs = self._outcomes or plan.builtin.keys or plan.tests.keys
        # A fault of the set-up, before the first test, is no session that lacks runs.
        lacks = not has_runs and self._has_begun and missing_runs(self._sop)
        return bool(has_runs or lacks) and not self.resumption.refused

    @property
    def keeps_misses(self) -> bool:
        """Whether every miss is printed in full."""
        option = self._sop.config.option
        return bool(option.verbose > 0 or option.tbstyle == "long")

    @property
    def unsaved(self) -> Sequence[str]:
        """What keeps the saved session from being this one, whole."""
        return self.saving.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong with the saved session."""
        journals = (*self._runs.problems, *self.crashes.problems)
        return (*self.saving.problems, *self.saving.log_problems, *journals)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        self._has_begun = True
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Most reports bring no result.
        if PAYLOAD in report.__dict__:
            # A run that Ctrl-C caught between the counts and the file would be in one of them only.
            with interrupts_held_back():
                # Taken off the report, because pytest keeps every report until the end.
                self._take(report, report.__dict__.pop(PAYLOAD))
        if report.when == "teardown":
            self._first_runs.check()

    def _take(self, report: pytest.TestReport, payload: Payload) -> None:
        if "plan" in payload:
            self.learn(payload["plan"], getattr(report, "node", None))
        if payload.get("is_rerun") and (key := self._sop.plan.key(report.nodeid)):
            # Another plugin ran the item again; the first verdict counts.
            self._tally(key.domain, key.agent).add_rerun()
        if "line" in payload:
            record = payload["record"] if "record" in payload else from_line(payload["line"])
            taken_over = payload.get("taken_over", False)
            if payload.get("inherited") and record.key in self._outcomes:
                # Reported before its worker died; a second test of the task has asked for it.
                return
            self._enter(record, payload["line"], payload.get("events", ""), taken_over=taken_over)
            if not taken_over:
                self._first_runs.watch(record)

    def learn(self, plan: str, node: Any) -> None:
        """Take over the plan that a worker has sent, with its first report or at its end."""
        with interrupts_held_back():
            if plan:
                check_same_inputs(self._sop, self._sop.plan.add_json(plan), node)
            # In the process that makes the runs the plan is known, and an empty one is sent.
            self.resumption.check_plan()
            for crashitem in self._crashed:
                key = self._sop.plan.key(crashitem)
                if key is not None and key not in self._outcomes:
                    trace = Trace(ending=Ending.PROCESS_DIED)
                    self._enter(unreported_record(self._sop, key, trace))
            self._crashed.clear()

    def open_file(self) -> None:
        """Open the saved session where runs are planned, before the first of them can end."""
        if self._sop.makes_runs and self.has_runs:
            self.saving.open()

    def tell_again(self, told: Callable[[RunRecord], None]) -> None:
        """Have something called for each run that was made although it had been made before."""
        self._tell_again = told

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        key = self._sop.plan.key(nodeid)
        if key is not None and key not in self._outcomes and self._sop.makes_runs:
            self._started[key] = None
            self.saving.start(key)
            self._first_runs.asked[key] = None

    @pytest.hookimpl
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        key = self._sop.plan.key(nodeid)
        if key is not None:
            # A test that was skipped came to its end, and its run never began.
            self._started.pop(key, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Learn which built-in items the workers collected."""
        learn_ids(self._sop, ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Enter the run that a worker was making when it died."""
        with interrupts_held_back():
            self._take_crash(crashitem, report, sched)

    def _take_crash(self, crashitem: str, report: Any, sched: Any) -> None:
        key = self._sop.plan.key(crashitem)
        if self.crashes.has_ended(crashitem, report):
            report.outcome = AGAIN
            return
        if self.crashes.is_given_back(crashitem, key, report):
            report.outcome = AGAIN
            sched.mark_test_pending(crashitem)
            return
        if key is None:
            # Which run it was, the plan of another worker will tell.
            self._crashed.append(crashitem)
            return
        builtin = crashitem in self._sop.plan.builtin.keys
        # The test of a project may have died by its own code, when its run had ended well.
        stands = not builtin and self.crashes.had_finished(key, report)
        if key not in self._outcomes and not stands:
            record = unreported_record(self._sop, key, Trace(ending=Ending.PROCESS_DIED))
            self._enter(record)
            if builtin:
                mark_failed_by(report, FailedBy(Outcome.CRASH), builtin=True)
                # xdist says which worker crashed, and nothing of the task.
                report.longrepr = f"{explain_record(self._sop, record)}\n\n{report.longrepr}"

    def close(self) -> Mapping[str, Summary]:
        """Enter what was planned and never seen, finish the file, and return the summaries."""
        if self._closed is None:
            # Entered as they are below, none of them would look missing any more.
            self._sop.plan.missing = {**missing_runs(self._sop)}
            planned = whole_plan(self._sop)
            journal = self._journals.read(self._runs.problems)
            self._enter_unasked(planned, journal)
            unmade = self.crashes.unmade()
            begun = self._started if journal is None else journal.unfinished
            for key in planned:
                if key not in self._outcomes:
                    record = unreported_record(self._sop, key, unmade.get(key))
                    if key in begun and record.outcome is Outcome.NOT_RUN:
                        record = replace(record, reason=INTERRUPTED)
                        self.interrupted += 1
                    self._enter(record)
            # In the order of the plan: with workers, that of arrival is another one each time.
            order = dict.fromkeys(GroupKey(key.domain, key.agent) for key in planned)
            groups = sorted(self._tallies, key=[*order, *self._tallies].index)
            counted = {group.title(groups): self._tallies[group].summary() for group in groups}
            gates = self._sop.options.gates
            self._closed = bounded(counted, gates, agents_of(groups))
            self.groups = {group: self._closed[group.title(groups)] for group in groups}
            self.saving.finish(planned, self._closed)
            if not self.saving.problems:
                self._journals.remove()
        return self._closed

    def _begun(self) -> int:
        """Return how many runs were begun, in this process or in workers that keep journals."""
        journal = self._journals.read()
        known = 0 if journal is None else len(journal.finished) + len(journal.unfinished)
        return max(self._runs.starts.begun, known)

    def disagreeing(self, domain: str, agent: str) -> Sequence[TaskTrials]:
        """Return the tasks of a closed group whose trials disagree."""
        if not self.groups[GroupKey(domain, agent)].trials_by:
            return ()
        # In the order of the plan, since that of arrival is another one each time.
        return disagreements(
            (key, self._outcomes[key])
            for key in whole_plan(self._sop)
            if (key.domain, key.agent) == (domain, agent)
        )

    def _enter_unasked(self, planned: Container[RunKey], journal: ReadJournal | None) -> None:
        """Enter runs that ended, and whose tests were never run: they were made, and paid for."""
        for done in self._runs.left_over:
            if done.record.key not in self._outcomes:
                self._enter(done.record, done.line, done.events)
                self.special.others[UNASKED] += 1
        for record, line in self.resumption.unasked():
            if record.key not in self._outcomes and record.key in planned:
                self._enter(record, line, taken_over=True)
        for key, run in journal.finished.items() if journal is not None else ():
            if key not in self._outcomes and key in planned:
                self._enter(run.record, run.line, run.events)
                self.special.others[UNASKED] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if not self._sop.makes_runs:
            return
        if not self.has_runs and self._sop.options.shard is not None and self._sop.plan.specs:
            # A shard without tasks is a part like the others, when they are put together.
            self.saving.open()
            self.close()
        elif self.has_runs:
            self.close()
        else:
            # Workers may have been told of a folder for journals before tests were taken away.
            journal = self._journals.read()
            if journal is None or not journal.finished:
                self._journals.remove()

    def _enter(
        self,
        record: RunRecord,
        line: str | None = None,
        events: str = "",
        *,
        taken_over: bool = False,
    ) -> None:
        """Count a run and write it, once."""
        tally, key = self._tally(record.domain, record.agent), record.key
        if key in self._outcomes:
            # Made again by a worker that took over from a dead one; the first verdict counts.
            tally.add_rerun()
            if self._tell_again is not None and not taken_over:
                self._tell_again(record)
            return
        if self.resumption.left is not None:
            self.resumption.watch(record, taken_over=taken_over)
        self._outcomes[key] = record.outcome
        tally.add(record)
        self.saving.add(record, line or to_line(record), events)
        if record.notes and not taken_over:
            # What an agent of an earlier process left behind has gone with it.
            self.special.watch(record)
        if record.outcome is not Outcome.CORRECT:
            self._miss(record)
        if record.rules:
            enforce = self._sop.options.contract == "enforce"
            if self._sop.forgiven.unforgiven(record, enforce=enforce):
                self.breaking.append(record)
        try:
            self._sop.config.hook.pytest_sop_run_finished(run=record)
        except SystemExit as ended:
            raise exited(ended, "pytest_sop_run_finished") from ended

    def _tally(self, domain: str, agent: str) -> Tally:
        group = GroupKey(domain, agent)
        if group not in self._tallies:
            fields = self._sop.find_active(domain).domain.fields
            self._tallies[group] = Tally(fields)
        return self._tallies[group]

    def _miss(self, record: RunRecord) -> None:
        may_fail = self._sop.forgiven.leaves_out(record, About.ANSWERS)
        # What never started is counted in the summary; a list would bury what went wrong.
        if may_fail or record.outcome is Outcome.NOT_RUN:
            return
        self.miss_groups.add(record)
        if len(self.misses) < LIMIT or self.keeps_misses:
            self.misses.append(record)
