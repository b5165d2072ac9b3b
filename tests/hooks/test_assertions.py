"""The assertions on a run's calls, in a user's own tests, and what their failures print."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

AGENT = """
from pytest_sopbench import ToolError

KEY = "sk-" + "12345"


def agent(inputs, tools):
    me = inputs["sample_id"]
    try:
        tools.call("measure", sample_id="S_00")
    except ToolError:
        pass
    reading = tools.call("measure", sample_id=me, key=KEY)["reading"]
    tools.record_approval("filing", by="Jo")
    tools.execute_tool("archive", {"sample_id": me})
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}
"""


@pytest.fixture
def fails(lab: Path, pytester: pytest.Pytester) -> pytest.Pytester:
    add_tool(lab, "archive", {"key": ["reading"], "returns": ["sample_id"]}, "reading")
    add_tool(lab, "wire", {"result": {}})
    pytester.makepyfile(desk=AGENT)
    return pytester


def add_tool(lab: Path, name: str, served: dict[str, object], *parameters: str) -> None:
    specs, metadata = lab / "toolspecs.json", lab / "metadata.json"
    spec = {"name": name, "parameters": {"properties": {key: {} for key in parameters}}}
    specs.write_text(json.dumps([*json.loads(specs.read_text()), spec]))
    content = json.loads(metadata.read_text())
    content["tools"][name] = served
    metadata.write_text(json.dumps(content))


def outcome_of(pytester: pytest.Pytester, body: str, *more: str) -> pytest.RunResult:
    return outcome_of_each(pytester, [body], *more)


def outcome_of_each(
    pytester: pytest.Pytester, bodies: Iterable[str], *more: str
) -> pytest.RunResult:
    """Run a test of each of these bodies on the first task."""
    tests = (f"def test_{at}(sop_run):\n    {body}" for at, body in enumerate(bodies))
    pytester.makepyfile(test_lab="\n".join(["import pytest", "", *tests]))
    return pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=desk:agent", "--sop-sample=first:1", "test_lab.py", *more
    )


def failure_of(result: pytest.RunResult) -> list[str]:
    """The lines between the line at fault and the end of the failure."""
    start = next(n for n, line in enumerate(result.outlines) if line.startswith("E  "))
    return [line[4:] for line in result.outlines[start:] if line.startswith("E  ")]


HOLDS = """\
called("measure")
called("measure", times=2)
called("measure", times=1, succeeded=True)
called("measure", times=1, succeeded=False)
called("measure", arguments={"sample_id": "T_01"})
called("measure", before="archive", times=2)
called("measure", before=["archive"], arguments={"sample_id": "T_01"})
called("archive", after="measure")
called("wire", times=0)
not_called("wire")
trajectory(["measure", "measure", "archive"])
trajectory([("archive", {"sample_id": "T_01"})], match="superset")
trajectory([("measure", {"sample_id": "T_01"}), "archive"], match="in_order", arguments="contains")
trajectory(["archive", ("measure", {}), "measure"], match="any_order", \
per_tool={"measure": "ignore"})
""".splitlines()


def test_an_assertion_that_holds_says_nothing(fails: pytest.Pytester) -> None:
    bodies = (f"sop_run.assert_{one}" for one in HOLDS)

    outcome_of_each(fails, bodies).assert_outcomes(passed=14)


def test_a_trajectory_is_a_value_of_its_own(fails: pytest.Pytester) -> None:
    body = 'assert sop_run.trajectory.names == ("measure", "measure", "archive")'

    outcome_of(fails, body).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param(
            'sop_run.assert_called("wire")',
            ["wire must be called", "wire was never called"],
            id="never called",
        ),
        pytest.param(
            'sop_run.assert_called("archive", before="measure")',
            [
                "archive must be called before measure",
                "step 1, measure: called before archive had succeeded",
            ],
            id="too late",
        ),
        pytest.param(
            'sop_run.assert_called("measure", after="archive")',
            [
                "measure must be called after archive",
                "step 1, measure: called before archive had succeeded",
            ],
            id="too early",
        ),
        pytest.param(
            'sop_run.assert_called("measure", before="wire")',
            ["measure must be called before wire", "wire was never called"],
            id="the later one was never called",
        ),
        pytest.param(
            'sop_run.assert_called("measure", times=1)',
            ["measure must be called once", "2 calls fit, at step 1, 2"],
            id="too often",
        ),
        pytest.param(
            'sop_run.assert_called("measure", arguments={"sample_id": "T_02"})',
            ["measure must be called", "step 2, measure: sample_id different"],
            id="another argument",
        ),
        pytest.param(
            'sop_run.assert_called("archive", succeeded=True)',
            [
                "archive must be called with success",
                "step 3, archive: the call failed: *",
            ],
            id="in vain",
        ),
        pytest.param(
            'sop_run.assert_not_called("archive")',
            ["archive must not be called", "step 3, archive: it was called"],
            id="called",
        ),
        pytest.param(
            'sop_run.assert_trajectory(["measure", "archive"])',
            [
                "match exact, arguments exact: step 2: archive was*",
                "expected, measure was called",
                "*expected*actual",
                "*1 measure *measure(sample_id=*",
                ">*2 *",
            ],
            id="a departure",
        ),
        pytest.param(
            "sop_run.assert_contract()",
            ["the domain lab has no contract", "write one under 'contract' in its metadata"],
            id="no contract",
        ),
    ],
)
def test_a_failure_says_what_was_asked_and_what_was_done(
    fails: pytest.Pytester, body: str, lines: list[str]
) -> None:
    result = outcome_of(fails, body)

    result.assert_outcomes(failed=1)
    said = failure_of(result)
    pytest.LineMatcher(said).fnmatch_lines([f"*{line}" for line in lines], consecutive=False)
    assert len(said) <= 15
    assert [] == [line for line in result.outlines if line.startswith("E ") and len(line) > 80]


def test_a_failure_has_no_frame_of_ours(fails: pytest.Pytester) -> None:
    result = outcome_of(fails, 'sop_run.assert_called("wire")')

    result.stdout.no_fnmatch_line("*pytest_sopbench*.py:*")
    result.stdout.fnmatch_lines(["test_lab.py:4: AssertionError"])


def test_a_secret_is_taken_out_of_a_failure(fails: pytest.Pytester) -> None:
    result = outcome_of(fails, 'sop_run.assert_called("wire")', "-o", "sop_redact=sk-[0-9]+")

    result.stdout.fnmatch_lines(['*key="[*][*][*]"*'])
    result.stdout.no_fnmatch_line("*sk-12345*")


def test_a_run_with_many_calls_shows_those_around_the_one_that_matters(
    fails: pytest.Pytester,
) -> None:
    fails.makepyfile(
        desk="""
        def agent(inputs, tools):
            for number in range(40):
                tools.execute_tool("archive" if number == 20 else "measure", inputs)
            return {"grade": "retest"}
        """
    )

    said = failure_of(outcome_of(fails, 'sop_run.assert_not_called("archive")'))

    assert len(said) <= 15
    pytest.LineMatcher(said).fnmatch_lines(["*... 16 before", "*> 21 archive(*", "*... 15 more"])


def test_a_broken_rule_is_named_with_the_calls(lab: Path, fails: pytest.Pytester) -> None:
    path = lab / "metadata.json"
    rules = [{"id": f"rule-{name}", "clause": "1", "forbids": [name]} for name in ("measure",)] + [
        {"id": "once", "severity": "must", "at_most": {"measure": 1}}
    ]
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": {"rules": rules}}))

    said = failure_of(outcome_of(fails, "sop_run.assert_contract()"))

    pytest.LineMatcher(said).fnmatch_lines(
        [
            "*a rule is broken",
            "*rule-measure (clause 1, should) broken: step 1, measure: the call is ...",
            "*1 measure(sample_id=*error: *",
        ]
    )


@pytest.mark.parametrize(
    ("body", "passed"),
    [
        pytest.param('return {"grade": "retest"}', 1, id="ended by itself"),
        pytest.param('raise RuntimeError("no model")', 0, id="stopped"),
    ],
)
def test_zero_calls_break_no_rule_and_hold_nothing_where_the_run_was_stopped(
    lab: Path, fails: pytest.Pytester, body: str, passed: int
) -> None:
    fails.makepyfile(desk=f"def agent(inputs): {body}")
    path = lab / "metadata.json"
    contract = {"rules": [{"id": "once", "at_most": {"measure": 1}}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": contract}))

    result = outcome_of(fails, "sop_run.assert_contract()")

    result.assert_outcomes(passed=passed, failed=1 - passed)
    if not passed:
        result.stdout.fnmatch_lines(["*the run was stopped before it called a tool"])


HALLUCINATING = """
def agent(inputs, tools):
    tools.execute_tool("delete_booking", {})
    return {"grade": "retest"}
