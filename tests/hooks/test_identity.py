"""How tasks are named in node ids: one id for each, and none that pytest or a shell misreads."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Domain, RunKey
from pytest_sopbench._hooks.session import domains as active_domain
from pytest_sopbench._hooks.settings.marks import (
    TaskId,
    domain_id,
    encoded,
    item_name,
    may_be_row,
    parameter_id,
    read_task_id,
)

TASK_IDS = st.text(min_size=1, max_size=30)


@given(TASK_IDS, TASK_IDS)
def test_two_tasks_never_share_an_id(one: str, other: str) -> None:
    assert (one == other) == (encoded(one) == encoded(other))


@given(TASK_IDS)
def test_an_id_has_no_character_that_means_something(task: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9%._~+=,@-]+", encoded(task))


@given(TASK_IDS)
def test_an_id_on_the_command_line_is_the_task_again(task: str) -> None:
    assert TaskId("lab", task) == read_task_id(f"sop:lab::{encoded(task)}")
    assert TaskId("lab", task) == read_task_id(f"lab::{encoded(task)}")


@given(TASK_IDS)
def test_a_shell_takes_an_id_as_one_word(task: str) -> None:
    assert [f"x::{encoded(task)}"] == shlex.split(f"x::{encoded(task)}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("lab::T_1", TaskId("lab", "T_1"), id="domain and task"),
        pytest.param("sop:lab::T_1", TaskId("lab", "T_1"), id="with the prefix"),
        pytest.param("../../sop:lab::T_1", TaskId("lab", "T_1"), id="from a sub-folder"),
        pytest.param("lab::T_1/t2", TaskId("lab", "T_1", 2), id="a trial"),
        pytest.param("lab::t2", TaskId("lab", "t2"), id="a task called like a trial"),
        pytest.param("sop:lab", TaskId("lab", ""), id="a domain with the prefix"),
        pytest.param("lab", None, id="a bare word may be a folder"),
        pytest.param("test_lab.py::test_x", None, id="a test of a file"),
        pytest.param("tests/lab::x", None, id="a path"),
        pytest.param("domains/lab/data.csv::T_1", None, id="a data file"),
        pytest.param("-lab::T_1", None, id="no name of a domain"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_what_a_user_writes_is_read(text: str, expected: TaskId | None) -> None:
    assert expected == read_task_id(text)


def domain(folder: Path) -> Domain:
    return Domain(
        name="lab",
        folder=folder,
        data_file=folder / "data.csv",
        sop="",
        tool_specs=(),
        fields=(),
        tasks=(),
        task_ids=(),
        input_columns=(),
    )


def test_a_domain_of_the_project_is_named_by_its_file() -> None:
    found = domain_id(domain(Path("/p/domains/lab")), Path("/p"), in_project=True)

    assert "domains/lab/data.csv" == found


def test_a_domain_outside_the_project_is_named_by_its_name() -> None:
    assert "sop:lab" == domain_id(domain(Path("/q/lab")), Path("/p"), in_project=True)


def test_an_installed_domain_in_a_virtual_environment_of_the_project_is_named_by_its_name() -> None:
    found = domain_id(domain(Path("/p/.venv/lib/lab")), Path("/p"), in_project=False)

    assert "sop:lab" == found


def test_a_parameter_names_domain_and_task() -> None:
    assert "lab/T%2F1" == parameter_id(RunKey("lab", "T/1"))


def test_a_parameter_names_a_later_trial() -> None:
    assert "lab/T%2F1/t2" == parameter_id(RunKey("lab", "T/1", 2))


@given(TASK_IDS, st.integers(1, 999))
def test_a_trial_on_the_command_line_is_that_trial_again(task: str, trial: int) -> None:
    name = item_name(RunKey("lab", task, trial))

    assert TaskId("lab", task, trial) == read_task_id(f"sop:lab::{name}")
    assert name == TaskId("lab", task, trial).name


@given(TASK_IDS, TASK_IDS, st.integers(1, 9), st.integers(1, 9))
def test_two_runs_never_share_a_name(one: str, other: str, first: int, second: int) -> None:
    names = {item_name(RunKey("lab", one, first)), item_name(RunKey("lab", other, second))}

    assert len({(one, first), (other, second)}) == len(names)


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        pytest.param("domains/lab/data.csv::T_1", True, id="a row"),
        pytest.param("domains/lab/tasks.jsonl::T_1", True, id="a line"),
        pytest.param("sop:lab::T_1", True, id="a row of a bundled domain"),
        pytest.param("test_lab.py::test_x[lab/T_1]", False, id="a test"),
        pytest.param("data.csv", False, id="the file alone"),
    ],
)
def test_rows_are_told_from_tests(nodeid: str, *, expected: bool) -> None:
    assert expected == may_be_row(nodeid)


def test_a_package_that_lies_on_the_path_alone_has_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(active_domain, "version", missing)

    assert "" == active_domain.own_version.__wrapped__()
