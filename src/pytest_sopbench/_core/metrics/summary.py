"""What the runs of a session come to."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from math import ceil
from statistics import median
from typing import Any, Final

from pytest_sopbench._core.documents.schema import value_at
from pytest_sopbench._core.fields.values import read_items, readings, written
from pytest_sopbench._core.metrics.counts import LABELS_LIMIT, Collapse, Confusion
from pytest_sopbench._core.model.task import MASK, Compare, FieldType, OutputField
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics import Bounds, wilson
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import as_words, fold, is_empty, read_as_json_writes
from pytest_sopbench._core.verdict import COMPLETED, Outcome

from .counts import (
    NO_CALLS_EXPECTED,
    NO_CONTRACT,
    NO_DOCUMENTS,
    NOTHING_DISPUTED,
    NOTHING_EXPECTED,
    NOTHING_REQUIRED,
    Amount,
    ContractTally,
    Counts,
    DisputedCounts,
    DocumentCounts,
    FieldCounts,
    FieldPairs,
    GroundedCounts,
    Measured,
    PairCounter,
    RuleTally,
    RunCounts,
    ToolCounts,
    UnmadeCounts,
    UnneededCounts,
    added,
    added_rules,
    of_both,
    ratio,
    wrong_of,
)
from .trials import NO_BOUNDS, TrialBounds, TrialCounts

# What a group of runs came to: counts that are kept, and rates that derive from them.
#
# Since only counts are kept, summaries add. n is always the number of planned runs: a run that
# crashed or never started is counted like any other.


UNAVAILABLE_SHARE: Final = 0.05
"""The share of unavailable runs above which no rate is printed, unless a gate sets another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Counts):
    """What a group of runs came to.

    `tasks` counts tasks, `runs` planned runs: tasks x trials. `by_expected` groups them by the
    expected answer, all fields jointly; `by_class` by the fields of few values alone, and is empty
    if there are no others. `answers` counts, for fields of few values, which label was given when
    which was expected, in completed runs; `wrong_pairs` the same for what the judge
    called a mismatch, wherever both values are short; `mismatched` counts mismatches by field.
    `wrong_states` are the runs whose end state is wrong, whatever they answered.
    `by_field` counts how often each field is right, `by_number` the right fields of runs by how
    many fields these were asked for.
    `durations` are in seconds, sorted, of the runs that left a trace; `without_calls` are those
    of them that called no tool. `rules` count rule by rule, `contract` run by run, `grounded`,
    `unneeded`, `unmade` and `documents` as their own words say. `measured` are the metrics that are
    counted run by run, by their names. `trials_by` maps (trials, correct) to tasks, and is empty
    if each task has one trial. Two summaries add if they have no task in
    common. A rate is `None` if there is nothing to divide.

    `tolerated` is the share of runs that may be unavailable. If more of them are, nobody can
    tell what the agent would have done, so the summary is `unmeasured` and every rate is `None`.
    """

    runs: int = 0
    tasks: int = 0
    outcomes: Mapping[Outcome, int] = field(default_factory=dict[Outcome, int])
    tools: Mapping[str, ToolCounts] = field(default_factory=dict[str, ToolCounts])
    by_expected: Mapping[str, RunCounts] = field(default_factory=dict[str, RunCounts])
    by_class: Mapping[str, RunCounts] = field(default_factory=dict[str, RunCounts])
    answers: FieldPairs = field(default_factory=dict[str, Mapping[tuple[str, str], int]])
    wrong_pairs: FieldPairs = field(default_factory=dict[str, Mapping[tuple[str, str], int]])
    mismatched: Mapping[str, int] = field(default_factory=dict[str, int])
    by_field: Mapping[str, FieldCounts] = field(default_factory=dict[str, FieldCounts])
    by_number: Mapping[int, FieldCounts] = field(default_factory=dict[int, FieldCounts])
    disputed: DisputedCounts = NOTHING_DISPUTED
    only_published: int = 0
    wrong_states: int = 0
    reruns: int = 0
    trials_by: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    without_calls: int = 0
    rules: tuple[RuleTally, ...] = ()
    contract: ContractTally = NO_CONTRACT
    grounded: GroundedCounts = NOTHING_REQUIRED
    unneeded: UnneededCounts = NOTHING_EXPECTED
    unmade: UnmadeCounts = NO_CALLS_EXPECTED
    documents: DocumentCounts = NO_DOCUMENTS
    durations: tuple[float, ...] = ()
    usage: Mapping[str, Amount] = field(default_factory=dict[str, Amount])
    measured: Mapping[str, Measured] = field(default_factory=dict[str, Measured])
    tolerated: float = UNAVAILABLE_SHARE

    @property
    def unavailable(self) -> int:
        """How many runs were unavailable; they stay in n."""
        return self.outcomes.get(Outcome.UNAVAILABLE, 0)

    @property
    def unmeasured(self) -> bool:
        """Whether more runs were unavailable than is tolerated."""
        # 29 of 100 are not more than 0.29, whatever the fractions leave in the last digit.
        return self.unavailable > self.tolerated * self.runs + 1e-9

    def rate(self, part: float, whole: float) -> float | None:
        """Divide counts of these runs; `None` if they are unmeasured, or nothing is divided."""
        return None if self.unmeasured else ratio(part, whole)

    def interval(self, part: int, whole: int) -> Bounds | None:
        """Return the 95 % interval of a rate over runs, if there is a rate.

        Trials of a task are not independent, and would make an interval over runs too narrow.
        """
        return None if self.trials_by or self.unmeasured else wilson(part, whole)

    @property
    def trial_bounds(self) -> TrialBounds:
        """The 95 % intervals of TSR, pass any and pass all over the tasks."""
        return NO_BOUNDS if self.unmeasured else self.trials.bounds()

    @property
    def tsr_bounds(self) -> Bounds | None:
        """The 95 % interval of TSR: over tasks if each has several trials."""
        return self.trial_bounds.tsr if self.trials_by else self.interval(self.correct, self.runs)

    @property
    def correct(self) -> int:
        """How many runs are correct."""
        return self.outcomes.get(Outcome.CORRECT, 0)

    @property
    def completed(self) -> int:
        """How many runs gave an answer for every output field."""
        return sum(self.outcomes.get(outcome, 0) for outcome in COMPLETED)

    @property
    def tsr(self) -> float | None:
        """Task success rate: correct runs / planned runs."""
        return self.rate(self.correct, self.runs)

    @property
    def ecr(self) -> float | None:
        """Execution completion rate: completed runs / planned runs."""
        return self.rate(self.completed, self.runs)

    @property
    def c_tsr(self) -> float | None:
        """Correct runs / completed runs."""
        return self.rate(self.correct, self.completed)

    @property
    def contract_rate(self) -> float | None:
        """Runs whose contract holds / runs to whose task a rule applies."""
        return self.rate(self.contract.held, self.contract.runs)

    @property
    def grounded_tsr(self) -> float | None:
        """Runs that are correct and lack no required tool / n; `None` if nothing is required."""
        return self.rate(self.grounded.grounded, self.runs) if self.grounded.required else None

    @property
    def undisputed(self) -> RunCounts:
        """The runs of tasks that no known disagreement is recorded for."""
        left_out = self.disputed.counts
        return RunCounts(
            runs=self.runs - left_out.runs,
            completed=self.completed - left_out.completed,
            correct=self.correct - left_out.correct,
        )

    @property
    def calls(self) -> ToolCounts:
        """The calls of all tools together."""
        return sum(self.tools.values(), ToolCounts())

    @property
    def tool_accuracy(self) -> float | None:
        """(Calls - bad calls) / calls."""
        return self.rate(self.calls.calls - self.calls.bad, self.calls.calls)

    @property
    def calls_per_run(self) -> float | None:
        """Tool calls / runs that left a trace."""
        return ratio(self.calls.calls, len(self.durations))

    @property
    def cost_per_correct(self) -> float | None:
        """Dollars of all runs / correct runs.

        `None` if none is correct, or if a cost is missing that a run must have had: fewer
        are known than runs returned.
        """
        cost = self.usage.get("cost_usd")
        returned = self.completed + self.outcomes.get(Outcome.NO_ANSWER, 0)
        if cost is None or cost.known < returned:
            return None
        return ratio(cost.total, self.correct)

    @property
    def trials(self) -> TrialCounts:
        """The tasks by how many of their trials are correct."""
        if self.trials_by:
            return TrialCounts(tasks_by=self.trials_by)
        once = {(1, 0): self.runs - self.correct, (1, 1): self.correct}
        return TrialCounts(tasks_by={kind: tasks for kind, tasks in once.items() if tasks})

    @property
    def pass_any(self) -> float | None:
        """Tasks with a correct trial / tasks (pass@k, with k all trials of a task)."""
        return None if self.unmeasured else self.trials.pass_any()

    @property
    def pass_all(self) -> float | None:
        """Tasks whose trials are all correct / tasks (pass^k, with k all trials of a task)."""
        return None if self.unmeasured else self.trials.pass_all()

    @property
    def most_frequent(self) -> int | None:
        """Runs that always giving the most frequent answer would have right.

        `None` if an expected answer is masked or missing: then nobody can tell.
        """
        labelled = sum(counts.runs for counts in self.by_expected.values())
        if not self.runs or labelled != self.runs:
            return None
        return max(counts.runs for counts in self.by_expected.values())

    @property
    def chance(self) -> float | None:
        """The TSR of always giving the most frequent answer."""
        most = self.most_frequent
        return None if most is None else most / self.runs

    @property
    def latency_median(self) -> float | None:
        """Seconds."""
        return median(self.durations) if self.durations else None

    @property
    def latency_p95(self) -> float | None:
        """Seconds: the nearest-rank 95th percentile, a duration that was really measured."""
        count = len(self.durations)
        return self.durations[ceil(0.95 * count) - 1] if count else None

    @property
    def confusions(self) -> tuple[Confusion, ...]:
        """One table for each field of few values."""
        tables = (Confusion(field=name, pairs=pairs) for name, pairs in self.answers.items())
        return tuple(table for table in tables if 1 < len(table.expected) <= LABELS_LIMIT)

    @property
    def collapses(self) -> tuple[Collapse, ...]:
        """What the collapse alarm has to say, field by field; empty when all is well."""
        trials = self.runs / self.tasks if self.tasks else 1.0
        found = (table.collapse(trials=trials) for table in self.confusions)
        return tuple(collapse for collapse in found if collapse)

    def _otherwise(self, other: Any) -> Mapping[str, Any]:
        trials_by: Mapping[tuple[int, int], int] = {}
        if self.trials_by or other.trials_by:
            trials_by = added(self.trials.tasks_by, other.trials.tasks_by)
        return {
            "outcomes": _in_order(self.outcomes, other.outcomes, Outcome),
            "answers": _sum_of_pairs(self.answers, other.answers),
            "wrong_pairs": _sum_of_pairs(self.wrong_pairs, other.wrong_pairs),
            # The order of fields is that of the domain.
            "by_field": _in_order(self.by_field, other.by_field),
            "by_number": _in_order(self.by_number, other.by_number),
            "trials_by": trials_by,
            "rules": added_rules(self.rules, other.rules),
            "durations": tuple(sorted(self.durations + other.durations)),
            "tolerated": _tolerated(self, other),
        }


