"""Counts that add up, from runs to sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from dataclasses import field as default
from math import lcm, sqrt
from typing import Any, Final, Self

from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import RuleState
from pytest_sopbench._core.documents.reading import wrong_paths
from pytest_sopbench._core.records.record import DocumentRecord, RunRecord
from pytest_sopbench._core.verdict import COMPLETED, Outcome

# Which label was given when which was expected, and whether answers collapse onto a few.

EXCESS = 0.15
"""How far an answer's share of the answers may exceed its share of the labels."""

Z_LIMIT = 3.0
"""How many standard errors an excess must measure before it is called a collapse."""

EXPECTED_TASKS = 5
"""Tasks that must expect a label before it is remarkable that it is never given."""

LABELS_LIMIT = 20
"""Distinct expected labels beyond which a field has no classes to confuse."""

Pairs = Mapping[tuple[str, str], int]
"""(expected label, actual label) to the number of completed runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """What is remarkable in the answers of one field.

    `favoured` are labels given too often, with their share of the answers, their share of the
    labels, and z; `never` are labels never given, with the number of runs that expected them.
    """

    field: str
    favoured: Mapping[str, tuple[float, float, float]] = default(
        default_factory=dict[str, tuple[float, float, float]]
    )
    never: Mapping[str, int] = default(default_factory=dict[str, int])

    def __bool__(self) -> bool:
        return bool(self.favoured or self.never)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """The table of one field: rows are expected labels, columns are labels given."""

    field: str
    pairs: Pairs

    @property
    def expected(self) -> tuple[str, ...]:
        return tuple(sorted({expected for expected, _ in self.pairs}))

    @property
    def unexpected(self) -> tuple[str, ...]:
        """Labels that were given and that no run expected, the most frequent first."""
        known = set(self.expected)
        given = self._given()
        return tuple(sorted(given.keys() - known, key=lambda label: (-given[label], label)))

    @property
    def completed(self) -> int:
        return sum(self.pairs.values())

    def collapse(self, *, trials: float = 1.0) -> Collapse:
        """Look for labels given too often and for labels never given.

        Both shares are of the same completed runs, so z is that of paired counts (McNemar):
        (b - d) / sqrt(b + d) with b runs that gave the label and expected another, d runs that
        expected it and gave another.

        Args:
            trials: runs per task, since the limit for labels never given counts tasks.
        """
        given, labels, right = self._given(), Counter[str](), Counter[str]()
        for (expected, actual), number in self.pairs.items():
            labels[expected] += number
            right[expected] += number if expected == actual else 0
        favoured: dict[str, tuple[float, float, float]] = {}
        for label in sorted(given):
            more, less = given[label] - right[label], labels[label] - right[label]
            excess = (more - less) / self.completed
            z = (more - less) / sqrt(more + less) if more + less else 0.0
            if excess > EXCESS and z > Z_LIMIT:
                shares = given[label] / self.completed, labels[label] / self.completed
                favoured[label] = (*shares, z)
        never = {
            label: labels[label]
            for label in sorted(labels)
            if not given[label] and labels[label] >= EXPECTED_TASKS * trials
        }
        return Collapse(field=self.field, favoured=favoured, never=never)

    def _given(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for (_, actual), number in self.pairs.items():
            counts[actual] += number
        return counts


# The small counts that a summary is made of; each of them adds.

MONEY_DIGITS = 9
"""Decimals that sums of money keep, so that the order of adding leaves no trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts that add member by member: numbers, tables of numbers, and counts of their own."""

    def __add__(self, other: Self) -> Self:
        sums = dict(self._otherwise(other))
        for name in (one.name for one in fields(self) if one.name not in sums):
            one, another = getattr(self, name), getattr(other, name)
            is_table = not isinstance(one, int | float | Counts)
            sums[name] = added(one, another) if is_table else one + another
        return type(self)(**sums)

    def _otherwise(self, other: Any) -> Mapping[str, Any]:
        """Return the members that add otherwise, with their sums."""
        del other
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounts(Counts):
    """The calls of one tool: all, those that were bad, and good ones in which the tool failed."""

    calls: int = 0
    bad: int = 0
    failed: int = 0

    @property
    def accuracy(self) -> float | None:
        """1 - bad / calls; `None` without a call."""
        return ratio(self.calls - self.bad, self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts(Counts):
    """Runs of one kind: planned, completed and correct."""

    runs: int = 0
    completed: int = 0
    correct: int = 0

    @property
    def tsr(self) -> float | None:
        return ratio(self.correct, self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A sum over the runs that reported it, and how many these were; unknown is not 0."""

    total: float = 0
    known: int = 0

    @property
    def mean(self) -> float | None:
        return ratio(self.total, self.known)

    def __add__(self, other: Amount) -> Amount:
        total = round(self.total + other.total, MONEY_DIGITS)
        return Amount(total=total, known=self.known + other.known)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnneededCounts(Counts):
    """Calls of the runs whose task has expected calls, and those to tools that none of these name.

    `affected` are the runs with at least one such call, and `by_tool` counts the calls of each.
    """

    runs: int = 0
    calls: int = 0
    affected: int = 0
    by_tool: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def unneeded(self) -> int:
        return sum(self.by_tool.values())

    @property
    def rate(self) -> float | None:
        """Unneeded calls / calls."""
        return ratio(self.unneeded, self.calls)

    @property
    def share(self) -> float | None:
        """Runs with at least one unneeded call / runs."""
        return ratio(self.affected, self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmadeCounts(Counts):
    """The runs whose task has expected calls, and those that made each of them.

    `first` counts the others by the first call that lacks: by its tool, or by the argument of it
    that differs. What is not known of a run was not made.
    """

    runs: int = 0
    made: int = 0
    first: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedCounts(Counts):
    """Runs that are correct and lack no required tool; `required` are those that require one."""

    required: int = 0
    grounded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedCounts(Counts):
    """Runs of tasks whose expected answer is known to contradict the SOP, with the reasons."""

    counts: RunCounts = RunCounts()
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])


