"""What a rule can demand of a trajectory: a small closed vocabulary.

Steps count from 1, in the order in which the calls began. A call *succeeded* when the tool gave
no error, and stands before another only if it had ended when the other began. Calls that overlap
are in no order: `before` asks for one, and `in_order` is content with none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import ClassVar, Final, Protocol, TypeAlias

from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Task
from pytest_sopbench._core.model.trace import Answer, Approval, Mismatch, ToolCall, Trace, has_ended
from pytest_sopbench._core.model.world import Key, Row, StateChange, World, applied
from pytest_sopbench._core.trajectory.calls import (
    ExpectedCall,
    at,
    calls_of,
    ended_before,
    stands_before,
    trajectory_of,
)
from pytest_sopbench._core.trajectory.match import UnmadeCall, unmade_calls
from pytest_sopbench._core.values.json import JsonValue, is_list, same_json
from pytest_sopbench._core.values.text import equal_as_written, short

# What came of one rule in one run, and the words in which it is told.


class RuleState(StrEnum):
    """What a run has shown of a rule; what it never came to is neither held nor broken."""

    HELD = "held"
    BROKEN = "broken"
    NOT_EXERCISED = "not_exercised"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """A state with its reason: one sentence that names the call and its step.

    `unfinished` tells of a rule that is broken because the run was stopped before it could hold.
    """

    state: RuleState
    why: str
    unfinished: bool = False


def held(why: str) -> RuleCheck:
    return RuleCheck(state=RuleState.HELD, why=why)


def broken(why: str, *, unfinished: bool = False) -> RuleCheck:
    return RuleCheck(state=RuleState.BROKEN, why=why, unfinished=unfinished)


def not_exercised(why: str) -> RuleCheck:
    return RuleCheck(state=RuleState.NOT_EXERCISED, why=why)


def not_called(tools: Iterable[str], calls: Sequence[ToolCall], verb: str = "called") -> str:
    """Say that none of the tools was called, and aloud if no tool was called at all."""
    if not calls:
        return "no tool was called"
    names = list(tools)
    return f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} never {verb}"


# Arguments that equal what the task expects, what a row holds, or what the run answered.
#
# Values are compared as the judge compares them, by the type of the output field: no rule is
# stricter or looser than the answer is. A column that is no output field has the type of its cell.


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsAnswer:
    """The argument is what the run answers in this output field; without an answer it is not."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsExpected:
    """The argument is an answer that the task accepts in this output field."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsColumn:
    """The argument is the value of this column of the row, whatever the column is for."""

    column: str
    private: bool = False


Value: TypeAlias = EqualsAnswer | EqualsExpected | EqualsColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What arguments are held against beside the calls of a run.

    `answer` is null if the agent was stopped before one could be looked for. `fields` are the
    output fields by name, and `expected` the calls that are expected of the task; null if none
    are declared. `world` is the one of the domain, before the task adds to it.
    """

    task: Task
    answer: Answer | None = None
    fields: Mapping[str, OutputField] = field(default_factory=dict[str, OutputField])
    expected: Sequence[ExpectedCall] | None = None
    world: World | None = None


def unequal(value: Value, given: JsonValue, known: Known) -> str:
    """Say what an argument is and ought to be, or nothing if it is so."""
    match value:
        case EqualsAnswer():
            name, what = value.field, "the answer"
            wanted = _answered(value.field, known.answer)
        case EqualsExpected():
            name, what = value.field, "expected"
            accepted = (other[name] for other in known.task.acceptable if name in other)
            wanted = [known.task.expected_as_written[name], *accepted]
        case _:
            name, what = value.column, "column"
            task = known.task
            wanted = [{**task.results, **task.inputs, **task.expected_as_written}[name]]
    output = known.fields.get(name)
    if any(_equal(output, one, given) for one in wanted):
        return ""
    if (output and output.private) or (isinstance(value, EqualsColumn) and value.private):
        return f"not the value of {what} {name}, which is private"
    ought = " or ".join(map(short, wanted)) or "not there: the run gave none"
    return f"{short(given)}, {what} {name} is {ought}"


