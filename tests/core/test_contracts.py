"""Each demand of a contract on small runs: what holds it, what breaks it, what never came to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import ExpectedCall, Task, ToolCall, Trace
from pytest_sopbench._core.contract import (
    Contract,
    Operator,
    Rule,
    RuleResult,
    Severity,
    Source,
    ValueCondition,
    check_contract,
    clause_text,
    contract_state,
    grounded,
    unreadable_rules,
)
from pytest_sopbench._core.demands import (
    AfterApproval,
    ArgumentDemand,
    AsExpected,
    AsksApproval,
    AtMost,
    Before,
    Demand,
    DemandKind,
    EqualsInput,
    EqualsResult,
    Forbids,
    InOrder,
    Known,
    Origin,
    Requires,
    RuleState,
    SatisfiesSchema,
)
from pytest_sopbench._core.model.trace import NOT_ENDED, Approval, Ending
from pytest_sopbench._core.values.json import JsonValue

TASK = Task(
    domain="bank", id="1", line=2, hash="h", expected={},
    inputs={"account": "A1", "amount": 50}, results={"score": 0.9},
)  # fmt: skip
HELD, BROKEN, IDLE = RuleState.HELD, RuleState.BROKEN, RuleState.NOT_EXERCISED
KNOWN = Known(task=TASK)


def call(
    name: str,
    arguments: JsonValue = None,
    *,
    result: JsonValue = None,
    error: str | None = None,
    started: float = 0.0,
) -> ToolCall:
    return ToolCall(
        name=name,
        arguments=arguments if arguments is not None else {},
        result=result,
        error=error,
        started=started,
    )


def run(*calls: ToolCall | str, approvals: tuple[Approval, ...] = ()) -> Trace:
    made = tuple(call(one) if isinstance(one, str) else one for one in calls)
    return Trace(ending=Ending.RETURNED, calls=made, approvals=approvals)


def check(demand: Demand, trace: Trace, **rule: Any) -> RuleResult:
    contract = Contract(rules=(Rule(id="r", demand=demand, **rule),))
    (result,) = check_contract(contract, trace, KNOWN)
    return result


FAILED_LOGIN = call("login", error="wrong password")
LOGIN_FIRST = Before(stages=(("login",), ("transfer",)))
LISTED = InOrder(stages=(("a",), ("b",), ("c",)))
CHAIN = Before(stages=(("a", "b"), ("c",), ("d",)))
BOTH = Requires(all_of=("a", "b"))
EITHER = Requires(any_of=("a", "b"))


@pytest.mark.parametrize(
    ("demand", "trace", "state", "why"),
    [
        # requires
        pytest.param(
            BOTH, run("a", "b"), HELD, "succeeded: step 1, a; step 2, b", id="requires: all called"
        ),
        pytest.param(BOTH, run("a"), BROKEN, "b was never called", id="requires: one not called"),
        pytest.param(
            BOTH, run(), BROKEN, "no tool was called, a is required", id="requires: zero calls"
        ),
        pytest.param(
            Requires(all_of=("login",)), run(FAILED_LOGIN), BROKEN,
            "step 1, login: the call failed, it must succeed: wrong password",
            id="requires: failed",
        ),
        pytest.param(
            Requires(all_of=("login",)), run(FAILED_LOGIN, "login"), HELD,
            "succeeded: step 2, login", id="requires: tried again",
        ),
        pytest.param(EITHER, run("b"), HELD, "succeeded: step 1, b", id="requires: one of two"),
        pytest.param(
            EITHER, run("c"), BROKEN,
            "at least one of a, b must succeed: a was never called; b was never called",
            id="requires: none of two",
        ),
        pytest.param(
            Requires(all_of=("c",), any_of=("a", "b")), run("c"), BROKEN,
            "at least one of a, b must succeed: a was never called; b was never called",
            id="requires: all but none of any",
        ),
        # forbids
        pytest.param(Forbids(tools=("wire",)), run("a"), HELD, "wire not called", id="forbids"),
        pytest.param(
            Forbids(tools=("wire",)), run("a", call("wire", error="refused")), BROKEN,
            "step 2, wire: the call is forbidden", id="forbids: a failed call too",
        ),
        pytest.param(
            Forbids(tools=("wire",)), run(), IDLE, "no tool was called", id="forbids: zero calls"
        ),
        # at_most
        pytest.param(
            AtMost(limits={"transfer": 1}), run("transfer", "a", "transfer"), BROKEN,
            "step 3, transfer: call 2 that succeeded, at most 1 allowed", id="at most: twice",
        ),
        pytest.param(
            AtMost(limits={"transfer": 1, "letter": 2}),
            run(call("transfer", error="busy"), "transfer"), HELD,
            "transfer 1 of at most 1", id="at most: tried again after an error",
        ),
        pytest.param(
            AtMost(limits={"transfer": 1}), run("transfer", call("transfer", error=NOT_ENDED)),
            BROKEN,
            "step 2, transfer: call 2 that had not ended and may succeed, at most 1 allowed",
            id="at most: a second one that had not ended",
        ),
        pytest.param(
            Requires(all_of=("a",)), run(call("a", error=NOT_ENDED)), BROKEN,
            f"step 1, a: the call failed, it must succeed: {NOT_ENDED}",
            id="requires: one that had not ended",
        ),
        pytest.param(
            AtMost(limits={"transfer": 1}), run("a"), IDLE,
            "transfer was never called with success", id="at most: never",
        ),
        pytest.param(
            AtMost(limits={"transfer": 1}), run(), IDLE, "no tool was called",
            id="at most: zero calls",
        ),
        # before
        pytest.param(
            LOGIN_FIRST, run("login", "transfer"), HELD, "in order: step 2, transfer",
            id="before: in order",
        ),
        pytest.param(
            LOGIN_FIRST, run(FAILED_LOGIN, "transfer"), BROKEN,
            "step 2, transfer: called before login had succeeded; login failed at step 1",
            id="before: transfer after a failed login",
        ),
        pytest.param(
            LOGIN_FIRST, run("transfer", "login"), BROKEN,
            "step 1, transfer: called before login had succeeded; login was first called at step 2",
            id="before: the wrong way round",
        ),
        pytest.param(
            LOGIN_FIRST, run("transfer"), BROKEN,
            "step 1, transfer: called before login had succeeded; login was never called",
            id="before: the earlier never called",
        ),
        pytest.param(
            LOGIN_FIRST, run("login"), IDLE, "transfer was never called",
            id="before: the later never called",
        ),
        pytest.param(
            LOGIN_FIRST, run(FAILED_LOGIN, "login", "transfer", "login"), HELD,
            "in order: step 3, transfer", id="before: a success after a failure is enough",
        ),
        pytest.param(
            CHAIN, run("b", "a", "c", "d"), HELD, "in order: step 3, c; step 4, d",
            id="before: a stage in any order",
        ),
        pytest.param(
            CHAIN, run("a", "c"), BROKEN,
            "step 2, c: called before b had succeeded; b was never called",
            id="before: half a stage",
        ),
        pytest.param(
            CHAIN, run("a", "b", "d"), BROKEN,
            "step 3, d: called before c had succeeded; c was never called",
            id="before: a stage left out",
        ),
        pytest.param(
            CHAIN, run("a", "b"), IDLE, "c and d were never called", id="before: no later stage"
        ),
        # in_order
        pytest.param(
            LISTED, run("a", "b", "c"), HELD, "in order: step 1, a; step 2, b; step 3, c",
            id="in order",
        ),
        pytest.param(
            LISTED, run("b", "a"), BROKEN,
            "step 1, b: had ended before a was first called, at step 2",
            id="in order: the wrong way round",
        ),
        pytest.param(
            LISTED, run("a", "c", "b"), BROKEN,
            "step 2, c: had ended before b was first called, at step 3",
            id="in order: the last two the wrong way round",
        ),
        pytest.param(
            LISTED, run("a", "b", "a"), HELD, "in order: step 1, a; step 2, b",
            id="in order: once more is no order",
        ),
        pytest.param(
            LISTED, run(call("a", error="no score"), "c"), HELD, "in order: step 1, a; step 2, c",
            id="in order: a call in vain was made in its turn",
        ),
        pytest.param(
            LISTED, run("b", call("a", error="no score")), BROKEN,
            "step 1, b: had ended before a was first called, at step 2",
            id="in order: in vain, and too late",
        ),
        pytest.param(
            LISTED, run("b"), IDLE, "a and c were never called", id="in order: one of them alone"
        ),
        pytest.param(
            LISTED, run("d"), IDLE, "a and b and c were never called", id="in order: none"
        ),
        pytest.param(LISTED, run(), IDLE, "no tool was called", id="in order: zero calls"),
        pytest.param(
            InOrder(stages=(("a", "b"), ("c",))), run("b", "a", "c"), HELD,
            "in order: step 1, b; step 2, a; step 3, c", id="in order: a stage in any order",
        ),
    ],
)  # fmt: skip
def test_a_demand_and_its_reason(demand: Demand, trace: Trace, state: RuleState, why: str) -> None:
    result = check(demand, trace)

    assert (state, why) == (result.state, result.why)


ALICE = Approval(step="review", by="alice", calls=0)


@pytest.mark.parametrize(
    ("steps", "calls", "begun", "state", "why"),
    [
        pytest.param(
            {"pay": ""}, [call("pay")], 0, HELD, "step 1, pay, approved by alice", id="after"
        ),
        pytest.param(
            {"pay": ""}, [call("pay")], 1, BROKEN,
            "step 1, pay: no approval was recorded before it", id="before",
        ),
        pytest.param(
            {"pay": ""}, [call("pay"), call("pay")], 1, BROKEN,
            "step 1, pay: no approval was recorded before it", id="each call counts",
        ),
        pytest.param(
            {"pay": "review"}, [call("a"), call("pay")], 1, HELD,
            "step 2, pay, approved by alice", id="of the step",
        ),
        pytest.param(
            {"pay": "budget"}, [call("pay")], 0, BROKEN,
            "step 1, pay: no approval of budget was recorded before it", id="of another step",
        ),
        pytest.param({"pay": ""}, [call("a")], 0, IDLE, "pay was never called", id="never called"),
    ],
)  # fmt: skip
def test_an_approval_precedes_the_call(
    steps: Mapping[str, str], calls: list[ToolCall], begun: int, state: RuleState, why: str
) -> None:
    approvals = (replace(ALICE, calls=begun),)
    result = check(AfterApproval(steps=steps), run(*calls, approvals=approvals))

    assert (state, why) == (result.state, result.why)


def test_a_denial_is_no_approval() -> None:
    denied = replace(ALICE, granted=False)
    calls = [call("pay")]

    result = check(AfterApproval(steps={"pay": "review"}), run(*calls, approvals=(denied,)))

    assert BROKEN is result.state
    told = "no approval of review holds, its last decision is the denial by alice"
    assert f"step 1, pay: {told}" == result.why


@pytest.mark.parametrize("wanted", ["review", ""], ids=["of the step", "of any step"])
@pytest.mark.parametrize(
    ("decisions", "state"),
    [
        pytest.param([(True, 0), (False, 0)], BROKEN, id="taken back"),
        pytest.param([(False, 0), (True, 0)], HELD, id="granted at the second try"),
        pytest.param([(True, 0), (False, 1)], HELD, id="denied after the call"),
        pytest.param([(False, 0), (True, 1)], BROKEN, id="granted after the call"),
    ],
)
def test_the_last_decision_before_a_call_counts(
    wanted: str, decisions: list[tuple[bool, int]], state: RuleState
) -> None:
    approvals = tuple(replace(ALICE, granted=granted, calls=n) for granted, n in decisions)

    result = check(AfterApproval(steps={"pay": wanted}), run(call("pay"), approvals=approvals))

    assert state is result.state


def test_the_denial_of_one_step_takes_no_other_approval_back() -> None:
    denied = replace(ALICE, step="budget", granted=False)

    result = check(AfterApproval(steps={"pay": ""}), run(call("pay"), approvals=(ALICE, denied)))

    assert HELD is result.state


@pytest.mark.parametrize(
    ("steps", "state", "why"),
    [
        pytest.param(("review",), HELD, "review approved by alice", id="asked"),
        pytest.param(("review", "7"), HELD, "review approved by alice; 7 denied by bob", id="both"),
        pytest.param(("7", "8"), BROKEN, "the approval of 8 was never asked for", id="not asked"),
    ],
)
def test_an_approval_must_be_asked_for(steps: tuple[str, ...], state: RuleState, why: str) -> None:
    approvals = (ALICE, Approval(step="7", by="bob", calls=0, granted=False))

    result = check(AsksApproval(steps=steps), run(approvals=approvals))

    assert (state, why) == (result.state, result.why)
    assert (state is BROKEN) is result.unfinished


OPEN = {"score": 7, "who": {"names": ["Ann", "Bob"]}}
BY_PATH = EqualsResult(tool="fetch", path=("score",))
ANYWHERE = EqualsResult(tool="fetch")
SHORT_TEXT = SatisfiesSchema(schema={"type": "string", "maxLength": 3})


@pytest.mark.parametrize(
    ("origin", "calls", "state", "why"),
    [
        pytest.param(
            EqualsInput(column="account"), [call("pay", {"x": "A1"})], HELD,
            "x is as demanded at step 1, pay", id="input: equal",
        ),
        pytest.param(
            EqualsInput(column="amount"), [call("pay", {"x": "50"})], HELD,
            "x is as demanded at step 1, pay", id="input: the text of a number",
        ),
        pytest.param(
            EqualsInput(column="account"), [call("pay", {"x": "A1"}), call("pay", {"x": "A2"})],
            BROKEN, 'step 2, pay: x is "A2", input account is "A1"', id="input: invented",
        ),
        pytest.param(
            EqualsInput(column="account"), [call("pay", {})], BROKEN,
            "step 1, pay: argument x is missing", id="input: argument missing",
        ),
        pytest.param(
            EqualsInput(column="account"), [call("pay", "A1")], BROKEN,
            "step 1, pay: argument x is missing", id="input: arguments are no object",
        ),
        pytest.param(
            EqualsInput(column="account"), [call("a")], IDLE, "pay was never called", id="idle"
        ),
        pytest.param(
            BY_PATH, [call("fetch", result=OPEN), call("pay", {"x": 7})], HELD,
            "x is as demanded at step 2, pay", id="result: equal",
        ),
        pytest.param(
            BY_PATH, [call("fetch", result='{"score": 7}'), call("pay", {"x": 7})], HELD,
            "x is as demanded at step 2, pay", id="result: JSON as text",
        ),
        pytest.param(
            BY_PATH, [call("fetch", result="{score"), call("pay", {"x": 7})], BROKEN,
            "step 2, pay: x is 7, fetch.score returned nothing at step 1", id="result: no JSON",
        ),
        pytest.param(
            BY_PATH, [call("fetch", result=OPEN), call("pay", {"x": 8})], BROKEN,
            "step 2, pay: x is 8, fetch.score returned 7 at step 1", id="result: invented",
        ),
        pytest.param(
            BY_PATH, [call("pay", {"x": 7}), call("fetch", result=OPEN)], BROKEN,
            "step 1, pay: x is 7, no earlier call of fetch succeeded", id="result: only later",
        ),
        pytest.param(
            BY_PATH, [call("fetch", result=OPEN, error="down"), call("pay", {"x": 7})], BROKEN,
            "step 2, pay: x is 7, no earlier call of fetch succeeded", id="result: failed call",
        ),
        pytest.param(
            ANYWHERE, [call("fetch", result=OPEN), call("pay", {"x": "Bob"})], HELD,
            "x is as demanded at step 2, pay", id="result: anywhere in it",
        ),
        pytest.param(
            ANYWHERE, [call("fetch", result="Bob"), call("pay", {"x": "Bob"})], HELD,
            "x is as demanded at step 2, pay", id="result: the whole",
        ),
        pytest.param(
            SHORT_TEXT, [call("pay", {"x": "abc"})], HELD, "x is as demanded at step 1, pay",
            id="schema: satisfied",
        ),
        pytest.param(
            SHORT_TEXT, [call("pay", {"x": "abcd"})], BROKEN,
            'step 1, pay: x is "abcd", which breaks its schema: '
            '"abcd" is longer than 3 characters', id="schema: broken",
        ),
        pytest.param(
            EqualsInput(column="account"), [call("pay", {"x": "z" * 99})], BROKEN,
            f'step 1, pay: x is "{"z" * 56}..., input account is "A1"', id="long values are cut",
        ),
    ],
)  # fmt: skip
def test_an_argument_has_its_origin(
    origin: Origin, calls: list[ToolCall], state: RuleState, why: str
) -> None:
    result = check(ArgumentDemand(tool="pay", argument="x", origin=origin), run(*calls))

    assert (state, why) == (result.state, result.why)


# Conditions

RISKY = ValueCondition(source=Source.RESULT, name="score", bounds=((Operator.AT_LEAST, 0.8),))
SAFE = ValueCondition(source=Source.RESULT, name="score", bounds=((Operator.BELOW, 0.8),))


def test_a_condition_reads_the_data_so_that_silence_cannot_switch_a_rule_off() -> None:
    assert check(Requires(all_of=("open_case",)), run(), when=RISKY).broken


def test_a_rule_whose_condition_is_not_satisfied_does_not_apply() -> None:
    result = check(Requires(all_of=("open_case",)), run(), when=SAFE)

    assert (IDLE, False) == (result.state, result.applies)
    assert "does not apply: not result score below 0.8" == result.why


def test_a_result_carries_the_rule_it_is_of() -> None:
    result = check(BOTH, run(), clause="4.2", severity=Severity.MUST)

    assert ("r", "4.2", Severity.MUST, DemandKind.REQUIRES) == (
        result.id, result.clause, result.severity, result.kind,
    )  # fmt: skip


def test_a_row_that_a_condition_cannot_read_is_told_with_its_rule() -> None:
    text = ValueCondition(source=Source.INPUT, name="account", bounds=((Operator.ABOVE, 3),))
    rules = (
        Rule(id="odd", demand=BOTH, when=text),
        Rule(id="fine", demand=BOTH, when=SAFE),
        Rule(id="plain", demand=BOTH),
    )

    (problem,) = unreadable_rules(Contract(rules=rules), TASK)

    assert "rule 'odd', when: input account is 'A1', which has no order with 3" == problem


# The whole contract

CONTRACT = Contract(
    rules=(
        Rule(id="login-first", demand=LOGIN_FIRST),
        Rule(id="once", demand=AtMost(limits={"transfer": 1})),
        Rule(id="no-wire", demand=Forbids(tools=("wire",))),
    )
)


@pytest.mark.parametrize(
    ("trace", "state"),
    [
        pytest.param(run("login", "transfer"), HELD, id="done right"),
        pytest.param(run("login"), HELD, id="calls that break nothing"),
        pytest.param(run(FAILED_LOGIN, "transfer"), BROKEN, id="failed login then transfer"),
        pytest.param(run("login", "transfer", "transfer"), BROKEN, id="transfer twice"),
        pytest.param(run(), HELD, id="no call, and none required"),
    ],
)
def test_a_contract_has_one_state_per_run(trace: Trace, state: RuleState) -> None:
    results = check_contract(CONTRACT, trace, KNOWN)

    assert state is contract_state(results, shown=True)


def test_a_run_to_which_no_rule_applies_has_no_state() -> None:
    trace = run("login")
    contract = Contract(rules=(Rule(id="r", demand=BOTH, when=SAFE),))

    assert contract_state(check_contract(contract, trace, KNOWN), shown=True) is None


ONE_OF_TWO_BROKEN = (Rule(id="r", demand=EITHER), Rule(id="s", demand=BOTH))


@pytest.mark.parametrize(
    ("rules", "trace", "expected"),
    [
        pytest.param((Rule(id="r", demand=BOTH),), run("a", "b"), True, id="all succeeded"),
        pytest.param((Rule(id="r", demand=BOTH),), run("a"), False, id="one was not called"),
        pytest.param(ONE_OF_TWO_BROKEN, run("a"), False, id="one of two rules is broken"),
        pytest.param((Rule(id="r", demand=BOTH, when=SAFE),), run(), None, id="does not apply"),
        pytest.param((Rule(id="r", demand=LOGIN_FIRST),), run("a"), None, id="nothing required"),
    ],
)
def test_a_run_is_grounded_when_its_required_tools_succeeded(
    rules: tuple[Rule, ...], trace: Trace, expected: bool | None
) -> None:
    assert expected is grounded(check_contract(Contract(rules=rules), trace, KNOWN))


SMALL = ValueCondition(source=Source.INPUT, name="amount", bounds=((Operator.BELOW, 100),))


@pytest.mark.parametrize(
    ("rules", "state"),
    [
        pytest.param(
            (Rule(id="none", demand=Forbids(tools=("wire", "login")), when=SMALL),),
            HELD,
            id="the data forbids every tool",
        ),
        pytest.param(
            (
                Rule(id="none", demand=Forbids(tools=("wire",)), when=SMALL),
                Rule(id="login", demand=AtMost(limits={"login": 1})),
            ),
            IDLE,
            id="another tool is left",
        ),
        pytest.param(
            (Rule(id="none", demand=Forbids(tools=("wire",))),), IDLE, id="whatever the data is"
        ),
    ],
)
def test_silence_obeys_a_rule_only_where_the_task_asks_for_it_and_breaks_no_contract(
    rules: tuple[Rule, ...], state: RuleState
) -> None:
    silent = Trace(ending=Ending.RETURNED)

    results = check_contract(Contract(rules=rules), silent, KNOWN)

    assert state is results[0].state
    assert HELD is contract_state(results, shown=True)


@pytest.mark.parametrize(
    ("demand", "tools"),
    [
        pytest.param(Requires(all_of=("a",), any_of=("b",)), ("a", "b"), id="requires"),
        pytest.param(Forbids(tools=("a",)), ("a",), id="forbids"),
        pytest.param(AtMost(limits={"a": 1}), ("a",), id="at_most"),
        pytest.param(Before(stages=(("a", "b"), ("c",))), ("a", "b", "c"), id="before"),
        pytest.param(InOrder(stages=(("a", "b"), ("c",))), ("a", "b", "c"), id="in_order"),
        pytest.param(AfterApproval(steps={"a": ""}), ("a",), id="after_approval"),
        pytest.param(
            ArgumentDemand(tool="a", argument="x", origin=EqualsInput(column="account")),
            ("a",),
            id="arguments",
        ),
    ],
)
def test_a_demand_names_its_tools(demand: Demand, tools: tuple[str, ...]) -> None:
    assert tools == demand.tools


# Calls that overlap


@st.composite
def spans_of_calls(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Calls of two tools, each from one moment to a later one; no moment is used twice."""
    moments = draw(st.lists(st.integers(1, 99), unique=True, min_size=2, max_size=12))
    pairs = [sorted(pair) for pair in zip(moments[::2], moments[1::2], strict=False)]
    return [(draw(st.sampled_from("ab")), first, last) for first, last in pairs]