EMPTY = Summary()
"""The summary of no runs, to which others can be added."""


def _in_order(
    a: Mapping[Any, Any], b: Mapping[Any, Any], order: Iterable[Any] = ()
) -> dict[Any, Any]:
    keys = (*order, *a, *b)
    return {key: of_both(a, b, key) for key in dict.fromkeys(keys) if key in a or key in b}


def _sum_of_pairs(a: FieldPairs, b: FieldPairs) -> dict[str, Mapping[tuple[str, str], int]]:
    counter = PairCounter()
    counter.add_all(a)
    counter.add_all(b)
    return counter.pairs()


def _tolerated(a: Summary, b: Summary) -> float:
    """Return what the sum tolerates: nothing if one of its parts is unmeasured.

    A gate on all domains is inconclusive if one domain is, and so is their rate. Many runs
    elsewhere must not make up for a domain of which nobody knows anything.
    """
    if not (a.runs and b.runs):
        return a.tolerated if a.runs else b.tolerated
    return 0.0 if a.unmeasured or b.unmeasured else max(a.tolerated, b.tolerated)


# Name the labels that answers are counted under, so that two spellings count as one.
#
# The judge alone decides whether an answer is right; labels only say what was expected, and what
# was given instead, in tables that people read.

LABEL_LIMIT = 40
"""Characters up to which a value is a label; a longer one is a text, and only its field counts."""

