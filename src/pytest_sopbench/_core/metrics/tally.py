"""Count runs as they arrive, keeping nothing of them but counts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from pytest_sopbench._core.model.task import MASK, OutputField
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench.errors import ExtensionError

from .counts import (
    MONEY_DIGITS,
    Amount,
    DisputedCounts,
    DocumentTally,
    FieldTally,
    Measured,
    PairCounter,
    ProcedureTally,
    RunCounts,
    ToolCounts,
)
from .metric import Metric, run_metrics
from .summary import (
    LABEL_LIMIT,
    FieldLabels,
    Summary,
    class_label,
    expected_label,
    field_labels,
    is_labelled,
    right_values,
)

_NAME_LIMIT = 60
_REASON_LIMIT = 200


class Tally:
    """Counts runs, each in a few microseconds and some hundred bytes at most.

    Args:
        fields: the domain's output fields. With them spellings of one label are counted as one
            and fields that ask for no certain value are left out; without them, as when only a
            saved session is at hand, each spelling of an expected value is a label.
    """

    def __init__(self, fields: Sequence[OutputField] = ()) -> None:
        self._fields = field_labels(fields) if fields else None
        self._unknown = FieldLabels()
        known = self._fields or {}
        self._classes = {name: labels for name, labels in known.items() if labels.counted}
        self._has_others = len(self._classes) < len(known)
        self._by_class: dict[str, list[int]] = {}
        self._outcomes: Counter[Outcome] = Counter()
        self._tools: dict[str, list[int]] = {}
        self._by_expected: dict[str, list[int]] = {}
        self._answers = PairCounter()
        self._wrong_pairs = PairCounter()
        self._mismatched: Counter[str] = Counter()
        self._disputed = [0, 0, 0]
        self._reasons: Counter[str] = Counter()
        self._usage: dict[str, list[float]] = {}
        self._durations = array("d")
        self._without_calls = 0
        self._procedure = ProcedureTally()
        self._documents = DocumentTally()
        self._only_published = 0
        self._wrong_states = 0
        self._reruns = 0
        self._trials = TrialTally()
        self._asked = FieldTally()
        self._measures = [MetricTally(metric) for metric in run_metrics()]

    def add(self, record: RunRecord) -> None:
        """Count one run; each key must come once, since the first verdict of a run counts."""
        self._outcomes[record.outcome] += 1
        self._trials.add(record)
        self._only_published += record.only_published
        self._wrong_states += bool(record.state_differs)
        labels = self._fields
        if labels is None:
            labels = dict.fromkeys(record.expected, self._unknown)
        completed = record.outcome in COMPLETED
        self._add_expected(record, labels, completed=completed)
        if record.document is None:
            self._asked.add(record, completed=completed)
        else:
            self._documents.add(record.document, record)
        if completed:
            self._add_answer(record, labels)
        for call in record.calls:
            # An agent may invent names without end, and long ones.
            counts = self._tools.setdefault(call.name[:_NAME_LIMIT], [0, 0, 0])
            counts[0] += 1
            counts[1] += call.bad
            counts[2] += call.error is not None and not call.bad
        if record.duration_s is not None:
            # Four digits say all that a duration can, and keep a saved summary short.
            self._durations.append(float(f"{record.duration_s:.4g}"))
            self._without_calls += not record.calls
        self._procedure.add(record)
        if record.usage != UNKNOWN_USAGE:
            self._add_usage(record)
        for measure in self._measures:
            measure.add(record)

    def add_rerun(self) -> None:
        """Count that another plugin ran a finished run again, which changes no verdict."""
        self._reruns += 1

    def summary(self) -> Summary:
        """Return what was counted so far."""
        return Summary(
            runs=self._outcomes.total(),
            tasks=self._trials.tasks,
            outcomes={one: self._outcomes[one] for one in Outcome if self._outcomes[one]},
            tools={
                name: ToolCounts(calls=calls, bad=bad, failed=failed)
                for name, (calls, bad, failed) in sorted(self._tools.items())
            },
            by_expected={
                label: _run_counts(counts) for label, counts in sorted(self._by_expected.items())
            },
            by_class={
                label: _run_counts(counts) for label, counts in sorted(self._by_class.items())
            },
            answers=self._answers.pairs(),
            wrong_pairs=self._wrong_pairs.pairs(),
            mismatched=dict(sorted(self._mismatched.items())),
            by_field=self._asked.by_field(self._mismatched),
            by_number=self._asked.by_number(),
            disputed=DisputedCounts(
                counts=_run_counts(self._disputed), reasons=dict(sorted(self._reasons.items()))
            ),
            only_published=self._only_published,
            wrong_states=self._wrong_states,
            reruns=self._reruns,
            trials_by=self._trials.counts(),
            without_calls=self._without_calls,
            rules=self._procedure.rules,
            contract=self._procedure.contract,
            grounded=self._procedure.grounded,
            unneeded=self._procedure.unneeded,
            unmade=self._procedure.unmade,
            documents=self._documents.counts(),
            durations=tuple(sorted(self._durations)),
            usage={
                name: Amount(total=total, known=int(known))
                for name, (total, known) in sorted(self._usage.items())
            },
            measured={one.metric.name: one.measured() for one in self._measures},
        )

    def _add_expected(
        self, record: RunRecord, labels: Mapping[str, FieldLabels], *, completed: bool
    ) -> None:
        correct = record.outcome is Outcome.CORRECT
        label = expected_label(record, labels)
        if label is not None:
            group = self._by_expected.get(label)
            if group is None:
                group = self._by_expected[label] = [0, 0, 0]
            _count(group, completed=completed, correct=correct)
            if self._has_others or record.document is not None:
                # Without a field of few values there is one class, which says nothing.
                name = class_label(record, self._classes) or ""
                counts = self._by_class.setdefault(name, [0, 0, 0])
                _count(counts, completed=completed, correct=correct)
        if record.disagreement:
            self._reasons[record.disagreement[:_REASON_LIMIT]] += 1
            _count(self._disputed, completed=completed, correct=correct)

    def _add_answer(self, record: RunRecord, fields: Mapping[str, FieldLabels]) -> None:
        wrong = {mismatch.field: mismatch for mismatch in record.mismatches}
        for name, expected, labels in right_values(record, fields, wrong):
            if labels.counted and expected != MASK:
                label = labels.of(expected)
                # The judge's word: what matches counts as the label, however it was spelled.
                if len(label) <= LABEL_LIMIT:
                    self._answers.add(name, label, label)
        for name, mismatch in wrong.items():
            self._mismatched[name] += 1
            if mismatch.expected != MASK:
                counted = is_labelled(record, name)
                self._add_pair(name, mismatch.expected, mismatch.actual, counted=counted)

    def _add_pair(
        self, name: str, expected: JsonValue, actual: JsonValue, *, counted: bool
    ) -> None:
        labels = self._unknown if self._fields is None else self._fields.get(name)
        if labels is None:
            # Another value than the expected one may be as right there, so there are no labels.
            return
        label, instead = labels.of(expected), labels.of(actual)[: LABEL_LIMIT + 1]
        if len(label) > LABEL_LIMIT:
            return
        if labels.counted and counted:
            self._answers.add(name, label, instead)
        if len(instead) <= LABEL_LIMIT:
            self._wrong_pairs.add(name, labels.written(expected), labels.written(actual))

    def _add_usage(self, record: RunRecord) -> None:
        for name in COUNTS:
            value: float | None = getattr(record.usage, name)
            if value is not None:
                amount = self._usage.setdefault(name, [0, 0])
                amount[0] = round(amount[0] + value, MONEY_DIGITS)
                amount[1] += 1


class MetricTally:
    """Counts what one metric says of runs; the sum is exact, so their order leaves no trace."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._total = Fraction()
        self._known = self._runs = 0
        self._fault = ""

    def add(self, record: RunRecord) -> None:
        """Count one run; after a failure nothing more is asked."""
        if self._fault:
            return
        try:
            value = self.metric.says(record)
            # Of a run that left no trace nothing is known, and it is counted all the same.
            self._runs += value is not None or self.metric.applies(record)
        except ExtensionError as fault:
            self._fault = fault.message
            return
        if value is not None:
            self._total += Fraction(value)
            self._known += 1

    def measured(self) -> Measured:
        total = self._total
        return Measured(
            total=total.numerator if total.denominator == 1 else float(total),
            known=self._known,
            runs=self._runs,
            fault=self._fault,
        )


