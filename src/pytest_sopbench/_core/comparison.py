"""What a comparison of two sessions comes to: pairs of runs, and what changed between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pytest_sopbench._core.metrics.counts import Collapse, documents_to_json
from pytest_sopbench._core.metrics.metric import METRICS, Metric
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.metrics.tally import MetricTally
from pytest_sopbench._core.model.task import TaskKey, agent_of
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import NO_EVIDENCE

from .statistics import Bounds, PairedTest, bootstrap, holm, newcombe, paired_test
from .verdict import ANSWERED, COMPLETED, Outcome

# Put the runs of two sessions side by side, task by task.


class NotCompared(StrEnum):
    """Why a task that one of the sessions has is not compared."""

    ONLY_BASELINE = "only in the baseline"
    ONLY_CURRENT = "only in this session"
    CHANGED = "the task itself changed"
    NO_EVIDENCE = "unavailable or never started"


PAIRED_SHARE: Final = 0.8
"""The share of the tasks that must be paired before anything is said of all of them."""

Counts: TypeAlias = tuple[int, int, int, int]
"""Parts and wholes of a task: part and whole in the baseline, part and whole now."""


def fell_by_half(counts: Counts) -> bool:
    """Tell whether a rate fell by at least half; in whole numbers, since fractions are slow."""
    was, of_was, now, of_now = counts
    return 2 * (was * of_now - now * of_was) >= of_was * of_now


class Pair(NamedTuple):
    """One task with its runs in both sessions: those in which the agent could show what it does."""

    # Not a dataclass: a large session has a hundred thousand, and a tuple is made in a third.

    key: TaskKey
    baseline: tuple[RunRecord, ...]
    current: tuple[RunRecord, ...]

    @property
    def single(self) -> bool:
        """Whether both sessions have one trial of the task."""
        return len(self.baseline) == len(self.current) == 1

    @property
    def counts(self) -> Counts:
        """Correct runs and runs, in the baseline and now."""
        return *_right_of(self.baseline), *_right_of(self.current)

    @property
    def before(self) -> Fraction:
        """The share of correct runs in the baseline."""
        return Fraction(*_right_of(self.baseline))

    @property
    def after(self) -> Fraction:
        """The share of correct runs in the current session."""
        return Fraction(*_right_of(self.current))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The tasks that are compared, and those that are not, with the reason.

    `left_out` are tasks of the baseline that options left out of the current session: nobody
    asked for them, so they are neither compared nor missing. Nor are those that `may_fail`.
    `outcomes` are those of all other runs of the current session, compared or not.
    """

    pairs: tuple[Pair, ...]
    aside: Mapping[TaskKey, NotCompared]
    left_out: tuple[TaskKey, ...]
    may_fail: tuple[TaskKey, ...]
    outcomes: Mapping[TaskKey, tuple[Outcome, ...]]

    @property
    def tasks(self) -> int:
        """Tasks that are compared or should have been."""
        return len(self.pairs) + len(self.aside)

    def of(self, agent: str, domain: str = "") -> Pairs:
        """Return the part that belongs to an agent, in one domain or in all of them."""

        def is_meant(key: TaskKey) -> bool:
            return key.agent == agent and domain in {"", key.domain}

        return Pairs(
            pairs=tuple(pair for pair in self.pairs if is_meant(pair.key)),
            aside={key: why for key, why in self.aside.items() if is_meant(key)},
            left_out=tuple(key for key in self.left_out if is_meant(key)),
            may_fail=tuple(key for key in self.may_fail if is_meant(key)),
            outcomes={key: ends for key, ends in self.outcomes.items() if is_meant(key)},
        )


