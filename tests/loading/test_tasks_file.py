"""The tasks file: which tasks must pass, and which may fail until a day."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pytest_sopbench._core.contract.demands import Forbids
from pytest_sopbench._core.contract.rules import Contract, Rule
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.quarantine import TaskPolicy
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._loading.quarantine_file import check_tasks, read_tasks_file
from pytest_sopbench.errors import LoadingError

TEXT = """\
# what we know

["lab/T_01"]
must_pass = true

["lab/T/02 ]"]
may_fail = "the tool is flaky"
until = 2026-12-01
issue = "#12"
"""


def lab(*tasks: str, rules: tuple[str, ...] = ()) -> Domain:
    found = tuple(Rule(id=one, demand=Forbids(tools=("wire",))) for one in rules)
    return Domain(
        name="lab",
        folder=Path(),
        data_file=Path("data.csv"),
        sop="",
        tool_specs=(),
        fields=(),
        tasks=(),
        task_ids=tasks,
        input_columns=(),
        contract=Contract(rules=found) if found else None,
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "sop_tasks.toml"
    path.write_text(text, "utf-8")
    return path


def test_entries_are_read(tmp_path: Path) -> None:
    found = read_tasks_file(write(tmp_path, TEXT))

    first, second = TaskName("lab", "T_01"), TaskName("lab", "T/02 ]")
    assert {
        first: TaskPolicy(name=first, must_pass=True),
        second: TaskPolicy(
            name=second,
            may_fail="the tool is flaky",
            until=date(2026, 12, 1),
            issue="#12",
        ),
    } == found.entries


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert {} == read_tasks_file(write(tmp_path, "")).entries


ENTRY = 'may_fail = "r"\nuntil = 2026-12-01\n'


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        pytest.param("mustpass = true", 4, "mustpass: unknown key", "'must_pass'?", id="near key"),
        pytest.param("zzz = 1", 4, "zzz: unknown key", "must_pass, may_fail", id="unknown key"),
        pytest.param(
            f"{ENTRY}must_pass = true", 4, "must pass may not fail", "keep one", id="both"
        ),
        pytest.param(
            "must_pass = true\nuntil = 2026-12-01", 5, "until: a task that must", "", id="an end"
        ),
        pytest.param("must_pass = false", 4, "true expected, got False", "leave it", id="false"),
        pytest.param('may_fail = "r"', 3, "has no until", "until = YYYY", id="no end"),
        pytest.param("until = 2026-12-01", 3, "neither must_pass nor may_fail", "", id="no reason"),
        pytest.param("", 3, "neither must_pass nor may_fail", "", id="nothing"),
        pytest.param('may_fail = " "', 4, "may_fail: a text expected", "", id="empty reason"),
        pytest.param("may_fail = true", 4, "a text expected, got True", "", id="no text"),
        pytest.param(
            'may_fail = "r"\nuntil = "2026-12-01"', 5, "a date expected", "quotes", id="text date"
        ),
        pytest.param(
            'may_fail = "r"\nuntil = 2026-12-01T00:00:00', 5, "a date expected", "", id="instant"
        ),
        pytest.param(f"{ENTRY}issue = 12", 6, "issue: a text expected, got 12", "", id="issue"),
        pytest.param('may_break = ["a"]', 3, "may_break has no until", "until = Y", id="rule"),
        pytest.param(
            'may_break = ["a"]\nmust_pass = true',
            4,
            "may break no rule",
            "keep one",
            id="rule too",
        ),
        pytest.param(f'{ENTRY}may_break = "a"', 6, "a list of rules", '["confirm', id="text rule"),
        pytest.param(f"{ENTRY}may_break = []", 6, "a list of rules", "ids of", id="no rules"),
        pytest.param(f"{ENTRY}may_break = [1]", 6, "a list of rules", "ids of", id="rule 1"),
        pytest.param(f'{ENTRY}may_break = ["a", "a"]', 6, "'a' twice", "once", id="rule twice"),
    ],
)
def test_an_entry_that_says_something_else_is_refused(
    tmp_path: Path, text: str, line: int, message: str, hint: str
) -> None:
    path = write(tmp_path, f'["lab/T_00"]\nmust_pass = true\n["lab/T_01"]\n{text}\n')

    with pytest.raises(LoadingError) as raised:
        read_tasks_file(path)

    assert message in raised.value.problem
    assert "lab/T_01" in raised.value.problem
    assert line == raised.value.row
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[lab/T_01]\nmust_pass = true\n", "not TOML", id="no quotes"),
        pytest.param("[lab.T_01]\nmust_pass = true\n", "['lab']: no name of a task", id="a dot"),
        pytest.param('["T_01"]\nmust_pass = true\n', "no name of a task", id="no domain"),
        pytest.param('["lab/"]\nmust_pass = true\n', "no name of a task", id="no task"),
        pytest.param('"lab/T_01" = true\n', "no name of a task", id="no table"),
        pytest.param('["l b/T_01"]\nmust_pass = true\n', "no name of a domain", id="bad domain"),
        pytest.param('["lab/T"]\n["lab/T"]\n', "not TOML", id="twice"),
    ],
)
def test_what_names_no_task_is_refused_with_an_example(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(LoadingError) as raised:
        read_tasks_file(write(tmp_path, text))

    assert message in str(raised.value)
    assert '["DOMAIN/TASK"]' in raised.value.hint or "letters" in raised.value.hint


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="cannot be read"):
        read_tasks_file(tmp_path / "sop_tasks.toml")


def test_a_task_that_its_domain_does_not_have_is_told_with_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    entries = read_tasks_file(path)

    with pytest.raises(LoadingError) as raised:
        check_tasks(path, entries, {"lab": lab("T_001", "T/02 ]")})

    assert 3 == raised.value.row
    assert "domain lab has no task 'T_01'" in raised.value.problem
    assert "did you mean 'T_001'?" == raised.value.hint


@pytest.mark.parametrize(
    ("rules", "problem", "hint"),
    [
        pytest.param(("nowrite",), "has no rule 'nowrit'", "did you mean 'nowrite'?", id="near"),
        pytest.param(("zzzz", "yyyy"), "no rule 'nowrit'", "its rules are zzzz, yyyy", id="far"),
        pytest.param((), "domain lab has no contract", "remove it", id="no contract"),
    ],
)
def test_a_rule_that_the_contract_does_not_have_is_told_with_the_line(
    tmp_path: Path, rules: tuple[str, ...], problem: str, hint: str
) -> None:
    path = write(tmp_path, '["lab/T_01"]\nuntil = 2026-12-01\nmay_break = ["nowrit"]\n')
    entries = read_tasks_file(path)

    with pytest.raises(LoadingError) as raised:
        check_tasks(path, entries, {"lab": lab("T_01", rules=rules)})

    assert 3 == raised.value.row
    assert problem in raised.value.problem
    assert hint == raised.value.hint


def test_tasks_of_domains_that_are_not_loaded_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)

    check_tasks(path, read_tasks_file(path), {"other": lab("T_01")})
    check_tasks(path, read_tasks_file(path), {"lab": lab("T_01", "T/02 ]")})
