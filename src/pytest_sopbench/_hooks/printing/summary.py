"""What the terminal shows of a SOP session at its end: the misses, the summary, the gates."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from pytest_sopbench._audit.saved import has_faults, saved_summary
from pytest_sopbench._core.comparing import leaderboard_of
from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import GateState
from pytest_sopbench._core.hiding import SHORTEST
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.model.task import GroupKey, RunKey, parameter_of
from pytest_sopbench._core.protocols import names_model_agent
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.exit_guard import exited
from pytest_sopbench._hooks.outgoing import write_command
from pytest_sopbench._hooks.printing.report_files import write_reports
from pytest_sopbench._hooks.results.recorder import SessionRecorder
from pytest_sopbench._hooks.results.saving import kept_path
from pytest_sopbench._hooks.runs.prefetch import taken_over_of
from pytest_sopbench._hooks.runs.shown import explain_record, rerun_of, show_line
from pytest_sopbench._hooks.session.consistency import has_workers
from pytest_sopbench._hooks.session.domains import needs_main_thread
from pytest_sopbench._hooks.session.session import SopSession, is_narrowed, unused_agents
from pytest_sopbench._hooks.settings.ini import NOT_CHECKED, NOTHING_ASKED, SET_UP_FAILED
from pytest_sopbench._loading.evidence import read_strong_sample
from pytest_sopbench._reports.failure import next_lines
from pytest_sopbench._reports.notices import special_lines
from pytest_sopbench._reports.terminal.comparison import (
    aside_lines,
    changed_lines,
    keys_of,
    leaderboard_lines,
    left_out_lines,
    lost_lines,
    lost_records,
    session_comparison_lines,
    short_comparison_lines,
)
from pytest_sopbench._reports.terminal.gate import (
    entry_lines,
    gate_lines,
    not_evaluated_lines,
    without_lines,
)
from pytest_sopbench._reports.terminal.misses import (
    full_miss_lines,
    miss_lines,
    namer,
    short_miss_lines,
)
from pytest_sopbench._reports.terminal.summary import domain_lines, total_lines
from pytest_sopbench._reports.text import added_lines, counted, minutes, money, one_line
from pytest_sopbench._sessions.folder import LastSession, followed, last_path, read_last
from pytest_sopbench._settings.readers import AUTO

COLOURS = {GateState.HOLDS: "green", GateState.FAILS: "red", GateState.INCONCLUSIVE: "yellow"}

NO_DOMAIN_GIVEN = (
    "sop: --agent is given, but no domain and no test: add --sop-domain NAME, or run pytest domains"
)


class SummaryHooks:
    """Prints; what it prints is made by `_reports`."""

    def __init__(self, sop: SopSession, recorder: SessionRecorder, gate: Gate) -> None:
        self._sop = sop
        self._recorder = recorder
        self._gate = gate
        self._is_interrupted = False
        # Pages that could not be written, and commands to a CI server, which stand below all else.
        self.unwritten: Sequence[str] = ()
        self._commands: Sequence[str] = ()

    def pytest_report_header(self) -> list[str]:

        return [one_line(line) for line in header_lines(self._sop)]

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        config = self._sop.config
        if not items and not self._sop.has_domains and config.getoption("sop_agent"):
            return [NO_DOMAIN_GIVEN]
        if config.option.verbose < 0 or not self._sop.makes_runs:
            return []

        sop = self._sop
        planned, taken = sop.plan.planned, taken_over_of(sop)
        said: list[str] = []
        # Who runs, if the header could not say it, or has named another one.
        if planned and (sop.agents_run != sop.agent_label or not names_agents(sop)):
            agents = "agents" if len({one.agent for one in planned}) > 1 else "agent"
            said.append(one_line(f"sop: {agents} {sop.agents_run}"))
        # What is planned, and not taken over.
        keys = [key for key in planned if not taken.needs_nothing(key)]
        return [*said, *(_lines(sop, keys, {key.domain for key in planned}) if keys else ())]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._is_interrupted = issubclass(excinfo.type, KeyboardInterrupt)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, None, None]:
        """Print below all that pytest prints: it has a line for each failure."""
        yield
        if self._sop.makes_runs and self._recorder.has_runs:
            self._print(terminalreporter)
        elif self._sop.makes_runs:
            terminalreporter.ensure_newline()
            # If the session could not even be set up, no test could ask for anything.
            is_refused = exitstatus == pytest.ExitCode.USAGE_ERROR
            for line in self._lines_without_runs(is_refused=is_refused):
                terminalreporter.write_line(line, yellow=True)

    def _lines_without_runs(self, *, is_refused: bool) -> Iterator[str]:
        """Yield why no gate was checked, in a session in which no test asks for a run."""
        unused = () if is_refused or self._sop.lacks_set_up else unused_agents(self._sop)
        if unused:
            said = f"no test asked for a run of the typed agent {', '.join(unused)}"
            yield f"sop: {said}, which fails the session"
        if not self._gate.is_set:
            return
        if self._sop.options.types_gate:
            yield from not_evaluated_lines(self._gate.not_evaluated)
        elif self._sop.options.shard is None and not is_refused:
            yield NOT_CHECKED.format(SET_UP_FAILED if self._sop.lacks_set_up else NOTHING_ASKED)

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
        for remark in (*self._gate.remarks, *self._gate.uncounted_losses()):
            yield f"       {remark}", "yellow"

    def _blocks(self, verbosity: int) -> Iterator[str]:
        if self._gate.forgives:
            yield from self._misses(verbosity)
        self._recorder.close()
        groups = self._recorder.groups
        for (domain, agent), summary in groups.items():
            shown = self._shown(agent)
            # A block names its agent, and a single line has to if the domain had several.
            title = GroupKey(domain, shown).title(groups) if verbosity < 0 else domain
            yield from domain_lines(
                title,
                shown,
                summary,
                verbosity=verbosity,
                scoring=self._sop.options.scoring,
                disagreeing=self._recorder.disagreeing(domain, agent),
            )
        yield from self._totals(verbosity)
        if verbosity >= 0 and len({group.agent for group in groups}) > 1:
            records = map(self._made, self._sop.plan.made)
            board = leaderboard_of(groups, records, may_fail=self._sop.forgiven.answers)
            yield from () if board is None else leaderboard_lines(board, verbosity=verbosity)
        if self._sop.options.selection:
            yield from selection_lines(self._sop, {group.domain for group in groups})
        yield from without_lines(self._gate.asked)
        yield from entry_lines(self._gate.entries.report, file=self._gate.entries.shown)
        if self._gate.comparison is not None:
            yield from self._comparison(self._gate.comparison, verbosity)

    def _totals(self, verbosity: int) -> Iterator[str]:
        """Yield the total of each agent that ran on several domains; two are never counted once."""
        groups = self._recorder.groups
        agents = dict.fromkeys(group.agent for group in groups)
        for agent in agents:
            mine = {one.domain: summary for one, summary in groups.items() if one.agent == agent}
            if len(mine) > 1:
                named = self._shown(agent) if len(agents) > 1 else ""
                total = total_of(mine)
                yield from total_lines(self._shown(agent), total, verbosity=verbosity, named=named)

    def _misses(self, verbosity: int) -> Iterator[str]:
        """Yield what pytest prints nothing of: lost tasks in full, and other misses by kind."""
        recorder = self._recorder
        named = namer(self._sop.plan.planned)
        if verbosity < 0:
            yield from short_miss_lines(recorder.misses, len(recorder.miss_groups), named)
            return
        shown: frozenset[RunKey] = frozenset()
        if self._gate.saved is not None and self._gate.comparison is not None:
            pooled = self._gate.comparison.pooled
            lost = lost_records(self._gate.saved.records, frozenset(pooled.lost))
            yield from lost_lines(lost, pooled.name, self._in_full)
            shown = keys_of(lost)
        if recorder.keeps_misses:
            others = [one for one in recorder.misses if one.key not in shown]
            yield from full_miss_lines(others, self._in_full)
            return
        groups = recorder.miss_groups
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
            yield from short_comparison_lines(comparison)
            yield from aside_lines(comparison.pooled)
            yield from left_out_lines(comparison.pooled)
            yield from changed_lines(comparison.changed)
        else:
            yield from session_comparison_lines(comparison)

    def _shown(self, agent: str) -> str:
        if agent == self._sop.agent_label:
            return self._sop.agent_shown
        return parameter_of(agent) or agent

    def _added_lines(self) -> Iterator[str]:
        """What other plugins add, which may have colours of its own."""
        try:
            added = self._sop.config.hook.pytest_sop_summary(summary=dict(self._recorder.close()))
        except SystemExit as ended:
            raise exited(ended, "pytest_sop_summary") from ended
        for lines in added:
            yield from added_lines(lines, "pytest_sop_summary")

    def _more_lines(self) -> Iterator[str]:
        """What must not go unsaid."""
        yield from self._recorder.resumption.summary_lines()
        yield from special_lines(self._recorder.special)
        if names := self._sop.options.hidden.open_arguments:
            # They come from variables, and are not masked nevertheless.
            held = f"fewer than {SHORTEST} characters, and is not masked"
            yield f"note   agent argument {', '.join(names)}: its variable holds {held}"
        if self._sop.options.reports and self._gate.saved is not None:
            reported = write_reports(self._sop, self._gate, self._gate.saved)
            self.unwritten, self._commands = reported
            for problem in self.unwritten:
                yield f"not written: {problem}"
        for problem in self._recorder.problems:
            yield f"not saved: {problem}"
        kept = kept_path(self._sop)
        if kept is not None and not self._recorder.problems:
            yield saved_line(self._sop.shown(kept), self._recorder.close().values())
        if self._is_interrupted and not self._recorder.problems:
            yield from resume_lines(self._recorder.close().values(), self._recorder.interrupted)


def saved_line(shown: str, summaries: Iterable[Summary]) -> str:
    """Say where a session was kept, and how many of its runs were not correct, if any."""
    every = [(one.runs, one.correct) for one in summaries]
    runs = sum(number for number, _ in every)
    wrong = runs - sum(correct for _, correct in every)
    held = f", {counted(runs, 'run')}, {wrong} not correct" if wrong else ""
    return f"saved  {shown}{held}"


def resume_lines(summaries: Iterable[Summary], interrupted: int) -> Iterator[str]:
    """Say, after Ctrl-C, how to run what is left; nothing if nothing is.

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
    """Say of how many tasks the summary speaks, if options left some out."""
    for active in (one for one in sop.actives if one.domain.name in names):
        count, every = len(active.positions), len(active.domain.task_ids)
        yield f"select {count} of {every} tasks of {active.domain.name}"
    yield f"       by {' '.join(sop.options.selection)}"


