"""The examples of the how-to pages run as they stand, and print what the pages show."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench import Outcome, Summary
from pytest_sopbench._core.contract import Operator, Severity
from pytest_sopbench._core.demands import DemandKind
from pytest_sopbench._core.metrics.counts import (
    ContractTally,
    GroundedCounts,
    RuleTally,
    ToolCounts,
)
from pytest_sopbench._reports.terminal.summary import domain_lines
from pytest_sopbench.cli import main
from tests.builders.pages import DOCS, DOMAINS, blocks, write_late_returns

STEPS = (DOCS / "how-to" / "check-the-steps.md").read_text(encoding="utf-8")
CONTRACT = STEPS.partition("## Assert a trajectory")[0]
TRAJECTORY, _, APPROVE = STEPS[len(CONTRACT) :].partition("## Approve a change")
RUN = ("--sop-domain=late_returns", "--sop-agent=desk:agent", "--sop-sample=first:1")


@pytest.fixture
def late_returns(pytester: pytest.Pytester) -> Path:
    """The domain of the reference page, and its agent as `desk:agent`."""
    agent = write_late_returns(pytester.path)
    pytester.makepyfile(desk=agent)
    return pytester.path / "domains" / "late_returns"


def with_contract(folder: Path, *rules: Any) -> None:
    path = folder / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": {"rules": [*rules]}}))


def test_the_tests_of_the_trajectory_page_pass(
    pytester: pytest.Pytester, late_returns: Path
) -> None:
    tests = [code for code in blocks(TRAJECTORY, "python") if "def test_" in code]
    pytester.makepyfile(test_desk="\n\n".join(tests))

    result = pytester.runpytest("--sop-domain=late_returns", RUN[1], "test_desk.py")

    assert 2 == len(tests)
    result.assert_outcomes(passed=10)


def test_the_failure_looks_as_the_page_shows_it(
    pytester: pytest.Pytester, late_returns: Path
) -> None:
    pytester.makepyfile(
        test_desk="""
        def test_run(sop_run):
            sop_run.assert_trajectory([("get_order", {"order_id": "R-102"})])
        """
    )

    result = pytester.runpytest(*RUN, "test_desk.py")

    said = [line.rstrip() for line in result.outlines if line.startswith("E  ")]
    assert blocks(TRAJECTORY, "text")[0].splitlines() == said


def test_the_configuration_of_the_page_on_secrets_is_taken(
    pytester: pytest.Pytester, late_returns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "how-to" / "record-and-replay.md").read_text(encoding="utf-8")
    monkeypatch.setenv("PARTNER_TOKEN", "a-long-token")
    pytester.makepyprojecttoml(blocks(page.partition("## Hide a key")[2], "toml")[0])

    assert 0 == pytester.runpytest(*RUN).ret


def test_the_contract_of_its_page_holds_for_the_agent_of_the_reference(
    pytester: pytest.Pytester, late_returns: Path
) -> None:
    contract = json.loads(blocks(CONTRACT, "json")[0])
    with_contract(late_returns, *contract["rules"])

    result = pytester.runpytest(*RUN[:2], "-v")

    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "rules  contract 100.0% (5 of 5 runs)",
            "       held look-up (1, must) 4 of 4, look-up-once (1) 4 of 4,",
            "       own-order (1) 5 of 5",
        ]
    )


def test_the_summary_looks_as_the_page_shows_it() -> None:
    summary = Summary(
        runs=274,
        tasks=274,
        outcomes={Outcome.CORRECT: 258, Outcome.WRONG: 12, Outcome.ERROR: 4},
        tools={"a": ToolCounts(calls=1096, bad=10)},
        rules=(
            RuleTally(
                id="sanctions-first", clause="4.2", severity=Severity.MUST, exercised=274, held=274
            ),
            RuleTally(id="siu", clause="6.1", exercised=41, held=37),
            RuleTally(id="no-wire"),
        ),
        contract=ContractTally(runs=274, held=268, broken=6),
        grounded=GroundedCounts(required=274, grounded=255),
    )

    lines = list(domain_lines("bank", "agent", summary, verbosity=1))

    shown = blocks(CONTRACT, "text")[0].splitlines()
    assert shown == [line for line in lines if line in shown]


def test_the_agent_of_the_approval_breaks_no_rule(
    pytester: pytest.Pytester, late_returns: Path
) -> None:
    specs = json.loads((late_returns / "toolspecs.json").read_text())
    refund = {**specs[0], "name": "refund_card", "description": "Pay back."}
    (late_returns / "toolspecs.json").write_text(json.dumps([*specs, refund]))
    metadata = json.loads((late_returns / "metadata.json").read_text())
    metadata["tools"]["refund_card"] = {"result": {"status": "done"}}
    (late_returns / "metadata.json").write_text(json.dumps(metadata))
    (rule,) = re.findall(r'breaks `("after_approval": .*?)` if', CONTRACT)
    with_contract(late_returns, {"id": "approved", **json.loads(f"{{{rule}}}")})
    (agent,) = blocks(CONTRACT, "python")
    pytester.makepyfile(desk=agent)

    result = pytester.runpytest(*RUN, "-v", "-o", "sop_contract=enforce")

    result.stdout.fnmatch_lines(["*held approved 1 of 1"])


def test_the_expected_calls_of_the_reference_are_read(
    pytester: pytest.Pytester, late_returns: Path
) -> None:
    (line,) = [code for code in blocks(DOMAINS, "json") if '"calls"' in code]
    (late_returns / "expected_calls.jsonl").write_text(line)

    pytester.runpytest(*RUN)

    saved = (pytester.path / ".sop/sessions/last.jsonl").read_text().splitlines()
    assert {"held": True, "departure": ""} == json.loads(saved[1])["trajectory"]


TWICE = """
from desk import agent as once


