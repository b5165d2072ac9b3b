"""The plugin as pytest loads it: light, polite to others, and absent when it is told so.

Start-ups are measured in processes of their own; all else runs pytest as a user does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_sopbench._hooks.settings import lacking

AGENT = """
def right(inputs, tools):
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    return {"grade": "pass" if reading > 50 else "fail"}


class Desk:
    def run(self, inputs, tools):
        return right(inputs, tools)
"""


@pytest.fixture
def lab(pytester: pytest.Pytester) -> Path:
    """A domain with two tasks, and an agent in `mine.py`."""
    folder = pytester.path / "domains" / "lab"
    folder.mkdir(parents=True)
    (folder / "sop.md").write_text("Measure the sample, then grade it.\n")
    schema = {"type": "object", "properties": {"sample_id": {"type": "string"}}}
    tools = [{"name": "measure", "description": "Measure a sample.", "parameters": schema}]
    (folder / "toolspecs.json").write_text(json.dumps(tools))
    (folder / "metadata.json").write_text(
        json.dumps(
            {
                "name": "lab",
                "output_columns": ["grade"],
                "input_columns": ["sample_id"],
                "tools": {"measure": {"key": ["sample_id"], "returns": ["reading"]}},
            }
        )
    )
    (folder / "data.csv").write_text("sample_id,reading,grade\nT_1,90,pass\nT_2,10,fail\n")
    pytester.makepyfile(mine=AGENT)
    return folder


# ---------------------------------------------------------------------- start-up

LIGHT = (
    "",
    "._settings",
    "._settings.table",
    ".endings",
    ".hookspecs",
    ".plugin",
)
GUARD = (
    "._hooks",
    "._hooks.exit_guard",
)
"""What guards the process once the configuration tells of SOP tests; it imports pytest alone."""
LOADED = f"""
import sys
LIGHT = {LIGHT!r}
def test_modules():
    ours = sorted(name for name in sys.modules if name.startswith("pytest_sopbench"))
    assert sorted("pytest_sopbench" + name for name in LIGHT) == ours
"""
AT_EXIT = """
import atexit, pathlib, sys
def tell():
    pathlib.Path("modules.txt").write_text("\\n".join(sys.modules))
