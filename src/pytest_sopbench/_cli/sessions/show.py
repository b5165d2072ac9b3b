"""`sopbench show`: what went wrong in a session, and one of its tasks in full."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from pytest_sopbench._cli.app import echo_json, full_session, say
from pytest_sopbench._cli.found_domains import domain_option

if TYPE_CHECKING:
    from pytest_sopbench._core.records.record import RunRecord
    from pytest_sopbench._sessions.reading.reader import Parse, SavedSession


@click.command()
@click.argument("session")
@click.argument("task", required=False)
@click.option("--all", "every", is_flag=True, help="Without TASK: name every run, of every kind.")
@click.option("--full", is_flag=True, help="With TASK: fold nothing, however long it is.")
@click.option("--json", "as_json", is_flag=True, help="For programs: a list of runs.")
@domain_option
def show(
    session: str,
    task: str | None,
    places: tuple[str, ...],
    *,
    every: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Show what went wrong, or one task in full.

    A task is shown in each of its trials, as wide as the terminal: inputs, answer, expected calls
    beside actual ones, each call, messages, what the agent wrote, and the clauses of broken rules.
    What takes more than 40 lines is folded. SESSION is a name (last), or a path to a .jsonl file;
    TASK is DOMAIN/TASK, DOMAIN::TASK, or the task's id alone where only one domain has it.
    Without TASK the runs that are not correct are listed, and those that broke a rule: a line for
    those that went wrong alike.
    """
    from pytest_sopbench._core.records.lines import to_line
    from pytest_sopbench._sessions.reading.planned import planned_records

    saved = full_session(session, _parse(task))
    records = planned_records(saved) if task is None else saved.runs_of(task)
    if as_json:
        import json

        shown = records if task is not None else [one for one in records if _is_told(one)]
        echo_json([json.loads(to_line(one)) for one in shown])
        return
    if task is None:
        lines = _session_lines(records, session, every=every)
    else:
        lines = _task_lines(saved, records, places, full=full)
    for line in lines:
        say(line)


def _parse(task: str | None) -> Parse:
    """Return what reads the runs that are shown in full, and of others what is counted."""
    from pytest_sopbench._sessions.lines import Skimmer
    from pytest_sopbench._sessions.reading.reader import is_called

    def is_told(*, outcome: str, rules: object, **_: object) -> bool:
        return outcome != "correct" or bool(rules)

    def is_asked_for(*, domain: str, task: str, **_: object) -> bool:
        return is_called(domain, task, name)

    name = task or ""
    return Skimmer(is_told if task is None else is_asked_for)


def _session_lines(records: Sequence[RunRecord], session: str, *, every: bool) -> Iterator[str]:
    from pytest_sopbench._reports.lists import listed_runs
    from pytest_sopbench._reports.terminal.misses import LIMIT

    width = shutil.get_terminal_size().columns
    yield from listed_runs(records, limit=None if every else LIMIT, session=session, width=width)


def _is_told(record: RunRecord) -> bool:
    from pytest_sopbench._core.verdict import Outcome

    return record.outcome is not Outcome.CORRECT or any(rule.broken for rule in record.rules)


def _task_lines(
    saved: SavedSession, records: Sequence[RunRecord], places: Sequence[str], *, full: bool
) -> Iterator[str]:
    from pytest_sopbench._reports.whole_run import Page, run_lines

    from .whole_runs import whole_runs

    page = Page(width=shutil.get_terminal_size().columns, is_folded=not full)
    for number, run in enumerate(whole_runs(saved, records, places)):
        if number:
            yield ""
        yield from run_lines(run, page)