FieldPairs = Mapping[str, Mapping[tuple[str, str], int]]
"""Field to (expected label, actual label) to runs; a field without pairs had too many kinds."""

KINDS_LIMIT = 400
"""Kinds of pairs of one field, above which none is kept: they would say nothing, and take room."""


class PairCounter:
    """Counts pairs of labels field by field, within bounds whatever the order."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[tuple[str, str], int]] = {}
        self._full: set[str] = set()

    def add(self, name: str, expected: str, actual: str, number: int = 1) -> None:
        if name in self._full:
            return
        table = self._tables.setdefault(name, {})
        pair = expected, actual
        table[pair] = table.get(pair, 0) + number
        if len(table) > KINDS_LIMIT:
            self._full.add(name)
            table.clear()

    def add_all(self, pairs: FieldPairs) -> None:
        for name, table in pairs.items():
            if not table:
                self._full.add(name)
                self._tables[name] = {}
            for (expected, actual), number in table.items():
                self.add(name, expected, actual, number)

    def pairs(self) -> dict[str, Mapping[tuple[str, str], int]]:
        """Return a copy of what was counted, sorted."""
        return {field: dict(sorted(table.items())) for field, table in sorted(self._tables.items())}


NOTHING_DISPUTED = DisputedCounts()
"""No known disagreement at all."""


NOTHING_EXPECTED = UnneededCounts()
NO_CALLS_EXPECTED = UnmadeCounts()
"""No task with expected calls."""

NOTHING_REQUIRED = GroundedCounts()
"""No rule that requires a tool."""


def ratio(part: float, whole: float) -> float | None:
    """Divide, or return `None` if there is nothing to divide."""
    return part / whole if whole else None


def added(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> dict[Any, Any]:
    """Add two tables of counts; sorted, so that the order of adding leaves no trace."""
    return {key: of_both(a, b, key) for key in sorted(a.keys() | b.keys())}


def of_both(a: Mapping[Any, Any], b: Mapping[Any, Any], key: object) -> Any:
    """Return the sum of what two tables have under a key that one of them has."""
    return a[key] + b[key] if key in a and key in b else a[key] if key in a else b[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCounts(Counts):
    """The planned runs that were asked for a field, and those in which it was right."""

    runs: int = 0
    right: int = 0

    @property
    def rate(self) -> float | None:
        """Right / runs; `None` without a run."""
        return ratio(self.right, self.runs)


# Count answers that are JSON documents: the three tiers, and each path by itself.

FIFTHS: Final = 5
"""Parts of a run that the tier score counts: a match has five, a mismatch one, the others none."""

UNEXPECTED_LIMIT: Final = 200
"""Paths that no task expects, above which no further one is counted by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCounts(Counts):
    """What runs came to whose answer is a document.

    Attributes:
        runs: planned, like everywhere.
        matches: runs that are correct.
        mismatches: runs that are wrong: their document satisfies the schema alone.
        paths: the runs that are asked for each path, those without an answer among them, and those
            in which it is right.
        domain_class: that of the domain, or of all that were added; empty if they differ.
    """

    runs: int = 0
    matches: int = 0
    mismatches: int = 0
    paths: Mapping[str, FieldCounts] = field(default_factory=dict[str, FieldCounts])
    domain_class: str = ""

    @property
    def invalid(self) -> int:
        """Runs without a document that satisfies the schema."""
        return self.runs - self.matches - self.mismatches

    @property
    def fifths(self) -> tuple[int, int]:
        """What the tier score divides: fifths of runs, and all of them."""
        return FIFTHS * self.matches + self.mismatches, FIFTHS * self.runs

    @property
    def tier_score(self) -> float | None:
        """(Matches + 0.2 mismatches) / planned runs."""
        return ratio(*self.fifths)

    def worst(self, number: int) -> tuple[tuple[str, int, int], ...]:
        """Return the paths that are wrong most often, with the runs right and those asked."""
        every = ((name, one.right, one.runs) for name, one in self.paths.items())
        wrong = [one for one in every if one[1] < one[2]]
        # Of paths that are alike the one that more runs are asked for says more.
        return tuple(sorted(wrong, key=lambda one: (one[1] / one[2], -one[2], one[0]))[:number])

    def _otherwise(self, other: Any) -> Mapping[str, Any]:
        classes = {one.domain_class for one in (self, other) if one.runs}
        return {"domain_class": classes.pop() if len(classes) == 1 else ""}


