"""Who approves the steps of a run: the option, its ini value, and a fixture of the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ASKING = """
    def agent(inputs, tools, approver):
        decision = approver("4", summary=inputs["sample_id"])
        if not decision:
            return {"output": "", "error": f"approval of 4 denied by {decision.by}"}
        reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
        return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}
"""
RULES = [
    {"id": "asked", "severity": "must", "asks_approval": ["4"]},
    {"id": "approved", "severity": "must", "after_approval": {"measure": "4"}},
]


@pytest.fixture
def asking(lab: Path, pytester: pytest.Pytester) -> Path:
    """The domain `lab` with rules about approvals, and an agent that asks for one."""
    path = lab / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": {"rules": RULES}}))
    pytester.makepyfile(asking=ASKING)
    return lab


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest("--sop-domain=lab", "--sop-agent=asking:agent", *options)


def test_without_an_option_every_step_is_approved(
    pytester: pytest.Pytester, asking: Path, saved: Any
) -> None:
    result = run(pytester)

    result.assert_outcomes(passed=6)
    assert "auto" == saved().header["options"]["approver"]


def test_a_denied_run_is_an_error_and_has_asked(
    pytester: pytest.Pytester, asking: Path, workers: tuple[str, ...], saved: Any
) -> None:
    script = pytester.path / "decisions.json"
    script.write_text(json.dumps({"4": True, "lab/T_02": {"4": "no sample left"}}))

    result = run(pytester, "-osop_approver=scripted:decisions.json", *workers)

    result.assert_outcomes(passed=5, failed=1)
    assert "error" == saved().outcomes["T_02"]
    assert ["held"] * 6 == [one["rules"][0]["state"] for one in saved().runs]
    events = [
        json.loads(line)
        for path in (pytester.path / ".sop").rglob("*T_02*")
        for line in path.read_text().splitlines()
    ]
    (approval,) = [one for one in events if one["type"] == "approval"]
    assert (False, "no sample left", "scripted") == (
        approval["granted"],
        approval["reason"],
        approval["by"],
    )


def test_an_approval_that_was_taken_back_before_the_call_is_none(
    pytester: pytest.Pytester, asking: Path
) -> None:
    pytester.makepyfile(
        wavering="""
        from asking import agent as asks

        def agent(inputs, tools, approver):
            tools.record_approval("4", by="shift leader")
            tools.record_approval("4", by="shift leader", granted=inputs["sample_id"] != "T_02")
            return asks(inputs, tools, lambda step, summary: True)
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=wavering:agent")

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*no approval of 4 holds*"])


def test_the_ini_value_denies_every_step(pytester: pytest.Pytester, asking: Path) -> None:
    result = run(pytester, "-o", "sop_approver=deny")

    result.assert_outcomes(failed=6)
    result.stdout.fnmatch_lines(["*the agent said that it failed: approval of 4 denied by deny*"])


def test_a_fixture_of_the_project_decides(
    pytester: pytest.Pytester, asking: Path, workers: tuple[str, ...], saved: Any
) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def sop_approver():
            return lambda request: request.summary != "T_03"
        """
    )

    result = run(pytester, "-osop_approver=deny", "--sop-concurrency=4", *workers)

    result.assert_outcomes(passed=5, failed=1)
    assert "error" == saved().outcomes["T_03"]


def test_a_fixture_that_gives_no_function_says_what_it_must_give(
    pytester: pytest.Pytester, asking: Path
) -> None:
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(scope='session')\ndef sop_approver(): return True\n"
    )

    result = run(pytester, "--sop-sample=first:1")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture sop_approver gave a value of type bool*"])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param("ask", "sop_approver=ask: auto, deny or scripted:PATH expected", id="word"),
        pytest.param("scripted:", "sop_approver=scripted:: auto, deny or*", id="no-path"),
        pytest.param("scripted:no.json", "sop_approver: *no.json: cannot be read: *", id="file"),
    ],
)
def test_an_approver_that_cannot_be_is_a_usage_error(
    pytester: pytest.Pytester, asking: Path, value: str, told: str
) -> None:
    result = run(pytester, f"-osop_approver={value}")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*{told}"])


@pytest.mark.parametrize(
    ("name", "own"),
    [
        pytest.param("sop_approver", "return lambda request: False", id="approver"),
        pytest.param("sop_task", "return sop_task", id="task"),
    ],
)
def test_a_test_with_a_fixture_of_its_own_gets_no_run_that_was_made_without_it(
    pytester: pytest.Pytester, asking: Path, name: str, own: str
) -> None:
    parameter = "sop_task" if name == "sop_task" else ""
    pytester.makepyfile(
        test_a="def test_it(sop_run): pass",
        test_b=f"""
        import pytest

        @pytest.fixture
        def {name}({parameter}):
            {own}

        @pytest.mark.sop(answer="ignored")
        def test_it(sop_run): pass
        """,
    )

    result = run(pytester, "test_a.py", "test_b.py")

    assert 1 == result.ret
    result.assert_outcomes(passed=6, errors=6)
    result.stdout.fnmatch_lines(
        [f"*the run of lab/T_01 was made for a test with another fixture {name}, and all tests*"]
    )
