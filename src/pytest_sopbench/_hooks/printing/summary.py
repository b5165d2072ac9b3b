"""What the terminal shows of a SOP session at its end: the misses, the summary, the gates."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_sopbench._core.gates.conditions.summary_gates import GateState
from pytest_sopbench._core.hiding.secrets import SHORTEST
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.model.agent_labels import parameter_of
from pytest_sopbench._core.model.keys import GroupKey, RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.books.recorder import SessionRecorder
from pytest_sopbench._hooks.books.saving import kept_path
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.process.exit_guard import exited
from pytest_sopbench._hooks.process.outgoing import write_command
from pytest_sopbench._hooks.runs.shown.explanation import explain_record, rerun_of
from pytest_sopbench._hooks.runs.shown.rerun_command import show_line
from pytest_sopbench._hooks.session.partial import unused_agents
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.strictness import NOT_ASKED
from pytest_sopbench._reports.failure.task import next_lines
from pytest_sopbench._reports.notices.alarms import special_lines
from pytest_sopbench._reports.terminal.comparison.lost import keys_of, lost_lines, lost_records
from pytest_sopbench._reports.terminal.gate import gate_lines, not_evaluated_lines
from pytest_sopbench._reports.terminal.misses import (
    full_miss_lines,
    miss_lines,
    namer,
    short_miss_lines,
)
from pytest_sopbench._reports.terminal.quarantine import entry_lines, without_lines
from pytest_sopbench._reports.terminal.summary.summary import domain_lines, total_lines
from pytest_sopbench._reports.text.layout import added_lines, one_line
from pytest_sopbench._reports.text.numbers import counted

if TYPE_CHECKING:
    from pytest_sopbench._core.comparing.comparison import SessionComparison
    from pytest_sopbench._core.comparing.leaderboard import Leaderboard
    from pytest_sopbench._sessions.reading.reader import SavedSession

COLOURS = {GateState.HOLDS: "green", GateState.FAILS: "red", GateState.INCONCLUSIVE: "yellow"}

NO_DOMAIN_GIVEN = (
    "sop: --agent is given, but no domain and no test: add --sop-domain NAME, or run pytest domains"
)


class SummaryHooks:
    """Prints; what it prints is made by `_reports`."""

    def __init__(self, sop: SopSession, ledger: SessionRecorder, gate: Gate) -> None:
        self._sop = sop
        self._ledger = ledger
        self._gate = gate
        self._is_interrupted = False
        # Pages that could not be written, and commands to a CI server, which stand below all else.
        self.unwritten: tuple[str, ...] = ()
        self._commands: tuple[str, ...] = ()

    def pytest_report_header(self) -> list[str]:
        from .heading import header_lines  # noqa: PLC0415 - only where pytest prints a header

        return [one_line(line) for line in header_lines(self._sop)]

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        config = self._sop.config
        if not items and not self._sop.has_domains and config.getoption("sop_agent"):
            return [NO_DOMAIN_GIVEN]
        if config.option.verbose < 0 or not self._sop.makes_runs:
            return []
        from .forecast import forecast_of_plan  # noqa: PLC0415 - only where a forecast is shown
        from .heading import agent_lines  # noqa: PLC0415 - only where pytest prints a header

        return [*map(one_line, agent_lines(self._sop)), *forecast_of_plan(self._sop)]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._is_interrupted = issubclass(excinfo.type, KeyboardInterrupt)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Print below all that pytest prints: it has a line for each failure."""
        yield
        if self._sop.makes_runs and self._ledger.has_runs:
            self._print(terminalreporter)
        elif self._sop.makes_runs:
            terminalreporter.ensure_newline()
            for line in self._lines_without_runs():
                terminalreporter.write_line(line, yellow=True)

    def _lines_without_runs(self) -> Iterator[str]:
        """Yield why no gate was asked, in a session in which no test asks for a run."""
        if unused := unused_agents(self._sop):
            said = f"no test asked for a run of the typed agent {', '.join(unused)}"
            yield f"sop: {said}, which fails the session"
        if not self._gate.is_set:
            return
        if self._sop.options.types_gate:
            yield from not_evaluated_lines(self._gate.not_evaluated)
        elif self._sop.options.shard is None:
            yield NOT_ASKED

    def _print(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.ensure_newline()
        for line in self._blocks(terminalreporter.verbosity):
            terminalreporter.write_line(one_line(line))
        for line, markup in self._gate_lines():
            terminalreporter.write_line(one_line(line), **{markup: True})
        for line in self._added_lines():
            terminalreporter.write_line(line)
        for line in self._more_lines():
            terminalreporter.write_line(one_line(line))
        for line in self._commands:
            write_command(self._sop.config, line)

    def _gate_lines(self) -> Iterator[tuple[str, str]]:
        for verdict in self._gate.verdicts:
            for line in gate_lines(verdict):
                yield line, COLOURS[verdict.state]
        if self._gate.others:
            failures = counted(self._gate.others, "other failure")
            yield f"       {failures}, which no gate forgives", "red"
        if self._gate.is_set and self._gate.not_evaluated:
            for line in not_evaluated_lines(self._gate.not_evaluated):
                yield line, "yellow"
        for remark in self._gate.remarks:
            yield f"       {remark}", "yellow"

    def _blocks(self, verbosity: int) -> Iterator[str]:
        if self._gate.forgives:
            yield from self._misses(verbosity)
        self._ledger.close()
        groups = self._ledger.groups
        for (domain, agent), summary in groups.items():
            shown = self._shown(agent)
            # A block names its agent, and a single line has to where the domain had several.
            title = GroupKey(domain, shown).title(groups) if verbosity < 0 else domain
            yield from domain_lines(
                title,
                shown,
                summary,
                verbosity=verbosity,
                scoring=self._sop.options.scoring,
                disagreeing=self._ledger.disagreeing(domain, agent),
            )
        yield from self._totals(verbosity)
        board = self._leaderboard() if verbosity >= 0 else None
        if board is not None:
            from pytest_sopbench._reports.terminal.comparison.leaderboard import leaderboard_lines  # noqa: PLC0415 - only where agents are compared

            yield from leaderboard_lines(board, verbosity=verbosity)
        if self._sop.options.selection:
            yield from selection_lines(self._sop, {group.domain for group in groups})
        yield from without_lines(self._gate.asked)
        yield from entry_lines(self._gate.entries.report, file=self._gate.entries.shown)
        if self._gate.comparison is not None:
            yield from self._comparison(self._gate.comparison, verbosity)

    def _totals(self, verbosity: int) -> Iterator[str]:
        """Yield the total of each agent that ran on several domains; two are never counted once."""
        groups = self._ledger.groups
        agents = dict.fromkeys(group.agent for group in groups)
        for agent in agents:
            mine = {one.domain: summary for one, summary in groups.items() if one.agent == agent}
            if len(mine) > 1:
                named = self._shown(agent) if len(agents) > 1 else ""
                total = total_of(mine)
                yield from total_lines(self._shown(agent), total, verbosity=verbosity, named=named)

    def _leaderboard(self) -> Leaderboard | None:
        if len({group.agent for group in self._ledger.groups}) < 2:  # noqa: PLR2004 - nobody to compare
            return None
        from pytest_sopbench._core.comparing.leaderboard import leaderboard_of  # noqa: PLC0415 - only where sessions are compared

        records = map(self._made, self._sop.plan.made)
        return leaderboard_of(self._ledger.groups, records, may_fail=self._sop.forgiven.answers)

    def _misses(self, verbosity: int) -> Iterator[str]:
        """Yield what pytest prints nothing of: lost tasks in full, and other misses by kind."""
        ledger = self._ledger
        named = namer(self._sop.plan.planned)
        if verbosity < 0:
            yield from short_miss_lines(ledger.misses, len(ledger.miss_groups), named)
            return
        shown: frozenset[RunKey] = frozenset()
        if self._gate.saved is not None and self._gate.comparison is not None:
            pooled = self._gate.comparison.pooled
            lost = lost_records(self._gate.saved.records, frozenset(pooled.lost))
            yield from lost_lines(lost, pooled.name, self._in_full)
            shown = keys_of(lost)
        if ledger.keeps_misses:
            others = [one for one in ledger.misses if one.key not in shown]
            yield from full_miss_lines(others, self._in_full)
            return
        groups = ledger.miss_groups
        # With workers the order of arrival is another one each time.
        ordered = dict.fromkeys((*self._sop.plan.planned, *groups))
        keys = [key for key in ordered if key in groups and key not in shown]
        first = keys[0] if keys else None
        yield from miss_lines(
            groups,
            keys,
            width=self._sop.config.get_terminal_writer().fullwidth,
            named=named,
            after=next_lines(rerun_of(self._sop, self._made(first)), show_line(self._sop, first))
            if first is not None
            else (),
        )

    def _made(self, key: RunKey) -> RunRecord:
        """Return a record of a run of which nothing but its outcome is asked."""
        return RunRecord(**key._asdict(), outcome=self._sop.plan.made[key])

    def _in_full(self, record: RunRecord) -> str:
        return explain_record(self._sop, record)

    def _comparison(self, comparison: SessionComparison, verbosity: int) -> Iterator[str]:
        if verbosity < 0:
            from pytest_sopbench._reports.terminal.comparison.comparison import (  # noqa: PLC0415 - only where sessions are compared
                aside_lines,
                short_comparison_lines,
            )

            yield from short_comparison_lines(comparison)
            yield from aside_lines(comparison.pooled)
        else:
            from pytest_sopbench._reports.terminal.comparison.comparison import (  # noqa: PLC0415 - only where sessions are compared
                session_comparison_lines,
            )

            yield from session_comparison_lines(comparison)

    def _shown(self, agent: str) -> str:
        if agent == self._sop.agent_label:
            return self._sop.agent_shown
        return parameter_of(agent) or agent

    def _added_lines(self) -> Iterator[str]:
        """What other plugins add, which may have colours of its own."""
        try:
            added = self._sop.config.hook.pytest_sop_summary(summary=dict(self._ledger.close()))
        except SystemExit as ended:
            raise exited(ended, "pytest_sop_summary") from ended
        for lines in added:
            yield from added_lines(lines, "pytest_sop_summary")

    def _more_lines(self) -> Iterator[str]:
        """What must not go unsaid."""
        yield from self._ledger.resumption.summary_lines()
        yield from special_lines(self._ledger.special)
        yield from open_lines(self._sop.options.hidden.open_arguments)
        if self._sop.options.reports and self._gate.saved is not None:
            self._write_pages(self._gate.saved)
            for problem in self.unwritten:
                yield f"not written: {problem}"
        for problem in self._ledger.problems:
            yield f"not saved: {problem}"
        kept = kept_path(self._sop)
        if kept is not None and not self._ledger.problems:
            yield saved_line(self._sop.shown(kept), self._ledger.close().values())
        if self._is_interrupted and not self._ledger.problems:
            yield from resume_lines(self._ledger.close().values(), self._ledger.interrupted)

    def _write_pages(self, saved: SavedSession) -> None:
        from .report_files import write_reports  # noqa: PLC0415 - loaded before the runs, where pages are asked for

        reported = write_reports(self._sop, self._gate, saved)
        self.unwritten, self._commands = reported.unwritten, reported.commands


def open_lines(names: Sequence[str]) -> Iterator[str]:
    """Say which arguments of the agent are not masked, though they come from variables."""
    if names:
        held = f"fewer than {SHORTEST} characters, and is not masked"
        yield f"note   agent argument {', '.join(names)}: its variable holds {held}"


def saved_line(shown: str, summaries: Iterable[Summary]) -> str:
    """Say where a session was kept, and that it is no baseline where all is well."""
    wrong = sum(one.runs - one.correct for one in summaries)
    runs = counted(wrong, "run that is", "runs that are")
    return f"saved  {shown}{f', with {runs} not correct' if wrong else ''}"


def resume_lines(summaries: Iterable[Summary], interrupted: int) -> Iterator[str]:
    """Say, after Ctrl-C, how to run what is left; nothing where nothing is.

    Args:
        summaries: of the session.
        interrupted: how many of the runs without an outcome had begun.
    """
    never = sum(one.outcomes.get(Outcome.NOT_RUN, 0) for one in summaries) - interrupted
    told: list[str] = []
    if interrupted:
        told.append(f"{counted(interrupted, 'run was', 'runs were')} interrupted")
    if never:
        told.append(f"{counted(never, 'run was', 'runs were')} never started")
    if told:
        yield f"note   {', '.join(told)};"
        yield "       the same command with --sop-resume=last makes them"


def selection_lines(sop: SopSession, names: Collection[str]) -> Iterator[str]:
    """Say of how many tasks the summary speaks, where options left some out."""
    for active in (one for one in sop.actives if one.domain.name in names):
        count, every = len(active.positions), len(active.domain.task_ids)
        yield f"select {count} of {every} tasks of {active.domain.name}"
    yield f"       by {' '.join(sop.options.selection)}"