NO_DOCUMENTS: Final = DocumentCounts()
"""No run whose answer is a document."""


class DocumentTally:
    """Counts runs; what it holds grows with the paths, not with the runs."""

    def __init__(self) -> None:
        self._runs = self._matches = self._mismatches = 0
        self._asked: Counter[str] = Counter()
        self._right: Counter[str] = Counter()
        self._unexpected: set[str] = set()
        self._classes: set[str] = set()

    def add(self, document: DocumentRecord, record: RunRecord) -> None:
        """Count one run."""
        self._runs += 1
        self._matches += record.outcome is Outcome.CORRECT
        self._mismatches += record.outcome is Outcome.WRONG
        self._classes.add(document.domain_class)
        completed = record.outcome in COMPLETED
        wrong = wrong_of(document, record) if completed else frozenset(document.paths)
        self._asked.update(document.paths)
        self._right.update(path for path in document.paths if path not in wrong)
        for path in wrong.difference(document.paths):
            if path in self._unexpected or len(self._unexpected) < UNEXPECTED_LIMIT:
                self._unexpected.add(path)
                self._asked[path] += 1

    def counts(self) -> DocumentCounts:
        """Return what was counted so far."""
        return DocumentCounts(
            runs=self._runs,
            matches=self._matches,
            mismatches=self._mismatches,
            paths={
                path: FieldCounts(runs=runs, right=self._right[path])
                for path, runs in sorted(self._asked.items())
            },
            domain_class=next(iter(self._classes)) if len(self._classes) == 1 else "",
        )


def wrong_of(document: DocumentRecord, record: RunRecord) -> frozenset[str]:
    """Return the paths that are wrong in a run that gave a document."""
    return wrong_paths(document.paths, [one.field for one in record.mismatches])