# What stands above a SOP session: its domains and agents, prices, and what is going to be run.


def header_lines(sop: SopSession) -> Iterator[str]:
    """Say what is about to run, before the first run."""
    if not (sop.options.typed_domains or sop.options.named):
        return
    for active in sop.domains:
        count, every = len(active.positions), len(active.domain.task_ids)
        part = f"{count} of {every} tasks" if count < every else f"{count} tasks"
        # Marks of the user's tests, and fixtures, may name others: that is known after collection.
        agents = "agents" if sop.has_agents else "agent"
        agent = f", {agents} {sop.agent_label}" if names_agents(sop) else ""
        state = ", state judged" if active.domain.state is not None else ""
        yield f"sop: {active.domain.name}, {part}{agent}{state}"
        if sop.options.sample is not None and sop.options.sample.strong:
            told = read_strong_sample(active.domain).says(sop.options.sample.size)
            yield f"sop: {active.domain.name}: {told}"
        for notice in active.domain.notices:
            yield f"sop: {active.domain.name}: {notice}"
        others = len(active.domain.warnings) - len(active.domain.notices)
        if others:
            told = counted(others, "warning")
            yield f"sop: {active.domain.name}: {told}; sopbench list -v shows them"
        found = saved_summary(active.domain, sop.config.rootpath)
        if has_faults(found):
            yield f"sop: {active.domain.name}: audit: {found}"
    # A library is loaded only if it is going to be asked.
    asks_a_model = any(names_model_agent(one.spec) for one in sop.options.agents)
    if sop.prices is not None and (isinstance(sop.options.prices, Path) or asks_a_model):
        yield f"sop: prices {sop.prices.label}"
    if has_workers(sop.config) and sop.makes_runs:
        # The controller of xdist collects nothing.

        yield from forecast_of_options(sop)