def in_flight(name: str, arguments: JsonValue = None, *, result: JsonValue = None) -> ToolCall:
    """A call that had not ended when the next one began."""
    return replace(call(name, arguments, result=result), overlaps=1)


@pytest.mark.parametrize(
    ("demand", "trace", "state", "why"),
    [
        pytest.param(
            LOGIN_FIRST, run(in_flight("login"), "transfer"), BROKEN,
            "step 2, transfer: called before login had succeeded; "
            "login, step 1, had not ended when it began", id="the earlier one was in flight",
        ),
        pytest.param(
            LOGIN_FIRST, run(in_flight("transfer"), "login"), BROKEN,
            "step 1, transfer: called before login had succeeded; login was first called at step 2",
            id="the later one began first",
        ),
        pytest.param(
            LOGIN_FIRST, run("login", in_flight("login"), "transfer"), HELD,
            "in order: step 3, transfer", id="another one had ended",
        ),
        pytest.param(
            LOGIN_FIRST, run(in_flight("login"), "a", "transfer"), HELD,
            "in order: step 3, transfer", id="it ended meanwhile",
        ),
        pytest.param(
            CHAIN, run(in_flight("a"), "b", "c", "d"), HELD, "in order: step 3, c; step 4, d",
            id="the calls of one stage overlap",
        ),
        pytest.param(
            ArgumentDemand(tool="pay", argument="x", origin=BY_PATH),
            run(in_flight("fetch", result=OPEN), call("pay", {"x": 7})), BROKEN,
            "step 2, pay: x is 7, no earlier call of fetch succeeded", id="guessed its result",
        ),
        pytest.param(
            ArgumentDemand(tool="pay", argument="x", origin=BY_PATH),
            run(in_flight("fetch", result=OPEN), "a", call("pay", {"x": 7})), HELD,
            "x is as demanded at step 3, pay", id="waited for its result",
        ),
    ],
)  # fmt: skip
def test_a_call_stands_before_another_only_if_it_ended_before_that_began(
    demand: Demand, trace: Trace, state: RuleState, why: str
) -> None:
    result = check(demand, trace)

    assert (state, why) == (result.state, result.why)


