"""Whether the session passes, decided once all runs are known.

The last part has the tasks of which the project says that they must pass, or may fail.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path

import pytest

from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import (
    COMPARISON_GATES,
    GateState,
    GateVerdict,
    gate_text,
    has_gate,
    why_unmeasurable,
)
from pytest_sopbench._core.gates.decide import Decision, SessionFacts, decide, refused_as_baseline
from pytest_sopbench._core.gates.quarantine import (
    NO_ENTRIES,
    PolicyReport,
    TaskEntries,
    report_entries,
)
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import TaskName, agents_of, labels_of, named_agents
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.deciding.baseline import Baseline
from pytest_sopbench._hooks.items.collection import (
    check_asked,
    is_empty_shard,
)
from pytest_sopbench._hooks.items.transport import failed_by, is_builtin
from pytest_sopbench._hooks.results.recorder import SessionRecorder
from pytest_sopbench._hooks.results.saving import drafts_of
from pytest_sopbench._hooks.results.worker_crashes import is_again
from pytest_sopbench._hooks.session.consistency import has_workers
from pytest_sopbench._hooks.session.domains import doubtful_in
from pytest_sopbench._hooks.session.session import (
    SopSession,
    deselection_reason,
    lacks_runs,
    silenced_lines,
    silenced_tests,
    unused_agents,
    whole_plan,
)
from pytest_sopbench._hooks.settings.ini import NOTHING_ASKED, SET_UP_FAILED
from pytest_sopbench._hooks.settings.options import replaced_gates
from pytest_sopbench._loading.files import nearest
from pytest_sopbench._loading.finding import domains_called
from pytest_sopbench._loading.quarantine_file import check_tasks, read_tasks_file
from pytest_sopbench._reports.text import counted
from pytest_sopbench._sessions.saved import SavedSession, asked_summaries, planned_records
from pytest_sopbench.errors import SopbenchError

# The tests of a session that failed: misses, those whose task may fail, and all others.


class Failed(Enum):
    """What a test failed by: what the tasks file forgives, what gates bound, a rule, all else."""

    FORGIVEN = auto()
    MISS = auto()
    BREACH = auto()
    OTHER = auto()


class FailedTests:
    """Counts each failed test as what it is, and says how pytest shows it."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.missed = 0
        # By what the tasks file says.
        self.forgiven = 0
        # By a broken rule alone, of which the runs tell, and so the gates.
        self.breached = 0
        # All of which the runs do not tell, whether there is a gate or not.
        self.untold = 0
        # Whether any failed by what nothing forgives.
        self.has_unforgiven = False

    @property
    def excused(self) -> int:
        """How many a gate that holds takes back."""
        return self.missed + self.forgiven

    def enter(self, report: pytest.TestReport) -> None:
        """Count a test that failed."""
        if hasattr(report, "wasxfail"):
            # pytest counts no failure that a plugin has marked as expected; to forgive it would
            # forgive another one.
            return
        kind = self._kind(report)
        self.forgiven += kind is Failed.FORGIVEN
        self.has_unforgiven |= kind is not Failed.FORGIVEN
        self.missed += kind is Failed.MISS
        # Of broken rules the runs tell, to whoever checks a gate on the saved session.
        self.breached += kind is Failed.BREACH
        self.untold += kind is Failed.OTHER

    def status(self, report: pytest.TestReport, *, forgives: bool) -> object:
        """Return how pytest shows a test that has not passed; `None` if pytest decides.

        `forgives` tells that a miss is counted as one, and not as a failure.
        """
        kind = self._kind(report) if report.failed else None
        if kind is Failed.FORGIVEN:
            return "may fail", "q", ("MAY FAIL", {"yellow": True})
        if forgives and kind is Failed.MISS:
            return "missed", "m", ("MISSED", {"yellow": True})
        # A crash that another run is to blame for: its test is run again, and reported then.
        return ("", "", "") if is_again(report) else None

    def _kind(self, report: pytest.TestReport) -> Failed:
        """Tell what a test failed by; a set-up or a tear-down that fails is nobody's answer."""
        found, key = failed_by(report), self._sop.plan.key(report.nodeid)
        if found is None or key is None:
            return Failed.OTHER
        task, forgiven = TaskName(key.domain, key.task), self._sop.forgiven
        if forgiven.forgives(task, found.outcome, found.rules):
            return Failed.FORGIVEN
        if not is_builtin(report):
            return Failed.OTHER
        return Failed.MISS if forgiven.forgives_rules(task, found.rules) else Failed.BREACH


