"""The data of a page: its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, cast

from pytest_sopbench._core.answers.values import FORMS
from pytest_sopbench._core.fields.comparison import number_kind
from pytest_sopbench._core.gates.decide import PageSources, SessionPage, TaskFacts
from pytest_sopbench._core.metrics.summary import LABEL_LIMIT, FieldLabels
from pytest_sopbench._core.model.task import TaskKey, domain_of
from pytest_sopbench._core.model.trace import Trace, Usage
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.text import read_as_json_writes
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench._reports.failure import headline, must_first, usage_text, value_line
from pytest_sopbench._reports.html.timeline import (
    shortened,
    shortened_mapping,
    shortened_talk,
    trajectory_data,
)
from pytest_sopbench._reports.text import cut, shown_calls

# What runs are called in the page, in its links and in what is shown.


def agent_labels(page: SessionPage) -> Mapping[str, str]:
    """Return what each agent is called, best first; nothing if the session has one."""
    board = page.leaderboard
    return {one.agent: one.label for one in board.standings} if board else {}


def run_name(record: RunRecord, labels: Mapping[str, str]) -> str:
    """Return `DOMAIN/TASK`, with the trial if it is not the first, and one of several agents."""
    trial = f"+{record.trial}" if record.trial > 1 else ""
    agent = f"@{labels.get(record.agent, record.agent)}" if labels else ""
    return f"{record.domain}/{record.task}{trial}{agent}"


# The table of runs as data: short rows whose words stand in lists beside them.

REASON: Final = 160
"""Characters of the reason in a row; the details have all of it."""

LOST, GAINED, ASIDE = "lost", "gained", "not compared"


Words = dict[str, int]
"""Words with their places in a list, by which rows name them."""


def place_of(words: Words, word: str) -> int:
    return words.setdefault(word, len(words))


def _in_order(words: Iterable[str]) -> Words:
    return {word: place for place, word in enumerate(words)}


class Rows:
    """Writes each run as a short list, and the words beside."""

    def __init__(self, page: SessionPage) -> None:
        self._page = page
        self._labels = agent_labels(page)
        self.masked = page.sources.masked if page.sources else str
        self._changes = changes_of(page)
        self._by_agent = bool(page.comparison and page.comparison.has_agents)
        self._words: dict[str, Words] = {
            name: {} for name in ("domains", "fields", "rules", "tags", "labels")
        }
        self._agents = _in_order(self.masked(one) for one in self._labels.values())
        self._outcomes = _in_order(one.value for one in Outcome)
        self._any_label = FieldLabels()
        self.numbers = number_fields(page)
        self.confused = confused_fields(page, self.numbers)
        self._tables = _in_order(f"{domain}\0{field}" for domain, field in self.confused)

    def row(self, record: RunRecord, facts: TaskFacts) -> list[object]:
        words = self._words
        return [
            place_of(words["domains"], self.masked(record.domain)),
            self.masked(record.task),
            record.trial,
            place_of(self._agents, self.masked(self._labels[record.agent])) if self._labels else 0,
            place_of(self._outcomes, record.outcome.value),
            self.why(record),
            self.change(record),
            [place_of(words["fields"], one.field) for one in record.mismatches],
            [place_of(words["rules"], one.id) for one in record.rules if one.broken],
            [place_of(words["tags"], one) for one in facts.tags],
            _rounded(record.duration_s),
            _tokens(record.usage),
            record.usage.cost_usd,
            len(record.calls),
            self._answers(record),
        ]

    def why(self, record: RunRecord) -> str:
        """Return the reason in a few words; nothing if all is well."""
        if record.outcome is Outcome.CORRECT and not any(one.broken for one in record.rules):
            return ""
        # The outcome stands beside it.
        line = value_line(record)
        line = line.removeprefix(record.outcome.value).removeprefix(": ").removeprefix(", ")
        return cut(self.masked(line), REASON)

    def change(self, record: RunRecord) -> str:
        key = TaskKey(record.domain, record.task, record.agent if self._by_agent else "")
        return self._changes.get(key, "")

    def words(self) -> dict[str, object]:
        """Return the words of all rows that were written."""
        return {
            **{name: [*one] for name, one in self._words.items()},
            "agents": [*self._agents],
            "outcomes": [*self._outcomes],
            "tables": [one.replace("\0", "/") for one in self._tables],
        }

    def table(self, domain: str, field: str) -> int:
        """Return the place of a confusion table."""
        return place_of(self._tables, f"{domain}\0{field}")

    def rule(self, name: str) -> int:
        return place_of(self._words["rules"], name)

    def label(self, text: str) -> int:
        return place_of(self._words["labels"], text)

    def _answers(self, record: RunRecord) -> list[list[int]]:
        """Return which label was given when which was expected, as the tables count it."""
        if record.outcome not in COMPLETED:
            return []
        wrong = {one.field: one for one in record.mismatches}
        found: list[list[int]] = []
        for field, expected in record.expected.items():
            name = f"{record.domain}\0{field}"
            if name not in self._tables:
                continue
            label = self._any_label.of(wrong[field].expected if field in wrong else expected)
            given = self._any_label.of(wrong[field].actual) if field in wrong else label
            found.append(
                [
                    place_of(self._tables, name),
                    self.label(label),
                    self.label(given[: LABEL_LIMIT + 1]),
                ]
            )
        return found


def confused_fields(
    page: SessionPage, numbers: Collection[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Return the domain and field of each confusion table; numbers are off, and not confused."""
    found = (
        (domain_of(title), table.field)
        for title, summary in page.summaries.items()
        for table in summary.confusions
        # If all are right no reason tells that they are numbers, but their labels do.
        if not all(
            one == other and read_as_json_writes(one) is not None for one, other in table.pairs
        )
    )
    return [one for one in dict.fromkeys(found) if one not in numbers]