atexit.register(tell)
"""
"""A conftest that says which modules a session has imported, from its start to its end."""


def run_bare(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    """Run pytest with no plugin but those of `args`, since they would hide what ours imports."""
    return pytester.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args)


def run_alone(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return run_bare(pytester, "-p", "pytest_sopbench.plugin", *args)


def imported(pytester: pytest.Pytester) -> set[str]:
    """Return what the session before has imported, which the conftest `AT_EXIT` has told."""
    return set((pytester.path / "modules.txt").read_text().splitlines())


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the child load no plugin unasked."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # Measuring coverage imports tomllib on its own.
    monkeypatch.delenv("COVERAGE_PROCESS_START", raising=False)
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.mark.usefixtures("alone")
def test_unused_it_imports_next_to_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit=LOADED)

    result = run_alone(pytester, "test_unit.py")

    result.assert_outcomes(passed=1)


@pytest.mark.usefixtures("alone")
def test_unused_it_brings_no_module_that_bare_pytest_has_not(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(AT_EXIT)
    pytester.makepyfile(test_unit="def test_unit(): pass")
    run_bare(pytester)
    bare = imported(pytester)

    result = run_alone(pytester)

    result.assert_outcomes(passed=1)
    assert {f"pytest_sopbench{name}" for name in LIGHT} == imported(pytester) - bare


@pytest.mark.usefixtures("alone", "lab")
def test_a_configured_project_whose_unit_tests_run_imports_next_to_nothing(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = mine:right\nsop_fail_under = 0.9")
    pytester.makepyfile(test_unit=LOADED.replace(repr(LIGHT), repr((*LIGHT, *GUARD))))

    result = run_alone(pytester, "test_unit.py")

    result.assert_outcomes(passed=1)


def test_installed_and_unused_it_loads_by_its_entry_point_and_stays_light(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_unit="""
        import sys
        def test_modules():
            assert "pytest_sopbench.plugin" in sys.modules
            rooms = [name for name in sys.modules if name.startswith("pytest_sopbench._")]
            last = [name.removeprefix("pytest_sopbench._settings") for name in sorted(rooms)]
            assert ["", ".table"] == last
            assert {"pydantic", "pandas", "jsonschema_rs"}.isdisjoint(sys.modules)
        """
    )

    result = pytester.runpytest_subprocess("-p", "no:xdist")

    result.assert_outcomes(passed=1)


def test_an_unrelated_project_does_not_feel_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="def test_good(): pass\ndef test_bad(): assert False")

    result = pytester.runpytest("--strict-markers", "--strict-config")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*sop:*")
    assert not (pytester.path / ".sop").exists()


def test_an_unrelated_project_keeps_its_own_usage_errors(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="import pytest\nraise pytest.UsageError('mine')")

    result = pytester.runpytest()

    assert pytest.ExitCode.INTERRUPTED == result.ret


def test_without_the_plugin_an_unrelated_project_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="def test_good(): pass")

    result = pytester.runpytest_subprocess("-p", "no:sopbench")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*sop*")


def test_without_the_plugin_its_options_are_unknown(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("-p", "no:sopbench", "--sop-domain=lab")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*unrecognized arguments: --sop-domain=lab*"])


@pytest.mark.usefixtures("lab")
def test_without_xdist_it_works(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_lab="def test_run(sop_run): sop_run.assert_correct()")

    zero_file = pytester.runpytest("-p", "no:xdist", "--sop-domain=lab", "--agent=mine:right")
    own_tests = pytester.runpytest(
        "-p", "no:xdist", "--sop-domain=lab", "--agent=mine:right", "test_lab.py"
    )

    zero_file.assert_outcomes(passed=2)
    own_tests.assert_outcomes(passed=2)


XDIST = "pip install pytest-xdist; the extra 'xdist' brings it"
SYRUPY = "pip install syrupy; the extra 'snapshot' brings it"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-n", "2"], f"-n needs pytest-xdist, which is not installed: {XDIST}"),
        (["-n2"], f"-n needs pytest-xdist, which is not installed: {XDIST}"),
        (["--dist=load"], "--dist needs pytest-xdist, which is not installed: *"),
        (["--snapshot-update"], f"--snapshot-update needs syrupy, *: {SYRUPY}"),
    ],
    ids=["workers", "workers in one word", "distribution", "snapshots"],
)
@pytest.mark.usefixtures("lab")
def test_an_option_of_a_package_that_is_not_installed_says_how_to_install_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: list[str], why: str
) -> None:
    monkeypatch.setattr(lacking, "find_spec", lambda _: None)
    absent = ("-p", "no:xdist", "-p", "no:syrupy")

    result = pytester.runpytest_inprocess(
        *absent, "--sop-domain=lab", "--agent", "mine:right", *words
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: {why}"])


def test_an_option_of_a_package_that_is_switched_off_is_left_to_pytest(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest("-p", "no:xdist", "--sop-domain=lab", "-n", "2")

    result.stderr.fnmatch_lines(["*unrecognized arguments: -n*"])


def test_an_unrelated_project_keeps_what_pytest_says_of_such_an_option(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lacking, "find_spec", lambda _: None)

    result = pytester.runpytest_inprocess("-p", "no:xdist", "-n", "2")

    result.stderr.fnmatch_lines(["*unrecognized arguments: -n*"])


@pytest.mark.usefixtures("lab")
def test_without_the_terminal_reporter_it_works(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "-p", "no:terminal", "--sop-domain=lab", "--agent=mine:right", "--sop-fail-under=1"
    )

    assert 0 == result.ret


# ------------------------------------------------------------------------ --agent

OTHER_AGENT = """
def pytest_addoption(parser):
    parser.addoption("--agent", help="another plugin's agent")
