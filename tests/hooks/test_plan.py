"""The plan is known before the first run, and survives the way to the controller."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import RunKey
from pytest_sopbench._hooks.session.session import Part, Plan

WORDS = st.text(max_size=8)
KEYS = st.builds(RunKey, WORDS, WORDS, st.integers(1, 3), WORDS)
PARTS = st.builds(
    lambda keys, selected: Part(keys=keys, selected=dict.fromkeys(selected)),
    st.dictionaries(WORDS, KEYS, max_size=6),
    st.lists(KEYS, max_size=6),
)
PLANS = st.builds(Plan, tests=PARTS, specs=st.dictionaries(WORDS, WORDS, max_size=2))

ONE, TWO, THREE = (RunKey("lab", f"T_{number}", 1, "agent") for number in (1, 2, 3))


@given(PLANS)
def test_what_a_worker_sends_is_what_the_controller_has(plan: Plan) -> None:
    arrived = Plan()

    arrived.add_json(plan.to_json())

    assert plan == arrived


@given(PLANS)
def test_the_order_of_the_plan_survives(plan: Plan) -> None:
    arrived = Plan()

    arrived.add_json(plan.to_json())

    assert [*plan.planned] == [*arrived.planned]
    assert [*plan.selected] == [*arrived.selected]


@given(PLANS)
def test_the_same_plan_from_every_worker_changes_nothing(plan: Plan) -> None:
    once, twice = Plan(), Plan()
    once.add_json(plan.to_json())

    twice.add_json(plan.to_json())
    twice.add_json(plan.to_json())

    assert once == twice


@given(PLANS)
def test_what_is_sent_is_ascii(plan: Plan) -> None:
    assert plan.to_json().isascii()


def test_a_run_that_two_tests_ask_for_is_planned_once() -> None:
    plan = Plan(builtin=Part(keys={"a": ONE, "b": TWO}), tests=Part(keys={"c": TWO, "d": THREE}))

    assert [ONE, TWO, THREE] == [*plan.planned]


def test_selected_runs_that_nobody_asks_for_were_taken_away() -> None:
    plan = Plan(
        builtin=Part(keys={"a": ONE}, selected=dict.fromkeys([ONE, TWO])),
        tests=Part(selected=dict.fromkeys([THREE])),
    )

    assert 2 == plan.taken_away


def test_an_item_tells_its_run() -> None:
    plan = Plan(builtin=Part(keys={"a": ONE}), tests=Part(keys={"b": TWO}))

    assert (ONE, TWO, None) == (plan.key("a"), plan.key("b"), plan.key("c"))