@pytest.mark.parametrize(
    ("begun", "state"),
    [pytest.param(0, HELD, id="before the call"), pytest.param(1, BROKEN, id="while in flight")],
)
def test_no_clock_decides_whether_an_approval_came_first(begun: int, state: RuleState) -> None:
    approval = Approval(step="review", by="alice", started=1.0, calls=begun)
    trace = run(call("pay", started=1.0), approvals=(approval,))

    assert state is check(AfterApproval(steps={"pay": ""}), trace).state


OWNERS = [{"id": "O1", "tags": ["a"]}, {"id": "O2", "tags": ["b", "c"]}, {"name": "none"}]


@pytest.mark.parametrize(
    ("path", "value", "state"),
    [
        pytest.param(("id",), "O2", HELD, id="any element"),
        pytest.param(("tags",), "c", BROKEN, id="a list is no value in it"),
        pytest.param(("1", "id"), "O2", HELD, id="a numbered element"),
        pytest.param(("0", "id"), "O2", BROKEN, id="another numbered element"),
        pytest.param(("id",), "O9", BROKEN, id="no element"),
    ],
)
def test_a_path_into_a_list_of_results_leads_to_each_element(
    path: tuple[str, ...], value: str, state: RuleState
) -> None:
    demand = ArgumentDemand(tool="pay", argument="x", origin=EqualsResult(tool="fetch", path=path))

    result = check(demand, run(call("fetch", result=OWNERS), call("pay", {"x": value})))

    assert state == result.state


