"""What the terminal shows of a SOP session: a header line, the misses, the summary."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import pytest

from pytest_sopbench._core.gates import GateState
from pytest_sopbench._core.totals import total_of
from pytest_sopbench._reports.gate import gate_line, not_evaluated_line
from pytest_sopbench._reports.misses import miss_lines
from pytest_sopbench._reports.numbers import counted
from pytest_sopbench._reports.special import special_lines
from pytest_sopbench._reports.terminal import domain_lines, total_lines

from .concurrency import needs_main_thread
from .gate import Gate
from .ledger import Ledger
from .option_values import AUTO
from .session import SopSession

COLOURS = {GateState.HOLDS: "green", GateState.FAILS: "red", GateState.INCONCLUSIVE: "yellow"}


class SummaryHooks:
    """Prints; what it prints is made by `_reports`."""

    def __init__(self, sop: SopSession, ledger: Ledger, gate: Gate) -> None:
        self._sop = sop
        self._ledger = ledger
        self._gate = gate

    def pytest_report_header(self) -> list[str]:
        return list(header_lines(self._sop))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Print below all that pytest prints: it has a line for each failure."""
        yield
        if self._sop.makes_runs and self._ledger.has_runs:
            self._print(terminalreporter)

    def _print(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.ensure_newline()
        for line in self._blocks(terminalreporter.verbosity):
            terminalreporter.write_line(line)
        for line, markup in self._gate_lines():
            terminalreporter.write_line(line, **{markup: True})
        for line in self._more_lines():
            terminalreporter.write_line(line)

    def _gate_lines(self) -> Iterator[tuple[str, str]]:
        for verdict in self._gate.verdicts:
            yield gate_line(verdict), COLOURS[verdict.state]
        if self._gate.others:
            failures = counted(self._gate.others, "other failure")
            yield f"       {failures}, which no gate forgives", "red"
        if self._gate.is_set and self._gate.not_evaluated:
            yield not_evaluated_line(self._gate.not_evaluated), "yellow"

    def _blocks(self, verbosity: int) -> Iterator[str]:
        if self._gate.forgives and verbosity >= 0:
            yield from miss_lines(self._ledger.misses, self._ledger.missed)
        summaries = self._ledger.close()
        for (domain, agent), summary in self._ledger.groups.items():
            shown = self._shown(agent)
            yield from domain_lines(
                domain, shown, summary, verbosity=verbosity, scoring=self._sop.options.scoring
            )
        if len({domain for domain, _ in self._ledger.groups}) > 1:
            total = total_of(summaries)
            agents = dict.fromkeys(self._shown(agent) for _, agent in self._ledger.groups)
            yield from total_lines(", ".join(agents), total, verbosity=verbosity)
        if self._sop.options.selection:
            yield from selection_lines(self._sop, list(summaries))

    def _shown(self, agent: str) -> str:
        return self._sop.agent_shown if agent == self._sop.agent_label else agent

    def _more_lines(self) -> Iterator[str]:
        """What other plugins add, and what must not go unsaid."""
        added = self._sop.config.hook.pytest_sop_summary(summary=dict(self._ledger.close()))
        for lines in added:
            yield from lines or ()
        yield from special_lines(self._ledger.special)
        for problem in self._ledger.problems:
            yield f"not saved: {problem}"


def selection_lines(sop: SopSession, names: Sequence[str]) -> Iterator[str]:
    """Say of how many tasks the summary speaks, where options left some out."""
    for active in (one for one in sop.actives if one.domain.name in names):
        count, every = len(active.positions), len(active.domain.task_ids)
        yield f"select {count} of {every} tasks of {active.domain.name}"
    yield f"       by {' '.join(sop.options.selection)}"


def header_lines(sop: SopSession) -> Iterator[str]:
    """Say what is about to run, before the first run."""
    if not (sop.options.typed_domains or sop.options.named):
        return
    for active in sop.domains:
        count, every = len(active.positions), len(active.domain.task_ids)
        part = f"{count} of {every} tasks" if count < every else f"{count} tasks"
        yield f"sop: {active.domain.name}, {part}, agent {sop.agent_label}"
        if active.domain.warnings:
            told = counted(len(active.domain.warnings), "warning")
            yield f"sop: {active.domain.name}: {told}; --sop-list -v shows them"
    yield from pace_lines(sop)


def pace_lines(sop: SopSession) -> Iterator[str]:
    """Say how runs are made, where it is otherwise than one at a time."""
    options = sop.options
    if needs_main_thread(sop.config):
        yield "sop: runs are made one at a time in the main thread, without a limit of time"
    elif options.concurrency is not None:
        most = "as many as the provider bears" if options.concurrency == AUTO else "up to"
        count = "" if options.concurrency == AUTO else f" {options.concurrency}"
        yield f"sop: {most}{count} runs in flight"
