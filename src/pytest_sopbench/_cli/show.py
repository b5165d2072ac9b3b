"""`sopbench show`: what went wrong in a session, one of its tasks in full, or why in short.

Without a task the runs that went wrong are listed. With one, each of its runs is put together of
its record, its event log and its domain as it is today. With `--explain` a few lines say why, in
the words of the glossary.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from itertools import chain
from textwrap import wrap

import click

from pytest_sopbench._cli.app import (
    echo_json,
    full_session,
    path_of,
    project_redaction,
    read_rate,
    refuse,
    refuse_beside,
    say_lines,
    short_path,
)
from pytest_sopbench._cli.found_domains import domain_option, readable_domains, search_paths
from pytest_sopbench._core.contract import clause_text
from pytest_sopbench._core.metrics.metric import run_metrics
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.records.record import RunRecord, to_line
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._loading.finding import candidates
from pytest_sopbench._reports.lists import listed_runs
from pytest_sopbench._reports.notices import explained
from pytest_sopbench._reports.terminal.misses import LIMIT
from pytest_sopbench._reports.text import WIDTH, measured_text, one_line, packed, shell_word
from pytest_sopbench._reports.whole_run import Page, WholeRun, run_lines
from pytest_sopbench._sessions.commands.page import changes_since, shown_inputs
from pytest_sopbench._sessions.event_logs import kept_log
from pytest_sopbench._sessions.saved import SavedSession, planned_records, summaries_of


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
    callback=read_rate,
    metavar="RATE",
    help="With --coverage of a domain: status 1 if tasks hold less of its clauses (0.9 or 90%).",
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
        from pytest_sopbench._cli.audit import show_coverage  # noqa: PLC0415

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
    if not path_of(session).is_file() and any(
        session in place.names for place in candidates(search_paths())
    ):
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
        width, limit = shutil.get_terminal_size().columns, None if every else LIMIT
        listed = listed_runs(records, limit=limit, session=session, width=width)
        lines = chain(listed, _metric_lines(saved))
    else:
        lines = chain(_task_lines(saved, records, places, full=full), _run_metric_lines(records))
    say_lines(lines)


def _explain(word: str | None, task: str | None) -> None:
    """Explain a task of the session that the word names, or without a task the word itself."""
    lines: Iterable[str]
    if word is None:
        names = [names_of(heading)[0] for heading in glossary()]
        lines = packed("terms", names, gap="   ", indent=len("terms   "))
    elif task is None:
        lines = _explain_term(word)
    else:
        saved = full_session(word)
        lines = _explain_runs(saved.runs_of(task), saved.name)
    say_lines(lines)


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
    for number, run in enumerate(_whole_runs(saved, ordered, places)):
        if number:
            yield ""
        yield from run_lines(run, page)


# One run in full: its record, its event log and its domain.


def _whole_runs(
    saved: SavedSession, records: Sequence[RunRecord], places: Sequence[str]
) -> Iterator[WholeRun]:
    """Yield runs with all that is known of them.

    Args:
        saved: their session.
        records: the runs.
        places: folders of domains that are not found by their names.
    """
    domains = readable_domains({one.domain for one in records}, places, saved.header.domains)
    hidden = project_redaction()
    for record in records:
        log = kept_log(saved.path, record)
        known = WholeRun(
            record=hidden.part(record),
            trace=log.trace and hidden.part(log.trace),
            log=short_path(log.path) if log.path else "",
            without_log=f"it {log.why}" if log.path and log.why else "" if log.path else _NO_LOG,
        )
        domain = domains.get(record.domain)
        if domain is None:
            yield replace(known, remarks=(_NOT_FOUND.format(domain=record.domain),))
        elif record.task not in domain.task_ids:
            yield replace(known, remarks=(_NO_TASK.format(domain=record.domain),))
        else:
            task = domain.tasks[domain.task_ids.index(record.task)]
            redaction = hidden.of(domain.private_columns)
            yield replace(
                known,
                inputs=shown_inputs(domain, task, redaction),
                location=f"{short_path(domain.data_file)}:{task.line}",
                expected_calls=redaction.part(domain.expected_calls.get(task.id, ())),
                clauses={
                    one.clause: redaction.text(clause_text(domain.sop, one.clause))
                    for one in record.rules
                    if one.broken and one.clause
                },
                remarks=tuple(changes_since(saved, record, domain, task)),
                again="" if places else _again(record, saved),
            )


_NO_LOG = (
    "none was kept, and it alone holds messages, output and long values; sop_traces = all keeps "
    "those of all runs, failed (the default) those of runs that are not correct"
)
_NOT_FOUND = (
    "the domain {domain} is not found, so inputs, expected calls and texts of clauses are not "
    "shown; say where it is: --domain PATH"
)
_NO_TASK = "the domain {domain} has no such task today, so its inputs and expected calls are gone"


def _again(record: RunRecord, saved: SavedSession) -> str:
    """Write the command that makes a run again; nothing if only its own test can make it."""
    header = saved.header
    if ":" not in record.agent or not record.task.isprintable():
        # A fixture stands for the agent, and it may have parameters.
        return ""
    words = ["pytest", f"--sop-domain={record.domain}::{record.task}"]
    if record.trial > 1:
        # `--sop-domain` names tasks, and a task has all of its trials.
        item = f"sop:{record.domain}::{record.task}/t{record.trial}"
        words = ["pytest", item, f"--sop-trials={record.trial}"]
    words.append(f"--sop-agent={record.agent}")
    words += [f"--sop-agent-arg={name}={value}" for name, value in header.agent_args.items()]
    return " ".join(map(shell_word, words))


# In short: what a word means, or what happened to a task and why.


def _explain_term(word: str) -> Iterator[str]:
    """Yield what a term means.

    Raises:
        SopbenchError: there is none of this name; the hint has those that are close to it.
    """
    heading = find_term(word)
    if heading is None:
        names = [name for heading in glossary() for name in names_of(heading)]
        near = get_close_matches(word, names, n=3, cutoff=0.75)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        refuse(
            f"{word!r} is no term of the glossary",
            f"{hint}sopbench show --explain lists the terms; SESSION TASK --explain is of a task",
        )
    yield from _term_lines(heading)


def _term_lines(heading: str) -> Iterator[str]:
    yield heading
    yield from wrap(glossary()[heading].replace("`", ""), WIDTH, break_on_hyphens=False)


def _explain_runs(records: tuple[RunRecord, ...], session: str) -> Iterator[str]:
    """Yield what happened to a task, from its runs in a session, and why."""
    yield from explained(records)
    worst = next((one for one in records if one.outcome is not Outcome.CORRECT), records[0])
    heading = find_term(worst.outcome.value)
    if heading is not None:
        yield ""
        yield from _term_lines(heading)
    first = records[0]
    yield ""
    yield f"everything that is known of it: sopbench show {session} {first.domain}/{first.task}"


# The glossary that `sopbench show --explain` reads; the page of the documentation is the same text.

_TERM = re.compile(r"^### (.+)\n+((?:(?!#).+\n?)+)", re.MULTILINE)


def glossary() -> Mapping[str, str]:
    """Return what each term means, by its heading: `pass all, pass^k`."""
    text = files("pytest_sopbench._cli").joinpath("glossary.md").read_text("utf-8")
    return {heading: " ".join(meaning.split()) for heading, meaning in _TERM.findall(text)}


def names_of(heading: str) -> tuple[str, ...]:
    """Return the names of a term, the usual one first."""
    return tuple(heading.split(", "))


def find_term(word: str) -> str | None:
    """Return the heading of the term that is called so; case, `_` and `-` do not matter."""
    wanted = _folded(word)
    return next(
        (one for one in glossary() if wanted in {_folded(name) for name in names_of(one)}), None
    )


def _folded(name: str) -> str:
    return " ".join(re.sub(r"[_-]", " ", name).casefold().split())
