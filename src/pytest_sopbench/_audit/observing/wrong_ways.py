"""How agents go wrong on a task whose right calls are known, and the rule that would notice it.

A rule that right runs break is no help unless a `when` leaves their tasks out, and one that the
wrong runs keep is none at all. So each is tried on right and wrong runs before it is told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pytest_sopbench._audit.observing.suite import Step, Suite
from pytest_sopbench._core.demands import (
    ArgumentDemand,
    AtMost,
    Demand,
    EqualsInput,
    EqualsResult,
    Forbids,
    InOrder,
    Known,
    Requires,
    RuleState,
)
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, ToolCall, Trace

Key: TypeAlias = "tuple[str, str, str]"
"""A kind of error, the tool, and a second tool, an argument or a field."""

_OTHER_VALUES: Final = 2


# Ways.


def remedy_of(key: Key, kept: Mapping[int, Sequence[ToolCall]], suite: Suite) -> Remedy | None:
    kind, tool, other = key
    source = _source(kept, suite, tool, other) if kind == "value" else ""
    return remedy_for(key, most=most_successes(tool, kept.values()), source=source)


def _steps(calls: Sequence[ToolCall]) -> list[Step]:
    return [(one.name, one.arguments) for one in calls]


class WrongWays:
    """How agents go wrong on each task, and what they know from others."""

    def __init__(self, suite: Suite, kept: Mapping[int, Sequence[ToolCall]]) -> None:
        self._suite = suite
        self._kept = kept
        self._values = _values(kept)
        self._labels = _labels(suite)
        self._next = _usual_next(kept)

    def of(self, position: int) -> Iterator[tuple[Key, Sequence[Step], Any]]:
        answer, calls = self._suite.right[position].answer, self._kept[position]
        for key, changed in _wrong_ways(calls, self._values):
            yield key, changed, answer
        for key, changed in self._going_on(position):
            yield key, changed, answer
        for key, other in _wrong_answers(answer, self._labels):
            yield key, _steps(calls), other

    def _going_on(self, position: int) -> Iterator[tuple[Key, Sequence[Step]]]:
        """Ignore an error: make the call that follows when the tool succeeds."""
        calls = self._kept[position]
        steps, made = _steps(calls), {one.name for one in calls}
        own: dict[str, Any] = {**self._suite.tasks[position].inputs}
        for number, (tool, arguments) in enumerate(steps):
            own |= arguments
            name, usual = self._next.get(tool, (tool, {}))
            if calls[number].error and name not in made:
                given = {argument: own.get(argument, value) for argument, value in usual.items()}
                changed = [*steps[: number + 1], (name, given), *steps[number + 1 :]]
                yield ("ignored", tool, name), changed


def _usual_next(kept: Mapping[int, Sequence[ToolCall]]) -> Mapping[str, Step]:
    """For each tool a call of the one that follows most often when it succeeds."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    some: dict[tuple[str, str], Step] = {}
    for calls in kept.values():
        for call, (name, arguments) in zip(calls, _steps(calls)[1:], strict=False):
            if not call.error and call.name != name:
                counts[call.name][name] += 1
                some.setdefault((call.name, name), (name, arguments))
    return {tool: some[tool, found.most_common(1)[0][0]] for tool, found in counts.items()}


def _wrong_ways(
    calls: Sequence[ToolCall], values: Mapping[tuple[str, str], Sequence[Any]]
) -> Iterator[tuple[Key, Sequence[Step]]]:
    steps = _steps(calls)
    for number, (name, arguments) in enumerate(steps):
        before, after = [*steps[:number]], [*steps[number + 1 :]]
        again = "retried" if calls[number].error else "repeated"
        yield ("left-out", name, ""), [*before, *after]
        yield (again, name, ""), [*before, steps[number], steps[number], *after]
        yield ("stopped", name, ""), before
        yield ("invented", name, ""), [*before, (name, {**arguments, "remark": "as usual"}), *after]
        if after and after[0][0] != name:
            yield ("swapped", name, after[0][0]), [*before, after[0], steps[number], *after[1:]]
        for argument, value in arguments.items():
            other = next((one for one in values[name, argument] if one != value), None)
            if other is not None:
                changed = (name, {**arguments, argument: other})
                yield ("value", name, argument), [*before, changed, *after]


def _values(kept: Mapping[int, Sequence[ToolCall]]) -> Mapping[tuple[str, str], Sequence[Any]]:
    """A few values of each argument, as the right runs of other rows have them."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for calls in kept.values():
        for name, arguments in _steps(calls):
            for argument, value in arguments.items():
                some = found[name, argument]
                if len(some) < _OTHER_VALUES and value not in some:
                    some.append(value)
    return found


def _labels(suite: Suite) -> Mapping[str, Sequence[Any]]:
    """The answers of each output field, the most frequent first."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for base in suite.right.values():
        if isinstance(base.answer, Mapping):
            for name, value in base.answer.items():
                if isinstance(value, str):
                    found[name][value] += 1
    return {name: [one for one, _ in counts.most_common()] for name, counts in found.items()}


