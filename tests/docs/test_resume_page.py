"""The page on resuming: its command does what it says, and every outcome stands in its table."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_sopbench import Outcome
from tests.builders.pages import DOCS, blocks, write_late_returns

WHOLE = (DOCS / "how-to" / "repeat-and-resume.md").read_text(encoding="utf-8")
PAGE = WHOLE.partition("## Resume a session")[2]
ROWS = re.findall(r"^\| (.*) \| (taken over|made again).*\|$", PAGE, re.MULTILINE)


@pytest.fixture
def cut_short(pytester: pytest.Pytester) -> None:
    """A session of the reference page's domain and agent that has three of five runs."""
    pytester.makepyfile(desk=write_late_returns(pytester.path))
    pytester.runpytest("--sop-domain=late_returns", "--agent=desk:agent")
    last = pytester.path / ".sop/sessions/last.jsonl"
    last.write_text("".join(last.read_text().splitlines(keepends=True)[:4]))


@pytest.mark.usefixtures("cut_short")
def test_the_command_of_the_page_prints_what_it_shows(pytester: pytest.Pytester) -> None:
    (command,) = re.findall(r"^\$ pytest (.*)$", PAGE, re.MULTILINE)

    result = pytester.runpytest(*shlex.split(command))

    result.assert_outcomes(passed=5)
    assert blocks(PAGE, "text")[0].strip() in result.outlines


def test_the_first_page_does_not_promise_that_resuming_repeats_what_failed() -> None:
    rows = re.findall(r"^\| (.*) \| (.*) \|$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    (rerun,) = (does for wanted, does in rows if wanted == "rerun what failed")
    (resume,) = (does for wanted, does in rows if "cut short" in wanted)

    assert "`--lf`" in rerun
    assert "--sop-resume" not in rerun
    assert "`--sop-resume=last`" in resume


def test_the_table_tells_of_every_outcome() -> None:
    said = {name: does for names, does in ROWS for name in re.findall(r"`(\w+)`", names)}

    assert {one.value for one in Outcome} == {*said}


def test_the_pages_name_the_outcomes_that_are_made_again_as_the_option_does(
    pytester: pytest.Pytester,
) -> None:
    said = {name: does for names, does in ROWS for name in re.findall(r"`(\w+)`", names)}
    options = (DOCS / "reference" / "options.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `--sop-resume .*$", options, re.MULTILINE)

    result = pytester.runpytest("--sop-domain=dangerous_goods", "--sop-resume=last,retry=what")

    told = " ".join(result.errlines)
    (may,) = re.findall(r"takes one or more of (\S+)", told)
    (always,) = re.findall(r"(\w+(?:, \w+)*) are always made again", told)
    assert {name for name, does in said.items() if does == "made again"} == {*always.split(", ")}
    assert {one.value for one in Outcome} == {"correct", *always.split(", "), *may.split("+")}
    assert not [name for name in may.split("+") if f"`{name}`" not in row]
