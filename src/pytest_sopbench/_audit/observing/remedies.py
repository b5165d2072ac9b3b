"""Rules that would notice a wrong agent, tried on right and wrong runs before one is told.

A rule that right runs break is no help unless a `when` leaves their tasks out, and one that the
wrong runs keep is none at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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
    """The rule against an error of this kind; None where no rule of a contract can see it.

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
        remedy: the rule; None where there is none to try.
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
        """What came of it, for the book: nothing where the rule notices no task."""
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