CUT_SHORT = "the session was cut short"
NOT_SAVED = "the saved session that decides was not written, which fails"


class Gate:
    """Decides between the session's misses and its exit status."""

    def __init__(self, sop: SopSession, recorder: SessionRecorder) -> None:
        self._sop = sop
        self._recorder = recorder
        self.baseline = Baseline(sop)
        self.entries = Quarantine(sop)
        self._failed = FailedTests(sop)
        # What stands when the loop never comes to its end, by -x or Ctrl-C.
        self._decided = Decision()
        self.not_evaluated = CUT_SHORT
        # Failures beside the misses, which a gate that holds does not forgive.
        self.others = 0
        self.is_decided = False
        # Whether it failed as it was decided; what others do to the exit status changes nothing.
        self.fails = False
        # Of each test that was reported, whether it ever did anything but pass.
        self._reported: dict[str, bool] = {}
        # What a plugin or a conftest made of tests of tasks behind pytest's back.
        self.silenced: tuple[str, ...] = ()
        self.saved: SavedSession | None = None
        self.comparison: SessionComparison | None = None
        # What gates are checked on, by what they ask, if something that is forgiven was run.
        self.asked: Mapping[About, Mapping[str, Summary]] = {}

    def prepare(self) -> None:
        """Read what decides beside the runs, before the first of them.

        Raises:
            pytest.UsageError: the baseline or the tasks file cannot be used.
        """
        self.baseline.read()
        self.entries.read()
        self.entries.record()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        # Before xdist starts its workers, if the command line names the domains.
        self.entries.check()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self.entries.check()
        self.entries.check_names()
        # Before anything is run; what workers of xdist have collected is known at their end.
        if not has_workers(self._sop.config) and self._sop.makes_runs:
            check_asked(self._sop)
            if self._sop.options.types_gate and self._sop.plan.agents:
                check_agents(self._sop, tuple(self._sop.plan.agents))

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._failed.untold += report.failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        # The controller of xdist collects nothing itself.
        self.entries.check()
        self.entries.check_names()

    @property
    def is_set(self) -> bool:
        return has_gate(self._sop.options.gates)

    @property
    def verdicts(self) -> tuple[GateVerdict, ...]:
        """What came of the gates and of the tasks file; other failures are printed apart."""
        return (*self._decided.gates, *self._decided.entries)

    @property
    def decision(self) -> Decision:
        """What came of the session, for its page."""
        return replace(self._decided, not_evaluated=self.not_evaluated if self.is_set else "")

    @property
    def forgives(self) -> bool:
        """Whether a miss is counted as one, and not as a failure."""
        return self.is_set or self._sop.options.shard is not None

    @property
    def _is_read_back(self) -> bool:
        """Whether the finished session is needed to decide, and not its summaries alone."""
        return self._sop.options.compare is not None or self.entries.is_set

    @property
    def remarks(self) -> tuple[str, ...]:
        """What came of the baseline, beside the comparison, and of the saved session."""
        unsaid = [NOT_SAVED] if self.not_evaluated == NOT_SAVED and not self.is_set else []
        if not self.is_set and (away := deselection_reason(self._sop)):
            fails = ", which fails the session" if lacks_runs(self._sop) else ""
            # Without a gate, what options of pytest take away is nobody's loss.
            unsaid += [f"{away}{fails}"] if fails or self._sop.options.shard is not None else []
        return (
            *self.baseline.remarks,
            *unsaid,
            *self.silenced,
            *replaced_gates(self._sop.config),
            *self.entries.remarks(),
            *self._decided.unasked,
            *self._sop.broken,
        )

    def uncounted_losses(self) -> Iterator[str]:
        """Say that tasks were lost, if other gates than one on the comparison decide."""
        gates = self._sop.options.gates
        if self.comparison is None or not self.is_set:
            return
        lost = len(self.comparison.pooled.lost)
        if lost and not any(one.name in COMPARISON_GATES for one in gates):
            were = counted(lost, "task was", "tasks were")
            yield f"{were} lost, and no gate counts that: add --sop-gate lost=0"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.entries.is_set:
            # Which domains a user's tests are of, the first report of a worker tells.
            self.entries.check()
        # By any id, since of what a worker runs the first report tells.
        self._reported[report.nodeid] = (
            self._reported.get(report.nodeid, False) or not report.passed
        )
        if report.failed:
            self._failed.enter(report)
            self._sop.lacks_set_up |= report.when == "setup"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        if report.passed:
            return None
        return self._failed.status(report, forgives=self.forgives)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        try:
            result = yield
        except (session.Failed, KeyboardInterrupt, pytest.exit.Exception) as stop:
            self.not_evaluated = f"{CUT_SHORT}{f': {stop}' if str(stop) else ''}"
            self._look_back()
            self._create_baseline(self.not_evaluated)
            raise
        self.is_decided = True
        # Not `session.exitstatus`, which other plugins overwrite.
        if self._sop.makes_runs:
            # Also of a shard that the hash leaves empty: of the whole, too, all failures are known.
            self._failed.untold += len(self._sop.broken) + self._count_silenced()
            self._sop.failures = self._failed.untold
        if self._sop.makes_runs and self._recorder.has_runs:
            self._look_back()
            session.testsfailed += self._decide(session.testsfailed) + bool(self.silenced)
        elif self._sop.makes_runs:
            check_asked(self._sop)
            reason = SET_UP_FAILED if self._sop.lacks_set_up else deselection_reason(self._sop)
            self.not_evaluated = reason or NOTHING_ASKED
            unused = session.testscollected > 0 and bool(unused_agents(self._sop))
            # A gate of the configuration is one for sessions that have SOP tests. If no test at all
            # is left, pytest has a status of its own.
            typed = bool(self._sop.options.gates) and self._sop.options.types_gate
            session.testsfailed += unused or (typed and session.testscollected > 0)
        self.fails = bool(session.testsfailed) and (self.forgives or self.entries.is_set)
        return result

    def _count_silenced(self) -> int:
        """Count tests of tasks that were never run, or passed although their runs did not."""
        if not self._recorder.has_runs:
            return 0
        found = silenced_tests(self._sop, self._reported, self._recorder.breaking)
        self.silenced = tuple(silenced_lines(self._sop, found))
        return sum(map(len, found))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, object, object]:
        result = yield
        # A matrix of shards may have more jobs than tasks. Set last: syrupy adds to the status.
        empty = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if empty and is_empty_shard(self._sop):
            session.exitstatus = pytest.ExitCode.OK
        return result

    @property
    def owes(self) -> bool:
        """Whether a session that was cut short is no pass: it failed, or nobody knows."""
        return self._is_relied_on or self._failed.has_unforgiven or self.entries.report.fails

    @property
    def _is_relied_on(self) -> bool:
        """Whether a gate that is not evaluated fails the session."""
        return self.is_set and (self._sop.options.types_gate or self._sop.options.in_ci)

    def _look_back(self) -> None:
        """Read the finished session if more is asked of it than its summaries tell."""
        runs = self._sop.makes_runs and self._recorder.has_runs
        if not runs or not (self._is_read_back or self._sop.options.reports):
            return
        self._recorder.close()
        self.saved = self._recorder.saving.read_back()
        if self.saved is None:
            return
        self.comparison = self.baseline.compare(self.saved)
        self.entries.hold_against(planned_records(self.saved))
        self.asked = asked_summaries(self.saved, self._sop.forgiven)

    def _decide(self, failed: int) -> int:
        """Return what to add to the number of failed tests."""
        # What nothing asked for has not passed, whatever gates and entries say.
        lacks = lacks_runs(self._sop)
        if self._is_read_back and self.saved is None:
            self.not_evaluated = NOT_SAVED
            return 1
        if self._sop.options.shard is not None:
            # A gate is checked on all tasks or on none; until then a miss is no failure, but for
            # one of a task that must pass.
            self.not_evaluated = "a shard is a part of the tasks"
            return self.entries.report.fails + lacks - self._failed.excused
        # What an entry asks must hold, whatever gates ask of its task.
        status = self.entries.report.fails + lacks - self._failed.forgiven
        told = self._failed.excused + self._failed.breached
        if self.is_set:
            self.others = failed - told
        elif self._sop.options.gates:
            # A bound on `unavailable` alone forgives no miss, and says nothing of it.
            self.others = failed - self._failed.forgiven - self._failed.breached
        self.not_evaluated = deselection_reason(self._sop) if self.is_set else ""
        if self.not_evaluated:
            return status + self._leave_open()
        self._decided = self._ask(0 if self.is_set else failed - self._failed.forgiven)
        if not self.is_set:
            return status
        if all(verdict.state is GateState.HOLDS for verdict in self.verdicts):
            return -self._failed.excused
        return 1 - self._failed.forgiven

    def _leave_open(self) -> bool:
        """Say what follows if no gate is evaluated, and tell whether that fails the session."""
        self._create_baseline()
        if self._failed.missed:
            self.not_evaluated += f"; {self._failed.missed} missed, which fails the session"
        elif self._is_relied_on or lacks_runs(self._sop):
            self.not_evaluated += ", which fails the session"
        return self._is_relied_on

    def _ask(self, failed: int) -> Decision:
        """Decide as `sopbench gate` does; a baseline that is missing is made before, if it may.

        `failed` counts the tests that fail the session since no gate bounds them.
        """
        whole = self._recorder.close()
        places = {key: place for place, key in enumerate(whole_plan(self._sop))}
        facts = SessionFacts(
            gates=self._sop.options.gates,
            summaries=whole,
            asked=self.asked,
            agents=agents_of(self._recorder.groups),
            # As the saved session has them.
            records=sorted(
                self._recorder.breaking, key=lambda one: places.get(one.key, len(places))
            ),
            forgiven=self._sop.forgiven,
            enforces=self._sop.options.contract == "enforce",
            comparison=self.comparison,
            entries=self.entries.report,
            failures=self._failed.untold if self.is_set else 0,
            doubtful=doubtful_in(self._sop.config),
            drafts=drafts_of(self._sop),
        )
        if self.baseline.is_missing:
            unbound = f"{failed} failed; --sop-fail-under says how many may" if failed else ""
            self._create_baseline(refused_as_baseline(facts) or unbound)
        return decide(replace(facts, is_baseline=self.baseline.is_made))

    def _create_baseline(self, refused: str = "") -> None:
        if self.saved is not None:
            self.baseline.create(self.saved, refused)