def pair_runs(
    baseline: Iterable[RunRecord],
    current: Iterable[RunRecord],
    *,
    left_out: Collection[tuple[str, str]] = (),
    may_fail: Collection[tuple[str, str]] = (),
) -> Pairs:
    """Pair the tasks of two sessions by domain and task, in the order of the current one.

    If one of the sessions has several agents they are paired by name; else one agent is
    compared with the other, whatever they are called. Runs that were unavailable or never
    started are no evidence for or against the agent: they are left out of their task's trials,
    and a task that has no other is set aside.

    Args:
        baseline: the runs of the session that was accepted.
        current: the runs of the session in question.
        left_out: (domain, task) of what options left out of the current session.
        may_fail: (domain, task) of what may fail, and so proves nothing, unless something stopped
            one of its runs.
    """
    old, new = list(baseline), list(current)
    several = max(len({run.agent for run in runs}) for runs in (old, new)) > 1
    before = _by_task(old, several=several)
    after = _by_task(new, before, several=several)
    skipped, names = set(left_out), set(may_fail)
    excused = {
        key
        for key in chain(before, after)
        if key[:2] in names and all(run.outcome in ANSWERED for run in after.get(key, ()))
    }
    pairs: list[Pair] = []
    aside: dict[TaskKey, NotCompared] = {}
    unasked: list[TaskKey] = []
    for key in chain(after, (key for key in before if key not in after)):
        was, now = before.get(key, ()), after.get(key, ())
        if key in excused:
            continue
        if not now and key[:2] in skipped:
            unasked.append(key)
            continue
        why = _why_not(was, now)
        if why:
            aside[key] = why
        else:
            pairs.append(Pair(key, _telling(was), _telling(now)))
    return Pairs(
        pairs=tuple(pairs),
        aside=aside,
        left_out=tuple(unasked),
        may_fail=tuple(key for key in after if key in excused),
        outcomes={
            key: tuple(run.outcome for run in runs)
            for key, runs in after.items()
            if key not in excused
        },
    )


_Runs: TypeAlias = Mapping[TaskKey, tuple[RunRecord, ...]]


def _by_task(
    runs: Sequence[RunRecord], others: _Runs = MappingProxyType({}), *, several: bool
) -> _Runs:
    """Group runs by their tasks; those of `others` are known by the same keys."""
    tasks: dict[TaskKey, tuple[RunRecord, ...]] = {}
    # Two sessions have most of their keys in common, which are as large as all else here.
    known = {key: key for key in others}
    for run in runs:
        key = TaskKey(run.domain, run.task, run.agent if several else "")
        key = known.get(key, key)
        # Tuples, since nearly all tasks of a large session have one run: lists take twice as much.
        tasks[key] = (*tasks[key], run) if key in tasks else (run,)
    return tasks


def _why_not(was: tuple[RunRecord, ...], now: tuple[RunRecord, ...]) -> NotCompared | None:
    if not now:
        return NotCompared.ONLY_BASELINE
    if not was:
        return NotCompared.ONLY_CURRENT
    if not (_telling(was) and _telling(now)):
        return NotCompared.NO_EVIDENCE
    if was[0].task_hash == now[0].task_hash and len(was) == len(now) == 1:
        return None
    before, after = _hashes(was), _hashes(now)
    if before and after and before != after:
        return NotCompared.CHANGED
    return None


def _hashes(runs: Sequence[RunRecord]) -> set[str]:
    # Of a run that died with its process nothing is known but that it was begun.
    return {run.task_hash for run in runs if run.task_hash}


