"""The page on a saved session: the one that makes it, for the session itself and for later."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from pytest_sopbench._core.comparing import leaderboard_of
from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.contract import clause_text
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.calibration import with_doubts
from pytest_sopbench._core.gates.conditions import GateSpec, bounded
from pytest_sopbench._core.gates.decide import (
    Decision,
    PageSources,
    RowPlace,
    SessionPage,
    TaskFacts,
)
from pytest_sopbench._core.model.task import GroupKey, Task, TaskName, agents_of
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.record import RunRecord, is_replayed
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants import findings
from pytest_sopbench._sessions.commands.gate import forgiven_in, recorded_failures
from pytest_sopbench._sessions.event_logs import kept_log
from pytest_sopbench._sessions.saved import SavedSession, planned_records, summaries_of


def session_page(
    saved: SavedSession,
    decision: Decision,
    *,
    comparison: SessionComparison | None = None,
    remarks: Sequence[str] = (),
    sources: PageSources | None = None,
    gates: Sequence[GateSpec] | None = None,
) -> SessionPage:
    """Return what a page tells of a session.

    Args:
        saved: the session.
        decision: what came of its gates.
        comparison: with a baseline, if there is one.
        remarks: what must not go unsaid, beside what the file tells.
        sources: where a format finds what stands in no run of the session.
        gates: those that were checked instead of the session's own.
    """
    # A number of failed tests has a line of its own; that it is unknown stands among the gates.
    # Without a gate nothing is decided, and other tests that failed are known all the same.
    is_told = bool(decision.failures) or not (decision.gates or decision.not_evaluated)
    failures = (recorded_failures(saved) or 0) if is_told else 0
    records = planned_records(saved)
    groups = dict.fromkeys(GroupKey(one.domain, one.agent) for one in records)
    summaries = summaries_of(saved)
    if gates is not None:
        summaries = bounded(summaries, gates, agents_of(groups))
    found = {group: summaries[group.title(groups)] for group in groups}
    return SessionPage(
        agent=saved.header.agent,
        records=records,
        leaderboard=leaderboard_of(found, records, may_fail=forgiven_in(saved).answers),
        summaries=summaries,
        judge=with_doubts(saved.header.options.judge, saved.header.options.doubtful),
        gates=(*decision.gates, *decision.entries, *(() if failures else decision.failures)),
        not_evaluated=decision.not_evaluated,
        remarks=(*_remarks_of(saved), *remarks),
        facts=_facts_of(saved),
        comparison=comparison,
        failures=failures,
        forgiven=forgiven_in(saved),
        sources=sources,
        variants=tuple(
            findings(saved.header.options.variants, ((one.key, one.outcome) for one in records))
        ),
    )


def _facts_of(saved: SavedSession) -> Mapping[str, str]:
    """Return what a reader may need to find a session again, by name; unknown is empty."""
    header = saved.header
    scoring = header.options.scoring
    commit = (
        f"{header.git.commit[:12]}{' and changes' if header.git.dirty else ''}"
        if header.git
        else ""
    )
    return {
        "started": header.started,
        "commit": commit,
        "pytest-sopbench": header.plugin,
        "selected by": " ".join(saved.header.options.selection),
        "scoring": "" if scoring == "exact" else scoring,
        "replayed": _replayed(saved),
    }


def _replayed(saved: SavedSession) -> str:
    """Say how many runs asked no model, since their traffic came from recordings."""
    number = sum(map(is_replayed, saved.records))
    return f"{number} of {len(saved.records)} runs, from recorded model traffic" if number else ""


def _remarks_of(saved: SavedSession) -> tuple[str, ...]:
    """Return what must not go unsaid of a session."""
    published = saved.header.options.scoring == "published"
    remark = "judged by the published scorer's rules, not by ours"
    drafts = (f"draft: {told} ({name})" for name, told in saved.header.options.drafts.items())
    return (*((remark,) if published else ()), *drafts, *saved.problems, *_forgiven_rules(saved))


def _forgiven_rules(saved: SavedSession) -> Iterator[str]:
    """Say which rules were broken that may be, as nobody must think that they held."""
    forgiven = forgiven_in(saved)
    if not forgiven.rules:
        return
    counts = Counter(
        (TaskName(one.domain, one.task), rule)
        for one in planned_records(saved)
        for rule in forgiven.broken_rules(one)
    )
    for (task, rule), count in counts.items():
        yield f"{task} may break the rule {rule}, and did, outside gates (runs: {count})"


# What a page may ask for beside the runs of a saved session.

NOT_FOUND: Final = "the domain is not found, so inputs and expected calls are not shown"
NO_TASK: Final = "the domain has no such task today, so inputs and expected calls are not shown"
OTHER_ROW: Final = "the row, or the tools, were changed since: inputs are those of today"
OTHER_SOP: Final = "the SOP was changed since: clauses are those of today"

Domains = Callable[[], Mapping[str, Domain]]
"""Finds the domains of the session, as far as they are at hand."""


class SavedSources:
    """Finds what a page asks for, once it asks.

    Args:
        saved: the session.
        baseline: the session that it was compared with; `None` if there is none.
        domains: finds the domains.
        redaction: what is masked in whatever does not stand in the session itself.
        shown: writes the path of a data file as the user would type it.
        again: writes the command that makes a run again.
    """

    def __init__(
        self,
        saved: SavedSession,
        *,
        baseline: SavedSession | None = None,
        domains: Domains,
        redaction: Redaction = NOTHING_REDACTED,
        shown: Callable[[Path], str] = str,
        again: Callable[[RunRecord], str] = lambda _: "",
    ) -> None:
        self._saved = saved
        self._baseline = baseline
        self._find = domains
        self._redaction = redaction
        self._shown = shown
        self._again = again
        self._places: dict[str, Mapping[str, int]] = {}
        self._clauses: dict[tuple[str, str], str] = {}

    def facts(self, record: RunRecord) -> TaskFacts:
        domain = self._domains.get(record.domain)
        if domain is None:
            return TaskFacts(remark=NOT_FOUND)
        position = self._places_of(domain).get(record.task)
        if position is None:
            return TaskFacts(remark=NO_TASK)
        task = domain.tasks[position]
        redaction = self._redaction.of(domain.private_columns)
        expected = domain.expected_calls.get(task.id, ())
        return TaskFacts(
            inputs=shown_inputs(domain, task, redaction),
            expected_calls=redaction.part(expected),
            clauses={
                one.clause: self._clause(domain, one.clause)
                for one in record.rules
                if one.broken and one.clause
            },
            tags=task.tags,
            location=f"{self._where(domain.data_file)}:{task.line}",
            remark=next(changes_since(self._saved, record, domain, task), ""),
        )

    def again(self, record: RunRecord) -> str:
        return self._redaction.text(self._again(record))

    def sop(self, domain: str) -> str:
        found = self._domains.get(domain)
        return self._redaction.text(found.sop) if found is not None else ""

    def trace(self, record: RunRecord) -> Trace | None:
        found = kept_log(self._saved.path, record).trace
        return found and self._redaction.part(found)

    def baseline(self) -> Sequence[RunRecord]:
        if self._baseline is None:
            return ()
        return [self._redaction.part(one) for one in planned_records(self._baseline)]

    def masked(self, text: str) -> str:
        return self._redaction.text(text)

    @cached_property
    def _domains(self) -> Mapping[str, Domain]:
        return self._find()

    def _places_of(self, domain: Domain) -> Mapping[str, int]:
        found = self._places.get(domain.name)
        if found is None:
            found = {task: place for place, task in enumerate(domain.task_ids)}
            self._places[domain.name] = found
        return found

    def _clause(self, domain: Domain, clause: str) -> str:
        # A clause is broken in many runs, and the SOP is long.
        key = domain.name, clause
        if key not in self._clauses:
            self._clauses[key] = self._redaction.text(clause_text(domain.sop, clause))
        return self._clauses[key]

    def _where(self, path: Path) -> str:
        """Write a path; of one elsewhere only its end, since a page is given to others."""
        shown = Path(self._shown(path))
        return str(Path(*shown.parts[-2:]) if shown.is_absolute() else shown)


def shown_inputs(domain: Domain, task: Task, redaction: Redaction) -> Mapping[str, JsonValue]:
    """Return the inputs of a task as they may be shown, without private columns."""
    private = domain.private_columns
    public = {name: value for name, value in task.inputs.items() if name not in private}
    return redaction.mapping(public)


def changes_since(
    saved: SavedSession, record: RunRecord, domain: Domain, task: Task
) -> Iterator[str]:
    """Say what of a task is another one today than when the run was made."""
    if record.task_hash and record.task_hash != task.hash:
        yield OTHER_ROW
    header = saved.header.domains.get(record.domain)
    if header is not None and header.sop and header.sop != domain.hashes.get("sop"):
        yield OTHER_SOP


# Where the rows of tasks lie, as those who look at the repository name them.

WORKSPACE: Final = "GITHUB_WORKSPACE"
"""Where GitHub Actions has checked the repository out."""


def row_places(
    domains: Iterable[Domain],
    tasks: Collection[TaskName],
    project: Path,
    environment: Mapping[str, str] = os.environ,
) -> Mapping[TaskName, RowPlace]:
    """Return the place of each task whose row lies in the repository, and is still there.

    Args:
        domains: those of the tasks.
        tasks: whose rows are looked for.
        project: a folder in the repository. What is installed does not belong to it, even if
            its environment does.
        environment: tells where the repository is if it was checked out without git.
    """
    top = _top(project.resolve(), environment)
    places: dict[TaskName, RowPlace] = {}
    for domain in domains:
        ids = [one.task for one in tasks if one.domain == domain.name]
        path = _inside(domain.data_file.resolve(), top) if ids else None
        lines = {name: place for place, name in enumerate(domain.task_ids)} if path else {}
        for name in ids:
            if path is not None and name in lines:
                line = domain.tasks[lines[name]].line
                places[TaskName(domain.name, name)] = RowPlace(path, line)
    return places


def _top(project: Path, environment: Mapping[str, str]) -> Path:
    above = (folder for folder in (project, *project.parents) if (folder / ".git").exists())
    found = next(above, None)
    if found is None and (given := environment.get(WORKSPACE)):
        found = Path(given).resolve()
    return project if found is None else found


def _inside(file: Path, top: Path) -> str | None:
    """Return the path of a file from the top of the repository, or nothing if it is none."""
    if not file.is_relative_to(top):
        return None
    path = file.relative_to(top)
    is_installed = any(part.startswith(".") or part == "site-packages" for part in path.parts)
    return None if is_installed else path.as_posix()