def path_moves(was: DocumentCounts, now: DocumentCounts) -> list[tuple[str, str, str]]:
    """Return the paths whose share of right runs changed, the largest fall first, with both."""
    moves: list[tuple[float, str, str, str]] = []
    for name in sorted(was.paths.keys() & now.paths.keys()):
        both = was.paths[name], now.paths[name]
        shares = [one.right / one.runs for one in both]
        if shares[0] != shares[1]:
            before, after = (f"{one.right} of {one.runs}" for one in both)
            moves.append((shares[1] - shares[0], name, before, after))
    # A fall says more than a rise of the same size.
    moves.sort(key=lambda one: (-abs(one[0]), one[0], one[1]))
    return [move[1:] for move in moves]


def documents_to_json(counts: DocumentCounts) -> dict[str, Any]:
    return {
        "runs": counts.runs,
        "matches": counts.matches,
        "mismatches": counts.mismatches,
        "class": counts.domain_class,
        "paths": {name: {"right": one.right, "of": one.runs} for name, one in counts.paths.items()},
    }


# How often each output field is right, and how much of an answer is.
#
# A field counts as right in a run that is completed and whose field matches. A run that gave no
# answer, or whose answer nobody could judge, has no right field, and stays in every denominator.


class FieldTally:
    """Counts by which fields are asked for, of which a domain has one kind, or few."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, ...], list[int]] = {}

    def add(self, record: RunRecord, *, completed: bool) -> None:
        asked = tuple(record.expected)
        if record.ignored:
            asked = tuple(name for name in asked if name not in record.ignored)
        counts = self._kinds.get(asked)
        if counts is None:
            counts = self._kinds[asked] = [0, 0, 0]
        counts[0] += 1
        if completed:
            counts[1] += 1
            counts[2] += len(record.mismatches)

    def by_field(self, mismatched: Mapping[str, int]) -> dict[str, FieldCounts]:
        """Return the counts of each field, in the order of the fields.

        Args:
            mismatched: the completed runs in which each field differs.
        """
        found: dict[str, FieldCounts] = {}
        for asked, (runs, completed, _) in self._kinds.items():
            for name in asked:
                found[name] = found.get(name, FieldCounts()) + FieldCounts(
                    runs=runs, right=completed
                )
        return {
            name: FieldCounts(runs=one.runs, right=one.right - mismatched.get(name, 0))
            for name, one in found.items()
        }

    def by_number(self) -> dict[int, FieldCounts]:
        """Return, by how many fields were asked for, the runs and their right fields."""
        found: dict[int, FieldCounts] = {}
        for asked, (runs, completed, wrong) in self._kinds.items():
            number = len(asked)
            right = number * completed - wrong
            found[number] = found.get(number, FieldCounts()) + FieldCounts(runs=runs, right=right)
        return {number: found[number] for number in sorted(found) if number}


def mean_share(by_number: Mapping[int, FieldCounts]) -> tuple[int, int]:
    """Return part and whole of the mean share of right fields, as whole numbers.

    Each run counts alike, however many fields it was asked for.
    """
    unit = lcm(*by_number) if by_number else 1
    part = sum(one.right * (unit // number) for number, one in by_number.items())
    return part, unit * sum(one.runs for one in by_number.values())


def share_of(record: RunRecord, *, completed: bool) -> float | None:
    """Return the share of the fields of one run that are right; `None` if none is asked for."""
    asked = len(record.expected) - len(record.ignored)
    if not asked:
        return None
    return (asked - len(record.mismatches)) / asked if completed else 0.0


# What a metric that is counted run by run came to.


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The sum of what a metric says of runs.

    Attributes:
        total: the sum, over the runs of which something is known.
        known: how many these are.
        runs: the planned runs that it is asked of; one that left no trace is among them.
        fault: why nothing is known, if the metric failed; empty if it did not.
    """

    total: float = 0
    known: int = 0
    runs: int = 0
    fault: str = ""

    @property
    def lacks(self) -> str:
        """Why a gate on it or a comparison is open, or nothing."""
        if self.fault or self.known == self.runs:
            return self.fault
        return f"{self.runs - self.known} of {self.runs} runs left nothing to measure"

    def __add__(self, other: Measured) -> Measured:
        return Measured(
            total=self.total + other.total,
            known=self.known + other.known,
            runs=self.runs + other.runs,
            fault=self.fault or other.fault,
        )