def number_fields(page: SessionPage) -> frozenset[tuple[str, str]]:
    """Return the domain and field of all whose reasons tell that a number was asked for."""
    return frozenset(
        (one.domain, miss.field)
        for one in page.records
        for miss in one.mismatches
        if number_kind(miss)
    )


def changes_of(page: SessionPage) -> Mapping[TaskKey, str]:
    """Return what became of each task since the baseline, if there is anything to say."""
    compared = page.comparison
    if compared is None:
        return {}
    pooled = compared.pooled
    return {
        **dict.fromkeys(pooled.aside, ASIDE),
        **dict.fromkeys(pooled.lost, LOST),
        **dict.fromkeys(pooled.gained, GAINED),
    }


def _rounded(duration: float | None) -> float | None:
    return None if duration is None else round(duration, 4)


def _tokens(usage: Usage) -> int | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


# Texts that many runs repeat, each kept once: inputs come back as arguments, over and over.

REFERENCE: Final = "\x01"
"""Begins a text that stands for another one: its place in the table follows."""

_LONG: Final = 16
"""Characters from which on a reference is shorter."""


class Strings:
    """Packs values: long texts become references to a table."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def table(self) -> list[str]:
        return [*self._places]

    @property
    def count(self) -> int:
        return len(self._places)

    def packed(self, value: object) -> object:
        """Return a value of JSON with references in the place of its long texts."""
        kind = type(value)
        if kind is str:
            return self._text(cast("str", value))
        if kind is dict:
            items = cast("dict[object, object]", value).items()
            return {str(name): self.packed(one) for name, one in items}
        if kind is list or kind is tuple:
            return [self.packed(one) for one in cast("list[object]", value)]
        if isinstance(value, Mapping):
            return self.packed(dict(cast("Mapping[object, object]", value)))
        return value

    def since(self, count: int) -> int:
        """Return how many characters the table has got since it had `count` texts."""
        return sum(len(text) + 3 for text in list(self._places)[count:])

    def forget_since(self, count: int) -> None:
        """Take out what was added since the table had `count` texts."""
        while len(self._places) > count:
            self._places.popitem()

    def _text(self, text: str) -> str:
        # A text that looks like a reference must be one, or it would be read as another text.
        if len(text) < _LONG and not text.startswith(REFERENCE):
            return text
        return f"{REFERENCE}{self._places.setdefault(text, len(self._places))}"


# Data inside of a page: JSON that no parser of HTML can take for anything else.

_SIGNS: Final = re.compile(
    "[<>&\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""What ends a script, what turns the order of letters, and what UTF-8 cannot write."""


def json_text(value: object) -> str:
    """Return JSON for a `script` of another type than a script; it is read back unchanged.

    Such signs stand inside of strings alone, so each may be written as an escape.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SIGNS.sub(escaped_sign, text)


def escaped_sign(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


# Each run in detail, as far as there is room for it in one file.

ROOM: Final = 4_300_000
"""Characters of all details together: with them a page of 3,000 runs stays below 6 MB."""

NOTHING_KNOWN: Final = TaskFacts()


def details_of(
    records: Sequence[RunRecord],
    facts: Sequence[TaskFacts],
    sources: PageSources | None,
    before: Mapping[int, RunRecord],
    lost: frozenset[int],
) -> tuple[str, int]:
    """Return the details as JSON, by the place of the run, and how many runs have no room.

    Lost runs come first, then those that are not correct.

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
    return text, len(records) - len(parts)


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
    return FORMS[record.answer_form] if known else ""


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