def _answered(name: str, answer: Answer | None) -> Sequence[JsonValue]:
    if answer is None or not answer.complete or name not in answer.values:
        return []
    return [answer.values[name]]


def _equal(output: OutputField | None, wanted: JsonValue, given: JsonValue) -> bool:
    if output is None:
        if isinstance(wanted, Mapping):
            return equal_as_written(wanted, given)
        output = OutputField(name="", type=_type_of(wanted))
    # What an answer need not have, an argument that is to equal it has to.
    return compare(replace(output, compare=Compare.EXACT), wanted, given) is None


def _type_of(cell: JsonValue) -> FieldType:
    if isinstance(cell, bool):
        return FieldType.BOOLEAN
    if isinstance(cell, int | float):
        return FieldType.NUMBER
    return FieldType.LIST if is_list(cell) else FieldType.TEXT


# Where the value of an argument comes from: the task, an earlier result, the answer, a schema.


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsInput:
    """The argument is the value of this input column."""

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsResult:
    """The argument is a value that a successful call of `tool` had returned before this one began.

    `path` are the keys that lead to the value; without any, each value in the result will do.
    In a list on the way every element counts, unless a number names one.
    """

    tool: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SatisfiesSchema:
    """The argument satisfies this JSON schema, which has no remote reference."""

    schema: Mapping[str, JsonValue]


