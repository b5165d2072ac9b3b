"""What `sopbench show` puts together of a run: its record, its event log and its domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_sopbench._cli.app import project_redaction
from pytest_sopbench._cli.found_domains import readable_domains
from pytest_sopbench._core.contract.rules import clause_text
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._reports.text import shell_word
from pytest_sopbench._reports.whole_run import WholeRun
from pytest_sopbench._sessions.file.event_logs import kept_log
from pytest_sopbench._sessions.reading.saved import SavedSession


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The domain of a run as it is today, with the run's task in it."""

    domain: Domain
    task: Task
    redaction: Redaction


def whole_runs(
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
            record=hidden.record(record),
            trace=log.trace and hidden.trace(log.trace),
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
            found = _Found(domain=domain, task=task, redaction=hidden.of(domain.private_columns))
            again = "" if places else _again(record, saved)
            yield replace(_with_domain(known, found, saved), again=again)


_NO_LOG = (
    "none was kept, and it alone holds messages, output and long values; sop_traces = all keeps "
    "those of all runs, failed (the default) those of runs that are not correct"
)
_NOT_FOUND = (
    "the domain {domain} is not found, so inputs, expected calls and texts of clauses are not "
    "shown; say where it is: --domain PATH"
)
_NO_TASK = "the domain {domain} has no such task today, so its inputs and expected calls are gone"
_OTHER_ROW = "the row, or the tools, were changed since: inputs are those of today"
_OTHER_SOP = "the SOP was changed since: clauses are those of today"


def _again(record: RunRecord, saved: SavedSession) -> str:
    """Write the command that makes a run again; nothing where only its own test can make it."""
    header = saved.header
    if ":" not in record.agent or not record.task.isprintable():
        # A fixture stands for the agent, and it may have parameters.
        return ""
    words = ["pytest", f"--sop-domain={record.domain}::{record.task}"]
    words += [f"--sop-trials={record.trial}"] if record.trial > 1 else []
    words.append(f"--sop-agent={record.agent}")
    words += [f"--sop-agent-arg={name}={value}" for name, value in header.agent_args.items()]
    return " ".join(map(shell_word, words))


def _with_domain(run: WholeRun, found: _Found, saved: SavedSession) -> WholeRun:
    domain, task, record = found.domain, found.task, run.record
    inputs = {
        name: value for name, value in task.inputs.items() if name not in domain.private_columns
    }
    clauses = {
        one.clause: found.redaction.text(clause_text(domain.sop, one.clause))
        for one in record.rules
        if one.broken and one.clause
    }
    return replace(
        run,
        inputs=found.redaction.mapping(inputs),
        location=f"{short_path(domain.data_file)}:{task.line}",
        expected_calls=found.redaction.expected_calls(domain.expected_calls.get(task.id, ())),
        clauses=clauses,
        remarks=tuple(_changes(found, record, saved)),
    )


def _changes(found: _Found, record: RunRecord, saved: SavedSession) -> Iterator[str]:
    if record.task_hash and record.task_hash != found.task.hash:
        yield _OTHER_ROW
    header = saved.header.domains.get(record.domain)
    if header is not None and header.sop and header.sop != found.domain.hashes.get("sop"):
        yield _OTHER_SOP


def short_path(path: Path) -> str:
    """Write a path below the current folder as the user would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