# Count trials task by task as runs arrive, at next to no cost if a task has only one.


class TrialTally:
    """Counts the trials of each task.

    Whether a task will have a second trial is not known when its first arrives. Of a first trial
    eight bytes are kept, the hash of its task with the outcome in the lowest bit; only a task
    that has a second is kept by name. Two of 100,000 tasks share a hash of 63 bits with a chance
    of one in a thousand million.
    """

    def __init__(self) -> None:
        self._first = array("q")
        self._later: dict[tuple[str, str, str], list[int]] = {}

    def add(self, record: RunRecord) -> None:
        """Count one run; each key must come once."""
        correct = record.outcome is Outcome.CORRECT
        key = record.domain, record.task, record.agent
        if record.trial == 1:
            self._first.append(hash(key) & ~1 | correct)
            return
        counts = self._later.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += correct

    @property
    def tasks(self) -> int:
        """Tasks with a run, whichever of their trials it is."""
        if not self._later:
            return len(self._first)
        later = {hash(key) & ~1 for key in self._later}
        return len(later.union(first & ~1 for first in self._first))

    def counts(self) -> dict[tuple[int, int], int]:
        """Return (trials, correct) to tasks, sorted; empty if no task has several trials."""
        trials = {hash(key) & ~1: list(counts) for key, counts in self._later.items()}
        once: Counter[tuple[int, int]] = Counter()
        for first in self._first if trials else ():
            found = trials.get(first & ~1)
            if found is None:
                once[1, first & 1] += 1
            else:
                found[0] += 1
                found[1] += first & 1
        once.update((number, correct) for number, correct in trials.values())
        if all(number == 1 for number, _ in once):
            return {}
        return dict(sorted(once.items()))


def summary_of(records: Iterable[RunRecord], fields: Sequence[OutputField] = ()) -> Summary:
    """Count records at once; see `Tally` for what `fields` change."""
    tally = Tally(fields)
    for record in records:
        tally.add(record)
    return tally.summary()


def _count(group: list[int], *, completed: bool, correct: bool) -> None:
    group[0] += 1
    group[1] += completed
    group[2] += correct


def _run_counts(counts: Sequence[int]) -> RunCounts:
    runs, completed, correct = counts
    return RunCounts(runs=runs, completed=completed, correct=correct)