Origin: TypeAlias = (
    EqualsInput | EqualsResult | EqualsAnswer | EqualsExpected | EqualsColumn | SatisfiesSchema
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentDemand:
    """What an argument of a tool must be, in every call of it, also in one that failed.

    `argument` is a name, or names with dots between them that lead to a value inside; in a list
    on the way every element counts, unless a number names one.
    """

    kind: ClassVar[str] = "arguments"
    tool: str
    argument: str
    origin: Origin

    @property
    def tools(self) -> tuple[str, ...]:
        return (self.tool,)

    def check(self, trace: Trace, known: Known, /) -> RuleCheck:
        """Hold every call of the tool against it; an argument that is absent breaks it."""
        calls = trace.calls
        steps: list[int] = []
        for step, call in enumerate(calls, start=1):
            if call.name != self.tool:
                continue
            values = _given(call.arguments, self.argument)
            if not values:
                return broken(f"{at(step, call.name)}: argument {self.argument} is missing")
            if isinstance(self.origin, EqualsAnswer) and known.answer is None:
                why = f"{at(step, call.name)}: the run was stopped before it gave an answer"
                return broken(why, unfinished=True)
            earlier = [(one + 1, calls[one]) for one in ended_before(calls, step - 1)]
            for value in values:
                problem = _problem(self.origin, value, earlier, known)
                if problem:
                    return broken(f"{at(step, call.name)}: {self.argument} is {problem}")
            steps.append(step)
        if not steps:
            return not_exercised(not_called([self.tool], calls))
        places = "; ".join(at(step, self.tool) for step in steps)
        return held(f"{self.argument} is as demanded at {places}")


def _given(arguments: JsonValue, path: str) -> Sequence[JsonValue]:
    """Return the values that a path leads to; none if one of them is missing."""
    if isinstance(arguments, Mapping) and path in arguments:
        return [arguments[path]]
    found: list[JsonValue] = [arguments]
    for name in path.split("."):
        inside = [_named(value, name, in_each=True) for value in found]
        if not all(inside):
            return []
        found = [value for values in inside for value in values]
    return found


def _named(value: JsonValue, name: str, *, in_each: bool) -> Sequence[JsonValue]:
    """What stands under a name: in a list of each element that has it, or nothing if one lacks it.

    A number names one element.
    """
    if isinstance(value, Mapping):
        return [value[name]] if name in value else []
    if not is_list(value):
        return []
    if name.isdecimal():
        return value[int(name) : int(name) + 1]
    inside = [_named(one, name, in_each=in_each) for one in value]
    return [] if in_each and not all(inside) else [one for values in inside for one in values]


def _problem(
    origin: Origin, value: JsonValue, earlier: Sequence[tuple[int, ToolCall]], known: Known
) -> str:
    """Say what the value is and ought to be, or nothing if it is so."""
    match origin:
        case EqualsInput():
            wanted = known.task.inputs[origin.column]
            same = equal_as_written(value, wanted)
            problem = "" if same else f"input {origin.column} is {short(wanted)}"
        case EqualsResult():
            problem = _not_returned(origin, value, earlier)
        case SatisfiesSchema():
            # Only rules with a schema need the validator, so no other run pays for its import.
            import jsonschema_rs  # noqa: PLC0415

            error = next(jsonschema_rs.validator_for(dict(origin.schema)).iter_errors(value), None)
            problem = "" if error is None else f"which breaks its schema: {error.message}"
        case _:
            return unequal(origin, value, known)
    return f"{short(value)}, {problem}" if problem else ""


def _not_returned(
    origin: EqualsResult, value: JsonValue, earlier: Sequence[tuple[int, ToolCall]]
) -> str:
    source = ".".join((origin.tool, *origin.path))
    said: list[str] = []
    for step, call in earlier:
        if call.name != origin.tool or not call.succeeded:
            continue
        results = list(_values(_parsed(call.result), origin.path))
        if any(equal_as_written(value, one) for one in results):
            return ""
        said.append(f"{short(results[0]) if results else 'nothing'} at step {step}")
    if not said:
        return f"no earlier call of {origin.tool} succeeded"
    return f"{source} returned {', '.join(said)}"


def _values(result: JsonValue, path: tuple[str, ...]) -> Iterator[JsonValue]:
    if not path:
        yield result
        yield from _inner(result)
        return
    found: list[JsonValue] = [result]
    for name in path:
        found = [inner for value in found for inner in _named(value, name, in_each=False)]
    yield from found


def _inner(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif is_list(value):
        parts = list(value)
    else:
        return
    for part in parts:
        yield part
        yield from _inner(part)


def _parsed(result: JsonValue) -> JsonValue:
    # Many tools answer with JSON written as text, and what the agent reads is what stands in it.
    if not isinstance(result, str) or not result.lstrip().startswith(("{", "[")):
        return result
    try:
        parsed: JsonValue = json.loads(result)
    except ValueError:
        return result
    return parsed


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
    AS_EXPECTED = "as_expected"
    STATE = "state"


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
            steps = [step for step, call in calls_of(tool, calls) if _may_have_written(call)]
            if len(steps) > limit:
                ended = has_ended(calls[steps[limit] - 1])
                how = "succeeded" if ended else "had not ended and may succeed"
                what = f"{at(steps[limit], tool)}: call {limit + 1} that {how}"
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
                for step, _call in calls_of(tool, calls):
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
    """Tools that may only be called after an approval, of the named step unless it is empty.

    A step may be decided on more than once, and the last decision before the call counts.
    """

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
            decisions = _decisions_before(step, wanted, trace.approvals)
            given = next((one for one in decisions if one.granted), None)
            if given is None:
                what = f"no approval of {wanted}" if wanted else "no approval"
                why = "was recorded before it"
                if wanted and decisions:
                    why = f"holds, its last decision is the denial by {decisions[0].by}"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AsExpected:
    """Tools that are called as the task expects: with its arguments, as often, and no more.

    A call that failed wrote nothing, so it is never one too many. Values of `private` columns are
    told in no reason.
    """

    kind: ClassVar[str] = DemandKind.AS_EXPECTED
    tools: tuple[str, ...]
    private: tuple[str, ...] = ()

    def check(self, trace: Trace, known: Known, /) -> RuleCheck:
        if known.expected is None:
            return not_exercised("it is not declared which calls the task expects")
        wanted = [call for call in known.expected if call.name in self.tools]
        steps = [at for at, call in enumerate(trace.calls, 1) if call.name in self.tools]
        breach = self._breach(wanted, steps, trace, known.task)
        if breach is not None:
            return breach
        if not trace.calls:
            return not_exercised("no tool was called")
        done = "; ".join(at(step, trace.calls[step - 1].name) for step in steps)
        return held(f"as expected: {done or 'none of them was called'}")

    def _breach(
        self, wanted: Sequence[ExpectedCall], steps: Sequence[int], trace: Trace, task: Task
    ) -> RuleCheck | None:
        calls = trace.calls
        # What succeeded comes first: it is what was written.
        order = sorted(steps, key=lambda step: not _may_have_written(calls[step - 1]))
        made = trajectory_of(trace)
        unmade, others = unmade_calls(wanted, [made[step - 1] for step in order])
        in_vain: list[RuleCheck] = []
        for one in unmade:
            if one.made is None:
                why = _too_few(one.name, wanted, calls)
                in_vain.append(broken(why, unfinished=True))
                continue
            step, differs = order[one.made], self._differs(one, task)
            if _may_have_written(calls[step - 1]):
                return broken(f"{at(step, one.name)}: {differs}")
            why = f"{at(step, one.name)}: the call failed; {differs}"
            in_vain.append(broken(why, unfinished=True))
        for step in sorted(order[other] for other in others):
            call = calls[step - 1]
            if _may_have_written(call):
                more = any(one.name == call.name for one in wanted)
                what = "one call more than expected" if more else "no call of it is expected"
                return broken(f"{at(step, call.name)}: {what}")
        in_vain += [
            broken(f"{at(step, calls[step - 1].name)}: {_UNKNOWN}", unfinished=True)
            for step in steps
            if not has_ended(calls[step - 1])
        ]
        return next(iter(in_vain), None)

    def _differs(self, one: UnmadeCall, task: Task) -> str:
        first = one.differences[0]
        if self._hides(first, task):
            return f"{first.field} is not as expected, which is private"
        match first.why:
            case "missing":
                return f"{first.field} is missing, expected {short(first.expected)}"
            case "unexpected":
                return f"{first.field} is {short(first.actual)}, and is not expected at all"
            case _:
                return f"{first.field} is {short(first.actual)}, expected {short(first.expected)}"

    def _hides(self, one: Mismatch, task: Task) -> bool:
        name = re.split(r"[.\[]", one.field)[0]
        cells = {**task.results, **task.inputs, **task.expected_as_written}
        secret = [cells[column] for column in self.private if column in cells]
        return name in self.private or any(same_json(one.expected, cell) for cell in secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDemand:
    """What must hold of a table of the world after every call, not only at the end.

    Of the rows that have the values of `where`, at most `at_most` may agree in the columns of
    `per`; or with `unchanged` nothing in the table may be touched. A limit above 0 shows nothing
    if no call left a row with the values of `where`; one of 0 is kept by that.
    """

    kind: ClassVar[str] = DemandKind.STATE
    table: str
    at_most: int = 0
    per: tuple[str, ...] = ()
    where: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    unchanged: bool = False
    private: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        return ()

    def check(self, trace: Trace, known: Known, /) -> RuleCheck:
        if trace.state is None or known.world is None:
            return not_exercised("what the calls changed is not known")
        found = self._held(trace.state, trace, known, known.world)
        late = next(
            (step for step, one in enumerate(trace.calls, start=1) if not has_ended(one)), None
        )
        if late is None or found.state is RuleState.BROKEN:
            return found
        return broken(f"{self._step(trace, late)}: {_UNKNOWN}", unfinished=True)

    def _held(
        self, state: Sequence[StateChange], trace: Trace, known: Known, world: World
    ) -> RuleCheck:
        changes = [one for one in state if one.table == self.table]
        if not changes:
            return not_exercised(f"{self.table} was not changed")
        if self.unchanged:
            first = changes[0]
            return broken(f"{self._step(trace, first.step)}: {self.table}[{first.key}] was changed")
        rows: dict[Key, Row] = dict(world.tables(known.task.world)[self.table])
        limited = self.at_most == 0 or not self.where
        for one in changes:
            row = applied(rows.get(one.key), one)
            if row is None:
                rows.pop(one.key, None)
                continue
            rows[one.key] = row
            alike = [other for other in rows.values() if self._counts(other, row)]
            counts = self._counts(row, row)
            limited = limited or counts
            if counts and len(alike) > self.at_most:
                what = f"{self.table}[{one.key}] is one of {len(alike)}{self._alike(row)}"
                return broken(
                    f"{self._step(trace, one.step)}: {what}, at most {self.at_most} allowed"
                )
        if not limited:
            names = ", ".join(self.where)
            return not_exercised(f"no row of {self.table} was left with that {names}")
        return held(f"at most {self.at_most} rows of {self.table} are alike")

    def _counts(self, row: Row, like: Row) -> bool:
        return all(equal_as_written(row.get(name), v) for name, v in self.where.items()) and all(
            same_json(row.get(name), like.get(name)) for name in self.per
        )

    def _alike(self, row: Row) -> str:
        names = [name for name in self.per if name not in self.private]
        said = ", ".join(f"{name} {short(row.get(name))}" for name in names)
        return f" with {said}" if said else ""

    def _step(self, trace: Trace, step: int) -> str:
        return at(step, trace.calls[step - 1].name)


DEMANDS: Final[dict[str, type[Demand]]] = {
    demand.kind: demand
    for demand in (
        Requires,
        Forbids,
        AtMost,
        Before,
        InOrder,
        AfterApproval,
        AsksApproval,
        ArgumentDemand,
        AsExpected,
        StateDemand,
    )
}
"""Every demand by its kind; what reads it from a contract stands in `_loading.contract`."""


_UNKNOWN: Final = "the call had not ended, and what it did is not known"


def _may_have_written(call: ToolCall) -> bool:
    """Whether a call succeeded, or may still do so when nobody looks any more."""
    return call.succeeded or not has_ended(call)


def _success(tool: str, calls: Sequence[ToolCall]) -> int | None:
    return next((step for step, call in calls_of(tool, calls) if call.succeeded), None)


def _lacking(tool: str, calls: Sequence[ToolCall]) -> str:
    if not calls:
        return f"no tool was called, {tool} is required"
    failed = list(calls_of(tool, calls))
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
    begun = [one for one, _ in calls_of(lacking, calls[: step - 1])]
    running = [one for one in begun if not stands_before(calls, one - 1, step - 1)]
    if running:
        return f"{start}; {lacking}, step {running[-1]}, had not ended when it began"
    if begun:
        return f"{start}; {lacking} failed at step {begun[-1]}"
    later = next(calls_of(lacking, calls[step:]), None)
    if later is None:
        return f"{start}; {lacking} was never called"
    return f"{start}; {lacking} was first called at step {step + later[0]}"


def _too_few(tool: str, wanted: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> str:
    expected = sum(call.name == tool for call in wanted)
    made = sum(call.succeeded for _, call in calls_of(tool, calls))
    if not made:
        return _lacking(tool, calls)
    return f"{tool} was called with success {made} of {expected} times"


def _one_stage(stages: Iterable[tuple[str, ...]], calls: Sequence[ToolCall]) -> str:
    """Say why an order was not exercised: of its stages, one at most was called."""
    called = {call.name for call in calls}
    done = next((stage for stage in stages if called.intersection(stage)), None)
    if done is None:
        return not_called((tool for stage in stages for tool in stage), calls)
    others = (tool for stage in stages if stage != done for tool in stage)
    return not_called(others, calls)


def _decisions_before(step: int, wanted: str, approvals: Sequence[Approval]) -> Sequence[Approval]:
    """Return the last decision on each step that is wanted, of those made before a call."""
    last = {
        approval.step: approval
        for approval in approvals
        # No clock tells apart what falls into one tick.
        if approval.calls < step and wanted in {"", approval.step}
    }
    return [*last.values()]
