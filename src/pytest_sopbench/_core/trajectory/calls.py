"""Whether a tool was called as a test says, with the reason where it was not.

Steps count from 1. Where order is asked for, the earlier call must have succeeded, and ended
before the later one began: to try in vain is not to have done it, and who calls both at once has
waited for neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.model.trace import ToolCall
from pytest_sopbench._core.values.json import JsonValue

from .arguments import argument_differences
from .overlap import stands_before


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDemand:
    """A call that a test asks for.

    `arguments` must be among those of the call. `succeeded` takes only calls that did, or only
    such that did not. `before` and `after` name tools that must have been called as well.
    `times` counts the calls that fit; without it one is enough.
    """

    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    times: int | None = None
    arguments: Mapping[str, JsonValue] | None = None
    succeeded: bool | None = None

    def words(self) -> str:
        """Say what is asked for, without the arguments."""
        how = {None: "called", True: "called with success", False: "called in vain"}
        parts = [f"{self.name} must be {how[self.succeeded]}"]
        if self.times is not None:
            parts.append("once" if self.times == 1 else f"{self.times} times")
        parts += [f"before {name}" for name in self.before]
        parts += [f"after {name}" for name in self.after]
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """Why a demand is not met, and the step at which that is seen, if there is one."""

    why: str
    step: int | None = None


def unmet_call(demand: CallDemand, calls: Sequence[ToolCall]) -> Unmet | None:
    """Return why the calls of a run do not meet a demand, or `None` where they do."""
    fitting = [step for step, call in enumerate(calls, start=1) if _fits(demand, call)]
    if demand.times is not None and len(fitting) != demand.times:
        return _miscounted(fitting, calls)
    if not fitting and demand.times is None:
        return _not_called(demand, calls)
    return _out_of_order(demand, fitting, calls)


def unwanted_call(name: str, calls: Sequence[ToolCall]) -> Unmet | None:
    """Return where a tool was called that must not be, failed calls included."""
    step = next((step for step, call in enumerate(calls, start=1) if call.name == name), None)
    return None if step is None else Unmet(why=f"{at(step, name)}: it was called", step=step)


def _fits(demand: CallDemand, call: ToolCall) -> bool:
    if call.name != demand.name or demand.succeeded not in {None, call.succeeded}:
        return False
    wanted = demand.arguments
    return wanted is None or not argument_differences(wanted, call.arguments, "contains")


def _not_called(demand: CallDemand, calls: Sequence[ToolCall]) -> Unmet:
    if not calls:
        return Unmet(why="no tool was called")
    made = [(step, call) for step, call in enumerate(calls, start=1) if call.name == demand.name]
    if not made:
        return Unmet(why=f"{demand.name} was never called")
    step, call = made[-1]
    where = at(step, call.name)
    if demand.arguments is not None:
        found = argument_differences(demand.arguments, call.arguments, "contains")
        if found:
            return Unmet(why=f"{where}: {found[0].path or 'arguments'} {found[0].why}", step=step)
    why = "the call succeeded" if call.succeeded else f"the call failed: {call.error}"
    return Unmet(why=f"{where}: {why}", step=step)


def _miscounted(fitting: Sequence[int], calls: Sequence[ToolCall]) -> Unmet:
    if not calls:
        return Unmet(why="no tool was called")
    if not fitting:
        return Unmet(why="no call fits")
    count = "1 call fits" if len(fitting) == 1 else f"{len(fitting)} calls fit"
    steps = ", ".join(str(step) for step in fitting)
    return Unmet(why=f"{count}, at step {steps}", step=fitting[-1])


def _out_of_order(
    demand: CallDemand, fitting: Sequence[int], calls: Sequence[ToolCall]
) -> Unmet | None:
    # In vain is what the test asks for where it says so; else only a success comes before.
    done = [step for step in fitting if demand.succeeded is False or calls[step - 1].succeeded]
    for name in demand.before:
        first = _first(name, calls)
        if first is None:
            return Unmet(why=f"{name} was never called")
        if not _any_before(done, first, calls):
            return Unmet(why=_too_early(first, name, demand.name, done, calls), step=first)
    for name in demand.after:
        well = [
            step for step, call in enumerate(calls, start=1) if call.name == name and call.succeeded
        ]
        if not fitting:
            if not well:
                return Unmet(why=f"{demand.name}: called before {name} had succeeded")
        elif not _any_before(well, fitting[0], calls):
            why = _too_early(fitting[0], demand.name, name, well, calls)
            return Unmet(why=why, step=fitting[0])
    return None


def _any_before(steps: Sequence[int], later: int, calls: Sequence[ToolCall]) -> bool:
    return any(step < later and stands_before(calls, step - 1, later - 1) for step in steps)


def _too_early(
    step: int, name: str, earlier: str, steps: Sequence[int], calls: Sequence[ToolCall]
) -> str:
    """Say that a call began before the earlier one, which was made at `steps`, had succeeded."""
    said = f"{at(step, name)}: called before {earlier} had succeeded"
    running = [one for one in steps if one < step and not stands_before(calls, one - 1, step - 1)]
    return f"{said}; step {running[0]} had not ended when it began" if running else said


def _first(name: str, calls: Sequence[ToolCall]) -> int | None:
    return next((step for step, call in enumerate(calls, start=1) if call.name == name), None)


def at(step: int, tool: str) -> str:
    return f"step {step}, {tool}"