ANSWER_LIMIT = 80
"""Characters of a whole expected answer that are kept; a longer one ends in its hash."""

NO_VALUE = "(empty)"
"""The label of an explicit empty."""

SEPARATOR = " / "
"""What stands between the fields of one answer."""

KNOWN_LIMIT = 1_000
"""Texts of one field whose labels are remembered."""

LABELLED = frozenset({FieldType.ENUM, FieldType.BOOLEAN})
"""The types whose values are few enough for a confusion table."""


class FieldLabels:
    """The labels of one output field: values that the judge holds equal have the same one.

    Args:
        field: the field; `None` if the domain is not at hand, so that each spelling is a
            label of its own and short values are taken for labels.
    """

    __slots__ = ("_field", "_known", "_spelled", "counted")

    def __init__(self, field: OutputField | None = None) -> None:
        self._field = field
        self.counted = field is None or field.type in LABELLED
        self._spelled: dict[str, str] = {}
        # Of texts that came before: most runs have one of a few.
        self._known: dict[str, str] = {}
        if field is not None:
            for value in (*field.values, *field.aliases.values()):
                self._spelled.setdefault(fold(value), value)

    def of(self, value: JsonValue) -> str:
        """Return the label that a value is counted under."""
        if type(value) is not str:
            return self._label(value)
        label = self._known.get(value)
        if label is None:
            label = self._label(value)
            if len(self._known) < KNOWN_LIMIT:
                self._known[value] = label
        return label

    def written(self, value: JsonValue) -> str:
        """Return the label of a value for readers: a text that is no known label is as given."""
        label = self.of(value)
        given = " ".join(written(value).split())
        return given if label == fold(given) and label not in self._spelled.values() else label

    def _label(self, value: JsonValue) -> str:
        if self._field is None:
            return NO_VALUE if is_empty(value) else " ".join(written(value).split())
        keys = readings(self._field, value)
        kind, key = keys[-1]
        if kind == "text" and isinstance(key, str):
            texts = [one for _, one in keys if isinstance(one, str)]
            return next((self._spelled[one] for one in texts if one in self._spelled), key)
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, Decimal):
            return as_words(key)
        if isinstance(key, float):
            return _moment(key)
        return NO_VALUE if key is None else self._of_list(value)

    def _of_list(self, value: JsonValue) -> str:
        parts = [_item(item) for item in read_items(value) or ()]
        ordered = self._field is not None and self._field.ordered
        return f"[{', '.join(parts if ordered else sorted(parts))}]"


