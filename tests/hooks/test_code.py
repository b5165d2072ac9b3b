"""A domain's own code: when it runs, and that it never runs unasked.

The domain `clinic` has the shape of a folder of SOP-Bench: a `sop.txt`, tool specs of Bedrock,
`test_set_with_outputs.csv`, and a `tools.py` with a class whose name ends in `Manager`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOOLS = '''
import csv
import os
import sys

print("imported")
with open("imported.txt", "a") as file:
    file.write("x")


class BaseManager:
    """A base is not the manager."""


class ClinicManager(BaseManager):
    made = 0

    def __init__(self):
        ClinicManager.made += 1
        self.calls = 0
        folder = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(folder, "test_set_with_outputs.csv"), newline="") as file:
            self.rows = {row["patient_id"]: row for row in csv.DictReader(file)}

    def process_tool_call(self, name, arguments):
        print("called", name)
        self.calls += 1
        if name != "readTemperature":
            raise ValueError(f"no tool {name}")
        if self.calls > 2:
            raise ValueError("an instance served two runs")
        row = self.rows[arguments["patient_id"]]
        return {"temperature": float(row["temperature"])}
'''

AGENT = """
class NurseAgent:
    def execute(self, sop, task, tools):
        result = tools.execute_tool("readTemperature", {"patient_id": task["patient_id"]})
        fever = result["temperature"] > 38.0
        return f"<final_decision>{'escalate' if fever else 'rest'}</final_decision>"


class Careless:
    def execute(self, sop, task, tools):
        result = tools.execute_tool("readTemperature", {"patient_id": "nobody"})
        return f"<final_decision>rest</final_decision> {result}"
"""

RUN = ("--agent=nurse:NurseAgent",)


@pytest.fixture
def make_clinic(pytester: pytest.Pytester) -> Callable[[Path], Path]:
    """Write the domain into a folder, and its agent beside the tests."""

    def make(under: Path) -> Path:
        folder = under / "clinic"
        folder.mkdir(parents=True)
        schema = {
            "type": "object",
            "properties": {"patient_id": {"type": "string"}},
            "required": ["patient_id"],
        }
        spec = {
            "name": "readTemperature",
            "description": "Read a temperature.",
            "inputSchema": {"json": schema},
        }
        (folder / "sop.txt").write_text("Read the temperature; escalate above 38 degrees.\n")
        (folder / "toolspecs.json").write_text(json.dumps([{"toolSpec": spec}]))
        (folder / "metadata.json").write_text(
            json.dumps({"name": "clinic", "output_columns": ["decision"]})
        )
        (folder / "test_set_with_outputs.csv").write_text(
            "patient_id,temperature,decision\nA1,36.6,rest\nA2,39.1,escalate\nA3,38.4,escalate\n"
        )
        (folder / "tools.py").write_text(TOOLS)
        return folder

    pytester.makepyfile(nurse=AGENT)
    return make


@pytest.fixture
def clinic(pytester: pytest.Pytester, make_clinic: Callable[[Path], Path]) -> Path:
    """The domain inside the project, so that its code is trusted."""
    return make_clinic(pytester.path / "domains")


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_a_folder_of_sop_bench_runs_as_it_is(
    pytester: pytest.Pytester, saved: Callable[[], Any], workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest("--sop-domain=clinic", *RUN, *workers)

    result.assert_outcomes(passed=3)
    assert [["readTemperature"]] * 3 == [
        [call["name"] for call in run["calls"]] for run in saved().runs
    ]


@pytest.mark.usefixtures("clinic")
def test_what_a_manager_prints_stays_off_the_terminal(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=clinic", *RUN, "-s")

    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*imported*")
    result.stdout.no_fnmatch_line("*called readTemperature*")


@pytest.mark.usefixtures("clinic")
def test_what_a_manager_raises_is_told_to_the_agent_and_recorded(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest("--sop-domain=clinic", "--agent=nurse:Careless")

    assert all("nobody" in run["calls"][0]["error"] for run in saved().runs)


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("option", ["--collect-only", "--fixtures"])
def test_looking_at_a_domain_does_not_run_its_code(pytester: pytest.Pytester, option: str) -> None:
    result = pytester.runpytest("--sop-domain=clinic", *RUN, option)

    assert 0 == result.ret
    assert not (pytester.path / "imported.txt").exists()


@pytest.mark.usefixtures("clinic")
def test_collecting_users_tests_does_not_run_its_code(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_clinic="def test_run(sop_run, sop_tools): pass")

    result = pytester.runpytest("--sop-domain=clinic", *RUN, "test_clinic.py", "--collect-only")

    assert 0 == result.ret
    assert not (pytester.path / "imported.txt").exists()


NOT_TRUSTED = "*tools.py: this code lies outside the project, and is not run unasked*"


@pytest.fixture
def outside(
    pytester: pytest.Pytester,
    make_clinic: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The domain in a folder outside rootdir, which the project searches for domains."""
    folder = make_clinic(tmp_path_factory.mktemp("outside"))
    pytester.makeini(f"[pytest]\nsop_paths = {folder.parent}")
    return folder


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_code_outside_the_project_is_not_run_unasked(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest_subprocess("--sop-domain=clinic", *RUN, *workers)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([NOT_TRUSTED, "*sop_trust*"])
    assert not (pytester.path / "imported.txt").exists()


@pytest.mark.usefixtures("outside")
def test_a_mark_does_not_make_code_trusted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_clinic="""
        import pytest
        @pytest.mark.sop(domain="clinic", agent="nurse:NurseAgent")
        def test_run(sop_run): pass
        """
    )

    result = pytester.runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([NOT_TRUSTED])
    assert not (pytester.path / "imported.txt").exists()


