"""`sopbench flaky`: propose which tasks to quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pytest_sopbench._cli.app import counted_session, project, refuse, say

if TYPE_CHECKING:
    from datetime import date

    from pytest_sopbench._core.gates.quarantine import TaskEntries
    from pytest_sopbench._sessions.reading.reader import SavedSession


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@click.option(
    "--days", default=30, show_default=True, type=click.IntRange(1), help="How long they may fail."
)
def flaky(sessions: tuple[str, ...], days: int) -> None:
    """Propose tasks to quarantine: those whose runs disagree.

    What is printed are entries of sop_tasks.toml. The sessions are of one agent and one way of
    judging; one is enough where it has trials. The entries are printed to be read, given a
    better reason, and pasted. Nothing is written.
    """
    from datetime import timedelta

    from pytest_sopbench._core.gates.flaky import flaky_tasks
    from pytest_sopbench._reports.notices import proposal_lines

    saved = [counted_session(one) for one in sessions]
    _refuse_mixed(saved)
    ordered = sorted(saved, key=lambda one: one.header.started)
    found = flaky_tasks(record for one in ordered for record in one.records)
    if not found.repeated:
        refuse("no task was run twice", "name sessions with trials, or several of them")
    entries = _entries()
    fresh = [one for one in found.flaky if one.name not in entries.entries]
    until = today() + timedelta(days=days)
    for line in proposal_lines(found, fresh, until):
        say(line)


def today() -> date:
    """Return the date that proposals count from, in UTC."""
    from datetime import UTC, datetime

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
    from pytest_sopbench._core.gates.quarantine import NO_ENTRIES
    from pytest_sopbench._loading.quarantine_file import read_tasks_file

    known = project()
    path = known.folders("sop_tasks_file")[0]
    return read_tasks_file(path) if path.is_file() else NO_ENTRIES
