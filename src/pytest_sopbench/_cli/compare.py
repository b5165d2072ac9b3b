"""`sopbench compare`: what became of the tasks since a baseline, and which runs disagree."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from pytest_sopbench._cli.app import (
    INCONCLUSIVE,
    counted_session,
    echo_json,
    refuse,
    refuse_beside,
    say,
    tell,
)
from pytest_sopbench._cli.flaky import propose_entries
from pytest_sopbench._cli.found_domains import readable_domains
from pytest_sopbench._cli.gate_options import (
    fail_under_option,
    gate_option,
    gated_json,
    gated_lines,
    given_gates,
    status_of,
)
from pytest_sopbench._core.comparing.comparison import (
    ComparisonResult,
    SessionComparison,
    comparison_to_json,
)
from pytest_sopbench._core.gates.decide import Decision
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.model.task import GroupKey
from pytest_sopbench._reports.terminal.comparison import (
    SessionRow,
    session_comparison_lines,
    session_table_lines,
)
from pytest_sopbench._sessions.commands.compare import (
    agents_left_out,
    compare_saved,
    domains_left_out,
)
from pytest_sopbench._sessions.commands.gate import ask_gates
from pytest_sopbench._sessions.reading.saved import SavedSession, planned_records, summaries_of

PAIR = 2
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
        propose_entries(sessions, days or _DAYS)
        return
    if days is not None:
        refuse("--days: it goes with --flaky")
    asked = given_gates(gates, fail_under)
    if len(sessions) < PAIR:
        refuse("two sessions are needed", "sopbench compare BASELINE SESSION")
    if asked and len(sessions) > PAIR:
        refuse("gates are checked of two sessions", "compare each with the baseline by itself")
    saved = [counted_session(one) for one in sessions]
    compared = _compared(saved)
    gated = _gated(saved[1], compared[0], asked) if asked else None
    if as_json:
        echo_json(_as_json(saved, compared, gated))
    else:
        for line in _lines(saved, compared, gated):
            say(line)
    if gated is not None:
        sys.exit(status_of(gated))
    if not all(map(_is_comparable, compared)):
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


def _gated(saved: SavedSession, compared: SessionComparison, asked: Sequence[Any]) -> Decision:
    return ask_gates(saved, asked, comparison=compared)


def _is_comparable(compared: SessionComparison) -> bool:
    return compared.pooled.tier is not ComparisonResult.NOT_COMPARABLE


def _lines(
    saved: Sequence[SavedSession], compared: Sequence[SessionComparison], gated: Decision | None
) -> Iterator[str]:
    if len(saved) > PAIR:
        yield from _table_lines(saved, compared)
        return
    yield from session_comparison_lines(compared[0])
    if gated is not None:
        yield from gated_lines(gated)


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