"""


NO_TOOL = (
    'sop_run.assert_not_called("delete_booking")',
    'sop_run.assert_called("delete_booking")',
    'sop_run.assert_called("delete_booking", times=0)',
    'sop_run.assert_called("measure", before="delete_booking")',
    'sop_run.assert_called("measure", after=["archive", "delete_booking"])',
    'sop_run.assert_trajectory([], match="subset", per_tool={"delete_booking": "exact"})',
)


@pytest.mark.parametrize("agent", [AGENT, HALLUCINATING], ids=["right", "hallucinating"])
def test_a_name_that_is_no_tool_is_an_error_of_the_test(fails: pytest.Pytester, agent: str) -> None:
    """It would hold on every run, or on none, and show nothing of the agent."""
    fails.makepyfile(desk=agent)

    result = outcome_of_each(fails, NO_TOOL)

    result.assert_outcomes(failed=len(NO_TOOL))
    told = [
        "*ValueError: the test is wrong, *the domain lab has no tool 'delete_booking'",
        "*its tools are measure, archive, wire",
        "*tool accuracy*sop_run.trace.calls",
    ]
    pytest.LineMatcher(failure_of(result)).fnmatch_lines(told * len(NO_TOOL), consecutive=True)
    result.stdout.no_fnmatch_line("*pytest_sopbench*.py:*")


@pytest.mark.usefixtures("fails")
def test_a_slip_in_the_name_of_a_tool_is_told_with_what_it_resembles(
    pytester: pytest.Pytester,
) -> None:
    said = failure_of(outcome_of(pytester, 'sop_run.assert_not_called("mesure")'))

    pytest.LineMatcher(said).fnmatch_lines(
        ["*has no tool 'mesure'", "*its tools are measure, archive, wire; did you mean 'measure'?"]
    )


@pytest.mark.usefixtures("fails")
def test_a_slip_in_the_name_of_an_argument_is_told(pytester: pytest.Pytester) -> None:
    call = 'sop_run.assert_called("measure", arguments={"sample_ids": "S-1"}, times=0)'

    said = failure_of(outcome_of(pytester, call))

    pytest.LineMatcher(said).fnmatch_lines(
        [
            "*ValueError: the test is wrong, *measure has no parameter 'sample_ids'",
            "*its parameters are *; did you mean 'sample_id'?",
        ]
    )


@pytest.mark.parametrize(
    "more",
    [{"allOf": [{"properties": {"unit": {"type": "string"}}}]}, {"additionalProperties": True}],
)
@pytest.mark.usefixtures("fails")
def test_an_argument_that_a_call_may_have_can_be_asked_for(
    pytester: pytest.Pytester, lab: Path, more: dict[str, Any]
) -> None:
    specs = json.loads((lab / "toolspecs.json").read_text())
    next(one for one in specs if one["name"] == "measure")["parameters"] |= more
    (lab / "toolspecs.json").write_text(json.dumps(specs))
    call = 'sop_run.assert_called("measure", arguments={"unit": "mg"}, times=0)'

    assert "has no parameter" not in outcome_of(pytester, call).stdout.str()


def test_a_domain_without_tools_has_none_that_could_be_called(
    lab: Path, pytester: pytest.Pytester
) -> None:
    (lab / "toolspecs.json").unlink()
    metadata = json.loads((lab / "metadata.json").read_text())
    (lab / "metadata.json").write_text(json.dumps({**metadata, "tools": {}}))
    pytester.makepyfile(desk='def agent(inputs): return {"grade": "retest"}')

    said = failure_of(outcome_of(pytester, 'sop_run.assert_not_called("measure")'))

    pytest.LineMatcher(said).fnmatch_lines(["*has no tool 'measure'", "*it has no tools"])