def field_labels(fields: Sequence[OutputField]) -> dict[str, FieldLabels]:
    """Return the labels of each field that asks for a certain value; the others decide nothing."""
    return {field.name: FieldLabels(field) for field in fields if field.compare is Compare.EXACT}


def answer_label(
    expected: Mapping[str, JsonValue], fields: Mapping[str, FieldLabels]
) -> str | None:
    """Return one label for all fields jointly; `None` if a value is missing or masked."""
    parts: list[str] = []
    for name, labels in fields.items():
        if name not in expected or expected[name] == MASK:
            return None
        part = labels.of(expected[name])
        # Quoted, so that two answers never share a label because of where the separator stands.
        parts.append(json.dumps(part) if SEPARATOR in part else part)
    label = SEPARATOR.join(parts)
    if not parts:
        return None
    if len(label) <= ANSWER_LIMIT:
        return label
    # A saved session may hold half of a character, which JSON escapes.
    digest = blake2b(label.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{label[:ANSWER_LIMIT]}... #{digest}"


def is_joint(label: str) -> bool:
    """Whether a label of whole answers is that of several fields; a cut one may seem to be."""
    if SEPARATOR not in label:
        return False
    try:
        return not isinstance(json.loads(label), str)
    except ValueError:
        return True


def _item(item: JsonValue) -> str:
    text = written(item).strip()
    number = read_as_json_writes(text)
    return fold(text) if number is None else as_words(number)


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return moment.isoformat().removesuffix("T00:00:00")


# What was expected of a run, as labels: field by field, or path by path of a document.

_UNKNOWN: Final = FieldLabels()


def expected_label(record: RunRecord, labels: Mapping[str, FieldLabels]) -> str | None:
    """Return one label for all that is expected; `None` if a value is missing or masked."""
    if record.document is not None:
        return record.document.label
    return answer_label(record.expected, labels)


def class_label(record: RunRecord, classes: Mapping[str, FieldLabels]) -> str | None:
    """Return one label for the fields, or paths, of few values; `None` if there is none."""
    if record.document is None:
        return answer_label(record.expected, classes)
    values = {path: value_at(record.expected, path) for path in record.document.labelled}
    return answer_label(values, dict.fromkeys(values, _UNKNOWN))


def right_values(
    record: RunRecord, fields: Mapping[str, FieldLabels], wrong: Container[str]
) -> Iterator[tuple[str, JsonValue, FieldLabels]]:
    """Yield the name, the expected value and the labels of what a completed run has right.

    `wrong` are the fields in which it differs.
    """
    if record.document is None:
        for name, labels in fields.items():
            if name not in wrong:
                yield name, record.expected.get(name, MASK), labels
        return
    wrong_here = wrong_of(record.document, record)
    for path in record.document.labelled:
        if path not in wrong_here:
            value = value_at(record.expected, path)
            # A container is no label.
            if value is None or isinstance(value, str | int | float):
                yield path, value, _UNKNOWN


def is_labelled(record: RunRecord, name: str) -> bool:
    """Whether the values of a field or path are few enough for a table of labels."""
    return record.document is None or name in record.document.labelled