NOT_COUNTED: Final = Measured()
"""No run of which a metric was asked."""


# Counts of rules and contracts over many runs; counts are kept and rates derived, so they add.


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTally:
    """How one rule fared: in `exercised` runs it came to something, in `held` of them it held."""

    id: str
    clause: str = ""
    severity: Severity = Severity.SHOULD
    exercised: int = 0
    held: int = 0

    @property
    def broken(self) -> int:
        return self.exercised - self.held

    @property
    def rate(self) -> float | None:
        return self.held / self.exercised if self.exercised else None

    def __add__(self, other: RuleTally) -> RuleTally:
        if (self.id, self.clause, self.severity) != (other.id, other.clause, other.severity):
            msg = f"the counts of rule {self.id!r} and of rule {other.id!r} do not add"
            raise ValueError(msg)
        return RuleTally(
            id=self.id,
            clause=self.clause,
            severity=self.severity,
            exercised=self.exercised + other.exercised,
            held=self.held + other.held,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractTally(Counts):
    """How contracts fared: of `runs` to whose task a rule applies, `held` held all of them.

    `silent` runs were stopped before their first call; they are neither held nor broken.
    """

    runs: int = 0
    held: int = 0
    broken: int = 0

    @property
    def silent(self) -> int:
        return self.runs - self.held - self.broken

    @property
    def rate(self) -> float | None:
        return self.held / self.runs if self.runs else None


NO_CONTRACT = ContractTally()
"""No run to whose task a rule applies."""


def added_rules(a: Iterable[RuleTally], b: Iterable[RuleTally]) -> tuple[RuleTally, ...]:
    """Add the counts of equal rules, in the order of their first mention.

    A rule whose clause or severity was changed is another one, and stands beside the first.
    """
    tallies: dict[tuple[str, str, Severity], RuleTally] = {}
    for one in (*a, *b):
        name = one.id, one.clause, one.severity
        tallies[name] = tallies[name] + one if name in tallies else one
    return tuple(tallies.values())


def _tally(result: RuleResult) -> RuleTally:
    return RuleTally(
        id=result.id,
        clause=result.clause,
        severity=result.severity,
        exercised=int(result.state is not RuleState.NOT_EXERCISED),
        held=int(result.state is RuleState.HELD),
    )


# Count how runs stand to the procedure: rules, contracts, required tools and unneeded calls.


@dataclass(slots=True)
class ProcedureTally:
    """Counts runs of one domain; what it holds grows with the rules, not with the runs."""

    rules: tuple[RuleTally, ...] = ()
    contract: ContractTally = NO_CONTRACT
    required: int = 0
    lacking_none: int = 0
    unneeded: UnneededCounts = NOTHING_EXPECTED
    unmade: UnmadeCounts = NO_CALLS_EXPECTED

    @property
    def grounded(self) -> GroundedCounts:
        return GroundedCounts(required=self.required, grounded=self.lacking_none)

    def add(self, record: RunRecord) -> None:
        """Count one run; a correct one for which no tool is required lacks none."""
        correct = record.outcome is Outcome.CORRECT
        self.required += record.grounded is not None
        self.lacking_none += correct and record.grounded is not False
        if record.rules:
            self.rules = added_rules(self.rules, map(_tally, record.rules))
        # To the task of a run without a state no rule applies.
        if record.contract is not None:
            held, broken = (record.contract is one for one in (RuleState.HELD, RuleState.BROKEN))
            self.contract += ContractTally(runs=1, held=held, broken=broken)
        if record.unmade is not None:
            first = {one.field or one.why: 1 for one in record.unmade[:1]}
            self.unmade += UnmadeCounts(runs=1, made=not record.unmade, first=first)
        if record.unneeded is not None:
            self.unneeded += UnneededCounts(
                runs=1,
                calls=len(record.calls),
                affected=bool(record.unneeded),
                by_tool=record.unneeded,
            )
