"""Agents of every supported form, from the command line to the summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.protocols import AgentContext
from pytest_sopbench._hooks import code as agents
from pytest_sopbench._running.agents.spec import SOURCES
from pytest_sopbench.errors import AgentSpecError

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"

FORMS = """
import functools
from habits import right, right_later


class Counting:
    def __init__(self):
        self.runs = 0

    def execute(self, sop, task, tools):
        self.runs += 1
        assert self.runs == 1, "one instance served two runs"
        assert sop.startswith("Measure the sample")
        return right(task, tools)


class Callable:
    def __call__(self, inputs, tools):
        return right(inputs, tools)


class Runner:
    async def run(self, inputs, tools):
        return await right_later(inputs, tools)


class Both:
    def run(self, inputs):
        raise AssertionError("execute comes first")

    def execute(self, sop, task, tools):
        return right(task, tools)


called = Callable()
runner = Runner()
part = functools.partial(lambda extra, inputs, tools: right(inputs, tools), "extra")


def everything(sop, inputs, task, tools, task_id, domain, output_fields, limit=3, **rest):
    assert inputs == task and inputs["sample_id"] == task_id
    assert domain == "lab" and limit == 3 and rest == {}
    assert output_fields == {"grade": ["pass", "retest", "fail"]}
    inputs["sample_id"] = "rewritten"
    return right({"sample_id": task_id}, tools)


class Nested:
    class Deep:
        @staticmethod
        def agent(inputs, tools):
            return right(inputs, tools)
