"""Agents that do not follow the procedure: each is near chance, or is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from drafting_model import POLICY, TOOLS, WITH_MODEL, DraftingModel, claimed, decided

from pytest_sopbench._drafting.baselines import measure, right_by_tree

Drafts = Callable[..., Result]


def test_a_tree_finds_what_two_inputs_say_together() -> None:
    columns = {"member": [at % 2 == 0 for at in range(40)], "late": [at % 7 for at in range(40)]}
    labels = [
        "refund" if member and late >= 3 else "nothing"
        for member, late in zip(columns["member"], columns["late"], strict=True)
    ]

    right = right_by_tree(columns, labels)

    assert right >= 36


def test_a_tree_finds_nothing_where_there_is_nothing_to_find() -> None:
    """A tree that were asked about the rows on which it was grown would have them all right."""
    columns = {"number": [at * 7919 % 101 for at in range(60)]}
    labels = [str(at * 31 % 7 % 3) for at in range(60)]

    assert right_by_tree(columns, labels) < 40


def test_a_draft_says_what_guessing_a_tree_and_each_tool_left_out_come_to(
    draft: Drafts, folder: Path
) -> None:
    found = measure(folder)

    shares = {one.what: one for one in found.baselines}
    assert {
        "the same label for every row",
        "a tree over the inputs",
        "the policy without get_order",
    } == {*shares}
    assert all(one.is_near_chance for one in shares.values())
    assert [] == [*found.unwritten]
    assert "a tree over the inputs has decision right on" in Path("said.txt").read_text("utf-8")


def test_inputs_that_decide_together_are_named_in_the_draft_and_in_its_review(
    model: DraftingModel, drafts: Drafts
) -> None:
    """The desk is given the days, so a tree over the inputs needs no procedure and no tool."""
    tools = json.loads(json.dumps(TOOLS))
    tools["inputs"] += ["days_late", "price"]
    tools["tools"][0]["returns"] = ["carrier"]
    model.writer.tools = json.dumps(tools)
    policy = POLICY.replace('order["days_late"]', 'inputs["days_late"]').replace(
        'order["price"]', 'inputs["price"]'
    )
    model.writer.policy_a = policy
    model.writer.policy_b = policy.replace("Refunds for", "Decides on")
    model.writer.solves = lambda case, order: decided(case, order and {**case, **order})
    model.writer.claims = lambda case, order: claimed(case, order and {**case, **order})

    first = drafts(*WITH_MODEL)
    review = drafts("--review", typed="Ann\nn\n")

    assert 0 == first.exit_code, first.output
    for said in (first.stdout, review.stdout):
        assert "above chance: a tree over the inputs has decision right on" in said
        assert "above chance: the policy without get_order has decision right on" in said


def leave_out_claims(folder: Path) -> None:
    header, *rows = (folder / "data.csv").read_text("utf-8").splitlines(keepends=True)
    kept = [one for one in rows if int(one.split(",")[4] or 0) < 15]
    (folder / "data.csv").write_text("".join([header, *kept]), "utf-8")


def judge_answers_alone(folder: Path) -> None:
    metadata = json.loads((folder / "metadata.json").read_text("utf-8"))
    metadata["judged"] = ["answer"]
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(
            leave_out_claims,
            "no row writes with open_claim",
            id="no row",
        ),
        pytest.param(
            judge_answers_alone,
            "what open_claim writes is not judged",
            id="not judged",
        ),
    ],
)
def test_a_tool_that_writes_and_of_which_no_row_tells_ends_the_review(
    draft: Drafts, folder: Path, change: Callable[[Path], None], told: str
) -> None:
    change(folder)

    result = draft("--review", typed="Ann\ny\n")

    assert 1 == result.exit_code
    assert f"not reviewed: {told}" in result.stdout


def test_a_domain_whose_tools_are_code_says_that_they_are_not_measured(
    drafts: Drafts, folder: Path
) -> None:
    drafts()
    (folder / "tools.py").write_text("class Manager: ...\n", "utf-8")

    found = measure(folder)

    assert {"the same label for every row", "a tree over the inputs"} == {
        one.what for one in found.baselines
    }
    assert "what its code answers" in found.unknown
