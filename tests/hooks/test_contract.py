"""What a contract costs a session: which items fail, which a gate forgives, what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.commands import ran

RULES = [
    {"id": "measure-first", "clause": "1", "requires": {"all_of": ["measure"]}},
    {"id": "measure-once", "clause": "2", "severity": "must", "at_most": {"measure": 1}},
    {"id": "own-sample", "arguments": {
        "tool": "measure", "argument": "sample_id", "equals_input": "sample_id"}},
]  # fmt: skip

HABITS = '''
from habits import *

GRADES = {1: "retest", 2: "fail", 0: "pass"}


def knowing(inputs):
    """Right without a single call."""
    return {"grade": GRADES[number(inputs) % 3]}


def twice_on_t_02(inputs, tools):
    if number(inputs) == 2:
        tools.call("measure", sample_id=inputs["sample_id"])
    return right(inputs, tools)


def twice_and_wrong(inputs, tools):
    twice_on_t_02(inputs, tools)
    return {"grade": "pass"}


def stopped(inputs, tools):
    raise RuntimeError(f"before the first call for {inputs}")


def approved(inputs, tools):
    if number(inputs) != 2:
        tools.record_approval("measuring", by="Jo")
    answer = right(inputs, tools)
    tools.record_approval("measuring", by="too late")
    return answer
'''


@pytest.fixture
def with_contract(lab: Path, pytester: pytest.Pytester) -> Any:
    """Give the domain `lab` a contract; rules are those above unless others are given."""
    pytester.makepyfile(manners=HABITS)

    def write(*rules: Any) -> Path:
        path = lab / "metadata.json"
        metadata = json.loads(path.read_text())
        path.write_text(json.dumps({**metadata, "contract": {"rules": [*(rules or RULES)]}}))
        return lab

    return write


def run(pytester: pytest.Pytester, agent: str, *more: str) -> pytest.RunResult:
    return pytester.runpytest("--sop-domain=lab", f"--sop-agent={agent}", *more)


@pytest.mark.parametrize("more", [pytest.param((), id="plain"), pytest.param(("-n2",), id="n2")])
def test_the_summary_counts_rule_by_rule(
    pytester: pytest.Pytester, with_contract: Any, more: tuple[str, ...]
) -> None:
    with_contract()

    result = run(pytester, "habits:right", "-v", *more)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        [
            "C-TSR 100.0% correct of those that answered, 6 of 6   grounded 100.0%, 6 of 6",
            "calls  6 calls, all well-formed   tool accuracy 100.0%",
            "rules  contract 100.0% (6 of 6 runs)",
            "       held measure-first (1) 6 of 6, measure-once (2, must) 6 of 6,",
            "       own-sample 6 of 6",
        ]
    )


def test_a_broken_rule_that_must_hold_fails_a_right_answer(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    with_contract()

    result = run(pytester, "manners:twice_on_t_02")

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        [
            "correct, but 1 rule is broken: measure-once",
            "rule     measure-once (2, must): step 2, measure: call 2 that succeeded, at most",
            "         1 allowed",
            "TSR   100.0% *correct, 6 of 6 *",
            "       measure-once (2, must) broken in 1 of 6",
        ]
    )


@pytest.mark.parametrize(
    ("agent", "status"),
    [
        pytest.param("manners:twice_on_t_02", 1, id="right answer"),
        pytest.param("manners:twice_and_wrong", 1, id="wrong answer"),
        pytest.param("habits:always_pass", 0, id="a should rule"),
    ],
)
def test_no_gate_forgives_a_broken_rule_that_must_hold(
    pytester: pytest.Pytester, with_contract: Any, agent: str, status: int
) -> None:
    with_contract()

    result = run(pytester, agent, "--sop-fail-under=0.3")

    assert status == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 30% holds*"])


def test_a_rule_that_should_hold_is_counted_and_fails_nothing(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    """Zero calls show nothing of the others, and are said aloud."""
    with_contract()

    result = run(pytester, "manners:knowing", "-v")

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        [
            "C-TSR 100.0% correct of those that answered, 6 of 6   grounded 0.0%, 0 of 6",
            "calls  no tool was called",
            "rules  contract 0.0% (0 of 6 runs)",
            "       measure-first (1) broken in 6 of 6",
            "       not exercised by any task: measure-once, own-sample",
        ]
    )


def test_enforced_every_broken_rule_fails(pytester: pytest.Pytester, with_contract: Any) -> None:
    with_contract()

    result = run(pytester, "manners:knowing", "-o", "sop_contract=enforce", "--sop-fail-under=0")

    assert 1 == result.ret
    result.assert_outcomes(failed=6)


def test_switched_off_no_rule_is_checked(pytester: pytest.Pytester, with_contract: Any) -> None:
    with_contract()

    result = run(pytester, "manners:twice_on_t_02", "-o", "sop_contract=off")

    result.assert_outcomes(passed=6)
    result.stdout.no_fnmatch_line("rules *")
    result.stdout.no_fnmatch_line("*grounded*")


def test_a_run_that_was_stopped_before_a_required_call_is_a_miss_like_others(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    """It has not answered without the call, which is what the rule must prevent."""
    with_contract({"id": "measure-first", "severity": "must", "requires": {"all_of": ["measure"]}})

    stopped = run(pytester, "manners:stopped", "--sop-fail-under=0")
    answered = run(pytester, "manners:knowing", "--sop-fail-under=0")

    assert (0, 1) == (stopped.ret, answered.ret)
    stopped.stdout.fnmatch_lines(["       measure-first (must) broken in 6 of 6"])


def test_a_call_without_approval_breaks_the_rule(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    with_contract(
        {"id": "approved", "severity": "must", "after_approval": {"measure": "measuring"}}
    )

    result = run(pytester, "manners:approved")

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        ["rule     approved (must): step 1, measure: no approval of measuring was recorded*"]
    )


def test_an_unknown_word_is_a_usage_error(pytester: pytest.Pytester, with_contract: Any) -> None:
    with_contract()

    result = run(pytester, "habits:right", "-o", "sop_contract=on")

    assert 4 == result.ret
    result.stderr.fnmatch_lines(["*sop_contract=on: one of report, off, enforce expected"])


def test_a_rule_that_names_no_tool_of_the_domain_stops_before_the_first_run(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    with_contract({"id": "one", "forbids": ["mesure"]})

    result = run(pytester, "habits:right")

    assert 4 == result.ret
    result.stderr.fnmatch_lines(["*rule 'one', forbids: no tool is called 'mesure'*"])


TESTS = """
    import pytest

    def test_right(sop_run):
        sop_run.assert_correct()

    @pytest.mark.sop(answer="ignored")
    def test_ignored(sop_run):
        pass

    def test_contract(sop_run):
        with pytest.raises(AssertionError):
            sop_run.assert_contract()
