"""Single lines of a session's summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from pytest_sopbench._core.gates.budget import Budget, Spending, reaches_time
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.trials import TaskTrials
from pytest_sopbench._core.model.task import RunKey, Scoring, telling_labels
from pytest_sopbench._core.model.trace import ATTEMPT, GOES_ON, HELD, LOOP_LOST, STOOD_STILL
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import ANSWERED, Outcome
from pytest_sopbench._reports.failure import expected_text, headline

from .text import (
    NOT_AVAILABLE,
    WIDTH,
    counted,
    cut,
    few,
    labelled,
    minutes,
    money,
    one_line,
    packed,
    rate_of_runs,
    seconds,
    shown,
)

# What happened to runs that no metric counts, and that must not go unsaid.

NAMED = 5
"""Tasks that are named; of the rest the number is printed."""


UNASKED: Final = "ended before any test asked for them, so not run; counted above"
_SAID: Final = {
    f"{ATTEMPT} ": "made again, as the provider was not available before",
    STOOD_STILL: "in which the process stood still, which no time limit counted",
    HELD: "held up by an agent that blocks; no time limit counted that",
    LOOP_LOST: "made again, as another agent blocked their event loop",
}
"""What is said of runs in whose notes something stands."""


@dataclass(slots=True)
class RunAlarms:
    """Runs whose agents go on, and how many there are of each other kind, by what is said."""

    abandoned: list[str] = field(default_factory=list[str])
    others: Counter[str] = field(default_factory=Counter[str])

    def watch(self, record: RunRecord) -> None:
        """Look at one more run that has notes."""
        if GOES_ON in record.notes:
            self.abandoned.append(_name(record.key))
        for sign, said in _SAID.items():
            self.others[said] += any(sign in note for note in record.notes)


def special_lines(special: RunAlarms) -> Iterator[str]:
    """Yield what there is to say, 80 columns wide."""
    if special.abandoned:
        runs = counted(len(special.abandoned), "timed-out agent")
        yield from _alarm(f"{runs} may go on calling models:", special.abandoned)
    for said, number in special.others.items():
        if number:
            yield f"note   {counted(number, 'run')} {said}"


# What `sopbench approve` says of what it did and did not.


def approval_lines(
    written: Sequence[str],
    unchanged: Sequence[str],
    refused: Mapping[str, str],
    *,
    folder: str,
) -> Iterator[str]:
    """Name each task that was approved, and each that was not with its reason."""
    first = f"{len(written)} approved in {folder}{':' if written else ''}"
    yield from packed(first, map(one_line, written), gap=" ", indent=2)
    if unchanged:
        yield f"{len(unchanged)} approved already"
    if refused:
        yield f"{len(refused)} not approved"
        yield from (one_line(f"  {task}: {why}") for task, why in refused.items())


def unplaced_lines(said: Sequence[str]) -> Iterator[str]:
    """Say what stands among the snapshots without a task; nobody removes it unasked."""
    if said:
        yield f"{counted(len(said), 'entry', 'entries')} without a task, left as before"
        yield from (one_line(f"  {one}") for one in said)


# What a budget has to say at the end of a session.


def budget_lines(
    budget: Budget, spending: Spending, *, seconds: float, not_started: int
) -> Iterator[str]:
    """Yield what was spent of a budget, and what was not started for its sake.

    Args:
        budget: what may be spent; nothing is said if it bounds nothing.
        spending: what the runs have cost.
        seconds: how long the session took.
        not_started: runs that were planned, and never started.
    """
    parts: list[str] = []
    if budget.usd is not None:
        judge = f" ({money(spending.judge_usd)} of it by the judge)" if spending.judge_usd else ""
        parts.append(f"{money(spending.total_usd)} of {money(budget.usd)} spent{judge}")
        if spending.unpriced:
            runs = counted(spending.unpriced, "run")
            parts.append(f"beside the cost of {runs} that reported none")
    if budget.seconds is not None:
        parts.append(f"{minutes(seconds)} of {minutes(budget.seconds)} spent")
    reached = [
        word
        for word, is_reached in (
            ("money", spending.reaches_money(budget)),
            ("time", reaches_time(budget, seconds)),
        )
        if is_reached
    ]
    if not_started:
        runs = counted(not_started, "run was", "runs were")
        verb = "were" if len(reached) > 1 else "was"
        why = f", since the {' and the '.join(reached)} {verb} spent" if reached else ""
        unknown = spending.unpriced_first or spending.judge_usd is None
        if unknown and budget.usd is not None:
            why = ", since nobody could say what is spent"
        parts.append(f"{runs} not started{why}")
    if parts:
        yield from packed("budget", ", ".join(parts).split(), gap=" ", indent=7)


# What is said of runs whose worker died, and which were not made again.


def death_lines(unmade: Sequence[RunKey], *, tests: int) -> Iterator[str]:
    """Yield why the session fails though no test has failed, 80 columns wide.

    Args:
        unmade: runs that a dead worker had begun, and nobody has made again.
        tests: how many tests were to be run again, and were not.
    """
    if unmade:
        said = f"{_in_flight(unmade)}, and not made again; counted as crash:"
        yield from _alarm(said, [*map(_name, unmade)])
    elif tests:
        waited = counted(tests, "test was", "tests were")
        yield f"alarm  {waited} running when a worker died, and not run again"


def untold_lines(unmade: Sequence[RunKey]) -> Iterator[str]:
    """Yield why a session fails of which no worker has told what was planned."""
    yield from _alarm(f"{_in_flight(unmade)}, and not made again:", [*map(_name, unmade)])
    yield "       no worker has told what was planned, so nothing is counted or saved"


def _in_flight(unmade: Sequence[RunKey]) -> str:
    return f"{counted(len(unmade), 'run was', 'runs were')} in flight when a worker died"


def _alarm(said: str, runs: Sequence[str]) -> Iterator[str]:
    yield from packed("alarm ", [*said.split(), *few(runs, NAMED)], gap=" ", indent=7)


def _name(key: RunKey) -> str:
    trial = f" (trial {key.trial})" if key.trial > 1 else ""
    return one_line(f"{key.domain}/{key.task}{trial}")


# What happened to a task, and why, in a few lines.


def explained(records: Sequence[RunRecord]) -> Iterator[str]:
    """Yield how the runs of one task ended, and why the first that is not correct is not.

    Args:
        records: the runs of the task, at least one.
    """
    wrong = [one for one in records if one.outcome is not Outcome.CORRECT]
    first = wrong[0] if wrong else records[0]
    yield from labelled("task", one_line(f"{first.domain}/{first.task}: {headline(first)}"))
    yield from _other_lines(records, first)
    for mismatch in first.mismatches:
        values = f"expected {expected_text(mismatch)}, given {shown(mismatch.actual)}"
        yield from labelled("field", f"{one_line(mismatch.field)}: {values} ({mismatch.why})")
    for differs in first.state_differs:
        yield from labelled("state", one_line(differs))
    if first.problem is not None:
        yield from labelled("raised", one_line(f"{first.problem.type}: {first.problem.message}"))
    yield from labelled("calls", _calls(first))
    for rule in first.rules:
        if rule.broken:
            clause = f"{rule.clause}, " if rule.clause else ""
            told = f"{rule.id} ({clause}{rule.severity}) is broken: {rule.why}"
            yield from labelled("rule", one_line(told))


def _other_lines(records: Sequence[RunRecord], first: RunRecord) -> Iterator[str]:
    """Say of how many runs this is one; what another agent did says nothing of this one."""
    mine = [one for one in records if one.agent == first.agent]
    if len(mine) < len(records):
        yield from labelled("agent", one_line(first.agent))
    if len(mine) > 1:
        right = sum(one.outcome is Outcome.CORRECT for one in mine)
        what = f"{right} of {counted(len(mine), 'run')} of it are correct"
        yield from labelled("runs", f"{what}; this is trial {first.trial}")
    others = {one.agent for one in records} - {first.agent}
    for agent in sorted(others):
        ends = [one.outcome for one in records if one.agent == agent]
        beside = f"{ends.count(Outcome.CORRECT)} of {counted(len(ends), 'run')} correct"
        yield from labelled("beside", one_line(f"{agent}: {beside}"))


def _calls(record: RunRecord) -> str:
    if not record.calls:
        return "no tool was called"
    failed = [call for call in record.calls if call.error is not None]
    made = counted(len(record.calls), "tool call")
    if not failed:
        return f"{made}, all answered"
    first = failed[0]
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return one_line(f"{made}, {len(failed)} failed: {first.name}: {first.error}{more}")


# Entries of a tasks file for the tasks whose runs disagree, as TOML to paste.


def proposal_lines(
    found: Sequence[TaskTrials], repeated: int, fresh: Sequence[TaskTrials], until: date
) -> Iterator[str]:
    """Yield what was found as a comment, then an entry for each task whose answers may be forgiven.

    Args:
        found: all that disagree.
        repeated: how many were run more than once.
        fresh: those of them that have no entry yet.
        until: the last day of each entry.
    """
    yield f"# runs disagree on {len(found)} of {counted(repeated, 'repeated task')}"
    known = len(found) - len(fresh)
    if known:
        yield f"# {known} of them {'stands' if known == 1 else 'stand'} in the tasks file already"
    for one in fresh:
        kinds = [each for each in Outcome if one.outcomes.get(each) and each is not Outcome.CORRECT]
        others = ", ".join(f"{one.outcomes[each]} {each.value}" for each in kinds)
        name = _quoted(f"{one.domain}/{one.task}")
        # Nothing forgives what was stopped.
        if ANSWERED.isdisjoint(kinds):
            # As a comment it may hold no sign that ends the line.
            yield f"# {name}: {others}, which no entry forgives"
            continue
        yield ""
        yield f"[{name}]"
        yield f'may_fail = "{one.correct} of {one.trials} runs correct, {others}"'
        yield f"until = {until.isoformat()}"


def _quoted(text: str) -> str:
    # A basic string of TOML is one of JSON, but for this one sign.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# By which prices costs were reckoned, and which models have none.


@dataclass(slots=True)
class Priced:
    """The tables of prices that runs name, and the runs of models that have no price there."""

    tables: Counter[str] = field(default_factory=Counter[str])
    unpriced: Counter[str] = field(default_factory=Counter[str])

    def watch(self, record: RunRecord) -> None:
        """Look at one more run."""
        usage = record.usage
        if usage.priced_by is not None:
            self.tables[usage.priced_by] += 1
        elif usage.model is not None and usage.cost_usd is None:
            self.unpriced[usage.model] += 1


def price_lines(
    priced: Priced, *, remedy: str = "sop_prices may name a file of prices"
) -> Iterator[str]:
    """Yield what there is to say, 80 columns wide; `remedy` says how a model is given a price."""
    for table, runs in priced.tables.items():
        yield f"prices {one_line(table)}, for {counted(runs, 'run')}"
    if priced.unpriced:
        names = [
            f"{one_line(model)} ({counted(runs, 'run')})"
            for model, runs in priced.unpriced.most_common()
        ]
        parts = few(names, NAMED)
        parts[-1] += ";"
        first = "prices no cost is known of"
        yield from packed(first, [*parts, *remedy.split()], gap=" ", indent=7)


# How far a session has come, in one line, while it runs.

MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a session stands; times in seconds.

    `done` counts runs that ended, `recorded` is what those of them came to that were entered, as
    far as outcomes tell. `in_flight` is `None` if it is not known. `slowest` is the longest
    time of a run so far, also of one in flight. `elapsed` counts from the begin of the first run,
    and `at_once` is how many runs may be in flight.
    """

    planned: int
    done: int
    recorded: Summary
    in_flight: int | None
    slowest: float
    elapsed: float
    at_once: int = 1

    @property
    def left(self) -> float | None:
        """Return the seconds that are left if the rest goes on as before; `None` at the start."""
        # Until each place in flight has ended a run, most of the work done is in none that ended.
        if self.done < max(self.at_once, 1):
            return None
        return self.elapsed / self.done * (self.planned - self.done)


