"""What a run leaves in its world, held against what it should have left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, OutputField, Task, ToolCall, Trace
from pytest_sopbench._core.demands import Known, RuleState, StateDemand
from pytest_sopbench._core.domain import JudgingRules, StateRules
from pytest_sopbench._core.end_state import NOT_RECORDED, SeenWorld, state_differs
from pytest_sopbench._core.gates.quarantine import judged_in_doubt
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import FieldType, Scoring
from pytest_sopbench._core.model.trace import NOT_ENDED, Ending, Returned, ReturnedKind
from pytest_sopbench._core.model.world import StateChange, World
from pytest_sopbench._core.records.reconstruct import Judges, rescore
from pytest_sopbench._core.records.record import record_of

ORDER = {"order_id": "O-12", "status": "open", "paid": 40.0}
WORLD = World(
    keys={"orders": "order_id", "refunds": "refund_id"},
    rows={"orders": {"O-12": ORDER, "O-13": {**ORDER, "order_id": "O-13"}}, "refunds": {}},
)
EVERY: Mapping[str, tuple[str, ...]] = {"orders": (), "refunds": ()}
RULES = JudgingRules(
    fields=(OutputField(name="decision", type=FieldType.ENUM, values=("refund", "refuse")),),
    world=WORLD,
    state=StateRules(columns=EVERY, generated=frozenset({"refunds"})),
)
CLOSED = {"orders": [{"order_id": "O-12", "status": "closed"}]}
TASK = Task(
    domain="returns", id="T", line=2, hash="h", inputs={}, results={},
    expected={"decision": "refund"}, expected_state=CLOSED,
)  # fmt: skip


def close(key: str = "O-12", status: str = "closed") -> StateChange:
    return StateChange(
        step=1, table="orders", key=key, before={"status": "open"}, after={"status": status}
    )


def refund(key: str, order: str = "O-12", amount: Any = "40.00") -> StateChange:
    row = {"refund_id": key, "order_id": order, "amount": amount}
    return StateChange(step=2, table="refunds", key=key, after=row)


def gone(key: str) -> StateChange:
    return StateChange(step=3, table="orders", key=key, before={**ORDER, "order_id": key})


def trace(changes: Sequence[StateChange] | None, answer: str = "refund") -> Trace:
    return Trace(
        ending=Ending.RETURNED,
        returned=Returned(kind=ReturnedKind.MAPPING, mapping={"decision": answer}),
        calls=tuple(ToolCall(name="act", arguments={}) for _ in range(3)),
        state=None if changes is None else tuple(changes),
    )


def wanting(*refunds: Mapping[str, Any]) -> Task:
    return replace(TASK, expected_state={**CLOSED, "refunds": [*refunds]})


ONE = {"order_id": "O-12", "amount": "40.00"}
TWO = {"order_id": "O-13", "amount": "9.50"}


@pytest.mark.parametrize(
    ("task", "changes", "differs"),
    [
        pytest.param(TASK, [close()], [], id="as it should be"),
        pytest.param(
            TASK, [], ["orders[O-12].status is 'open', expected 'closed'"], id="nothing done"
        ),
        pytest.param(
            TASK, [close(status="shut")], ["orders[O-12].status is 'shut', expected 'closed'"],
            id="another value",
        ),
        pytest.param(
            TASK, [close(), close("O-13")], ["orders[O-13].status is 'closed', expected 'open'"],
            id="another row as well",
        ),
        pytest.param(
            TASK,
            [close(), close("O-13"), replace(close("O-13"), before={"status": "closed"},
                                             after={"status": "open"})],
            [], id="changed and changed back",
        ),
        pytest.param(
            TASK, [close(), refund("R-3")], ["refunds: one too many (R-3, O-12, 40.00)"],
            id="a row too many",
        ),
        pytest.param(
            TASK, [close(), refund("R-3"), refund("R-4")],
            ["refunds: 2 too many (R-3, O-12, 40.00; R-4, O-12, 40.00)"], id="two too many",
        ),
        pytest.param(
            wanting(ONE), [close()], ["refunds: one is missing (O-12, 40.00)"], id="a row too few"
        ),
        pytest.param(
            wanting(ONE, TWO), [close(), refund("R-9", "O-13", "9.50"), refund("R-1")], [],
            id="made in another order",
        ),
        pytest.param(
            wanting(ONE), [close(), refund("R-1", amount="4.00")],
            ["refunds[R-1].amount is '4.00', expected '40.00'"], id="another amount",
        ),
        pytest.param(
            wanting({**ONE, "amount": 40}), [close(), refund("R-1", amount=40.0)], [],
            id="a float for an integer",
        ),
        pytest.param(
            wanting({**ONE, "amount": 1}), [close(), refund("R-1", amount=True)],
            ["refunds[R-1].amount is true, expected 1"], id="a boolean is no number",
        ),
        pytest.param(
            TASK, [close(), gone("O-13")], ["orders: one is missing (O-13, open, 40.0)"],
            id="a row is gone",
        ),
    ],
)  # fmt: skip
def test_where_the_state_differs(
    task: Task, changes: list[StateChange], differs: list[str]
) -> None:
    verdict = judge(RULES, task, trace(changes))

    assert differs == [*verdict.state_differs]
    assert (Outcome.WRONG if differs else Outcome.CORRECT) is verdict.outcome
    assert verdict.completed
    assert "; ".join(differs) == verdict.reason


def test_only_tables_and_columns_that_matter_decide() -> None:
    rules = replace(RULES, state=StateRules(columns={"orders": ("status",)}))
    paid = StateChange(step=1, table="orders", key="O-12", before={"paid": 40.0}, after={"paid": 0})

    assert judge(rules, TASK, trace([close(), paid, refund("R-1")])).correct
    assert not judge(RULES, TASK, trace([close(), paid])).correct


def test_a_private_column_is_told_of_in_no_reason() -> None:
    state = replace(RULES.state or StateRules(columns=EVERY), private=frozenset({"status"}))

    verdict = judge(replace(RULES, state=state), TASK, trace([refund("R-1")]))

    assert "orders[O-12].status is not the expected one, which is private" in verdict.state_differs
    assert "closed" not in verdict.reason


def test_a_wrong_answer_with_a_wrong_state_says_both() -> None:
    verdict = judge(RULES, TASK, trace([], "refuse"))

    assert Outcome.WRONG is verdict.outcome
    assert verdict.reason.startswith("decision: ")
    assert verdict.reason.endswith("orders[O-12].status is 'open', expected 'closed'")


@pytest.mark.parametrize(
    ("rules", "task", "why"),
    [
        pytest.param(RULES, TASK, NOT_RECORDED, id="nothing was recorded"),
        pytest.param(
            RULES, replace(TASK, expected_state=None), "it is not said which state is right",
            id="nothing is said",
        ),
        pytest.param(
            replace(RULES, state=StateRules(columns=EVERY, by_policy=True)), TASK,
            "the reference policy was not run", id="no policy",
        ),
        pytest.param(
            replace(RULES, state=StateRules(
                columns=EVERY, by_policy=True, expected={"T": "it raised ValueError: x"})),
            TASK, "it raised ValueError: x", id="a policy that raises",
        ),
    ],
)  # fmt: skip
def test_a_state_that_nobody_knows_is_never_right_and_stays_in_every_denominator(
    rules: JudgingRules, task: Task, why: str
) -> None:
    changes = None if why == NOT_RECORDED else [close()]
    seen = trace(changes)
    verdict = judge(rules, task, seen)
    wrong = judge(rules, task, trace(changes, "refuse"))
    summary = summary_of([record_of(rules, task, seen, verdict)])

    assert (Outcome.UNAVAILABLE, Outcome.WRONG) == (verdict.outcome, wrong.outcome)
    assert f"not judged: state: {why}" == verdict.reason
    assert (1, 0, None) == (summary.runs, summary.correct, summary.tsr)


def test_a_policy_says_what_is_right() -> None:
    state = StateRules(columns=EVERY, by_policy=True, expected={"T": (close(), refund("R-1"))})
    rules = replace(RULES, state=replace(state, generated=frozenset({"refunds"})))

    assert judge(rules, TASK, trace([refund("R-7"), close()])).correct
    assert not judge(rules, TASK, trace([close()])).correct


def test_published_scoring_looks_at_answers_alone() -> None:
    rules = replace(RULES, scoring=Scoring.PUBLISHED)

    assert judge(rules, TASK, trace([])).correct


def test_a_wrong_state_is_wrong_whatever_a_model_judge_is_worth() -> None:
    record = record_of(RULES, TASK, trace([]), judge(RULES, TASK, trace([])))

    assert "" == judged_in_doubt(record, {"decision": "not calibrated"})


@pytest.mark.parametrize("changes", [[close()], [close(), refund("R-3")], []])
def test_a_recorded_run_is_judged_again_by_its_state(changes: list[StateChange]) -> None:
    record = record_of(RULES, TASK, trace(changes), judge(RULES, TASK, trace(changes)))
    orders = replace(RULES, state=StateRules(columns={"orders": ()}))

    same = rescore(Judges(before=RULES, after=RULES), TASK, record, None)
    other = rescore(Judges(before=None, after=orders), TASK, record, None)

    assert ("", record) == (same.why, same.record)
    assert "" == other.why
    assert (close() in changes) == (other.record.outcome is Outcome.CORRECT)


def test_a_run_whose_state_was_cut_or_masked_is_not_judged_again() -> None:
    long = trace([close(), refund("R-1", amount="x" * 5_000)])
    masked = trace([close(), refund("R-1", amount="***")])

    for seen in (long, masked):
        record = record_of(RULES, TASK, seen, judge(RULES, TASK, seen))
        assert rescore(Judges(before=RULES, after=RULES), TASK, record, None).why


def test_a_run_from_before_there_was_a_world_is_not_held_to_be_right() -> None:
    before = replace(RULES, world=None, state=None)
    record = record_of(before, TASK, trace(None), judge(before, TASK, trace(None)))

    done = rescore(Judges(before=None, after=RULES), TASK, record, None)

    assert Outcome.CORRECT is record.outcome
    assert Outcome.UNAVAILABLE is done.record.outcome


# Rules on the state: what must not be there at any time.


@pytest.mark.parametrize(
    ("demand", "changes", "state", "why"),
    [
        pytest.param(
            {"at_most": 1, "per": ("order_id",)}, [refund("R-1"), refund("R-2", "O-13")],
            RuleState.HELD, "at most 1 rows of refunds are alike", id="one of each",
        ),
        pytest.param(
            {"at_most": 1, "per": ("order_id",)}, [refund("R-1"), refund("R-2")],
            RuleState.BROKEN,
            'step 2, act: refunds[R-2] is one of 2 with order_id "O-12", at most 1 allowed',
            id="two of one",
        ),
        pytest.param(
            {"at_most": 1, "per": ("order_id",)},
            [refund("R-1"), refund("R-2"), replace(refund("R-2"), before={"x": 1}, after=None)],
            RuleState.BROKEN,
            'step 2, act: refunds[R-2] is one of 2 with order_id "O-12", at most 1 allowed',
            id="taken back: the harm is done",
        ),
        pytest.param(
            {"at_most": 0, "where": {"amount": "9.50"}}, [refund("R-1")], RuleState.HELD,
            "at most 0 rows of refunds are alike", id="of another value",
        ),
        pytest.param(
            {"at_most": 1, "where": {"amount": "9,50"}}, [refund("R-1")], RuleState.NOT_EXERCISED,
            "no row of refunds was left with that amount", id="a limit on a value that is never",
        ),
        pytest.param(
            {"at_most": 1, "where": {"amount": "40.00"}}, [refund("R-1")], RuleState.HELD,
            "at most 1 rows of refunds are alike", id="a limit on that value",
        ),
        pytest.param(
            {"at_most": 0, "where": {"amount": "40.00"}}, [refund("R-1")], RuleState.BROKEN,
            "step 2, act: refunds[R-1] is one of 1, at most 0 allowed", id="of that value",
        ),
        pytest.param(
            {"unchanged": True}, [close(), refund("R-1")], RuleState.BROKEN,
            "step 2, act: refunds[R-1] was changed", id="touched",
        ),
        pytest.param(
            {"unchanged": True}, [close()], RuleState.NOT_EXERCISED, "refunds was not changed",
            id="another table",
        ),
        pytest.param(
            {"unchanged": True}, None, RuleState.NOT_EXERCISED,
            "what the calls changed is not known", id="not recorded",
        ),
    ],
)  # fmt: skip
def test_a_rule_on_the_state(
    demand: dict[str, Any], changes: list[StateChange] | None, state: RuleState, why: str
) -> None:
    rule = StateDemand(table="refunds", **demand)

    found = rule.check(trace(changes), Known(task=TASK, world=WORLD))

    assert (state, why) == (found.state, found.why)


def test_what_a_call_did_that_had_not_ended_is_not_known() -> None:
    right = trace([close()])
    late = replace(right.calls[2], error=NOT_ENDED)
    unknown = replace(right, calls=(*right.calls[:2], late))
    known, rule = Known(task=TASK, world=WORLD), StateDemand(table="refunds", unchanged=True)

    verdict = judge(RULES, TASK, unknown)
    found = rule.check(unknown, known)
    touched = rule.check(replace(unknown, state=(refund("R-1"),)), known)

    assert judge(RULES, TASK, right).correct
    assert Outcome.UNAVAILABLE is verdict.outcome
    assert "not judged: state: a call had not ended when the run did" == verdict.reason
    assert (RuleState.BROKEN, True) == (found.state, found.unfinished)
    assert "step 3, act: the call had not ended, and what it did is not known" == found.why
    assert "step 2, act: refunds[R-1] was changed" == touched.why


AMOUNTS = st.lists(st.sampled_from(["1", "2", "3"]), max_size=4)


@given(AMOUNTS, AMOUNTS, st.randoms(use_true_random=False))
def test_new_rows_are_right_exactly_where_they_hold_the_same(
    wanted: list[str], made: list[str], order: Any
) -> None:
    task = wanting(*({"order_id": "O-12", "amount": one} for one in wanted))
    changes = [close(), *(refund(f"R-{at}", amount=one) for at, one in enumerate(made, 1))]
    order.shuffle(changes)

    differs = state_differs(RULES, task, changes)

    assert (sorted(wanted) == sorted(made)) == (not differs)


COPIES = World(
    keys={"copies": "copy", "loans": "loan"}, rows={"copies": {1: {"copy": 1}}, "loans": {}}
)


@pytest.mark.parametrize("table", ["copies", "loans"])
def test_a_text_is_no_key_of_a_table_whose_keys_are_numbers(table: str) -> None:
    lent = StateChange(step=1, table="loans", key=7, after={"loan": 7})
    seen = SeenWorld(COPIES, TASK, [lent])

    with pytest.raises(ValueError, match=f"table '{table}'.* key '1', .* are numbers; write it as"):
        list(seen.differences({table: {"1": None}}))


def test_any_key_may_be_asked_for_where_nobody_knows_a_key() -> None:
    seen = SeenWorld(COPIES, TASK, [])

    assert [] == list(seen.differences({"loans": {"L-1": None}}))