@given(spans_of_calls())
def test_what_is_listed_in_an_order_is_broken_only_by_an_end_before_a_beginning(
    lasted: list[tuple[str, int, int]],
) -> None:
    """By the spans themselves; which of two calls in flight began first changes nothing."""
    begun = sorted(lasted, key=lambda one: one[1])
    calls = [
        replace(call(name), overlaps=sum(first < start < last for _, start, _ in begun))
        for name, first, last in begun
    ]
    firsts = {name: start for name, start, _ in reversed(begun)}
    late = any(last < firsts.get("a", 0) for name, _, last in begun if name == "b")

    result = check(InOrder(stages=(("a",), ("b",))), run(*calls))

    assert late is (result.state is BROKEN)
    assert (firsts.keys() >= {"a", "b"}) is (result.state is not IDLE)


# What a clause says, found by its number.

SOP = """# Refunds

## 2. Refund

2.1 The refund is 80 per cent of what was paid,
    in euros.
2.2 Never refund twice.
2.10 Tell the guest.

**3.1** Answer with the status.
- 3.2) Be polite.
Step 4: Close the case.
See 2.1 and 2.2 before that.
"""


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        pytest.param(
            "2.1", "2.1 The refund is 80 per cent of what was paid, in euros.", id="two lines"
        ),
        pytest.param("2.2", "2.2 Never refund twice.", id="up to the next number"),
        pytest.param("2.10", "2.10 Tell the guest.", id="up to an empty line"),
        pytest.param("3.1", "**3.1** Answer with the status.", id="in bold"),
        pytest.param("3.2", "- 3.2) Be polite.", id="in a list"),
        pytest.param("2", "## 2. Refund", id="a heading"),
        pytest.param(
            "4", "Step 4: Close the case. See 2.1 and 2.2 before that.", id="with a word before"
        ),
        pytest.param("2.3", "", id="not there"),
        pytest.param("", "", id="no number"),
        pytest.param("1", "", id="only a part of others"),
    ],
)
def test_a_clause_is_found_by_its_number(clause: str, text: str) -> None:
    assert text == clause_text(SOP, clause)


