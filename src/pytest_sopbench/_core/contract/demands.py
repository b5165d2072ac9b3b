"""What a rule can demand of a trajectory: a small closed vocabulary.

Steps count from 1, in the order in which the calls began. A call *succeeded* when the tool gave
no error, and stands before another only if it had ended when the other began. Calls that overlap
are in no order: `before` asks for one, and `in_order` is content with none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import ClassVar, Final, Protocol

from pytest_sopbench._core.model.trace import Approval, ToolCall, Trace
from pytest_sopbench._core.trajectory.calls import at
from pytest_sopbench._core.trajectory.overlap import ended_before, stands_before

from .argument_source import ArgumentDemand
from .equal_values import Known
from .ruling import RuleCheck, broken, held, not_called, not_exercised


class DemandKind(StrEnum):
    """The key under which a demand stands in a rule."""

    REQUIRES = "requires"
    FORBIDS = "forbids"
    AT_MOST = "at_most"
    BEFORE = "before"
    IN_ORDER = "in_order"
    AFTER_APPROVAL = "after_approval"
    ASKS_APPROVAL = "asks_approval"
    ARGUMENTS = "arguments"


class Demand(Protocol):
    """What a rule asks of a trajectory, as frozen data: a part of what judges a run."""

    kind: ClassVar[str]
    """The key under which it stands in a rule, and in the line of a run."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it names."""
        ...

    def check(self, trace: Trace, known: Known, /) -> RuleCheck:
        """Hold a run against it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Requires:
    """All of these tools, and at least one of those, must be called and succeed."""

    kind: ClassVar[str] = DemandKind.REQUIRES
    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        return (*self.all_of, *self.any_of)

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        """Held or broken, never not exercised: silence does not satisfy it."""
        calls = trace.calls
        done = {tool: _success(tool, calls) for tool in self.tools}
        lacking = [tool for tool in self.all_of if done[tool] is None]
        if lacking:
            return broken(_lacking(lacking[0], calls))
        if self.any_of and not any(done[tool] for tool in self.any_of):
            reasons = "; ".join(_lacking(tool, calls) for tool in self.any_of)
            return broken(f"at least one of {', '.join(self.any_of)} must succeed: {reasons}")
        steps = "; ".join(at(step, tool) for tool, step in done.items() if step)
        return held(f"succeeded: {steps}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbids:
    """None of these tools may be called, not even in vain."""

    kind: ClassVar[str] = DemandKind.FORBIDS
    tools: tuple[str, ...]

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        calls = trace.calls
        for step, call in enumerate(calls, start=1):
            if call.name in self.tools:
                return broken(f"{at(step, call.name)}: the call is forbidden")
        if not calls:
            return not_exercised("no tool was called")
        return held(f"{' and '.join(self.tools)} not called")


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """How often each tool may succeed; to try again after an error is not to repeat."""

    kind: ClassVar[str] = DemandKind.AT_MOST
    limits: Mapping[str, int]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(self.limits)

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        calls = trace.calls
        counted: list[str] = []
        for tool, limit in self.limits.items():
            steps = [step for step, call in _calls_of(tool, calls) if call.succeeded]
            if len(steps) > limit:
                what = f"{at(steps[limit], tool)}: call {limit + 1} that succeeded"
                return broken(f"{what}, at most {limit} allowed")
            counted += [f"{tool} {len(steps)} of at most {limit}"] if steps else []
        if not counted:
            return not_exercised(not_called(self.limits, calls, "called with success"))
        return held(", ".join(counted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Stages in their order: a tool may be called once every tool before it has ended with success.

    The tools of one stage may come in any order among themselves.
    """

    kind: ClassVar[str] = DemandKind.BEFORE
    stages: tuple[tuple[str, ...], ...]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(tool for stage in self.stages for tool in stage)

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        calls = trace.calls
        exercised: list[str] = []
        earlier: tuple[str, ...] = self.stages[0]
        for stage in self.stages[1:]:
            for tool in stage:
                for step, _call in _calls_of(tool, calls):
                    lacking = [one for one in earlier if not _had_succeeded(one, step, calls)]
                    if lacking:
                        return broken(_out_of_order(step, tool, lacking[0], calls))
                    exercised.append(at(step, tool))
            earlier = (*earlier, *stage)
        if not exercised:
            return not_exercised(not_called(earlier[len(self.stages[0]) :], calls))
        return held(f"in order: {'; '.join(exercised)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InOrder:
    """Stages in the order in which an SOP lists them: no tool has done its work before its turn.

    A later tool needs no result of an earlier one, so calls that overlap may stand in either order,
    and a call that failed was made in its turn. Who skips a tool is seen by `requires`.
    """

    kind: ClassVar[str] = DemandKind.IN_ORDER
    stages: tuple[tuple[str, ...], ...]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(tool for stage in self.stages for tool in stage)

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        calls = trace.calls
        first: dict[str, int] = {}
        for step, call in enumerate(calls, start=1):
            first.setdefault(call.name, step)
        exercised: dict[str, int] = {}
        earlier: tuple[str, ...] = ()
        for stage in self.stages:
            for one, tool in product(earlier, stage):
                if one in first and tool in first:
                    begun = first[one] - 1
                    ended = ended_before(calls, begun)
                    early = next((place for place in ended if calls[place].name == tool), None)
                    if early is not None:
                        what = f"{at(early + 1, tool)}: had ended before {one}"
                        return broken(f"{what} was first called, at step {begun + 1}")
                    exercised |= {one: first[one], tool: first[tool]}
            earlier = (*earlier, *stage)
        if not exercised:
            return not_exercised(_one_stage(self.stages, calls))
        steps = sorted((step, tool) for tool, step in exercised.items())
        return held(f"in order: {'; '.join(at(*one) for one in steps)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterApproval:
    """Tools that may only be called after an approval, of the named step unless it is empty."""

    kind: ClassVar[str] = DemandKind.AFTER_APPROVAL
    steps: Mapping[str, str]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(self.steps)

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        approved: list[str] = []
        for step, call in enumerate(trace.calls, start=1):
            if call.name not in self.steps:
                continue
            wanted = self.steps[call.name]
            given = next(_approvals_before(step, call, wanted, trace.approvals), None)
            if given is None:
                what = f"no approval of {wanted}" if wanted else "no approval"
                denied = any(
                    not one.granted and one.step == wanted and _recorded_before(one, step, call)
                    for one in trace.approvals
                )
                why = "was recorded before it" + (", but its denial" if denied else "")
                return broken(f"{at(step, call.name)}: {what} {why}")
            approved.append(f"{at(step, call.name)}, approved by {given.by}")
        if not approved:
            return not_exercised(not_called(self.steps, trace.calls))
        return held("; ".join(approved))


@dataclass(frozen=True, slots=True, kw_only=True)
class AsksApproval:
    """Steps whose approval must be asked for during the run, whatever the decision is."""

    kind: ClassVar[str] = DemandKind.ASKS_APPROVAL
    steps: tuple[str, ...]

    @property
    def tools(self) -> tuple[str, ...]:
        return ()

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        """Held or broken, never not exercised: silence does not satisfy it."""
        said: list[str] = []
        for wanted in self.steps:
            found = next((one for one in trace.approvals if one.step == wanted), None)
            if found is None:
                return broken(f"the approval of {wanted} was never asked for", unfinished=True)
            verb = "approved" if found.granted else "denied"
            said.append(f"{wanted} {verb} by {found.by}")
        return held("; ".join(said))


_KNOWN: Final[tuple[type[Demand], ...]] = (
    Requires,
    Forbids,
    AtMost,
    Before,
    InOrder,
    AfterApproval,
    AsksApproval,
    ArgumentDemand,
)

DEMANDS: Final[dict[str, type[Demand]]] = {demand.kind: demand for demand in _KNOWN}
"""Every demand by its kind; what reads it from a contract stands in `_loading.contract.readers`."""


def _calls_of(tool: str, calls: Sequence[ToolCall]) -> Iterator[tuple[int, ToolCall]]:
    return ((step, call) for step, call in enumerate(calls, start=1) if call.name == tool)


def _success(tool: str, calls: Sequence[ToolCall]) -> int | None:
    return next((step for step, call in _calls_of(tool, calls) if call.succeeded), None)


def _lacking(tool: str, calls: Sequence[ToolCall]) -> str:
    if not calls:
        return f"no tool was called, {tool} is required"
    failed = list(_calls_of(tool, calls))
    if not failed:
        return f"{tool} was never called"
    step, call = failed[-1]
    return f"{at(step, tool)}: the call failed, it must succeed: {call.error}"


def _had_succeeded(tool: str, step: int, calls: Sequence[ToolCall]) -> bool:
    """Whether a call of the tool had ended with success when the call at `step` began."""
    ended = (calls[one] for one in ended_before(calls, step - 1))
    return any(call.name == tool and call.succeeded for call in ended)


def _out_of_order(step: int, tool: str, lacking: str, calls: Sequence[ToolCall]) -> str:
    start = f"{at(step, tool)}: called before {lacking} had succeeded"
    begun = [one for one, _ in _calls_of(lacking, calls[: step - 1])]
    running = [one for one in begun if not stands_before(calls, one - 1, step - 1)]
    if running:
        return f"{start}; {lacking}, step {running[-1]}, had not ended when it began"
    if begun:
        return f"{start}; {lacking} failed at step {begun[-1]}"
    later = next(_calls_of(lacking, calls[step:]), None)
    if later is None:
        return f"{start}; {lacking} was never called"
    return f"{start}; {lacking} was first called at step {step + later[0]}"


def _one_stage(stages: Iterable[tuple[str, ...]], calls: Sequence[ToolCall]) -> str:
    """Say why an order was not exercised: of its stages, one at most was called."""
    called = {call.name for call in calls}
    done = next((stage for stage in stages if called.intersection(stage)), None)
    if done is None:
        return not_called((tool for stage in stages for tool in stage), calls)
    others = (tool for stage in stages if stage != done for tool in stage)
    return not_called(others, calls)


def _approvals_before(
    step: int, call: ToolCall, wanted: str, approvals: Sequence[Approval]
) -> Iterator[Approval]:
    return (
        approval
        for approval in approvals
        if approval.granted
        and _recorded_before(approval, step, call)
        and wanted in {"", approval.step}
    )


def _recorded_before(approval: Approval, step: int, call: ToolCall) -> bool:
    # Traces of before have times alone, and no clock tells apart what falls into one tick.
    if approval.calls is None:
        return approval.started <= call.started
    return approval.calls < step