def progress_line(progress: Progress, width: int = WIDTH) -> str:
    """Return what a status line says; nothing in it is final."""
    left = progress.left
    parts = [
        f"sop: {progress.done} of {progress.planned} done",
        "" if progress.in_flight is None else f"{progress.in_flight} in flight",
        f"TSR {rate_of_runs(progress.recorded.tsr, progress.recorded)}",
        f"slowest {seconds(progress.slowest)}",
        "" if left is None else f"{_rough(left)} left",
    ]
    return cut(", ".join(filter(None, parts)), width)


def _rough(left: float) -> str:
    # More digits would promise what an estimate cannot hold.
    return f"{left / MINUTE:.0f} min" if left >= 2 * MINUTE else f"{left:.0f} s"


# What became of a session when it was judged again.

LIMIT = 20
"""Runs of one kind that are printed."""

Scored = tuple[Mapping[str, Summary], Scoring]
"""The summaries of a session, and whose rules they come from."""


def rescored_lines(
    before: Scored, after: Scored, changed: Sequence[tuple[RunRecord, RunRecord]]
) -> Iterator[str]:
    """Yield the rate of each domain before and after, then the runs with another outcome."""
    for name, summary in after[0].items():
        old = before[0].get(name)
        was = rate_of_runs(old.tsr, old) if old else NOT_AVAILABLE
        yield (
            f"{one_line(name)}: TSR {was} ({before[1].value})"
            f" -> {rate_of_runs(summary.tsr, summary)} ({after[1].value}),"
            f" {counted(summary.runs, 'run')}"
        )
    yield f"{counted(len(changed), 'run has', 'runs have')} another outcome"
    labels = telling_labels({one.agent for one, _ in changed})
    lines: list[str] = []
    for old_run, new_run in changed:
        what = f"{old_run.outcome.value} -> {new_run.outcome.value}"
        why = f": {one_line(new_run.reason)}" if new_run.reason else ""
        by = f"[{one_line(labels[old_run.agent])}]" if labels else ""
        lines.append(f"{_name(old_run.key)}{by} {what}{why}")
    yield from _first_of(lines)


