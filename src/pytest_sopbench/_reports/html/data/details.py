"""Each run in detail, as far as there is room for it in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.answers.forms.table import FORMS
from pytest_sopbench._core.gates.page_sources import PageSources, TaskFacts
from pytest_sopbench._core.model.keys import TaskKey
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure.broken_rules import must_first
from pytest_sopbench._reports.failure.task import headline, usage_text
from pytest_sopbench._reports.text.shown_calls import shown_calls

from .calls import trajectory_data
from .embed import json_text
from .strings import Strings
from .values import shortened, shortened_mapping, shortened_talk

ROOM: Final = 4_300_000
"""Characters of all details together: with them a page of 3,000 runs stays below 6 MB."""

NOTHING_KNOWN: Final = TaskFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The details as JSON, by the place of the run; `left_out` counts those without room."""

    text: str
    kept: frozenset[int]
    left_out: int


def details_of(
    records: Sequence[RunRecord],
    facts: Sequence[TaskFacts],
    sources: PageSources | None,
    before: Mapping[int, RunRecord],
    lost: frozenset[int],
) -> Details:
    """Return what there is room for: lost runs first, then those that are not correct.

    Args:
        records: all runs.
        facts: what is known of the task of each.
        sources: finds event logs.
        before: the run of the baseline, by the place of the run.
        lost: the places of runs whose task was lost, or gained.
    """
    strings = Strings()
    parts: dict[int, str] = {}
    commands: dict[int, str] = {}
    taken = 0
    for place in sorted(range(len(records)), key=lambda at: _rank(records[at], at in lost)):
        record, known = records[place], strings.count
        trace = sources.trace(record) if sources and record.trace else None
        data = _detail(record, facts[place], trace, before.get(place))
        text = json_text(strings.packed(data))
        command = json_text(sources.again(record)) if sources else '""'
        size = len(text) + len(command) + strings.since(known)
        if taken + size > ROOM:
            # Those behind it may be shorter, but which of them are shown must be easy to tell.
            strings.forget_since(known)
            break
        parts[place] = text
        commands[place] = command
        taken += size
    runs = ",".join(f'"{place}":{parts[place]}' for place in sorted(parts))
    again = ",".join(f'"{at}":{commands[at]}' for at in sorted(commands) if commands[at] != '""')
    text = f'{{"strings":{json_text(strings.table)},"again":{{{again}}},"runs":{{{runs}}}}}'
    return Details(text=text, kept=frozenset(parts), left_out=len(records) - len(parts))


def baseline_runs(
    records: Sequence[RunRecord], baseline: Sequence[RunRecord], *, by_agent: bool
) -> Mapping[int, RunRecord]:
    """Return the run of the baseline with the same task, trial and agent, by place of the run."""
    known = {(_task_key(one, by_agent=by_agent), one.trial): one for one in baseline}
    found = (
        (place, known.get((_task_key(one, by_agent=by_agent), one.trial)))
        for place, one in enumerate(records)
    )
    return {place: one for place, one in found if one is not None}


def _task_key(record: RunRecord, *, by_agent: bool) -> TaskKey:
    return TaskKey(record.domain, record.task, record.agent if by_agent else "")


def _rank(record: RunRecord, is_lost: bool) -> int:
    if is_lost:
        return 0
    if record.outcome is not Outcome.CORRECT or any(one.broken for one in record.rules):
        return 1
    return 2


def _detail(
    record: RunRecord, facts: TaskFacts, trace: Trace | None, before: RunRecord | None
) -> dict[str, object]:
    data: dict[str, object] = {
        "head": headline(record),
        "inputs": shortened_mapping(facts.inputs),
        "at": facts.location,
        "remark": facts.remark,
        "expected": shortened_mapping(record.expected),
        "differs": {one.field: one.why for one in record.mismatches},
        "form": _form(record),
        "rules": [
            [one.id, one.clause, one.severity.value, one.why, facts.clauses.get(one.clause, "")]
            for one in must_first([one for one in record.rules if one.broken])
        ],
        "took": usage_text(record),
        **trajectory_data(shown_calls(record, trace), record, facts, before),
        **_before(before),
        **_said(record, trace),
    }
    if record.answer is not None:
        # An answer without any field is one nevertheless.
        data["answer"] = shortened_mapping(record.answer)
    # What is empty need not be written thousands of times.
    return {name: one for name, one in data.items() if one or name == "answer"}


def _form(record: RunRecord) -> str:
    known = record.answer is not None and record.answer_form in FORMS
    return FORMS[record.answer_form].heading if known else ""


def _before(before: RunRecord | None) -> dict[str, object]:
    if before is None:
        return {}
    return {"was": [before.outcome.value, headline(before)]}


def _said(record: RunRecord, trace: Trace | None) -> dict[str, object]:
    problem = record.problem
    is_told = record.outcome is not Outcome.CORRECT or trace is not None
    return {
        "text": shortened(record.text) if is_told else "",
        "problem": problem
        and [problem.type, shortened(problem.message), shortened(problem.traceback)],
        "dispute": record.disagreement,
        "published": record.only_published,
        "notes": [*record.notes],
        "talk": shortened_talk(trace.messages) if trace else [],
        "output": shortened(trace.output) if trace else "",
        "approvals": [[one.step, one.by, int(one.granted), one.reason] for one in trace.approvals]
        if trace
        else [],
    }