def _telling(runs: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
    if len(runs) == 1:
        return () if runs[0].outcome in NO_EVIDENCE else runs
    return tuple(run for run in runs if run.outcome not in NO_EVIDENCE)


def _right_of(runs: Sequence[RunRecord]) -> tuple[int, int]:
    if len(runs) == 1:
        return int(runs[0].outcome is Outcome.CORRECT), 1
    return sum(run.outcome is Outcome.CORRECT for run in runs), len(runs)


# What of an agent itself differs between two sessions: its model, its prompt, its settings.

_SHORT: Final = 4
"""Characters of a hash that are shown, unless more are needed to tell two apart."""

_NOT_SET: Final = "not set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What an agent says of itself; what is not known is empty, or `None`.

    `agent` is what it is, or the way in which it gives a task to its model. `prompt` is the name of
    a file, and `prompt_hash` changes with its text. `settings` are written as texts.
    """

    agent: str = ""
    model: str = ""
    prompt: str = ""
    prompt_hash: str = ""
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupChange:
    """One difference; `agent` is empty if both sessions have one agent."""

    what: str
    before: str
    now: str
    agent: str = ""


def setup_changes(before: Mapping[str, Setup], now: Mapping[str, Setup]) -> tuple[SetupChange, ...]:
    """Return what differs between the agents of two sessions, by the agents' names.

    The one agent of a session is compared with the one of the other, whatever they are called. An
    agent that only one session tells of is passed over.
    """
    if len(before) == len(now) == 1:
        (one,), (other,) = before.values(), now.values()
        return tuple(_changes(one, other, ""))
    both = [name for name in now if name in before]
    return tuple(change for name in both for change in _changes(before[name], now[name], name))


def _changes(before: Setup, now: Setup, agent: str) -> Iterator[SetupChange]:
    for what in ("agent", "model"):
        was, is_now = getattr(before, what), getattr(now, what)
        if was and is_now and was != is_now:
            yield SetupChange(what=what, before=was, now=is_now, agent=agent)
    if before.prompt_hash and now.prompt_hash and before.prompt_hash != now.prompt_hash:
        yield _prompt_change(before, now, agent)
    # Arguments of an agent of the user's are no settings of one of ours.
    alike = bool(before.prompt_hash) is bool(now.prompt_hash)
    if alike and before.settings is not None and now.settings is not None:
        for name in dict.fromkeys((*before.settings, *now.settings)):
            was, is_now = (one.get(name, _NOT_SET) for one in (before.settings, now.settings))
            if was != is_now:
                yield SetupChange(what=name, before=was, now=is_now, agent=agent)


def _prompt_change(before: Setup, now: Setup, agent: str) -> SetupChange:
    length = _SHORT
    while before.prompt_hash[:length] == now.prompt_hash[:length]:
        length += _SHORT
    was, is_now = before.prompt_hash[:length], now.prompt_hash[:length]
    if before.prompt == now.prompt:
        return SetupChange(what=f"prompt {now.prompt}", before=was, now=is_now, agent=agent)
    return SetupChange(
        what="prompt",
        before=f"{before.prompt} {was}",
        now=f"{now.prompt} {is_now}",
        agent=agent,
    )


# How each metric changed over paired tasks, with an interval.

NEWCOMBE: Final = "Newcombe"
BOOTSTRAP: Final = "bootstrap over tasks"

_Kind = TypeVar("_Kind", bound=Hashable)

_End: TypeAlias = tuple[float | None, ...]
"""What each metric that is compared says of a run."""

_Ends: TypeAlias = tuple[_End, ...]
_Parts: TypeAlias = tuple[float, int, float, int]
"""As `Counts`, of a metric whose parts may be any numbers."""

_PairEnds: TypeAlias = Mapping[tuple[_Ends, _Ends], int]
"""The ends of a task's runs in both sessions, to the tasks that ended so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric in both sessions, over the same tasks; a rate with nothing to divide is `None`.

    `bounds` are those of the difference, 95 %; `None` if no method has any to give, as when
    all tasks changed alike over several trials. `method` says how they were found. `open` says why
    nobody can tell how the metric changed, or is empty.
    """

    before: float | None = None
    after: float | None = None
    bounds: Bounds | None = None
    method: str = ""
    open: str = ""

    @property
    def difference(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


def changes_of(pairs: Sequence[Pair]) -> dict[str, Change]:
    """Return the changes of every metric that says something of single runs.

    With one trial of each task the intervals are Newcombe's; with several, and for a metric that
    does not divide by all runs or is no share, they are of a bootstrap over the tasks. With
    several trials a rate is the mean over tasks.
    """
    found = [one for one in METRICS.values() if one.of is not None]
    lacking = {one.name: _lacks(one, pairs) for one in found if one.counts is None}
    compared = [one for one in found if not lacking.get(one.name)]
    marks = [one.says for one in compared]
    # Once: the pairs of a large session are many, and of a few kinds.
    ends = Counter((_ends(pair.baseline, marks), _ends(pair.current, marks)) for pair in pairs)
    changes = {
        one.name: _change_of(ends, place) if _both_have(one, pairs) else Change()
        for place, one in enumerate(compared)
    }
    return {
        one.name: changes[one.name] if one.name in changes else Change(open=lacking[one.name])
        for one in found
    }


def _lacks(metric: Metric, pairs: Sequence[Pair]) -> str:
    """Say why a metric that is counted run by run cannot be compared, or nothing."""
    tallies = MetricTally(metric), MetricTally(metric)
    for pair in pairs:
        for tally, runs in zip(tallies, (pair.baseline, pair.current), strict=True):
            for run in runs:
                tally.add(run)
    before, now = (tally.measured().lacks for tally in tallies)
    return f"in the baseline {before}" if before else now


def _ends(runs: Sequence[RunRecord], marks: Sequence[Callable[[RunRecord], float | None]]) -> _Ends:
    if len(runs) == 1:
        return (tuple([mark(runs[0]) for mark in marks]),)
    return tuple([tuple([mark(run) for mark in marks]) for run in runs])


def _both_have(metric: Metric, pairs: Sequence[Pair]) -> bool:
    return any(metric.somewhere(run) for pair in pairs for run in pair.baseline) and any(
        metric.somewhere(run) for pair in pairs for run in pair.current
    )


def _change_of(ends: _PairEnds, place: int) -> Change:
    kinds: Counter[_Parts] = Counter()
    for (was, now), number in ends.items():
        kinds[*_part(was, place), *_part(now, place)] += number
    # What says something of each run divides by all of them, as a rate of every run does.
    is_of_all = all(end[place] is not None for pair in ends for side in pair for end in side)
    return _mean_change(kinds) if is_of_all else _ratio_change(kinds)


def _mean_change(kinds: Counter[_Parts]) -> Change:
    tasks = kinds.total()
    # Few kinds of tasks, however many tasks: fractions of each would take longer than all else.
    rates = {
        (was, of_was, now, of_now): (Fraction(was) / of_was, Fraction(now) / of_now)
        for was, of_was, now, of_now in kinds
    }
    before, after = (
        float(sum(rates[kind][side] * number for kind, number in kinds.items()) / tasks)
        for side in (0, 1)
    )
    # A mean of other numbers is no share, of which alone Newcombe's interval is.
    if all(of_was == of_now == 1 and {was, now} <= {0, 1} for was, of_was, now, of_now in kinds):
        both, lost, gained, neither = (
            kinds[was, 1, now, 1] for was, now in ((1, 1), (1, 0), (0, 1), (0, 0))
        )
        bounds = newcombe(both, lost, gained, neither)
        return Change(before=before, after=after, bounds=bounds, method=NEWCOMBE)
    differences: Counter[float] = Counter()
    for kind, number in kinds.items():
        differences[float(rates[kind][1] - rates[kind][0])] += number
    bounds = _bootstrap(differences, _mean)
    return Change(before=before, after=after, bounds=bounds, method=BOOTSTRAP)


def _ratio_change(kinds: Counter[_Parts]) -> Change:
    """Return the change of a rate that divides by those runs alone of which it says something."""
    before, after = _ratios(kinds)
    if before is None or after is None:
        return Change(before=before, after=after)

    def difference(drawn: Mapping[_Parts, int]) -> float | None:
        was, now = _ratios(drawn)
        return None if was is None or now is None else now - was

    bounds = _bootstrap(kinds, difference)
    return Change(before=before, after=after, bounds=bounds, method=BOOTSTRAP)


def _bootstrap(
    kinds: Mapping[_Kind, int], rate: Callable[[Mapping[_Kind, int]], float | None]
) -> Bounds | None:
    (bounds,) = bootstrap(kinds, lambda drawn: (rate(drawn),))
    # Without any spread the bootstrap would claim certainty.
    return bounds if bounds and bounds[0] < bounds[1] else None


def _mean(kinds: Mapping[float, int]) -> float:
    return sum(value * number for value, number in kinds.items()) / sum(kinds.values())


def _ratios(kinds: Mapping[_Parts, int]) -> tuple[float | None, float | None]:
    was, was_of, now, now_of = (
        sum(kind[place] * number for kind, number in kinds.items()) for place in range(4)
    )
    return (was / was_of if was_of else None), (now / now_of if now_of else None)


def _part(ends: _Ends, place: int) -> tuple[float, int]:
    marks = [mark for end in ends if (mark := end[place]) is not None]
    return sum(marks), len(marks)


# Which output fields were lost since a baseline, and whether their scores have moved.

_FEW = 100
"""Paired tasks up to which scores are told apart by hundredths in the test; then by twentieths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One output field over the paired tasks: runs in which it is right, and tasks that changed.

    `lost` and `gained` count tasks in which the field's rate fell or rose by at least half.
    """

    field: str
    before: int
    of_before: int
    now: int
    of_now: int
    lost: int
    gained: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """The scores of one output field over the tasks that have one in both sessions.

    `before` and `now` are the means. `test` is of the paired differences by random signs; its p is
    corrected by Holm's method if several fields have scores.
    """

    field: str
    tasks: int
    before: float
    now: float
    test: PairedTest


def field_changes(pairs: Sequence[Pair]) -> tuple[FieldChange, ...]:
    """Count field by field; nothing for one field alone, of which the tasks themselves tell."""
    # Fields of several domains are others, though they may be called the same.
    if len({pair.key.domain for pair in pairs}) != 1:
        return ()
    runs = (pair.current[0] for pair in pairs)
    names = dict.fromkeys(name for run in runs for name in run.expected if name not in run.ignored)
    return tuple(_field_change(name, pairs) for name in names) if len(names) > 1 else ()


def score_changes(pairs: Sequence[Pair]) -> tuple[ScoreChange, ...]:
    """Compare the scores that comparers gave, as they are: no threshold is laid on them again."""
    found = [one for name in _scored(pairs) if (one := _score_change(name, pairs)) is not None]
    corrected = holm([one.test.p for one in found])
    return tuple(
        replace(one, test=replace(one.test, p=p)) for one, p in zip(found, corrected, strict=True)
    )


def _field_change(name: str, pairs: Sequence[Pair]) -> FieldChange:
    counts: list[Counts] = [
        (*_right(name, pair.baseline), *_right(name, pair.current)) for pair in pairs
    ]
    before, of_before, now, of_now = (sum(one[place] for one in counts) for place in range(4))
    return FieldChange(
        field=name,
        before=before,
        of_before=of_before,
        now=now,
        of_now=of_now,
        lost=sum(fell_by_half(one) for one in counts),
        gained=sum(fell_by_half((*one[2:], *one[:2])) for one in counts),
    )


def _right(name: str, runs: Sequence[RunRecord]) -> tuple[int, int]:
    right = sum(
        run.outcome in COMPLETED
        and name in run.expected
        and all(one.field != name for one in run.mismatches)
        for run in runs
    )
    return right, len(runs)


def _scored(pairs: Sequence[Pair]) -> list[str]:
    if len({pair.key.domain for pair in pairs}) != 1:
        return []
    runs = (run for pair in pairs for run in pair.current)
    found = (one.field for run in runs for one in run.compared if one.score is not None)
    return list(dict.fromkeys(found))


def _score_change(name: str, pairs: Sequence[Pair]) -> ScoreChange | None:
    both = [(_mean_score(name, pair.baseline), _mean_score(name, pair.current)) for pair in pairs]
    scores = [(was, now) for was, now in both if was is not None and now is not None]
    if not scores:
        return None
    unit = 100 if len(scores) <= _FEW else 20
    tested = paired_test([round((now - was) * unit) for was, now in scores])
    before, after = (float(sum(one[side] for one in scores) / len(scores)) for side in (0, 1))
    return ScoreChange(field=name, tasks=len(scores), before=before, now=after, test=tested)


def _mean_score(name: str, runs: Sequence[RunRecord]) -> Fraction | None:
    """Return the mean of the best score in each run that has one."""
    best = [
        max(scores)
        for run in runs
        if (
            scores := [
                one.score for one in run.compared if one.field == name and one.score is not None
            ]
        )
    ]
    return sum(map(Fraction, best), Fraction(0)) / len(best) if best else None


# What a comparison of two sessions comes to, as values; `compare` makes them.

OTHER_RULES: Final = "judged by other rules than ours (sopbench rescore)"
"""Why sessions are not comparable whose answers mean different things."""

NOTHING_TESTED: Final = PairedTest(p=1.0, source="no task to compare")


class ComparisonResult(StrEnum):
    """What a comparison comes to, in words that go no further than the numbers."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NO_DIFFERENCE = "no difference shown"
    NOT_ENOUGH = "not enough data"
    NOT_COMPARABLE = "not comparable"


CONTENTS: Final = {"sop": "SOP", "specs": "tool specs", "tools": "tools"}
"""What an agent is given of a domain beside the task, as headers have it, and in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSession:
    """One side of a comparison: its runs, and the hash of the rules by which they were judged.

    `domains` are the hashes of single domains, as far as they were recorded; if both sessions
    have that of a domain, it decides. `doubt` says why nothing may be concluded from the runs.
    `setups` are what its agents say of themselves, `comparers` what compared which field by domain,
    `contents` the hashes of what `CONTENTS` names, each by domain, as far as they were recorded.
    """

    name: str
    records: Sequence[RunRecord]
    judging: str = ""
    domains: Mapping[str, str] = field(default_factory=dict[str, str])
    doubt: str = ""
    setups: Mapping[str, Setup] = field(default_factory=dict[str, Setup])
    comparers: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    contents: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison:
    """What became of a group of tasks since a baseline.

    `lost` and `gained` are in the order of the current session. `discordant` counts the paired
    tasks whose rate changed at all, `worse` those whose rate fell; at least `needed` tasks must
    change before p can fall below 0.05. `aside` are the tasks that only one session has or that
    could not be compared, `left_out` counts those that options left out, `may_fail` are those that
    were run and prove nothing. `not_correct` are those of `aside` that are new or changed, and have
    a run now that is not correct. `baseline` and `current` are the summaries of the paired runs,
    while `outcomes` counts all runs of the current session. `kinds` counts, for tasks with one
    trial in both, (outcome before, outcome now) if these differ. `groups` are the domains (and
    agents) that it spans. `why` says why the sessions are not comparable, if they are not;
    `doubt` why nothing may be concluded from one of them, whatever it comes to. `fields` and
    `scores` are of the output fields of one domain.
    """

    name: str
    tier: ComparisonResult
    fields: tuple[FieldChange, ...] = ()
    scores: tuple[ScoreChange, ...] = ()
    groups: int = 1
    lost: tuple[TaskKey, ...] = ()
    gained: tuple[TaskKey, ...] = ()
    paired: int = 0
    discordant: int = 0
    worse: int = 0
    needed: int = 0
    why: str = ""
    doubt: str = ""
    aside: Mapping[TaskKey, NotCompared] = field(default_factory=dict[TaskKey, NotCompared])
    left_out: int = 0
    may_fail: tuple[TaskKey, ...] = ()
    not_correct: tuple[TaskKey, ...] = ()
    test: PairedTest = NOTHING_TESTED
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    kinds: Mapping[tuple[Outcome, Outcome], int] = field(
        default_factory=dict[tuple[Outcome, Outcome], int]
    )
    baseline: Summary = EMPTY
    current: Summary = EMPTY
    outcomes: Mapping[Outcome, int] = field(default_factory=dict[Outcome, int])

    @property
    def tasks(self) -> int:
        """Tasks that are paired or should have been."""
        return self.paired + len(self.aside)

    @property
    def fell(self) -> bool:
        """Whether the paired tasks came to less than before."""
        change = self.changes["tsr"].difference if self.changes else None
        return change is not None and change < 0

    @property
    def collapses(self) -> tuple[Collapse, ...]:
        """The alarms of the current session that the baseline did not raise."""
        return _only_in(self.current.collapses, self.baseline.collapses)

    @property
    def ended_collapses(self) -> tuple[Collapse, ...]:
        """The alarms of the baseline that the current session does not raise."""
        return _only_in(self.baseline.collapses, self.current.collapses)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionComparison:
    """Two sessions: by domain (and agent, `DOMAIN (AGENT)`, if there are several), and pooled.

    `pooled` has no collapse if there are several groups: labels of domains do not mix. If
    there are several agents it serves for lists of tasks alone, since no number of two agents
    together says anything; `agents` pools the domains of each agent that ran on several, then.
    `setups` is what differs in the agents themselves; `changed` names, for each of `CONTENTS`, the
    domains in which it differs.
    """

    groups: Mapping[str, GroupComparison]
    pooled: GroupComparison
    setups: tuple[SetupChange, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    agents: Mapping[str, GroupComparison] = field(default_factory=dict[str, GroupComparison])

    @property
    def has_agents(self) -> bool:
        """Whether agents are told apart."""
        return any(map(agent_of, self.groups))

    def by(self, agent: str) -> GroupComparison | None:
        """Return all of an agent's tasks, if agents are told apart."""
        groups = (one for name, one in self.groups.items() if agent_of(name) == agent)
        return self.agents.get(agent) or next(groups, None)


def _only_in(these: Sequence[Collapse], those: Sequence[Collapse]) -> tuple[Collapse, ...]:
    known = {one.field: one for one in those}
    left: list[Collapse] = []
    for one in these:
        other = known.get(one.field, Collapse(field=one.field))
        favoured = {name: z for name, z in one.favoured.items() if name not in other.favoured}
        never = {name: n for name, n in one.never.items() if name not in other.never}
        left.append(Collapse(field=one.field, favoured=favoured, never=never))
    return tuple(one for one in left if one)


# A comparison as JSON, for machines: what the terminal shows, and all tasks by name.


def comparison_to_json(comparison: SessionComparison) -> dict[str, Any]:
    """Return all groups and the pooled tasks; what is unknown is `None`, JSON's `null`.

    If agents are told apart nothing is pooled over them: `agents` pools the domains of each.
    """
    found: dict[str, Any] = {
        "baseline": comparison.pooled.name,
        "groups": {name: _group(one) for name, one in comparison.groups.items()},
        "setups": [asdict(one) for one in comparison.setups],
        "changed": {part: [*comparison.changed.get(part, ())] for part in CONTENTS},
    }
    if not comparison.has_agents:
        return {**found, "pooled": _group(comparison.pooled)}
    agents = {agent: _group(one) for agent, one in comparison.agents.items()}
    return {**found, "pooled": None, "agents": agents}


def _group(one: GroupComparison) -> dict[str, Any]:
    return {
        "tier": one.tier.value,
        "why": one.why,
        "doubt": one.doubt,
        "lost": [_task(key) for key in one.lost],
        "gained": [_task(key) for key in one.gained],
        "paired": one.paired,
        "discordant": one.discordant,
        "worse": one.worse,
        "needed": one.needed,
        "aside": [{**_task(key), "why": why.value} for key, why in one.aside.items()],
        "not_correct": [_task(key) for key in one.not_correct],
        "left_out": one.left_out,
        "may_fail": [_task(key) for key in one.may_fail],
        "test": asdict(one.test),
        "changes": {name: _change(change) for name, change in one.changes.items()},
        "kinds": [
            {"before": was.value, "now": now.value, "tasks": number}
            for (was, now), number in one.kinds.items()
        ],
        "fields": [asdict(field) for field in one.fields],
        "scores": [asdict(score) for score in one.scores],
        "collapses": [asdict(collapse) for collapse in one.collapses],
        "ended_collapses": [asdict(collapse) for collapse in one.ended_collapses],
        "before": _side(one.baseline),
        "now": _side(one.current),
    }


def _task(key: TaskKey) -> dict[str, str]:
    named = {"domain": key.domain, "task": key.task}
    return {**named, "agent": key.agent} if key.agent else named


def _change(change: Change) -> dict[str, Any]:
    return {
        "before": change.before,
        "now": change.after,
        "difference": change.difference,
        "bounds": list(change.bounds) if change.bounds else None,
        "method": change.method,
        **({"open": change.open} if change.open else {}),
    }


def _side(summary: Summary) -> Mapping[str, Any]:
    usage = {name: amount.mean for name, amount in summary.usage.items()}
    return {
        "runs": summary.runs,
        "correct": summary.correct,
        "completed": summary.completed,
        "latency_median_s": summary.latency_median,
        "calls_per_run": summary.calls_per_run,
        "usage_per_run": usage,
        "cost_per_correct": summary.cost_per_correct,
        **({"documents": documents_to_json(summary.documents)} if summary.documents.runs else {}),
    }