"""


AGENTS = {
    "function": "habits:right",
    "async-function": "habits:right_later",
    "class-made-once-per-run": "forms:Counting",
    "class-with-call": "forms:Callable",
    "instance-with-call": "forms:called",
    "instance-with-async-run": "forms:runner",
    "execute-comes-before-run": "forms:Both",
    "partial": "forms:part",
    "asks-for-everything": "forms:everything",
    "attribute-of-an-attribute": "forms:Nested.Deep.agent",
}


def test_an_agent_of_each_form_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(forms=FORMS)

    result = pytester.runpytest(LAB, *(f"--agent={name}={spec}" for name, spec in AGENTS.items()))

    result.assert_outcomes(passed=6 * len(AGENTS))


def test_the_other_name_of_the_option_means_the_same(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, "--sop-agent=habits:right")

    result.assert_outcomes(passed=6)


def test_an_argument_reaches_the_agent_and_the_saved_session(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makepyfile(
        sized="def agent(inputs, model, size='1'): assert (model, size) == ('m', '2')"
    )

    pytester.runpytest(
        LAB, "--agent=sized:agent", "--sop-agent-arg=model=m", "--sop-agent-arg", "size=2"
    )

    assert {"no_answer"} == set(saved().outcomes.values())
    assert {"model": "m", "size": "2"} == saved().header["agent_args"]


WORDS = "correct-horse-battery"


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="xdist")]
)
def test_an_argument_from_the_environment_is_never_recorded(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setenv("LAB_KEY", WORDS)
    pytester.makepyfile(
        keyed="def agent(inputs, key): return {'grade': 'pass' if len(key) == 21 else 'fail'}"
    )

    result = pytester.runpytest(
        LAB, "--agent=keyed:agent", "--sop-agent-arg=key=env:LAB_KEY", "-v", *workers
    )

    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(["*--sop-agent-arg=key=env:LAB_KEY*"])
    written = [path.read_bytes() for path in (pytester.path / ".sop").rglob("*") if path.is_file()]
    assert not any(WORDS.encode() in text for text in written)
    assert WORDS not in "\n".join(result.outlines)


FAULTS = [
    pytest.param("nowhere:agent", (), "*there is no module 'nowhere'*", id="no such module"),
    pytest.param("habits:rihgt", (), "*did you mean right*", id="a misspelt attribute"),
    pytest.param("habits", (), "*no agent is registered by that name*", id="no colon"),
    pytest.param("habits:", (), "*the module or the attribute is missing*", id="no attribute"),
    pytest.param(":right", (), "*the module or the attribute is missing*", id="no module"),
    pytest.param("faults:number", (), "*int object is not an agent*", id="a number"),
    pytest.param("faults:Empty", (), "*class Empty is not an agent*", id="a class without method"),
    pytest.param(
        "faults:demanding", (), "*needs the parameter 'budget', which nothing fills*", id="a demand"
    ),
    pytest.param("broken:agent", (), "*importing broken failed: ZeroDivisionError*", id="raises"),
    pytest.param("syntax:agent", (), "*importing syntax failed: SyntaxError*", id="a syntax error"),
    pytest.param("exits:agent", (), "*importing exits failed: SystemExit*", id="exits on import"),
    pytest.param("reference-policy", (), "*lab has no policy.py*", id="no reference policy"),
    pytest.param("habits:right", ("size=2",), "*no parameter of that name*", id="nobody takes it"),
    pytest.param("habits:right", ("size",), "*write KEY=VALUE*", id="no value"),
    pytest.param("habits:right", ("=2",), "*write KEY=VALUE*", id="no key"),
    pytest.param("habits:right", ("a b=2",), "*write KEY=VALUE*", id="a key with a space"),
    pytest.param("faults:sized", ("size=1", "size=2"), "*given twice*", id="given twice"),
    pytest.param("habits:right", ("tools=2",), "*fills this parameter itself*", id="ours to fill"),
    pytest.param("faults:sized", ("size=env:NO_SUCH",), "*no variable 'NO_SUCH'*", id="not set"),
]


@pytest.mark.parametrize(("spec", "arguments", "message"), FAULTS)
def test_a_fault_is_a_usage_error_without_a_traceback(
    pytester: pytest.Pytester, spec: str, arguments: tuple[str, ...], message: str
) -> None:
    pytester.makepyfile(
        faults="""
        number = 42
        class Empty: pass
        def demanding(inputs, budget): pass
        def sized(inputs, size): pass
        """,
        broken="1 / 0",
        syntax="def agent(:",
        exits="raise SystemExit(0)",
    )

    result = pytester.runpytest(
        LAB, f"--agent={spec}", *[f"--sop-agent-arg={one}" for one in arguments]
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])
    result.stderr.no_fnmatch_line("*Traceback*")
    result.stderr.no_fnmatch_line("*pytest_sopbench/_*")


def test_five_first_runs_that_end_alike_stop_the_session(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], saved: Callable[[], Any]
) -> None:
    make_domain("ward", tasks=30)
    pytester.makepyfile(down="def agent(inputs): raise RuntimeError('no key')")

    result = pytester.runpytest("--sop-domain=ward", "--agent=down:agent")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "*first 5 runs ended in the same error; 5 runs were started, and no more is",
            "RuntimeError: no key",
        ]
    )
    assert {"error": 5, "not_run": 25} == saved().summary["domains"]["ward"]["outcomes"]


def test_collecting_alone_imports_no_agent(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, "--agent=nowhere:agent", "--collect-only", "-q")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["6 tests collected*"])


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="one-at-a-time"),
        pytest.param(("--sop-concurrency=16",), id="in-flight"),
    ],
)
def test_a_rate_limit_stops_after_five_runs_and_names_what_helps(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], options: tuple[str, ...]
) -> None:
    make_domain("ward", tasks=30)
    pytester.makepyfile(
        limited="""
        import pytest_sopbench

        def agent(inputs):
            with open("started.txt", "a") as file:
                file.write("started\\n")
            raise pytest_sopbench.Unavailable("429 too many requests")
        """
    )

    result = pytester.runpytest("--sop-domain=ward", "--agent=limited:agent", *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "*first 5 runs*; 5 runs were started*",
            "*429 too many*",
            "*rate limit*",
            "*--sop-retries*",
        ]
    )
    assert 5 == len((pytester.path / "started.txt").read_text().splitlines())


def test_more_runs_are_begun_once_one_has_ended_otherwise(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("ward", tasks=30)
    pytester.makepyfile(
        mixed="""
        from habits import right

        def agent(inputs, tools):
            if inputs["sample_id"] != "T_03":
                raise RuntimeError("no key")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest(
        "--sop-domain=ward", "--agent=mixed:agent", "--sop-concurrency=16", "--tb=no"
    )

    result.assert_outcomes(passed=1, failed=29)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        pytest.param(("-m", "not sop"), 0, id="by-marker"),
        pytest.param(("-m", "not sop", "-n2"), 0, id="by-marker-with-workers"),
        pytest.param(("-k", "adds"), 0, id="by-name"),
        pytest.param(("--fixtures",), 0, id="fixtures"),
        pytest.param(("--collect-only",), 0, id="collecting"),
        pytest.param(("--setup-plan",), 0, id="planning"),
    ],
)
@pytest.mark.parametrize("agent", [(), ("-osop_agent=nowhere:agent",)], ids=["none", "a-wrong-one"])
def test_a_session_without_a_run_needs_no_agent_and_no_code_of_a_domain(
    pytester: pytest.Pytester, agent: tuple[str, ...], options: tuple[str, ...], status: int
) -> None:
    Path("domains/lab/tools.py").write_text("raise SystemError('imported')")
    pytester.makepyfile(
        test_mine="""
        def test_adds(): assert 3 == 1 + 2
        def test_run(sop_run): pass
        def test_tools(sop_tools): pass
        """
    )

    result = pytester.runpytest("-osop_domain=lab", *agent, *options, "test_mine.py")

    assert status == result.ret
    result.stdout.no_fnmatch_line("*SystemError*")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="plain"),
        pytest.param(("-n2",), id="workers"),
        pytest.param(("-n2", "-k", "T_01"), id="workers-and-a-name"),
        pytest.param(("--sop-concurrency=4",), id="in-flight"),
        pytest.param(("--sop-resume=before,anyway",), id="nothing-left-to-run"),
    ],
)
def test_a_wrong_agent_is_told_before_the_first_run(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(mine="def agent(inputs): return 'pass'")
    pytester.runpytest(LAB, "--agent=mine:agent", "--sop-save=before")
    pytester.makepyfile(mine="agent = 'no agent any more'")
    pytester.makeconftest("def pytest_sop_run_finished(run): print('a run was made')")

    result = pytester.runpytest(LAB, "--agent=mine:agent", "-s", *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*agent 'mine:agent': *"])
    result.stdout.no_fnmatch_line("*a run was made*")


def test_what_an_agent_prints_is_shown_with_its_failure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(chatty="def agent(inputs): print('thinking aloud')")

    result = pytester.runpytest(LAB, "--agent=chatty:agent", "-k", "T_01")

    result.stdout.fnmatch_lines(["*thinking aloud*"])


RUDE = """
import pytest
from habits import number, right

def agent(inputs, tools):
    match number(inputs):
        case 2: raise SystemExit(3)
        case 4: raise KeyboardInterrupt
        case 6: raise GeneratorExit
        case 8: pytest.skip("lazy")
        case 10: pytest.exit("enough")
        case 12: raise pytest.UsageError("mine")
    return right(inputs, tools)
"""


def test_nothing_that_an_agent_raises_ends_the_session(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], saved: Callable[[], Any]
) -> None:
    make_domain("ward", tasks=12)
    pytester.makepyfile(rude=RUDE)

    result = pytester.runpytest("--sop-domain=ward", "--agent=rude:agent")

    result.assert_outcomes(passed=6, failed=6)
    assert ["correct", "error"] * 6 == [*saved().outcomes.values()]


class _Constant:
    """A source from outside: `always:GRADE` is an agent that says so."""

    form = "always:GRADE"

    def claims(self, spec: str) -> bool:
        return spec.startswith("always:")

    def resolve(self, spec: str, context: AgentContext) -> object:
        grade = spec.removeprefix("always:")
        if not grade:
            msg = "agent 'always:': no grade"
            raise AgentSpecError(msg, hint=context.forms)
        return lambda inputs: {"grade": grade}  # noqa: ARG005 - an agent takes what it is given


class TestASourceFromOutside:
    @pytest.fixture(autouse=True)
    def constant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(agents, "SOURCES", (_Constant(), *SOURCES))

    @pytest.mark.usefixtures("lab")
    def test_a_session_runs_its_agent(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest_inprocess("--sop-domain=lab", "--agent=always:fail")

        result.stdout.fnmatch_lines(["TSR    33.3% correct, 2 of 6*"])

    @pytest.mark.usefixtures("lab")
    def test_what_it_refuses_is_told_with_all_forms(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest_inprocess("--sop-domain=lab", "--agent=always:")

        assert pytest.ExitCode.USAGE_ERROR == result.ret
        result.stderr.fnmatch_lines(["*agent 'always:': no grade", "*always:GRADE*"])


def test_an_agent_without_a_domain_is_told(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--agent=habits:right")

    assert pytest.ExitCode.NO_TESTS_COLLECTED == result.ret
    result.stdout.fnmatch_lines(
        ["sop: --agent is given, but no domain and no test: add --sop-domain NAME, or run *"]
    )


def test_the_header_names_no_agent_where_none_is_given(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--collect-only")

    assert "sop: lab, 6 tasks" in result.outlines