def refused_lines(refused: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    """Say how many runs cannot be judged again, and why; the rest of the session is no use then."""
    count = sum(map(len, refused.values()))
    yield f"sopbench: {counted(count, 'run')} cannot be judged again, so nothing is written"
    for why, runs in refused.items():
        yield f"{counted(len(runs), 'run')}: {why}"
        yield from _first_of([_name(one.key) for one in runs])


def _first_of(lines: Sequence[str]) -> Iterator[str]:
    for line in lines[:LIMIT]:
        yield cut(f"  {line}", WIDTH)
    if len(lines) > LIMIT:
        yield f"  and {len(lines) - LIMIT} more"


# What the terminal says of snapshots: what was not approved, and what is left over.


def not_approved_lines(reasons: Mapping[str, str]) -> Iterator[str]:
    """Name the tasks whose snapshots stay as they were, by `DOMAIN/TASK`, each with its reason."""
    if not reasons:
        return
    yield f"{len(reasons)} not approved; what was approved before stays as it was"
    yield from _first_of([one_line(f"{task}: {why}") for task, why in reasons.items()])


def leftover_lines(tasks: Sequence[str], *, deleted: bool) -> Iterator[str]:
    """Name the snapshots whose tasks their domains do not have, by `DOMAIN/TASK`."""
    if not tasks:
        return
    count = counted(len(tasks), "unused snapshot")
    yield f"{count} deleted" if deleted else f"{count}: the domain has no such task"
    yield from _first_of([*map(one_line, tasks)])
    if not deleted:
        yield "pytest --snapshot-update deletes what is unused"


def unasked_lines(domains: Sequence[str], folder: str) -> Iterator[str]:
    """Name the domains that have snapshots here, and that no test of the session asked for."""
    for domain in domains:
        yield f"no test asks for the snapshots of {one_line(domain)}; if the domain is gone,"
        yield f"  delete them in {folder}"