def test_code_of_a_domain_named_by_its_path_runs(pytester: pytest.Pytester, outside: Path) -> None:
    result = pytester.runpytest(f"--sop-domain={outside}", *RUN)

    result.assert_outcomes(passed=3)


def test_code_in_a_trusted_folder_runs(pytester: pytest.Pytester, outside: Path) -> None:
    result = pytester.runpytest("--sop-domain=clinic", *RUN, "-o", f"sop_trust={outside.parent}")

    result.assert_outcomes(passed=3)


def test_a_link_does_not_bring_code_into_the_project(
    pytester: pytest.Pytester,
    make_clinic: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = make_clinic(tmp_path_factory.mktemp("outside"))
    (pytester.path / "domains").mkdir()
    (pytester.path / "domains" / "clinic").symlink_to(folder)

    result = pytester.runpytest("--sop-domain=clinic", *RUN)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([NOT_TRUSTED])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param("def f(:", "*tools.py*cannot be imported: SyntaxError*", id="a syntax error"),
        pytest.param("1 / 0", "*tools.py, row 1: *ZeroDivisionError*", id="raises on import"),
        pytest.param("x = 1", "*no class defined here*'Manager'*", id="no manager"),
        pytest.param(
            "class M:\n def process_tool_call(self, name, arguments): ...\n"
            "class AManager(M): ...\nclass BManager(M): ...",
            "*more than one manager is defined here: AManager, BManager*",
            id="two managers",
        ),
        pytest.param(
            "class AManager:\n def __init__(self, secret): ...\n"
            " def process_tool_call(self, name, arguments): ...",
            "*AManager() needs 'secret'*",
            id="a constructor that asks for more",
        ),
    ],
)
def test_faulty_code_is_a_usage_error(
    pytester: pytest.Pytester, clinic: Path, code: str, message: str
) -> None:
    (clinic / "tools.py").write_text(code)

    result = pytester.runpytest("--sop-domain=clinic", *RUN)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])
    result.stderr.no_fnmatch_line("*Traceback*")


POLICY = "def decide(inputs, call):\n    return {'decision': 'rest'}\n"


def test_a_reference_policy_of_a_project_runs(pytester: pytest.Pytester, clinic: Path) -> None:
    (clinic / "policy.py").write_text(POLICY)

    result = pytester.runpytest("--sop-domain=clinic", "--agent=reference-policy")

    result.assert_outcomes(passed=1, failed=2)


def test_a_reference_policy_outside_the_project_is_not_run_unasked(
    pytester: pytest.Pytester, outside: Path
) -> None:
    (outside / "tools.py").unlink()
    metadata = json.loads((outside / "metadata.json").read_text())
    lookup = {"key": ["patient_id"], "returns": ["temperature"]}
    metadata["tools"] = {"readTemperature": lookup}
    (outside / "metadata.json").write_text(json.dumps(metadata))
    (outside / "policy.py").write_text(POLICY)

    result = pytester.runpytest("--sop-domain=clinic", "--agent=reference-policy")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*policy.py: this code lies outside the project*"])


def test_a_faulty_reference_policy_is_a_usage_error(
    pytester: pytest.Pytester, clinic: Path
) -> None:
    (clinic / "policy.py").write_text("x = 1")

    result = pytester.runpytest("--sop-domain=clinic", "--agent=reference-policy")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*policy.py: it defines no function 'decide'*"])
