"""Ini values in every file and form in which a project may write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("lab")

NINE = tuple(int(part) for part in pytest.__version__.split(".")[:1]) >= (9,)
native = pytest.mark.skipif(not NINE, reason="native TOML tables came with pytest 9")

RUN = "def test_run(sop_run): sop_run.assert_correct()"

FORMS = [
    pytest.param(
        "pytest.ini",
        "[pytest]\nsop_domain = lab clinic\nsop_agent = habits:right\nsop_max_calls = 7\n"
        "sop_fail_under = 0.5\nsop_paths = domains\n",
        id="pytest.ini",
    ),
    pytest.param(
        "tox.ini",
        "[pytest]\nsop_domain =\n    lab\n    clinic\nsop_agent = habits:right\n"
        "sop_max_calls = 7\nsop_fail_under = 50%\n",
        id="tox.ini, over several lines",
    ),
    pytest.param(
        "setup.cfg",
        "[tool:pytest]\nsop_domain = lab clinic\nsop_agent = habits:right\nsop_max_calls = 7\n"
        "sop_fail_under = 0.5\n",
        id="setup.cfg",
    ),
    pytest.param(
        "pyproject.toml",
        '[tool.pytest.ini_options]\nsop_domain = "lab clinic"\nsop_agent = "habits:right"\n'
        'sop_max_calls = "7"\nsop_fail_under = "0.5"\n',
        id="ini_options, as text",
    ),
    pytest.param(
        "pyproject.toml",
        '[tool.pytest.ini_options]\nsop_domain = ["lab", "clinic"]\nsop_agent = "habits:right"\n'
        "sop_max_calls = 7\nsop_fail_under = 0.5\n",
        id="ini_options, as numbers and lists",
    ),
    pytest.param(
        "pyproject.toml",
        '[tool.pytest]\nsop_domain = ["lab", "clinic"]\nsop_agent = ["habits:right"]\n'
        "sop_max_calls = 7\nsop_fail_under = 0.5\n",
        id="the native table",
        marks=native,
    ),
    pytest.param(
        "pyproject.toml",
        '[tool.pytest]\nsop_domain = ["lab", "clinic"]\nsop_agent = "habits:right"\n'
        'sop_max_calls = "7"\nsop_fail_under = "0.5"\n',
        id="the native table, as text",
        marks=native,
    ),
    pytest.param(
        "pytest.toml",
        '[pytest]\nsop_domain = ["lab", "clinic"]\nsop_agent = "habits:right"\n'
        "sop_max_calls = 7\nsop_fail_under = 0.5\n",
        id="pytest.toml",
        marks=native,
    ),
]


@pytest.mark.parametrize(("name", "text"), FORMS)
def test_every_form_is_read(
    pytester: pytest.Pytester,
    make_domain: Callable[..., Path],
    saved: Callable[[], Any],
    name: str,
    text: str,
) -> None:
    make_domain("clinic", tasks=3)
    (pytester.path / name).write_text(text)
    pytester.makepyfile(test_lab=RUN)

    result = pytester.runpytest()

    result.assert_outcomes(passed=9)
    assert 7 == saved().header["options"]["max_calls"]
    result.stdout.fnmatch_lines(["gate   lab: TSR >= 50% holds*"])


def test_an_override_of_the_command_line_is_read(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_agent = habits:silent")

    result = pytester.runpytest("--sop-domain=lab", "-o", "sop_agent=habits:right")

    result.assert_outcomes(passed=6)


def test_the_option_comes_before_the_ini_value(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_domain = nowhere\nsop_agent = habits:silent")

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right")

    result.assert_outcomes(passed=6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("sop_agent = a:b a:b", "*sop_agent=a:b: the same agent twice*", id="twice"),
        pytest.param("sop_max_calls = 0", "*sop_max_calls=0: a whole number*", id="no calls"),
        pytest.param("sop_max_calls = many", "*sop_max_calls=many*", id="a word for a number"),
        pytest.param("sop_fail_under = 2", "*sop_fail_under=2: a rate from 0 to 1*", id="a rate"),
        pytest.param("sop_scoring = lenient", "*sop_scoring=lenient: *", id="unknown scoring"),
    ],
)
def test_a_bad_value_is_a_usage_error(pytester: pytest.Pytester, line: str, message: str) -> None:
    pytester.makeini(f"[pytest]\n{line}")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent-arg=x=1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("pytest.ini", "[pytest]\nsop_gate = field:it's=0.9\n", id="pytest.ini"),
        pytest.param(
            "pyproject.toml",
            '[tool.pytest.ini_options]\nsop_gate = "field:it\'s=0.9"\n',
            id="ini_options",
        ),
    ],
)
def test_a_quote_that_stands_alone_costs_no_session_its_gate(
    pytester: pytest.Pytester, name: str, text: str
) -> None:
    (pytester.path / name).write_text(text)

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: *{name}: sop_gate: no closing quotation", "write a *"])


@native
def test_an_empty_pattern_of_a_native_table_is_a_usage_error(pytester: pytest.Pytester) -> None:
    (pytester.path / "pyproject.toml").write_text("[tool.pytest]\nsop_redact = ['']\n")

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: sop_redact=: it matches nothing at all*"])


def test_a_limit_of_calls_ends_a_run(pytester: pytest.Pytester, saved: Callable[[], Any]) -> None:
    pytester.makeini("[pytest]\nsop_max_calls = 2")
    pytester.makepyfile(
        busy="""
        def agent(inputs, tools):
            for _ in range(9):
                tools.execute_tool("measure", {"sample_id": inputs["sample_id"]})
            return {"grade": "pass"}
        """
    )

    pytester.runpytest("--sop-domain=lab", "--agent=busy:agent")

    assert {"call_limit"} == set(saved().outcomes.values())


def test_domains_are_searched_where_the_project_says(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3, under="here/procedures")
    pytester.makeini("[pytest]\nsop_paths = here/procedures")

    result = pytester.runpytest("--sop-domain=clinic", "--agent=habits:right")

    result.assert_outcomes(passed=3)


def test_exceptions_of_the_projects_provider_mean_unavailable(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makeini("[pytest]\nsop_unavailable_exceptions = busy.Busy")
    pytester.makepyfile(
        busy="""
        class Busy(Exception): pass
        def agent(inputs): raise Busy(inputs["sample_id"])
        """
    )

    pytester.runpytest("--sop-domain=lab", "--agent=busy:agent")

    assert {"unavailable"} == set(saved().outcomes.values())