def names_agents(sop: SopSession) -> bool:
    """Tell whether the header names the agents: no test but the built-in ones is asked for."""
    paths = sop.config.args_source is pytest.Config.ArgsSource.ARGS
    return bool(sop.options.agents) and (bool(sop.options.named) or not paths)


# What a session is about to make, said before its first run: how many runs, and the last time.

IN_MAIN = "sop: runs are made one at a time in the main thread, without a limit of time"
SHORT = 1.0
"""Seconds; what took no longer than that need not be announced."""


def forecast_of_options(sop: SopSession) -> Iterator[str]:
    """Say what the options select, if only workers will know what is collected."""
    keys = [
        RunKey(active.domain.name, active.domain.task_ids[position], trial, agent)
        for active in sop.domains
        for position in active.positions
        for trial in range(1, sop.options.trials + 1)
        for agent in sop.agents
    ]
    # What is taken away or taken over, the workers find out.
    at_most = is_narrowed(sop.config) or sop.options.resume is not None
    domains = {active.domain.name for active in sop.domains}
    yield from _lines(sop, keys, domains, at_most=at_most)


def _lines(
    sop: SopSession,
    keys: Collection[RunKey],
    domains: Collection[str],
    *,
    at_most: bool = False,
) -> Iterator[str]:
    if needs_main_thread(sop.config):
        yield IN_MAIN
    tasks = len({(key.domain, key.task) for key in keys})
    most = max(key.trial for key in keys) if keys else 1
    in_flight = _in_flight(sop)
    before = _last_time(sop, None if at_most else len(keys), domains)
    if most > 1 or in_flight or before:
        runs = _runs(tasks, most, len(keys))
        yield f"sop: {'up to ' if at_most else ''}{runs}{in_flight}{before}"