def test_a_number_that_stands_twice_names_no_clause() -> None:
    assert "" == clause_text("1. Look.\n\nNotes\n1. Wait.\n", "1")


@given(st.text(max_size=200), st.text(max_size=8))
def test_whatever_is_asked_for_every_word_of_a_clause_is_of_the_sop(sop: str, clause: str) -> None:
    assert set(clause_text(sop, clause).split()) <= set(sop.split())


# What is written, held against the calls that a task expects.

BOOK = AsExpected(tools=("book",))
ONE_BOOKED = (
    ExpectedCall(name="look_up", arguments={}),
    ExpectedCall(name="book", arguments={"amount": 4, "to": {"city": "Lyon"}}),
)


def booked(amount: JsonValue = 4, city: str = "Lyon", error: str | None = None) -> ToolCall:
    return call("book", {"amount": amount, "to": {"city": city}}, error=error)


def written(
    trace: Trace, expected: Sequence[ExpectedCall] | None = ONE_BOOKED, **demand: Any
) -> RuleResult:
    contract = Contract(rules=(Rule(id="r", demand=replace(BOOK, **demand)),))
    (result,) = check_contract(contract, trace, replace(KNOWN, expected=expected))
    return result


@pytest.mark.parametrize(
    ("trace", "state", "why"),
    [
        pytest.param(run(booked()), HELD, "as expected: step 1, book", id="as expected"),
        pytest.param(
            run(booked(4.0), "look_up"), HELD, "as expected: step 1, book", id="a float, any order"
        ),
        pytest.param(
            run(booked(error="busy"), booked()), HELD, "as expected: step 1, book; step 2, book",
            id="tried again",
        ),
        pytest.param(
            run(booked(9, error="too much"), booked()), HELD,
            "as expected: step 1, book; step 2, book", id="what failed wrote nothing",
        ),
        pytest.param(
            run(booked(), booked(error=NOT_ENDED)), BROKEN,
            "step 2, book: one call more than expected", id="one more that had not ended",
        ),
        pytest.param(
            run(booked(error=NOT_ENDED)), BROKEN,
            "step 1, book: the call had not ended, and what it did is not known",
            id="not ended",
        ),
        pytest.param(
            run("look_up", booked(1)), BROKEN, "step 2, book: amount is 1, expected 4",
            id="another value",
        ),
        pytest.param(
            run(booked("4")), BROKEN, 'step 1, book: amount is "4", expected 4', id="a text",
        ),
        pytest.param(
            run(booked(4, "lyon")), BROKEN, 'step 1, book: to.city is "lyon", expected "Lyon"',
            id="another value inside",
        ),
        pytest.param(
            run(call("book", {"to": {"city": "Lyon"}})), BROKEN,
            "step 1, book: amount is missing, expected 4", id="no value",
        ),
        pytest.param(
            run(call("book", {"amount": 4, "to": {"city": "Lyon"}, "note": "x"})), BROKEN,
            'step 1, book: note is "x", and is not expected at all', id="a value more",
        ),
        pytest.param(
            run(booked(), booked()), BROKEN, "step 2, book: one call more than expected",
            id="twice",
        ),
        pytest.param(run("look_up"), BROKEN, "book was never called", id="not called"),
        pytest.param(run(), BROKEN, "no tool was called, book is required", id="no call at all"),
        pytest.param(
            run(booked(1, error="too little")), BROKEN,
            "step 1, book: the call failed; amount is 1, expected 4", id="only in vain",
        ),
    ],
)  # fmt: skip
def test_what_is_written_is_as_expected(trace: Trace, state: RuleState, why: str) -> None:
    result = written(trace)

    assert (state, why) == (result.state, result.why)


