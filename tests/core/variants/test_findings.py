"""What variants tell, held against the runs of the tasks themselves."""

from __future__ import annotations

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.variants import VariantFinding, findings, joined
from pytest_sopbench._core.verdict import Outcome

RIGHT, WRONG = Outcome.CORRECT, Outcome.WRONG


def runs(**outcomes: tuple[Outcome, ...]) -> list[tuple[RunKey, Outcome]]:
    return [
        (RunKey("lab", task, trial, "a"), outcome)
        for task, trials in outcomes.items()
        for trial, outcome in enumerate(trials, 1)
    ]


def test_only_a_task_that_is_always_correct_can_fall() -> None:
    told = {"lab": {"a": {"noise": {"A": "wrong", "B": "wrong", "C": "correct", "D": "wrong"}}}}

    (found,) = findings(told, runs(A=(RIGHT, RIGHT), B=(RIGHT, WRONG), C=(RIGHT,), D=(WRONG,)))

    assert (4, 1, 2, 1) == (found.tried, found.correct, found.asked, found.fallen)


def test_a_run_that_was_unavailable_tells_nothing() -> None:
    told = {"lab": {"a": {"nosop": {"A": "unavailable", "B": "correct"}}}}

    assert [
        VariantFinding(
            domain="lab", agent="a", name="nosop", tried=1, correct=1, asked=1, fallen=0, untold=1
        )
    ] == [*findings(told, runs(A=(RIGHT,), B=(RIGHT,)))]


def test_the_automatic_ones_come_first_and_agents_are_apart() -> None:
    told = {"lab": {"b": {"nosop": {"A": "wrong"}}, "a": {"x": {}, "noise": {}, "nosop": {}}}}

    found = [(one.agent, one.name) for one in findings(told, runs(A=(RIGHT,)))]

    assert [("a", "nosop"), ("a", "noise"), ("a", "x"), ("b", "nosop")] == found


def test_what_is_no_such_thing_is_passed_over() -> None:
    assert [] == [*findings([1], ())]
    assert [] == [*findings({"lab": 3}, ())]
    assert {} == joined([None, {"lab": {"a": "x"}}])


def test_parts_are_joined_in_one_order_and_the_first_counts() -> None:
    one = {"lab": {"a": {"x": {"B": "wrong"}}}}
    other = {"lab": {"a": {"x": {"A": "correct", "B": "correct"}}}}

    assert [("A", "correct"), ("B", "wrong")] == [*joined([one, other])["lab"]["a"]["x"].items()]
