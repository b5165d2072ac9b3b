"""`sopbench compare`: what became of the tasks since a baseline, and which runs disagree.

With `--flaky` there is no baseline: tasks whose runs disagree are proposed for quarantine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any

import click

from pytest_sopbench._cli.app import (
    INCONCLUSIVE,
    counted_session,
    echo_json,
    project,
    refuse,
    refuse_beside,
    say_lines,
    tell,
)
from pytest_sopbench._cli.found_domains import readable_domains
from pytest_sopbench._cli.gate import (
    fail_under_option,
    gate_option,
    gated_json,
    gated_lines,
    given_gates,
    status_of,
)
from pytest_sopbench._core.comparison import (
    ComparisonResult,
    SessionComparison,
    comparison_to_json,
)
from pytest_sopbench._core.gates.decide import Decision
from pytest_sopbench._core.gates.quarantine import NO_ENTRIES, TaskEntries
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.metrics.trials import repeated_tasks
from pytest_sopbench._core.model.task import GroupKey, TaskName
from pytest_sopbench._loading.quarantine_file import read_tasks_file
from pytest_sopbench._reports.notices import proposal_lines
from pytest_sopbench._reports.terminal.comparison import (
    SessionRow,
    session_comparison_lines,
    session_table_lines,
)
from pytest_sopbench._sessions.commands.gate import (
    agents_left_out,
    compare_saved,
    decide_gates,
    domains_left_out,
)
from pytest_sopbench._sessions.saved import SavedSession, planned_records, summaries_of
from pytest_sopbench._settings.table import TASKS_FILE

_PAIR = 2
_DAYS = 30


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="BASELINE SESSION...")
@gate_option
@fail_under_option
@click.option("--flaky", is_flag=True, help="Propose tasks to quarantine; no baseline.")
@click.option(
    "--days",
    type=click.IntRange(1),
    metavar="N",
    help=f"With --flaky: how long they may fail ({_DAYS}).",
)
@click.option("--json", "as_json", is_flag=True, help="For programs: one object.")
def compare(
    sessions: tuple[str, ...],
    *,
    gates: tuple[str, ...],
    fail_under: str | None,
    flaky: bool,
    days: int | None,
    as_json: bool,
) -> None:
    """Compare sessions with a baseline.

    The first session is the baseline. Two sessions give a verdict: the tasks that were lost and
    gained, whether that is more than chance, and what else changed. Three or more give one
    table. With --gate the status is that of gate: 0 holds, 1 does not, 3 inconclusive. Without,
    it is 0, but 3 for sessions that cannot be compared, since they were judged by different
    rules, are damaged or have no end.

    With --flaky the sessions are runs of one agent, judged by the same rules; one is enough if it
    has trials. Printed are entries of sop_tasks.toml for the tasks whose runs disagree, to be read,
    given a better reason, and pasted. Nothing is written.
    """
    if flaky:
        refuse_beside("--flaky", {"--gate": gates, "--fail-under": fail_under, "--json": as_json})
        _propose_entries(sessions, days or _DAYS)
        return
    if days is not None:
        refuse("--days: it goes with --flaky")
    asked = given_gates(gates, fail_under)
    if len(sessions) < _PAIR:
        refuse("two sessions are needed", "sopbench compare BASELINE SESSION")
    if asked and len(sessions) > _PAIR:
        refuse("gates are checked of two sessions", "compare each with the baseline by itself")
    saved = [counted_session(one) for one in sessions]
    compared = _compared(saved)
    gated = decide_gates(saved[1], asked, comparison=compared[0]) if asked else None
    if as_json:
        echo_json(_as_json(saved, compared, gated))
    else:
        lines = (
            _table_lines(saved, compared)
            if len(saved) > _PAIR
            else session_comparison_lines(compared[0])
        )
        say_lines(chain(lines, gated_lines(gated) if gated is not None else ()))
    if gated is not None:
        sys.exit(status_of(gated))
    if any(one.pooled.tier is ComparisonResult.NOT_COMPARABLE for one in compared):
        sys.exit(INCONCLUSIVE)


def _compared(saved: Sequence[SavedSession]) -> Sequence[SessionComparison]:
    """Compare each session with the first."""
    for one in saved[1:]:
        for name in sorted(domains_left_out(saved[0], one)):
            tell(f"{one.path}: domain {name} is in the baseline and was not run here; left out")
        for name in sorted(agents_left_out(saved[0], one)):
            tell(f"{one.path}: agent {name} is in the baseline and was not run here; left out")
    ran = {name: domain for one in saved for name, domain in one.header.domains.items()}
    domains = readable_domains(ran, ran=ran)
    fields = {name: domain.fields for name, domain in domains.items()}
    return [compare_saved(saved[0], one, fields=fields) for one in saved[1:]]


def _table_lines(
    saved: Sequence[SavedSession], compared: Sequence[SessionComparison]
) -> Iterator[str]:
    # Each session is compared with the first, so that agents are told apart in all or in none.
    has_agents = any(one.has_agents for one in compared)
    rows = [
        row
        for one, beside in zip(saved, [None, *compared], strict=True)
        for row in _rows(one, beside, has_agents=has_agents)
    ]
    yield from session_table_lines(rows)


def _rows(
    saved: SavedSession, compared: SessionComparison | None, *, has_agents: bool
) -> Iterator[SessionRow]:
    """Yield a session, or each of its agents: two of them have no rate together."""
    summaries = summaries_of(saved)
    if not has_agents:
        pooled = compared.pooled if compared is not None else None
        total = sum(summaries.values(), EMPTY)
        yield SessionRow(name=saved.name, summary=total, comparison=pooled)
        return
    groups = dict.fromkeys(GroupKey(one.domain, one.agent) for one in planned_records(saved))
    for agent in dict.fromkeys(group.agent for group in groups):
        mine = [group.title(groups) for group in groups if group.agent == agent]
        yield SessionRow(
            name=f"{saved.name} ({agent})",
            summary=sum((summaries[title] for title in mine), EMPTY),
            comparison=compared.by(agent) if compared is not None else None,
        )


def _as_json(
    saved: Sequence[SavedSession], compared: Sequence[SessionComparison], gated: Decision | None
) -> dict[str, Any]:
    sessions = [
        {"session": str(one.path), **comparison_to_json(comparison)}
        for one, comparison in zip(saved[1:], compared, strict=True)
    ]
    found: dict[str, Any] = {"baseline": str(saved[0].path), "compared": sessions}
    return {**found, **gated_json(gated)} if gated is not None else found


# `--flaky`: which tasks to quarantine.


def _propose_entries(sessions: Sequence[str], days: int) -> None:
    """Print entries of the tasks file for the tasks whose runs disagree, for so many days."""
    saved = [counted_session(one) for one in sessions]
    _refuse_mixed(saved)
    ordered = sorted(saved, key=lambda one: one.header.started)
    repeated = repeated_tasks(record for one in ordered for record in one.records)
    if not repeated:
        refuse("no task was run twice", "name sessions with trials, or several of them")
    entries = _entries()
    found = [one for one in repeated if one.disagree]
    fresh = [one for one in found if TaskName(one.domain, one.task) not in entries.entries]
    until = today() + timedelta(days=days)
    say_lines(proposal_lines(found, len(repeated), fresh, until))


def today() -> date:
    """Return the date that proposals count from, in UTC."""
    return datetime.now(UTC).date()


def _refuse_mixed(sessions: Sequence[SavedSession]) -> None:
    first = sessions[0]
    agents = {record.agent for one in sessions for record in one.records}
    agents |= (
        {one for saved in sessions for one in saved.header.agents} if len(agents) > 1 else set()
    )
    for one in sessions:
        if one.path.resolve() == first.path.resolve() and one is not first:
            refuse(f"{one.path} is named twice")
        if one.header.judging != first.header.judging:
            refuse(
                f"{first.path} and {one.path} are judged by different rules",
                "bring both up to date: sopbench rescore",
            )
        if dict(one.header.agent_args) != dict(first.header.agent_args):
            refuse(f"{first.path} and {one.path} have agents with other arguments")
    if len(agents) > 1:
        refuse(
            f"the sessions are of several agents: {', '.join(sorted(agents))}",
            "name sessions of one agent: two that disagree tell nothing of either",
        )


def _entries() -> TaskEntries:
    known = project()
    path = known.below("sop_committed_dir", TASKS_FILE)
    return read_tasks_file(path) if path.is_file() or path.is_symlink() else NO_ENTRIES
