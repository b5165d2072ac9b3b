"""Gates for which nothing can be measured are refused before an agent is paid for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_sopbench._core.gates.conditions import GateSpec, why_unmeasurable
from pytest_sopbench._loading.load import load_domain
from tests.builders.lab import write_lab


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("field:nope", "no output field has this name (fields: grade)", id="field"),
        pytest.param("tier_score", "no answer is asked for as a JSON document", id="tier"),
        pytest.param("contract", "no run was held against a contract", id="contract"),
        pytest.param("grounded_tsr", "no rule requires a tool", id="grounded"),
        pytest.param("field:grade", "", id="a field that is there"),
        pytest.param("field:*", "", id="each field"),
        pytest.param("tool_accuracy", "", id="what only the runs tell"),
        pytest.param("tsr", "", id="what every run has"),
    ],
)
def test_a_domain_says_what_can_never_be_measured(tmp_path: Path, name: str, why: str) -> None:
    domains = [load_domain(write_lab(tmp_path))]

    assert why == why_unmeasurable(GateSpec(name=name, value=0.5), domains)


def test_a_domain_with_rules_is_held_against_them_unless_that_is_off(tmp_path: Path) -> None:
    folder = write_lab(tmp_path)
    metadata = json.loads((folder / "metadata.json").read_text())
    metadata["contract"] = {"rules": [{"id": "look", "requires": {"all_of": ["measure"]}}]}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    domains = [load_domain(folder)]

    gate = GateSpec(name="contract", value=0.5)
    assert "" == why_unmeasurable(gate, domains)
    assert why_unmeasurable(gate, domains, contract=False)


def test_another_domain_may_have_it_unless_the_gate_names_one(tmp_path: Path) -> None:
    domains = [load_domain(write_lab(tmp_path, name)) for name in ("lab", "other")]

    assert why_unmeasurable(GateSpec(name="field:nope", value=0.5, domain="lab"), domains)
    assert "" == why_unmeasurable(GateSpec(name="field:nope", value=0.5, domain="third"), domains)


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