"""


def test_a_broken_must_rule_fails_every_test_that_does_not_assert_the_contract_itself(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    with_contract()
    pytester.makepyfile(test_lab=TESTS)

    result = run(pytester, "manners:twice_on_t_02", "-k", "T_02", "-rA", "test_lab.py")

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["PASSED test_lab.py::test_contract*"])


def test_a_saved_line_tells_of_each_rule_and_of_the_expected_calls(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    lab = with_contract()
    lines = [
        {"task": f"T_{number:02}", "calls": [
            {"name": "measure", "arguments": {"sample_id": f"T_{number:02}"}}]}
        for number in (1, 2)
    ]  # fmt: skip
    (lab / "expected_calls.jsonl").write_text("\n".join(map(json.dumps, lines)))

    result = run(pytester, "manners:twice_on_t_02")

    saved = (pytester.path / ".sop/sessions/last.jsonl").read_text().splitlines()
    first, second, third = map(json.loads, saved[1:4])
    assert {"held": True, "departure": ""} == first["trajectory"]
    assert "held" == first["contract"]
    assert {
        "held": False,
        "departure": "step 2: no further call was expected, measure was called",
    } == second["trajectory"]
    assert {
        "id": "measure-once",
        "kind": "at_most",
        "state": "broken",
        "clause": "2",
        "severity": "must",
        "why": "step 2, measure: call 2 that succeeded, at most 1 allowed",
    } == second["rules"][1]
    assert None is third["trajectory"]
    assert (True, {}) == (second["grounded"], second["unneeded"])
    result.stdout.fnmatch_lines(["departs  step 2: no further call was expected*"])


def test_a_right_answer_with_a_wrong_write_fails_and_is_counted(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    rule = {"id": "written", "severity": "must", "as_expected": ["measure"]}
    lab = with_contract(rule)
    tasks = [f"T_{number:02}" for number in range(1, 7)]
    calls = [{"name": "measure", "arguments": {"sample_id": one}} for one in tasks]
    calls[0] = {"name": "measure", "arguments": {"sample_id": "T_99"}}
    lines = [{"task": task, "calls": [one]} for task, one in zip(tasks, calls, strict=True)]
    (lab / "expected_calls.jsonl").write_text("\n".join(map(json.dumps, lines)))

    result = run(pytester, "habits:right", "--sop-gate=expected_calls=0.9", "--sop-save=s")

    n = len(tasks)
    rate = f"{100 * (n - 1) / n:.1f}%"
    result.assert_outcomes(passed=n - 1, failed=1)
    result.stdout.fnmatch_lines(
        [
            'rule     written (must): step 1, measure: sample_id is "T_01", expected "T_99"*',
            f"calls  every expected call made in {n - 1} of {n} runs, {rate};",
            "       first to differ: measure.sample_id in 1",
            "*gate   expected calls >= 90%*",
        ]
    )
    page = ran("report", "s", "--to", "csv", "--to", "json=page.json")
    told = json.loads((pytester.path / "page.json").read_text())
    assert "expected_calls" in page.outlines[0]
    assert {"runs": n, "made": n - 1, "first": {"measure.sample_id": 1}} == (
        told["domains"]["lab"]["unmade"]
    )
    assert (n - 1) / n == pytest.approx(told["domains"]["lab"]["expected_calls"])


def test_calls_of_tools_that_nobody_expects_are_counted(
    pytester: pytest.Pytester, with_contract: Any
) -> None:
    lab = with_contract()
    lines = [{"task": f"T_{number:02}", "calls": []} for number in (1, 2)]
    (lab / "expected_calls.jsonl").write_text("\n".join(map(json.dumps, lines)))

    result = run(pytester, "habits:right", "-v")

    result.stdout.fnmatch_lines(["*2 unneeded calls in 2 of 2 runs: *"])