def _runs(tasks: int, trials: int, runs: int) -> str:
    if trials == 1:
        return counted(runs, "run")
    if tasks * trials == runs:
        return f"{counted(tasks, 'task')} x {trials} = {counted(runs, 'run')}"
    return f"{counted(runs, 'run')} of {counted(tasks, 'task')}"


def _in_flight(sop: SopSession) -> str:
    options = sop.options
    if options.concurrency is None or needs_main_thread(sop.config):
        return ""
    if options.concurrency == AUTO:
        return ", as many in flight as the provider bears"
    return f", {options.concurrency} in flight"


def _last_time(sop: SopSession, runs: int | None, domains: Collection[str]) -> str:
    last = read_last(followed(last_path(sop.options.sessions_dir)))
    if last is None or last.agent != sop.agent_shown or last.domains != frozenset(domains):
        return ""
    now = sop.options.replay
    if (last.replay in {"only", "auto"}) != now.serves:
        # What is replayed takes no time, and costs nothing.
        return ""
    if last.duration_s < SHORT and not last.cost_usd:
        return ""
    # Workers start and fixtures are set up beside: the session took longer than its runs.
    made = "the runs took " if last.runs == runs else f"{counted(last.runs, 'run')} in "
    cost = "" if last.cost_usd is None else f", {money(last.cost_usd)}"
    return f"; last time {made}{minutes(last.duration_s)}{_other_pace(sop, last)}{cost}"


def _other_pace(sop: SopSession, last: LastSession) -> str:
    """Say how many runs were in flight last time, if that is not as many as now."""
    now = 1 if needs_main_thread(sop.config) else sop.options.concurrency
    if (last.concurrency or 1) == (now or 1):
        return ""
    if last.concurrency is None:
        return " without --sop-concurrency"
    if last.concurrency == AUTO:
        return f" with --sop-concurrency={AUTO}"
    return f" with {last.concurrency} in flight"