# Gates that make no sense for what is selected, refused before an agent is paid for.


def check_gates(sop: SopSession) -> None:
    """Refuse gates on what is not selected, and those for which nothing can be measured.

    Raises:
        pytest.UsageError: there is one.
    """
    domains = [active.domain for active in sop.domains]
    names = {one.name for one in domains}
    for gate in sop.options.gates:
        if gate.domain and gate.domain not in names:
            msg = f"gate {gate.domain}:{gate.name}: no such domain is selected"
            raise pytest.UsageError(msg)
        held = sop.options.contract != "off"
        if _is_whole(sop) and (why := why_unmeasurable(gate, domains, contract=held)):
            msg = f"gate {gate_text(gate)}: it can never hold: {why}"
            raise pytest.UsageError(msg)
    # Which agents a fixture gives, or the mark of a test, is known when tests are collected.
    if sop.has_agents:
        check_agents(sop, sop.agents)


def check_agents(sop: SopSession, agents: Sequence[str]) -> None:
    """Refuse gates on an agent that is not one of these, nor of the options.

    Raises:
        pytest.UsageError: there is one.
    """
    for gate in sop.options.gates:
        if gate.agent and not any(named_agents(gate.agent, one) for one in (sop.agents, agents)):
            labels = ", ".join(labels_of(agents).values())
            those = f"the agent is {labels}" if len(agents) == 1 else f"the agents are {labels}"
            msg = f"gate {gate_text(gate)}: no such agent is tested\n{those}"
            raise pytest.UsageError(msg)


