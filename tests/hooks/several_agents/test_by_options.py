"""`--agent` given more than once: every agent runs every task, and ids tell whose run it is."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
RIGHT, SECOND = "--agent=habits:right", "--agent=habits:loses_second"
MODES = [
    pytest.param((), id="plain"),
    pytest.param(("-n2",), id="two-workers"),
    pytest.param(("--sop-concurrency=4",), id="in-flight"),
]
FIXTURE = (
    "import pytest\nimport habits\n\n@pytest.fixture{}\ndef sop_agent({}): return habits.right\n"
)


@pytest.mark.parametrize("options", MODES)
def test_every_agent_runs_every_task(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = pytester.runpytest(LAB, RIGHT, SECOND, *options, "-q", "--tb=no")

    result.assert_outcomes(passed=11, failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAILED domains/lab/data.csv::T_02[[]loses_second] - *",
            "lab (habits:right): TSR*6 of 6, *",
            "lab (habits:loses_second): TSR*5 of 6, *",
        ]
    )


@pytest.mark.parametrize("options", MODES)
def test_a_test_of_the_project_runs_for_every_agent(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        test_one="def test_one(sop_run): sop_run.assert_correct()",
        test_two="def test_two(sop_agent, sop_task, sop_run): assert sop_agent.__name__",
    )

    result = pytester.runpytest(
        LAB, RIGHT, SECOND, *options, "-q", "--tb=no", "test_one.py", "test_two.py"
    )

    result.assert_outcomes(passed=22, failed=2)
    result.stdout.fnmatch_lines(["FAILED test_one.py::test_one[[]loses_second-lab/T_02] - *"])


def test_a_task_is_tried_by_all_agents_before_the_next_one(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, RIGHT, SECOND, "--collect-only", "-q", "--sop-trials=2")

    ids = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert ids[:3] == ["T_01[right]", "T_01[loses_second]", "T_02[right]"]
    assert ids[12:14] == ["T_01/t2[right]", "T_01/t2[loses_second]"]


def test_one_agent_has_the_ids_that_it_always_had(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, "--agent=mine=habits:right", "--collect-only", "-q")

    result.stdout.fnmatch_lines(["domains/lab/data.csv::T_01", "domains/lab/data.csv::T_02"])


@pytest.mark.parametrize(
    ("chosen", "runs"),
    [
        pytest.param(("lab::T_02[loses_second]",), 1, id="one-run"),
        pytest.param(("domains/lab/data.csv::T_02[right]",), 1, id="one-run-by-its-path"),
        pytest.param(("lab::T_02",), 2, id="a-task-by-all"),
        pytest.param((LAB, "-k", "loses_second"), 6, id="one-agent"),
        pytest.param((LAB, "-k", "[right]"), 6, id="one-agent-by-its-brackets"),
        pytest.param((LAB, "--sop-sample=first:2"), 4, id="the-first-tasks"),
        pytest.param((LAB, "--sop-sample=2"), 4, id="a-sample"),
    ],
)
def test_runs_are_chosen_by_id_by_word_and_by_task(
    pytester: pytest.Pytester, chosen: tuple[str, ...], runs: int
) -> None:
    result = pytester.runpytest(RIGHT, SECOND, *chosen, "--collect-only", "-q")

    assert runs == sum("data.csv::" in line for line in result.outlines)


def test_a_name_with_signs_of_its_own_is_selected_as_it_is_printed(
    pytester: pytest.Pytester,
) -> None:
    agents = ("--agent=größe 7/x=habits:right", SECOND)
    listed = pytester.runpytest(LAB, *agents, "--collect-only", "-q")
    nodeid = next(line for line in listed.outlines if "T_03" in line)

    result = pytester.runpytest(*agents, nodeid)

    assert "%20" in nodeid
    result.assert_outcomes(passed=1)


def test_shards_have_all_agents_of_a_task(pytester: pytest.Pytester) -> None:
    of_shards: list[set[tuple[str, str]]] = []
    for shard in ("1/2", "2/2"):
        result = pytester.runpytest(
            LAB, RIGHT, SECOND, f"--sop-shard={shard}", "--collect-only", "-q"
        )
        lines = [line.partition("::")[2] for line in result.outlines if "data.csv::" in line]
        of_shards.append({(line.partition("[")[0], line.partition("[")[2]) for line in lines})

    for runs in of_shards:
        tasks = {task for task, _ in runs}
        assert runs == {(task, f"{one}]") for task in tasks for one in ("right", "loses_second")}
    assert 12 == len(of_shards[0] | of_shards[1])


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        pytest.param(["habits:right"] * 2, "*=habits:right: the same agent twice*", id="twice"),
        pytest.param(
            ["a=habits:right", "habits:right"], "*the same agent twice*", id="twice-with-a-name"
        ),
        pytest.param(
            ["a=habits:right", "a=habits:empty"], "*another agent*is called a*", id="one-name"
        ),
        pytest.param(["habits:right", ""], "*no agent is named*", id="an-empty-one"),
        pytest.param(["a[1]=habits:right", "x"], "*write NAME=SPEC*", id="brackets-in-a-name"),
        pytest.param(["=habits:right", "x"], "*write NAME=SPEC*", id="no-name"),
        pytest.param(["a=", "habits:right"], "*no agent is named*", id="no-spec"),
        pytest.param(["habits:right", "nowhere:x"], "*no module 'nowhere'*", id="not-importable"),
    ],
)
def test_agents_that_cannot_be_told_apart_or_used_end_the_session_first(
    pytester: pytest.Pytester, agents: list[str], message: str
) -> None:
    result = pytester.runpytest(LAB, *(f"--agent={one}" for one in agents))

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["plain", "two-workers"])
@pytest.mark.parametrize(
    "fixture",
    [
        pytest.param(FIXTURE.format("", ""), id="of-one-agent"),
        pytest.param(FIXTURE.format("(params=[1, 2])", "request"), id="with-parameters"),
    ],
)
def test_several_agents_and_a_fixture_that_gives_others_are_refused(
    pytester: pytest.Pytester, fixture: str, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(fixture)

    result = pytester.runpytest(LAB, RIGHT, SECOND, *workers)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*habits:right and habits:loses_second, and the fixture*"])


def test_what_is_typed_replaces_the_agents_of_the_configuration(
    pytester: pytest.Pytester, saved: Callable[..., Any]
) -> None:
    pytester.makeini(
        "[pytest]\nsop_agent = habits:empty habits:silent\naddopts = --agent=habits:wrong"
    )

    pytester.runpytest(LAB, RIGHT, SECOND)

    assert "habits:right, habits:loses_second" == saved().header["agent"]


def test_the_configuration_may_name_several(
    pytester: pytest.Pytester, saved: Callable[..., Any]
) -> None:
    pytester.makepyprojecttoml(
        '[tool.pytest]\nsop_agent = ["habits:right", "slow one=habits:loses_second"]'
    )

    result = pytester.runpytest(LAB, "--tb=no")

    result.assert_outcomes(passed=11, failed=1)
    specs = {"habits:right": "habits:right", "slow one": "habits:loses_second"}
    assert specs == saved().header["options"]["agents"]


def test_a_failure_is_run_again_by_the_line_it_prints(pytester: pytest.Pytester) -> None:
    agents = ("--agent=habits:right", "--agent=my desk=habits:loses_second")
    first = pytester.runpytest(LAB, *agents)
    line = next(line for line in first.outlines if line.startswith("again"))

    assert "pytest --sop-domain=lab::T_02 '--sop-agent=my desk=habits:loses_second'" in line


def test_only_failures_of_the_agent_that_failed_run_again(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, RIGHT, SECOND)

    result = pytester.runpytest(LAB, RIGHT, SECOND, "--lf")

    result.assert_outcomes(failed=1)


def test_a_mark_names_the_one_agent_of_a_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.sop(agent="habits:right")
        def test_marked(sop_run): sop_run.assert_correct()

        def test_both(sop_run): pass
        """
    )

    result = pytester.runpytest(
        LAB, RIGHT, SECOND, "--tb=no", "test_a_mark_names_the_one_agent_of_a_test.py"
    )

    result.assert_outcomes(passed=17, failed=1)


@pytest.mark.parametrize(
    ("conftest", "test", "message"),
    [
        pytest.param(
            "",
            "@pytest.mark.sop(agent=['habits:right', 'habits:empty'])\ndef test_it(sop_run): pass",
            "*one agent expected, as text*",
            id="a-mark",
        ),
        pytest.param(
            "import pytest, habits\n\n@pytest.fixture\ndef sop_agent(): return [habits.right]\n",
            "def test_it(sop_run): pass",
            "*it gives several at once*",
            id="a-fixture",
        ),
    ],
)
def test_a_list_where_one_agent_belongs_is_refused_with_the_way_to_give_several(
    pytester: pytest.Pytester, conftest: str, test: str, message: str
) -> None:
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_it=f"import pytest\n\n{test}\n")

    result = pytester.runpytest(LAB, "test_it.py")

    assert pytest.ExitCode.OK != result.ret
    told = [*result.outlines, *result.errlines]
    assert any(fnmatch(line, message) for line in told)
    assert any("params=[...]" in line for line in told)
