"""`sopbench list --steps`: what it prints of a domain's steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SOP = """# Refunds

## 1. Purpose
Say why.

## 2. Check it
Look at the order.
Look at the date.
And at the rest.

## 3. Refund it [APPROVAL REQUIRED]
Pay. Then go back to step 2.

## 4. Close it

## Contacts
[APPROVAL REQUIRED] means that the lead signs.
"""


def test_it_prints_the_steps_with_their_first_lines_and_markers(
    sopbench: Any, refunds: Any
) -> None:
    (refunds.folder / "sop.txt").write_text(SOP)

    result = sopbench("list", "--steps", "refunds")

    assert 0 == result.exit_code
    assert [
        "refunds: 3 steps, from numbered headings; 5 lines hold for all of them",
        "  2  Check it",
        "       Look at the order.",
        "       Look at the date.",
        "  3  Refund it   [approval after; jumps to 2]",
        "       Pay. Then go back to step 2.",
        "  4  Close it",
        "warning: [APPROVAL REQUIRED] stands in text that is no step, so nobody is asked for it",
    ] == result.output.splitlines()


def test_json_has_every_text(sopbench: Any, refunds: Any) -> None:
    (refunds.folder / "sop.txt").write_text(SOP)

    told = json.loads(sopbench("list", "--steps", "refunds", "--json").output)

    assert ("refunds", "numbered headings", "") == (
        told["domain"],
        told["source"],
        told["why_not"],
    )
    assert {
        "number": "3",
        "title": "Refund it",
        "text": "## 3. Refund it [APPROVAL REQUIRED]\nPay. Then go back to step 2.",
        "approval": ["after"],
        "jumps": ["2"],
        "line": 11,
    } == told["steps"][1]
    assert told["general"].startswith("# Refunds")
    assert 1 == len(told["warnings"])


def test_a_file_of_the_domain_says_them_itself(sopbench: Any, refunds: Any) -> None:
    (refunds.folder / "sop.txt").write_text(SOP)
    (refunds.folder / "steps.json").write_text('{"steps": [{"number": "3"}]}')

    result = sopbench("list", "--steps", "./domains/refunds")

    assert "refunds: 1 step, from steps.json" in result.output


@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["text", "json"])
def test_where_there_are_none_it_says_why_and_what_to_do(
    sopbench: Any, refunds: Any, arguments: tuple[str, ...]
) -> None:
    (refunds.folder / "sop.txt").write_text("Refund what is small.")

    result = sopbench("list", "--steps", "refunds", *arguments)

    assert 1 == result.exit_code
    assert "no numbered headings, steps or lines" in result.output
    advice = "sopbench list refunds --steps --propose PROVIDER/MODEL"
    assert (advice in result.output) is not bool(arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(("refnds",), "did you mean", id="no-domain"),
        pytest.param(("bundled",), "bundled: 16 domains\nname one of them", id="several"),
        pytest.param(("refunds", "--out=x.json"), "--out: it goes with --propose", id="out"),
        pytest.param((), "one domain, and 0 are named", id="no-name"),
        pytest.param(("refunds", "lab"), "one domain, and 2 are named", id="two-names"),
        pytest.param(("refunds", "-v"), "-v: it does not go with --steps", id="verbose"),
        pytest.param(
            ("refunds", "--propose=gpt"), "the provider or the model is missing", id="no-provider"
        ),
    ],
)
def test_wrong_usage_is_told(
    sopbench: Any, refunds: Any, arguments: tuple[str, ...], told: str
) -> None:
    result = sopbench("list", "--steps", *arguments)

    assert 2 == result.exit_code
    assert told in result.output


def test_a_broken_file_is_told_with_its_place(sopbench: Any, refunds: Any) -> None:
    path: Path = refunds.folder / "steps.json"
    path.write_text('{"steps": [{"number": "9"}]}')

    result = sopbench("list", "--steps", "refunds")

    assert 2 == result.exit_code
    assert "steps.json, column 'steps[0]': step '9' has no text" in result.output