def _is_whole(sop: SopSession) -> bool:
    """Whether nothing but these domains is run, and a gate without an answer fails the session.

    Tests of the user's own may be of other domains. Whoever tries a few tasks does not want
    the gates of the configuration checked.
    """
    alone = sop.config.args_source is not pytest.Config.ArgsSource.ARGS
    return alone and (sop.options.types_gate or sop.options.in_ci)


# Tasks of which the project says that they must pass, or may fail.


class Quarantine:
    """The tasks file of the project, and what a session shows of it."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._entries: TaskEntries = NO_ENTRIES
        # Asked at each report, and few projects have entries.
        self.is_set = False
        self._checked: set[str] = set()
        self._refused = ""
        # One day for the whole session, also if it runs past midnight.
        self._today = datetime.now(UTC).astimezone().date()
        self.report = PolicyReport()

    @property
    def path(self) -> Path:
        return self._sop.options.tasks_file

    @property
    def shown(self) -> str:
        """The tasks file, as the user would type it."""
        return self._sop.shown(self.path)

    def read(self) -> None:
        """Read the file, if there is one; a link that leads nowhere is no reason to go without.

        Raises:
            pytest.UsageError: it cannot be used.
        """
        if not (self.path.exists() or self.path.is_symlink()):
            return
        try:
            self._entries = read_tasks_file(self.path)
        except SopbenchError as error:
            raise pytest.UsageError(str(error)) from None
        self.is_set = bool(self._entries.entries)
        self._sop.forgiven = self._entries.forgiven(self._today)

    def check(self) -> None:
        """Stop at an entry of a task, or of a rule, that a domain in use does not have.

        Raises:
            pytest.UsageError: there is one.
        """
        if not self.is_set:
            return
        actives = self._sop.actives
        if len(actives) == len(self._checked):
            # Domains are only added.
            return
        fresh = [one for one in actives if one.domain.name not in self._checked]
        self._checked.update(one.domain.name for one in fresh)
        known = {one.domain.name: one.domain for one in fresh}
        try:
            check_tasks(self.path, self._entries, known)
        except SopbenchError as error:
            raise pytest.UsageError(str(error)) from None

    def check_names(self) -> None:
        """Stop at a task that must pass, of a domain whose name is nearly that of one in use.

        Raises:
            pytest.UsageError: there is one: whoever wrote it relies on it.
        """
        unknown = self._unknown() if self.is_set else ()
        spelt = {one.lower(): one for one in self._checked}
        for name in {one.domain for one in self._entries.must_pass}.intersection(unknown):
            if near := nearest(name.lower(), spelt):
                msg = (
                    f"{self.shown}: no domain is called {name}, and a task of it must pass\n"
                    f"did you mean {spelt[near]!r}?"
                )
                self._refused = name
                raise pytest.UsageError(msg)

    def remarks(self) -> Iterator[str]:
        """Say which entries are of no domain that has a name here: they are not checked."""
        for name in self._unknown():
            # That of a refusal is named there.
            if name != self._refused:
                yield f"{self.shown}: no domain is called {name}, so its entries are not checked"

    def _unknown(self) -> Iterator[str]:
        """Yield the names in entries by which no domain is found."""
        for name in sorted({one.domain for one in self._entries.entries} - self._checked):
            try:
                is_known = bool(domains_called(name, self._sop.where))
            except SopbenchError:
                # It is there, and printed in full where it is used.
                is_known = True
            if not is_known:
                yield name

    def hold_against(self, records: Sequence[RunRecord]) -> None:
        """Find out what the runs of a session show of the entries."""
        doubtful = doubtful_in(self._sop.config)
        self.report = report_entries(records, self._entries, self._today, doubtful)

    def record(self) -> None:
        """Have the header of the session keep the tasks by what is said of them."""
        forgiven = self._sop.forgiven
        expired = [one.name for one in self._entries.expired(self._today)]
        self._sop.recorded = replace(
            self._sop.recorded,
            quarantined=tuple(sorted(forgiven.answers, key=str)),
            may_break={
                name: tuple(sorted(forgiven.rules[name]))
                for name in sorted(forgiven.rules, key=str)
            },
            must_pass=tuple(sorted(self._entries.must_pass, key=str)),
            expired=tuple(sorted(expired, key=str)),
        )