def agent(inputs, tools):
    tools.execute_tool("get_order", {"order_id": inputs["order_id"]})
    return once(inputs, tools)
"""


@pytest.fixture
def approved(pytester: pytest.Pytester, late_returns: Path) -> None:
    """The tests of the page on snapshots, all tasks approved, and an agent that asks twice."""
    compared, beside = [code for code in blocks(APPROVE, "python") if "def test_" in code]
    pytester.makepyfile(test_compared=compared, test_beside=beside, twice=TWICE)
    result = pytester.runpytest(
        "-psyrupy", *RUN[:2], "test_compared.py", "test_beside.py", "--snapshot-update"
    )
    result.assert_outcomes(passed=10)


@pytest.mark.usefixtures("approved")
def test_the_diff_and_its_approval_look_as_the_page_shows_them(
    pytester: pytest.Pytester,
) -> None:
    twice = ("-psyrupy", "--sop-domain=late_returns", "--sop-agent=twice:agent", "test_compared.py")
    (console,) = blocks(APPROVE, "console")
    command, said = console.removeprefix("$ sopbench ").split("\n", 1)

    result = pytester.runpytest(*twice, "-k", "R-101")
    approval = CliRunner().invoke(main, shlex.split(command), catch_exceptions=False)
    again = pytester.runpytest(*twice, "-k", "R-101")

    lines = [line.rstrip() for line in result.outlines if line.startswith("E  ")]
    assert blocks(APPROVE, "text")[0].splitlines() == lines
    assert said == approval.stdout
    assert 0 == again.ret
    written = (pytester.path / "sop_snapshots/late_returns/R-101.json").read_text()
    assert blocks(APPROVE, "json")[0] == written


@pytest.mark.usefixtures("approved")
def test_the_rules_of_the_snapshot_page_are_taken(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml(blocks(APPROVE, "toml")[0])

    result = pytester.runpytest("-psyrupy", *RUN[:2], "test_compared.py")

    assert 0 == result.ret


@pytest.mark.parametrize("word", [*DemandKind, *Operator, "all", "any", "not", "severity"])
def test_the_reference_names_every_word_of_the_vocabulary(word: str) -> None:
    """A word that is not described does not exist for a user."""
    assert f"`{word}`" in DOMAINS
