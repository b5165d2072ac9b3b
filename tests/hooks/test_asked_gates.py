"""Gates for which nothing can be measured are refused before an agent is paid for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

NEVER = "ERROR: *gate *: it can never hold: {}"


def asked(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right", *options)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("field:nope", "no output field has this name (fields: grade)", id="field"),
        pytest.param("tier_score", "no answer is asked for as a JSON document", id="tier"),
        pytest.param("contract", "no run was held against a contract", id="contract"),
        pytest.param("grounded_tsr", "no rule requires a tool", id="grounded"),
    ],
)
def test_a_domain_says_what_can_never_be_measured(
    pytester: pytest.Pytester, name: str, why: str
) -> None:
    result = asked(pytester, f"--sop-gate={name}=0.5")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([NEVER.format(why)])


@pytest.mark.usefixtures("lab")
def test_what_every_run_has_and_what_only_the_runs_tell_is_measured(
    pytester: pytest.Pytester,
) -> None:
    names = ("field:grade", "field:*", "tool_accuracy", "tsr")

    result = asked(pytester, *(f"--sop-gate={name}=0.5" for name in names))

    assert pytest.ExitCode.OK == result.ret


def test_a_domain_with_rules_is_held_against_them_unless_that_is_off(
    pytester: pytest.Pytester, lab: Path
) -> None:
    metadata = json.loads((lab / "metadata.json").read_text())
    metadata["contract"] = {"rules": [{"id": "look", "requires": {"all_of": ["measure"]}}]}
    (lab / "metadata.json").write_text(json.dumps(metadata))

    held = asked(pytester, "--sop-gate=contract=0.5")
    off = asked(pytester, "--sop-gate=contract=0.5", "-osop_contract=off")

    assert (pytest.ExitCode.OK, pytest.ExitCode.USAGE_ERROR) == (held.ret, off.ret)


@pytest.mark.usefixtures("lab")
def test_a_gate_of_one_domain_is_measured_there(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("other")

    named = asked(pytester, "--sop-domain=other", "--sop-gate=lab:field:nope=0.5")
    absent = asked(pytester, "--sop-domain=other", "--sop-gate=third:field:nope=0.5")

    assert pytest.ExitCode.USAGE_ERROR == named.ret
    named.stderr.fnmatch_lines([NEVER.format("no output field has this name*")])
    absent.stderr.no_fnmatch_line(NEVER.format("*"))


def test_no_agent_is_run_for_a_gate_that_can_never_hold(
    lab: Path, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(costly="def agent(inputs): raise SystemExit('it was run')")
    common = ("--sop-domain=lab", "--sop-agent=costly:agent")

    typed = pytester.runpytest(*common, "--sop-gate=field:nope=0.5")
    pytester.makeini("[pytest]\nsop_gate = field:nope=0.5\n")
    configured = pytester.runpytest(*common, "--collect-only")

    assert pytest.ExitCode.USAGE_ERROR == typed.ret
    typed.stderr.fnmatch_lines(
        ["*gate field:nope=*: it can never hold: no output field has this name (fields: grade)"]
    )
    assert pytest.ExitCode.OK == configured.ret
