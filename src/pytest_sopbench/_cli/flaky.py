"""`sopbench compare --flaky`: propose which tasks to quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from pytest_sopbench._cli.app import counted_session, project, refuse, say
from pytest_sopbench._core.gates.quarantine import NO_ENTRIES, TaskEntries, flaky_tasks
from pytest_sopbench._loading.quarantine_file import read_tasks_file
from pytest_sopbench._reports.notices import proposal_lines
from pytest_sopbench._sessions.reading.saved import SavedSession
from pytest_sopbench._settings.table import TASKS_FILE


def propose_entries(sessions: Sequence[str], days: int) -> None:
    """Print entries of the tasks file for the tasks whose runs disagree, for so many days."""
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
    return read_tasks_file(path) if path.is_file() else NO_ENTRIES