def _wrong_answers(
    answer: Any, labels: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[tuple[str, str, str], Any]]:
    for name, known in labels.items():
        if isinstance(answer, Mapping) and name in answer:
            other = next((one for one in known if one != answer[name]), None)
            if other is not None:
                yield ("label", "", name), {**answer, name: other}


def _source(
    kept: Mapping[int, Sequence[ToolCall]], suite: Suite, tool: str, argument: str
) -> Mapping[str, str] | str:
    """Where an argument always comes from: an input of its name, or a result of an earlier tool."""
    inputs: set[str] | None = None
    results: set[str] | None = None
    for position, calls in kept.items():
        for number, (name, arguments) in enumerate(_steps(calls)):
            if name != tool or argument not in arguments:
                continue
            value = arguments[argument]
            task = suite.tasks[position]
            inputs = _both(inputs, {one for one, held in task.inputs.items() if held == value})
            earlier = calls[:number]
            results = _both(results, {one for call in earlier for one in _held(call, value)})
    for key, found in (("equals_input", inputs), ("equals_result", results)):
        if found:
            return {key: argument if argument in found else min(found)}
    return ""


def _both(found: set[str] | None, further: set[str]) -> set[str]:
    return further if found is None else found & further


def _held(call: ToolCall, value: Any) -> Iterator[str]:
    if isinstance(call.result, Mapping):
        for name, held in call.result.items():
            if held == value:
                yield f"{call.name}.{name}"


# Remedies.


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A rule, as a contract says it and as it is checked."""

    written: Mapping[str, Any]
    demand: Demand

    def is_broken(self, calls: Sequence[ToolCall], task: Task) -> bool:
        trace = Trace(ending=Ending.RETURNED, calls=tuple(calls))
        return self.demand.check(trace, Known(task=task)).state is RuleState.BROKEN


def remedy_for(
    key: Key, *, most: int = 1, source: Mapping[str, str] | str = "", clause: str = ""
) -> Remedy | None:
    """The rule against an error of this kind; None if no rule of a contract can see it.

    Args:
        key: the kind of the error, and where it is made.
        most: how often a right run calls the tool with success.
        source: where the argument comes from on every row, as a contract says it.
        clause: where the procedure asks for it.
    """
    kind, tool, other = key
    demand: Demand
    says: dict[str, Any]
    match kind:
        case "left-out" | "stopped" | "call":
            name, says = f"{tool}-is-called", {"requires": {"all_of": [tool]}}
            demand = Requires(all_of=(tool,))
        case "repeated":
            name, says = f"{tool}-at-most-{most}", {"at_most": {tool: most}}
            demand = AtMost(limits={tool: most})
        case "ignored":
            name, says = f"no-{other}", {"forbids": [other]}
            demand = Forbids(tools=(other,))
        case "swapped":
            name, says = f"{tool}-before-{other}", {"in_order": [tool, other]}
            demand = InOrder(stages=((tool,), (other,)))
        case "value" if isinstance(source, Mapping) and source:
            says = {"arguments": {"tool": tool, "argument": other, **source}}
            name, demand = f"{tool}-{other}", _argument(tool, other, source)
        case _:
            return None
    cited = {"clause": clause} if clause else {}
    return Remedy(written={"id": name, **cited, "severity": "must", **says}, demand=demand)


def _argument(tool: str, argument: str, source: Mapping[str, str]) -> ArgumentDemand:
    if "equals_input" in source:
        given = EqualsInput(column=source["equals_input"])
        return ArgumentDemand(tool=tool, argument=argument, origin=given)
    earlier, *path = source["equals_result"].split(".")
    result = EqualsResult(tool=earlier, path=tuple(path))
    return ArgumentDemand(tool=tool, argument=argument, origin=result)


def most_successes(tool: str, runs: Iterable[Sequence[ToolCall]]) -> int:
    """How often one run calls a tool with success, at most; once at the least."""
    return max((sum(one.name == tool and one.succeeded for one in run) for run in runs), default=1)


@dataclass(slots=True, kw_only=True)
class Trial:
    """A rule that is tried on the runs of a wrong agent that fail nothing.

    Attributes:
        remedy: the rule; None if there is none to try.
        broken_by: whether each wrong run of a task breaks it, by its row.
    """

    remedy: Remedy | None
    broken_by: dict[int, bool] = field(default_factory=dict[int, bool])

    def hold(self, position: int, task: Task, trace: Trace) -> None:
        """Hold one wrong run against the rule."""
        if self.remedy is not None:
            broken = self.remedy.is_broken(trace.calls, task)
            self.broken_by[position] = self.broken_by.get(position, True) and broken

    def told(
        self, right: Mapping[int, Sequence[ToolCall]], tasks: Sequence[Task]
    ) -> Mapping[str, Any] | None:
        """What came of it, for the book: nothing if the rule notices no task."""
        if self.remedy is None:
            return None
        left_out: AbstractSet[int] = {
            row for row, calls in right.items() if self.remedy.is_broken(calls, tasks[row])
        }
        notices = [row for row, broken in self.broken_by.items() if broken and row not in left_out]
        if not notices:
            return None
        return {
            "rule": self.remedy.written,
            "notices": sorted(notices),
            "left_out": sorted(left_out),
        }
