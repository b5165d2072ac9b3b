"""No conftest ends a session as passed whose gate stands in the configuration alone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("lab")

GATED = """
[pytest]
sop_domain = lab
sop_agent = habits:wrong
sop_fail_under = 0.9
"""
EXITS = {
    "sys.exit": "import sys\nsys.exit(0)",
    "os._exit": "import os\nos._exit(0)",
    "pytest.exit": "pytest.exit('enough', returncode=0)",
}


def conftest(*, end: str, hook: str = "") -> str:
    """A conftest that ends pytest when it is imported, or first of all in a hook."""
    if not hook:
        return f"import pytest\n{EXITS[end]}"
    body = EXITS[end].replace("\n", "\n    ")
    return f"import pytest\n@pytest.hookimpl(tryfirst=True)\ndef {hook}():\n    {body}"


@pytest.mark.parametrize(
    ("end", "hook", "status", "told"),
    [
        pytest.param("sys.exit", "", 4, "*ended pytest with sys.exit(0)*", id="sys.exit"),
        pytest.param("os._exit", "", 1, "sop: something ended*os._exit(0)*", id="os._exit"),
        pytest.param(
            "pytest.exit",
            "pytest_configure",
            1,
            "sop: *before it was over, so the status is 1*",
            id="pytest.exit in a hook",
        ),
        pytest.param(
            "os._exit",
            "pytest_configure",
            1,
            "sop: something ended*os._exit(0)*",
            id="os._exit in a hook",
        ),
        pytest.param(
            "os._exit",
            "pytest_collection",
            1,
            "sop: something ended*os._exit(0)*",
            id="os._exit before a test asks for a run",
        ),
    ],
)
def test_a_conftest_cannot_end_a_session_with_success(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
    hook: str,
    status: int,
    told: str,
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makefile(".ini", pytest=GATED)
    pytester.makepyfile("def test(sop_run): sop_run.assert_correct()")
    pytester.makeconftest(conftest(end=end, hook=hook))

    result = pytester.runpytest_subprocess()

    assert status == result.ret
    result.stderr.fnmatch_lines([told])


@pytest.mark.parametrize("end", ["sys.exit", "os._exit"])
def test_a_project_without_sop_tests_ends_as_it_likes(pytester: pytest.Pytester, end: str) -> None:
    pytester.makepyfile("def test(): pass")
    pytester.makeconftest(conftest(end=end))

    result = pytester.runpytest_subprocess()

    assert 0 == result.ret


def test_pytest_may_be_ended_where_nobody_relies_on_the_gate(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a developer's machine, as a session that is cut short later."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makefile(".ini", pytest=GATED)
    pytester.makeconftest(conftest(end="pytest.exit", hook="pytest_configure"))

    result = pytester.runpytest_subprocess()

    assert 0 == result.ret


def test_the_status_of_a_session_without_sop_tests_stays(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makefile(".ini", pytest=GATED)
    pytester.makepyfile("def test(): pass")
    pytester.makeconftest(
        "import os\ndef pytest_unconfigure(): print('over', flush=True); os._exit(0)"
    )

    result = pytester.runpytest_subprocess()

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["*over*"])


def test_an_agent_that_takes_ci_out_of_the_environment_loosens_no_gate(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makefile(".ini", pytest=f"{GATED}\npythonpath = .")
    pytester.makepyfile(
        forgetful="""
        import os

        def agent(inputs, tools):
            os.environ.pop("CI", None)
            return {"grade": "pass"}
        """
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--sop-agent=forgetful:agent", "-k", "T_03"
    )

    assert 1 == result.ret
    result.stdout.fnmatch_lines(
        ["gate   not evaluated: -k took 5 of 6 selected tasks away, which fails the"]
    )
