"""`--sop-gate` on what one pays, and `sopbench gate` on the session that was saved."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

AGENTS = """
from habits import right, wrong


def cheap(inputs, tools):
    tools.report(usage={"cost_usd": 0.01, "input_tokens": 900, "output_tokens": 100})
    return right(inputs, tools)


def dear(inputs, tools):
    tools.report(usage={"cost_usd": 0.05, "input_tokens": 9000, "output_tokens": 1000})
    return right(inputs, tools)


def mistaken(inputs, tools):
    tools.report(usage={"cost_usd": 0.01, "input_tokens": 900, "output_tokens": 100})
    return wrong(inputs)


def silent_once(inputs, tools):
    return right(inputs, tools) if inputs["sample_id"] == "T_03" else cheap(inputs, tools)
"""

OK, FAILED, USAGE = 0, 1, 4


@pytest.fixture(autouse=True)
def shop(pytester: pytest.Pytester, lab: object) -> None:
    pytester.makepyfile(shop=AGENTS)


def session(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest("--sop-domain=lab", *options)


HOLD = {
    "cost=0.01": "gate   cost per run <= 0.01 USD holds (got 0.01 USD)",
    "total_cost=0.06": "gate   cost in all <= 0.06 USD holds (got 0.06 USD)",
    "tokens=1000": "gate   tokens per run <= 1000 tokens holds*",
    "latency_p95=500": "gate   latency p95 <= 500 s holds*",
}
DO_NOT = {
    "cost=0.009": "gate   cost per run <= 0.009 USD does not hold (got 0.01 USD)*",
    "total_cost=0.05": "gate   cost in all <= 0.05 USD does not hold (got 0.06 USD)*",
    "total_tokens=5999": "gate   tokens in all <= 5999 tokens does not hold*",
    "latency_p95=0": "gate   latency p95 <= 0 s does not hold*",
}


@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
@pytest.mark.parametrize(
    ("gates", "status"), [(HOLD, OK), (DO_NOT, FAILED)], ids=["hold", "do not"]
)
def test_a_session_is_bounded_by_what_was_paid(
    pytester: pytest.Pytester, gates: dict[str, str], status: int, how: tuple[str, ...]
) -> None:
    asked = [f"--sop-gate={gate}" for gate in gates]

    result = session(pytester, "--agent=shop:cheap", *asked, *how)

    assert status == result.ret
    for gate, said in gates.items():
        saved = CliRunner().invoke(main, ["gate", "last", "--gate", gate])
        result.stdout.fnmatch_lines([said])
        assert (saved.exit_code == 0) is (status == OK)
        assert said.partition(" (got")[0].rstrip("*") in saved.output


def test_one_run_of_unknown_cost_leaves_the_gate_open(pytester: pytest.Pytester) -> None:
    result = session(pytester, "--agent=shop:silent_once", "--sop-gate=cost=100")
    saved = CliRunner().invoke(main, ["gate", "last"])

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["gate*cost per run <= 100 USD inconclusive (got n/a)*1 of 6 runs*"]
    )
    assert 3 == saved.exit_code


def test_each_agent_is_bounded_by_itself(pytester: pytest.Pytester) -> None:
    both = ("--agent=cheap=shop:cheap", "--agent=dear=shop:dear")

    every = session(pytester, *both, "--sop-gate=cost=0.02", "--sop-gate=tsr=1")
    one = session(pytester, *both, "--sop-gate=cost=0.02@cheap", "--sop-gate=tsr=1")

    assert (FAILED, OK) == (every.ret, one.ret)
    every.stdout.fnmatch_lines_random(
        ["gate*cheap*cost per run*holds*", "gate*dear*does not hold*"]
    )


def test_a_gate_on_the_cost_alone_forgives_no_wrong_answer(pytester: pytest.Pytester) -> None:
    result = session(pytester, "--agent=shop:mistaken", "--sop-gate=cost=1")
    saved = CliRunner().invoke(main, ["gate", "last", "--gate", "cost=1"])

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(["gate*cost per run <= 1 USD holds*", "gate*not correct*"])
    assert 0 != saved.exit_code


def test_a_bound_below_nothing_is_wrong_usage(pytester: pytest.Pytester) -> None:
    result = session(pytester, "--agent=shop:cheap", "--sop-gate=cost=-1")

    assert USAGE == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-gate=cost=-1: nothing costs less than 0 USD"])
