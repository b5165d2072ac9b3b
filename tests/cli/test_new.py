"""`sopbench new NAME`: a small domain that works as it is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main
from tests.builders.domains import load_domain
from tests.builders.judged import Contract, satisfied


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sopbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def commands_of(output: str) -> list[str]:
    return re.findall(r"^  (pytest .*)$", output.partition("go on with\n")[2], re.MULTILINE)


def test_the_three_commands_that_it_prints_hold(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly what is printed is run, in the order in which it stands there."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")
    commands = commands_of(sopbench("new", "lost-parcels").stdout)

    results = [pytester.runpytest_subprocess(*shlex.split(one)[1:]) for one in commands]

    assert [0, 0, 0] == [result.ret for result in results]
    assert [20, 20, 60] == [result.parseoutcomes()["passed"] for result in results]
    results[0].stdout.fnmatch_lines(["TSR *100.0% correct, 20 of 20*", "rules  contract 100.0%*"])
    results[1].stdout.fnmatch_lines(["gate   TSR >= 90% holds*"])


def test_what_it_writes_loads_without_a_warning_and_is_sound() -> None:
    result = sopbench("new", "refunds")

    domain = load_domain(Path("domains/refunds"))
    assert 0 == result.exit_code
    assert () == domain.warnings
    assert "refunds: sound" in result.stdout.splitlines()
    assert set(domain.task_ids) == set(domain.expected_calls)


def test_it_says_which_columns_reach_the_agent() -> None:
    result = sopbench("new", "refunds")

    told = " ".join(result.stdout.split())
    assert "the agent is given input_columns, a tool looks up what it returns" in told
    assert "nobody is shown output_columns, the expected answer" in told


def test_each_label_of_the_example_has_rows_and_none_has_most_of_them() -> None:
    sopbench("new", "refunds")

    domain = load_domain(Path("domains/refunds"))
    labels = [task.expected_as_written["decision"] for task in domain.tasks]
    counts = {label: labels.count(label) for label in set(labels)}
    assert set(domain.fields[0].values) == set(counts)
    assert 0.45 * len(labels) >= max(counts.values())


def test_each_rule_of_the_example_applies_to_a_row() -> None:
    sopbench("new", "refunds")

    domain = load_domain(Path("domains/refunds"))
    assert isinstance(domain.contract, Contract)
    conditions = [rule.when for rule in domain.contract.rules if rule.when]
    assert 3 == len(conditions)
    assert all(any(satisfied(when, task) for task in domain.tasks) for when in conditions)


def test_nothing_is_overwritten() -> None:
    sopbench("new", "refunds")
    Path("domains/refunds/sop.md").write_text("mine", "utf-8")

    result = sopbench("new", "refunds")

    assert 2 == result.exit_code
    assert "domains/refunds: is there already, and nothing is overwritten" in result.stderr
    assert "mine" == Path("domains/refunds/sop.md").read_text("utf-8")


def test_a_dry_run_writes_nothing() -> None:
    result = sopbench("new", "refunds", "--dry-run")

    assert 0 == result.exit_code
    assert "would be written" in result.stdout
    assert [] == list(Path().iterdir())


def test_another_folder_is_named_by_its_path() -> None:
    result = sopbench("new", "refunds", "--to", "lab")

    assert Path("lab/refunds/sop.md").is_file()
    assert "--sop-domain=./lab/refunds --agent=lab.refunds.agent:agent" in result.stdout
    assert 'domain="./lab/refunds"' in Path("lab/refunds/test_refunds.py").read_text("utf-8")


def test_the_configured_folder_is_taken() -> None:
    Path("pyproject.toml").write_text('[tool.pytest]\nsop_paths = ["procedures"]\n', "utf-8")

    result = sopbench("new", "refunds")

    assert "--sop-domain=refunds --agent=procedures.refunds.agent:agent" in result.stdout


@pytest.mark.parametrize(
    ("name", "problem", "advice"),
    [
        pytest.param("my refunds", "other signs than", "'my_refunds' can be one", id="space"),
        pytest.param("Rückgaben", "other signs than", "'ruckgaben' can be one", id="unicode"),
        pytest.param("退款", "other signs than", "a domain's name has", id="no letter is left"),
        pytest.param("lab/refunds", "other signs than", "'lab_refunds'", id="slash"),
        pytest.param("../refunds", "other signs than", "'refunds' can be one", id="dots"),
        pytest.param("", "other signs than", "a domain's name has", id="empty"),
        pytest.param("refunds.v2", "no module has a dot", "'refunds_v2'", id="dot"),
        pytest.param("all", "means several domains", "a domain's name has", id="all"),
        pytest.param("Bundled", "means several domains", "a domain's name has", id="bundled"),
        pytest.param("nul", "Windows keeps it", "a domain's name has", id="device"),
        pytest.param("x" * 81, "longer than 80", "'xxx", id="long"),
        pytest.param("dangerous_goods", "is found here", "sopbench list", id="bundled domain"),
    ],
)
def test_an_odd_name_gets_one_clear_line(name: str, problem: str, advice: str) -> None:
    result = sopbench("new", name)

    first, second = result.stderr.splitlines()
    assert 2 == result.exit_code
    assert first.startswith("sopbench: ")
    assert problem in first
    assert advice in second
    assert [] == list(Path().iterdir())


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        pytest.param("taken", "taken: is a file", id="a file"),
        pytest.param("..", "does not lie under the current folder", id="above"),
        pytest.param("/elsewhere", "does not lie under the current folder", id="absolute"),
        pytest.param(".lab", "no module has a dot", id="dot"),
    ],
)
def test_a_folder_that_cannot_hold_it_gets_one_clear_line(to: str, problem: str) -> None:
    Path("taken").write_text("", "utf-8")

    result = sopbench("new", "refunds", "--to", to)

    assert 2 == result.exit_code
    assert problem in result.stderr
    assert [Path("taken")] == list(Path().iterdir())


def test_a_disk_that_refuses_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", refuse)

    result = sopbench("new", "refunds")

    assert 2 == result.exit_code
    assert "domains/refunds: cannot be written: No space left on device" in result.stderr
    assert [] == list(Path().iterdir())