@pytest.mark.parametrize(
    ("trace", "state"),
    [
        pytest.param(run("look_up"), HELD, id="nothing was"),
        pytest.param(run(), IDLE, id="no tool was called"),
        pytest.param(run(booked()), BROKEN, id="something was"),
        pytest.param(run(booked(error="refused")), HELD, id="in vain"),
    ],
)
def test_where_nothing_is_to_be_written(trace: Trace, state: RuleState) -> None:
    assert state is written(trace, ()).state


def test_what_is_not_declared_is_no_demand() -> None:
    assert IDLE is written(run(booked()), None).state


def test_a_run_that_was_stopped_before_it_wrote_is_unfinished_and_a_wrong_write_is_done() -> None:
    two = (*ONE_BOOKED, ExpectedCall(name="book", arguments={"amount": 5, "to": {"city": "Lyon"}}))

    assert written(run(booked()), two).unfinished
    assert "book was called with success 1 of 2 times" == written(run(booked()), two).why
    assert not written(run(booked(6)), two).unfinished


@pytest.mark.parametrize(
    "demand",
    [
        pytest.param({"private": ("amount",)}, id="by the name of the argument"),
        pytest.param({"private": ("limit",)}, id="by the value of the column"),
    ],
)
def test_no_reason_tells_a_private_value(demand: dict[str, Any]) -> None:
    task = replace(TASK, results={"limit": 4})
    contract = Contract(rules=(Rule(id="r", demand=replace(BOOK, **demand)),))

    (result,) = check_contract(contract, run(booked(1)), Known(task=task, expected=ONE_BOOKED))

    assert "step 1, book: amount is not as expected, which is private" == result.why


amounts = st.sampled_from([0, 1, 2])


@given(
    st.lists(amounts, max_size=4),
    st.lists(st.tuples(amounts, st.booleans()), max_size=5),
    st.randoms(use_true_random=False),
)
def test_calls_are_as_expected_exactly_where_a_count_of_them_says_so(
    wanted: list[int], made: list[tuple[int, bool]], order: Any
) -> None:
    expected = [ExpectedCall(name="book", arguments={"amount": one}) for one in wanted]
    order.shuffle(expected)
    calls = [call("book", {"amount": one}, error=None if done else "no") for one, done in made]
    asked = Counter(wanted)
    done = Counter(one for one, well in made if well)
    tried = Counter(one for one, _ in made)
    right = all(done[one] <= asked[one] <= tried[one] for one in (0, 1, 2))

    result = written(run("look_up", *calls), expected)

    assert right == (result.state is HELD)
