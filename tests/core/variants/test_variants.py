"""What variants tell, held against the runs of the tasks themselves."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunKey
from pytest_sopbench._core.variants import (
    PARAGRAPHS,
    VariantFinding,
    findings,
    joined,
    prose,
    with_noise,
)
from pytest_sopbench._loading.variants import bundled_sops

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


def test_parts_are_joined_in_one_order_and_the_first_counts() -> None:
    one = {"lab": {"a": {"x": {"B": "wrong"}}}}
    other = {"lab": {"a": {"x": {"A": "correct", "B": "correct"}}}}

    assert [("A", "correct"), ("B", "wrong")] == [*joined([one, other])["lab"]["a"]["x"].items()]


# Noise: an SOP keeps all it has, in its order, and gets paragraphs of others between.

BLOCKS = st.lists(
    st.sampled_from(["# Head", "1. One.", "Text of\ntwo lines", "| a | b |", "```\nx = 1\n```"]),
    min_size=1,
    max_size=9,
)
OTHERS = tuple(bundled_sops("reservation_desk"))


@given(BLOCKS)
def test_the_procedure_itself_is_whole_and_in_order(blocks: list[str]) -> None:
    added = {one for text in OTHERS for one in prose(text)}

    mixed = with_noise("desk", "\n\n".join(blocks), OTHERS)

    found = mixed.strip().split("\n\n")
    assert blocks == [one for one in found if one not in added]
    assert PARAGRAPHS == len(found) - len(blocks)


@given(st.integers(0, 6))
def test_no_fence_is_broken(lines: int) -> None:
    code = "```\n" + "a = 1\n\n" * lines + "```"

    mixed = with_noise("desk", f"Before.\n\n{code}\n\nAfter.", OTHERS)

    assert re.sub(r"\n\s*\n", "\n\n", code) in mixed


def test_noise_is_the_same_each_time_and_another_for_another_domain() -> None:
    sop = "1. Greet.\n\n2. Leave.\n"

    assert with_noise("desk", sop, OTHERS) == with_noise("desk", sop, OTHERS)
    assert with_noise("desk", sop, OTHERS) != with_noise("lab", sop, OTHERS)


def test_a_bundled_domain_gets_no_paragraph_of_its_own() -> None:
    own = {one for text in bundled_sops("stay_packages") for one in prose(text)}
    others = {one for text in OTHERS for one in prose(text)}

    assert len(own & others) > PARAGRAPHS
    assert own - others