"""


def test_the_help_shows_the_options(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")

    result.stdout.fnmatch_lines(
        ["*--sop-domain=NAME|PATH*", "*--agent=*SPEC*same as --sop-agent*", "*sop_max_calls*"]
    )


def test_the_marker_and_the_fixtures_are_listed(pytester: pytest.Pytester) -> None:
    markers = pytester.runpytest("--markers")
    fixtures = pytester.runpytest("--fixtures")

    markers.stdout.fnmatch_lines(
        ["@pytest.mark.sop(domain=None, agent=None, answer=None, trials=None)*"]
    )
    fixtures.stdout.fnmatch_lines(["sop_run -- *"])


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(("--agent=mine:right",), id="with an equals sign"),
        pytest.param(("--agent", "mine:right"), id="with a space"),
        pytest.param(("--sop-agent", "mine:right"), id="by its other name"),
    ],
)
@pytest.mark.usefixtures("lab")
def test_the_agent_is_taken(pytester: pytest.Pytester, args: tuple[str, ...]) -> None:
    result = pytester.runpytest("--sop-domain=lab", *args)

    result.assert_outcomes(passed=2)


@pytest.mark.usefixtures("lab")
def test_every_agent_given_counts(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent", "mine:Desk", "--agent=mine:right")

    result.assert_outcomes(passed=4)


@pytest.mark.usefixtures("lab")
def test_the_agent_with_a_space_does_not_hide_options_of_a_conftest(
    pytester: pytest.Pytester,
) -> None:
    """pytest looks for initial conftests in its arguments, of which the value must not be one."""
    pytester.makeini("[pytest]\ntestpaths = tests")
    tests = pytester.mkdir("tests")
    (tests / "conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--colour', default='red')\n"
    )
    (tests / "test_unit.py").write_text(
        "def test_colour(request): assert 'blue' == request.config.getoption('--colour')\n"
    )

    result = pytester.runpytest("--agent", "mine:right", "--colour=blue")

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(("--agent=smith",), id="with an equals sign"),
        pytest.param(("--agent", "smith"), id="with a space"),
    ],
)
def test_it_steps_back_where_a_conftest_has_the_option(
    pytester: pytest.Pytester, args: tuple[str, ...]
) -> None:
    pytester.makeconftest(OTHER_AGENT)
    pytester.makepyfile(
        test_unit="def test_agent(request): assert 'smith' == request.config.getoption('--agent')"
    )

    result = pytester.runpytest(*args)

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("name", ["aaa_other", "zzz_other"])
def test_it_steps_back_where_another_plugin_has_the_option(
    pytester: pytest.Pytester, name: str
) -> None:
    pytester.makepyfile(
        **{name: OTHER_AGENT},
        test_unit="def test_agent(request): assert 'smith' == request.config.getoption('--agent')",
    )
    pytester.syspathinsert()

    result = pytester.runpytest("-p", name, "--agent", "smith", "test_unit.py")

    result.assert_outcomes(passed=1)


@pytest.mark.usefixtures("lab")
def test_where_it_stepped_back_the_other_name_works(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(OTHER_AGENT)

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=mine:right", "--agent=smith")

    result.assert_outcomes(passed=2)


def test_where_it_stepped_back_the_help_shows_the_others_option(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(OTHER_AGENT)

    result = pytester.runpytest("--help")

    result.stdout.fnmatch_lines(["*--agent=AGENT*another plugin's agent*"])
    result.stdout.no_fnmatch_line("*same as --sop-agent*")


def test_a_flag_called_agent_is_left_alone(pytester: pytest.Pytester) -> None:
    """What follows a flag of another plugin is a test path, and stays one."""
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addoption('--agent', action='store_true')"
    )
    pytester.makepyfile(
        test_unit="def test_agent(request): assert request.config.getoption('--agent') is True",
        test_other="def test_fails(): assert False",
    )

    result = pytester.runpytest("--agent", "test_unit.py")

    result.assert_outcomes(passed=1)


def test_an_option_called_agent_with_values_of_its_own_is_left_alone(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addoption('--agent', choices=['chrome', 'edge'])"
    )
    pytester.makepyfile(
        test_unit="def test_agent(request): assert 'edge' == request.config.getoption('--agent')"
    )

    result = pytester.runpytest("--agent", "edge")

    result.assert_outcomes(passed=1)


@pytest.mark.skipif(
    pytest.version_tuple < (9, 0), reason="pytester put its own options behind the dashes before"
)
def test_arguments_after_two_dashes_are_paths(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="def test_good(): pass")

    result = pytester.runpytest("--sop-agent=mine:right", "--", "test_unit.py")

    result.assert_outcomes(passed=1)


def test_the_agent_without_a_value_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--agent")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--agent: expected one argument*"])


# ---------------------------------------------------------------------- hooks of others

FOLLOWER = """
def pytest_sop_run_finished(run):
    with open("followed.txt", "a") as file:
        file.write(f"{run.task} {run.outcome}\\n")

def pytest_sop_summary(summary):
    return [f"followed {one.correct} of {one.runs} in {name}" for name, one in summary.items()]
"""


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="xdist")]
)
@pytest.mark.usefixtures("lab")
def test_others_follow_the_runs_and_add_to_the_summary(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(FOLLOWER)

    result = pytester.runpytest("--sop-domain=lab", "--agent=mine:right", *workers)

    result.stdout.fnmatch_lines(["followed 2 of 2 in lab"])
    followed = (pytester.path / "followed.txt").read_text().splitlines()
    assert ["T_1 correct", "T_2 correct"] == sorted(followed)


@pytest.mark.usefixtures("lab")
def test_a_hook_that_adds_nothing_to_the_summary_is_fine(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_sop_summary(summary): return None")

    result = pytester.runpytest("--sop-domain=lab", "--agent=mine:right")

    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("added", "line"),
    [
        pytest.param("'one'", "one", id="a text"),
        pytest.param("[1]", "1", id="numbers"),
        pytest.param(
            "7", "pytest_sop_summary: a list of lines expected, got int", id="nothing of the kind"
        ),
    ],
)
@pytest.mark.usefixtures("lab")
def test_what_is_no_list_of_lines_costs_no_line_below_it(
    pytester: pytest.Pytester, added: str, line: str
) -> None:
    pytester.makeconftest(f"def pytest_sop_summary(summary): return {added}")

    result = pytester.runpytest("--sop-domain=lab", "--agent=mine:right", "--sop-save=kept")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines([line, "saved  *kept.jsonl*"])


@pytest.mark.usefixtures("lab")
def test_a_domain_in_the_configuration_wakes_only_the_controller_of_workers(
    pytester: pytest.Pytester,
) -> None:
    """Nobody asks for a task: nothing is loaded, and a broken domain is nobody's business."""
    pytester.makeini("[pytest]\nsop_domain = nowhere")
    pytester.makepyfile(test_unit="def test_good(): pass")

    plain = pytester.runpytest()
    spread = pytester.runpytest("-n2")

    plain.assert_outcomes(passed=1)
    spread.assert_outcomes(passed=1)
