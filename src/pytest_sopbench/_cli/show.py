"""`sopbench show`: what went wrong in a session, one of its tasks in full, or why in short."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain

import click

from pytest_sopbench._cli.app import (
    echo_json,
    full_session,
    path_of,
    refuse,
    refuse_beside,
    say,
)
from pytest_sopbench._cli.explain import explain_runs, explain_term, list_terms
from pytest_sopbench._cli.found_domains import domain_option, search_paths
from pytest_sopbench._cli.whole_runs import whole_runs
from pytest_sopbench._core.metrics.metric import run_metrics
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._loading.finding import candidates
from pytest_sopbench._reports.lists import listed_runs
from pytest_sopbench._reports.terminal.misses import LIMIT
from pytest_sopbench._reports.text import measured_text, one_line
from pytest_sopbench._reports.whole_run import Page, run_lines
from pytest_sopbench._sessions.reading.saved import SavedSession, planned_records, summaries_of


@click.command()
@click.argument("session", required=False)
@click.argument("task", required=False)
@click.option(
    "--explain", is_flag=True, help="What a TERM means, or in short what happened to TASK, and why."
)
@click.option("--all", "every", is_flag=True, help="Without TASK: name every run, of every kind.")
@click.option("--full", is_flag=True, help="With TASK: fold nothing, however long it is.")
@click.option("--json", "as_json", is_flag=True, help="For programs: a list of runs.")
@click.option(
    "--coverage", is_flag=True, help="Which clauses the tasks of a domain, or a session, exercise."
)
@click.option("--to", metavar="html=FILE", help="With --coverage: a page beside the procedure.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="P",
    help="With --coverage of a domain: status 1 if tasks hold fewer than P % of its clauses.",
)
@domain_option
def show(  # noqa: PLR0913 - click gives each option
    session: str | None,
    task: str | None,
    places: tuple[str, ...],
    *,
    explain: bool,
    every: bool,
    full: bool,
    as_json: bool,
    coverage: bool,
    to: str | None,
    fail_under: float | None,
) -> None:
    """Show what went wrong, or one task in full.

    A task is shown in each of its runs, those that are not correct first, as wide as the terminal:
    inputs, answer, expected calls beside actual ones, each call, messages, what the agent wrote,
    and the clauses of broken rules. What takes more than 40 lines is folded. SESSION is a name
    (last), or a path to a .jsonl file; TASK is DOMAIN/TASK, DOMAIN::TASK, or the task's id alone if
    only one domain has it.
    Without TASK the runs that are not correct are listed, and those that broke a rule: a line for
    those that went wrong alike.

    With --explain and TASK a few lines say what happened to it, and why. A word alone is a TERM of
    the summary, such as grounded, inconclusive or miss (show --explain TERM). Without any the terms
    are listed.

    With --coverage SESSION may also be a domain, as --sop-domain takes it, or its folder. Shown is
    what no task or a single one exercises; with --all everything.
    """
    if not coverage and (to is not None or fail_under is not None):
        refuse("--to and --fail-under need --coverage", "add --coverage")
    if coverage:
        given = {"TASK": task, "--explain": explain, "--full": full}
        refuse_beside("--coverage", given)
        if session is None:
            msg = "Missing argument 'SESSION'."
            raise click.UsageError(msg)
        # The audit is much to load, and who looks at a session does not need it.
        from pytest_sopbench._cli.coverage import show_coverage  # noqa: PLC0415

        show_coverage(session, places, every=every, as_json=as_json, to=to, fail_under=fail_under)
        return
    if explain:
        refuse_beside(
            "--explain", {"--all": every, "--full": full, "--json": as_json, "--domain": places}
        )
        _explain(session, task)
        return
    if session is None:
        msg = "Missing argument 'SESSION'."
        raise click.UsageError(msg)
    if not path_of(session).is_file() and _is_domain(session):
        refuse(
            f"{session} is a domain, and no session is called so",
            f"sopbench list {session} shows it; sopbench show last is of the newest session",
        )
    saved = full_session(session)
    records = planned_records(saved) if task is None else saved.runs_of(task)
    if as_json:
        shown = records if task is not None else [one for one in records if _is_told(one)]
        echo_json([json.loads(to_line(one)) for one in shown])
        return
    if task is None:
        lines = chain(_session_lines(records, session, every=every), _metric_lines(saved))
    else:
        lines = chain(_task_lines(saved, records, places, full=full), _run_metric_lines(records))
    for line in lines:
        say(line)


def _is_domain(name: str) -> bool:
    return any(name in place.names for place in candidates(search_paths()))


def _explain(word: str | None, task: str | None) -> None:
    """Explain a task of the session that the word names, or without a task the word itself."""
    if word is None:
        lines = list_terms()
    elif task is None:
        lines = explain_term(word)
    else:
        saved = full_session(word)
        lines = explain_runs(saved.runs_of(task), saved.name)
    for line in lines:
        say(line)


def _session_lines(records: Sequence[RunRecord], session: str, *, every: bool) -> Iterator[str]:
    width = shutil.get_terminal_size().columns
    yield from listed_runs(records, limit=None if every else LIMIT, session=session, width=width)


def _metric_lines(saved: SavedSession) -> Iterator[str]:
    """Yield what the metrics of other packages come to, of each group of runs."""
    if not run_metrics():
        return
    for name, summary in summaries_of(saved).items():
        for metric in run_metrics():
            yield f"metric {one_line(name)}: {measured_text(metric, summary)}"


def _run_metric_lines(records: Sequence[RunRecord]) -> Iterator[str]:
    """Yield what the metrics of other packages say of each run that is shown."""
    for metric in run_metrics():
        for record in records:
            trial = f" of trial {record.trial}" if len(records) > 1 else ""
            yield f"metric{trial} {measured_text(metric, summary_of([record]))}"


def _is_told(record: RunRecord) -> bool:
    return record.outcome is not Outcome.CORRECT or any(rule.broken for rule in record.rules)


def _task_lines(
    saved: SavedSession, records: Sequence[RunRecord], places: Sequence[str], *, full: bool
) -> Iterator[str]:
    page = Page(width=shutil.get_terminal_size().columns, is_folded=not full)
    # Of several agents or trials, those that a reader came for stand first.
    ordered = sorted(records, key=lambda one: not _is_told(one))
    for number, run in enumerate(whole_runs(saved, ordered, places)):
        if number:
            yield ""
        yield from run_lines(run, page)
