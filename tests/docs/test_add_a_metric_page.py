"""The package of the page on metrics, installed as a user would have it, and broken in every way.

It is written from the page into a folder of `sys.path`, with the `.dist-info` that pip would make
of its entry points. So the page is true as long as these tests pass.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench._core.metrics.metric import METRICS, set_outside_metrics
from pytest_sopbench.cli import main
from tests.builders.pages import DOCS

PAGE = (DOCS / "how-to" / "add-a-metric.md").read_text(encoding="utf-8")
MODULE, PROJECT = (
    re.search(rf"```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    for kind in ("python", "toml")
)
SOURCE = "sop-calls 1.0 (calls_a_run = sop_calls:CALLS_A_RUN)"
OK, FAILED, USAGE = 0, 1, 4
LAB = "--sop-domain=lab"
AGENTS = """
import os

def one_call(inputs, tools):
    tools.call("look", sample_id=inputs["sample_id"])
    return {"grade": "pass"}

def two_calls(inputs, tools):
    tools.call("look", sample_id=inputs["sample_id"])
    return one_call(inputs, tools)

def dies_once(inputs, tools):
    if inputs["sample_id"] == "T_2":
        os.kill(os.getpid(), 9)
    return one_call(inputs, tools)
"""
METADATA = {
    "name": "lab",
    "input_columns": ["sample_id"],
    "output_columns": ["grade"],
    "tools": {"look": {"key": ["sample_id"], "returns": ["mark"]}},
}
TOOLS = [
    {
        "name": "look",
        "description": "Look at a sample.",
        "parameters": {
            "type": "object",
            "properties": {"sample_id": {"type": "string"}},
            "required": ["sample_id"],
        },
    }
]
Install = Callable[..., None]


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    """What this process has in its table of metrics is gone after each test."""
    yield
    set_outside_metrics(())


@pytest.fixture
def install(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, new_interpreters: None
) -> Install:
    """Write the package into a folder of its own, which takes the place of the one before.

    Workers are new interpreters, since what is forked has another `sys.path`.
    """
    site = pytester.path / "site"
    monkeypatch.setenv("PYTHONPATH", str(site))

    def write(module: str = MODULE, project: str = PROJECT) -> None:
        shutil.rmtree(site, ignore_errors=True)
        told = tomllib.loads(project)["project"]
        info = site / f"{told['name'].replace('-', '_')}-{told['version']}.dist-info"
        info.mkdir(parents=True)
        (site / "sop_calls.py").write_text(module, "utf-8")
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n", "utf-8"
        )
        groups = told["entry-points"].items()
        lines = [
            line
            for group, points in groups
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, "sop_calls", raising=False)

    return write


@pytest.fixture(autouse=True)
def lab(pytester: pytest.Pytester) -> None:
    folder = pytester.path / "domains" / "lab"
    folder.mkdir(parents=True)
    (folder / "sop.md").write_text("Grade the sample.\n", "utf-8")
    (folder / "metadata.json").write_text(json.dumps(METADATA), "utf-8")
    (folder / "toolspecs.json").write_text(json.dumps(TOOLS), "utf-8")
    rows = "".join(f"T_{number},90,pass\n" for number in range(1, 7))
    (folder / "data.csv").write_text(f"sample_id,mark,grade\n{rows}", "utf-8")
    pytester.makepyfile(desk=AGENTS)


@pytest.fixture
def package(install: Install) -> None:
    install()


def session(pytester: pytest.Pytester, *options: str, agent: str = "one_call") -> pytest.RunResult:
    words = (LAB, f"--sop-agent=desk:{agent}", *options)
    if "-n1" in options:
        # The package is found by PYTHONPATH, as an installed one is by every process.
        return pytester.run(sys.executable, "-m", "pytest", *words)
    return pytester.runpytest_inprocess(*words)


def sopbench(*words: str) -> Result:
    sys.modules.pop("sop_calls", None)
    return CliRunner().invoke(main, words, catch_exceptions=False)


def changed(old: str, new: str) -> str:
    assert old in MODULE
    return MODULE.replace(old, new)


def test_the_package_imports_no_private_name() -> None:
    imports = [one for one in ast.walk(ast.parse(MODULE)) if isinstance(one, ast.ImportFrom)]

    assert ["pytest_sopbench"] == [one.module for one in imports]
    assert not re.search(r"\b_[a-z]", MODULE)


@pytest.mark.usefixtures("package")
class TestTheMetric:
    def test_its_gate_decides_and_the_summary_tells_it(self, pytester: pytest.Pytester) -> None:
        result = session(pytester, "--sop-gate=calls_a_run=1.5", agent="two_calls")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            [
                "metric calls a run 2 calls (12 calls in 6 runs)",
                "gate   calls a run <= 1.5 calls does not hold (got 2 calls): 12 calls in 6 runs",
            ]
        )

    def test_a_bound_is_at_most(self, pytester: pytest.Pytester) -> None:
        result = session(pytester, "--sop-gate=calls_a_run=2", agent="two_calls")

        assert OK == result.ret
        result.stdout.fnmatch_lines(["gate   calls a run <= 2 calls holds (got 2 calls)"])

    def test_reports_have_it(self, pytester: pytest.Pytester) -> None:
        names = ("md", "json", "csv", "tally")
        session(pytester, *(f"--sop-report={name}=page.{name}" for name in names))
        page, document, runs, tally = (
            (pytester.path / f"page.{name}").read_text("utf-8") for name in names
        )

        found = json.loads(document)["domains"]["lab"]
        assert 1 == found["calls_a_run"]
        assert {"total": 6, "known": 6, "runs": 6, "fault": ""} == found["measured"]["calls_a_run"]
        assert "- lab: calls a run 1 calls (6 calls in 6 runs)" in page
        assert "| tool accuracy | calls a run | chance |" in page
        assert "calls_a_run" in runs.splitlines()[0].split(",")
        assert "lab: 6 of 6\n" == tally

    def test_commands_have_it(self, pytester: pytest.Pytester) -> None:
        session(pytester)

        held, failed = (sopbench("gate", "last", f"--gate=calls_a_run={one}") for one in (1, 0.5))
        shown, one_run = sopbench("show", "last"), sopbench("show", "last", "T_1")
        told = sopbench("report", "last", "--to=tally=-", "--gate=calls_a_run=1")

        assert (0, 1) == (held.exit_code, failed.exit_code)
        assert "metric lab: calls a run 1 calls (6 calls in 6 runs)" in shown.stdout
        assert "metric calls a run 1 calls (1 calls in 1 run)" in one_run.stdout
        assert "lab: 6 of 6\ncalls a run <= 1 calls: holds\n" == told.stdout

    def test_a_comparison_has_its_change_in_its_unit(self, pytester: pytest.Pytester) -> None:
        session(pytester, "--sop-save=before")
        result = session(pytester, "--sop-compare=before", agent="two_calls")
        command = sopbench("compare", "before", "last")

        assert OK == result.ret
        assert "calls a run +1 calls" in " ".join(result.stdout.str().split())
        assert "calls a run +1 calls" in " ".join(command.stdout.split())

    def test_a_run_whose_process_died_leaves_the_gate_open(self, pytester: pytest.Pytester) -> None:
        result = session(pytester, "--sop-gate=calls_a_run=9", "-n1", agent="dies_once")

        assert FAILED == result.ret
        told = " ".join(result.stdout.str().split())
        assert "(5 calls in 5 runs, 1 of 6 runs left nothing to measure)" in told
        assert "<= 9 calls inconclusive (got 1 calls): 1 of 6 runs left nothing to measure" in told

    def test_a_bound_that_is_no_number_is_refused(self, pytester: pytest.Pytester) -> None:
        for bound in ("nan", "inf", "few", "90%"):
            result = session(pytester, f"--sop-gate=calls_a_run={bound}")

            assert USAGE == result.ret
            result.stderr.fnmatch_lines([f"*calls_a_run={bound}: a number expected, in calls"])


class TestFailures:
    @pytest.mark.parametrize(
        ("body", "why"),
        [
            pytest.param("return 1 / 0", "raised ZeroDivisionError: division by zero", id="raises"),
            pytest.param("raise SystemExit(0)", "raised SystemExit: 0", id="exits"),
            pytest.param("return None", "returned NoneType, and no number", id="nothing"),
            pytest.param("return float('nan')", "returned nan", id="nan"),
            pytest.param("return 10**400", "returned inf", id="too-large"),
            pytest.param("return '3'", "returned str, and no number", id="text"),
        ],
    )
    def test_a_metric_that_fails_is_named_and_its_gate_is_open(
        self, pytester: pytest.Pytester, install: Install, body: str, why: str
    ) -> None:
        install(changed("return len(run.calls)", body))

        result = session(pytester, "--sop-gate=calls_a_run=5")
        command = sopbench("gate", "last")

        fault = f"the metric calls_a_run of {SOURCE} failed at lab/T_1: {why}"
        assert FAILED == result.ret
        assert 3 == command.exit_code
        assert f"(got n/a): {fault}" in " ".join(result.stdout.str().split())
        assert f"calls a run n/a: {fault}" in " ".join(result.stdout.str().split())
        assert fault in " ".join(command.stdout.split())

    def test_a_comparison_says_that_it_failed(
        self, pytester: pytest.Pytester, install: Install
    ) -> None:
        install()
        session(pytester, "--sop-save=before")
        install(changed("return len(run.calls)", "return math.nan"))

        told = " ".join(sopbench("compare", "before", "last").stdout.split())

        assert (
            f"calls a run not compared: in the baseline the metric calls_a_run of {SOURCE}" in told
        )
        assert "raised NameError" in told

    def test_what_it_raises_is_masked(
        self,
        pytester: pytest.Pytester,
        install: Install,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("TOKEN", "hush-hush-9000")
        pytester.makeini("[pytest]\nsop_redact = env:TOKEN\n")
        install(
            changed("return len(run.calls)", "import os; raise ValueError(os.environ['TOKEN'])")
        )

        result = session(pytester)
        saved = next((pytester.path / ".sop/sessions").glob("2*.jsonl")).read_text("utf-8")

        assert "ValueError: ***" in " ".join(result.stdout.str().split())
        assert "hush" not in result.stdout.str()
        assert "hush" not in saved
        assert "hush" not in sopbench("show", "last").stdout

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            pytest.param('gate="calls_a_run"', 'gate="tsr"', "gate 'tsr' is taken", id="gate"),
            pytest.param(
                'column="calls_a_run"', 'column="calls"', "column 'calls' is taken", id="column"
            ),
            pytest.param('name="calls_a_run"', 'name="mine"', "is called 'mine'", id="other-name"),
            pytest.param('better="lower"', 'better="less"', "better='less'", id="direction"),
            pytest.param("of=calls,", "of=3,", "of: a function expected", id="no-function"),
            pytest.param("CALLS_A_RUN =", "OTHER =", "has no attribute", id="no-attribute"),
            pytest.param(
                "CALLS_A_RUN = Metric(", "CALLS_A_RUN = dict(", "no pytest", id="no-metric"
            ),
            pytest.param("from pyt", "raise SystemExit(0)\nfrom pyt", "SystemExit", id="exits"),
        ],
    )
    def test_what_is_no_metric_refuses_sessions_and_commands(
        self,
        pytester: pytest.Pytester,
        install: Install,
        old: str,
        new: str,
        why: str,
    ) -> None:
        install()
        session(pytester)
        install(changed(old, new))

        command, result = sopbench("gate", "last", "--fail-under=1"), session(pytester)

        assert USAGE == result.ret
        assert 2 == command.exit_code
        for told in (result.stderr.str(), command.stderr):
            assert SOURCE in told
            assert why in told

    @pytest.mark.parametrize("name", ["tsr", "runs", "usage", "chance"])
    def test_a_name_that_is_taken_is_refused(
        self, pytester: pytest.Pytester, install: Install, name: str
    ) -> None:
        point = f'{name} = "sop_calls:CALLS_A_RUN"'
        install(
            changed('name="calls_a_run"', f'name="{name}"'),
            PROJECT.replace('calls_a_run = "sop_calls:CALLS_A_RUN"', point),
        )

        result = session(pytester)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines([f"*sop-calls 1.0 ({name} = *the name '{name}' is taken by *"])

    def test_a_command_that_reads_no_session_does_not_feel_it(
        self, pytester: pytest.Pytester, install: Install
    ) -> None:
        install(changed("from pyt", "raise SystemExit(7)\nfrom pyt"))
        pytester.makepyfile(test_plain="def test_plain():\n    pass\n")

        assert 0 == sopbench("list").exit_code
        assert OK == pytester.runpytest_inprocess("test_plain.py").ret

    @pytest.mark.usefixtures("package")
    def test_nothing_stays_of_a_package_that_is_gone(self, pytester: pytest.Pytester) -> None:
        session(pytester)
        assert "calls_a_run" in METRICS
        shutil.rmtree(pytester.path / "site")

        session(pytester)

        assert "calls_a_run" not in METRICS


class TestWhereThePackageIsMissing:
    @pytest.fixture(autouse=True)
    def gone(self, pytester: pytest.Pytester, install: Install) -> None:
        install()
        assert OK == session(pytester, "--sop-gate=calls_a_run=5", "--sop-save=kept").ret
        shutil.rmtree(pytester.path / "site")

    def test_its_gate_is_inconclusive_and_the_package_is_named(self) -> None:
        done = sopbench("gate", "kept")

        assert 3 == done.exit_code
        told = " ".join(done.stdout.split())
        assert f"its metric is of {SOURCE}, which is not installed here" in told

    def test_other_commands_say_that_it_is_left_out(self) -> None:
        done = sopbench("show", "kept")

        assert 0 == done.exit_code
        assert f"a metric of {SOURCE} is left out, since it is not installed here" in done.stderr

    def test_a_gate_that_is_given_is_refused(self, pytester: pytest.Pytester) -> None:
        done = sopbench("gate", "kept", "--gate=calls_a_run=5")
        result = session(pytester, "--sop-gate=calls_a_run=5")

        assert (2, USAGE) == (done.exit_code, result.ret)
        assert "NAME being one of tsr" in done.stderr

    def test_a_session_without_it_has_it_once_it_is_installed(
        self, pytester: pytest.Pytester, install: Install
    ) -> None:
        session(pytester)
        install()

        assert 0 == sopbench("gate", "last", "--gate=calls_a_run=1").exit_code


class TestTheFormat:
    @pytest.mark.parametrize(
        ("body", "why"),
        [
            pytest.param('raise ValueError("no page")', "raised ValueError: no page", id="raises"),
            pytest.param("raise SystemExit(0)", "raised SystemExit: 0", id="exits"),
            pytest.param("return None", "returned NoneType", id="nothing"),
        ],
    )
    def test_one_that_fails_fails_the_session_and_no_other_report(
        self, pytester: pytest.Pytester, install: Install, body: str, why: str
    ) -> None:
        install(changed("    lines = [", f"    {body}\n    lines = ["))

        result = session(pytester, "--sop-report=tally=tally.txt", "--sop-report=md=page.md")
        command = sopbench("report", "last", "--to=tally=-")

        told = f"sop-calls 1.0 (tally = sop_calls:tally): the report format tally {why}"
        assert FAILED == result.ret
        assert 2 == command.exit_code
        assert told in " ".join(result.stdout.str().split())
        assert told in command.stderr
        assert (pytester.path / "page.md").exists()
        assert not (pytester.path / "tally.txt").exists()

    def test_one_that_cannot_be_imported_is_refused_before_a_run(
        self, pytester: pytest.Pytester, install: Install
    ) -> None:
        install(project=PROJECT.replace("sop_calls:tally", "sop_calls:nothing"))

        result = session(pytester, "--sop-report=tally=tally.txt")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(
            ["*sop-calls 1.0 (tally = sop_calls:nothing)*cannot be loaded*"]
        )

    def test_a_name_of_the_plugin_is_refused(
        self, pytester: pytest.Pytester, install: Install
    ) -> None:
        install(project=PROJECT.replace("tally =", "md ="))

        result = session(pytester, "--sop-report=md=page.md")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*the report format 'md' is the plugin's own*"])

    def test_what_it_writes_is_no_command(
        self, pytester: pytest.Pytester, install: Install
    ) -> None:
        install(changed("    lines = [", '    return "\\x1b[2J\\n::error::no"\n    lines = ['))
        session(pytester)

        assert "\\x1b[2J\n: :error::no\n" == sopbench("report", "last", "--to=tally=-").stdout


def test_a_share_of_a_package_is_from_0_to_1(pytester: pytest.Pytester, install: Install) -> None:
    install(changed('    unit="calls",\n', ""))

    result = session(pytester, "--sop-gate=calls_a_run=0.9", agent="two_calls")

    assert FAILED == result.ret
    assert "returned 2, and a metric without a unit is from 0 to 1" in " ".join(
        result.stdout.str().split()
    )
