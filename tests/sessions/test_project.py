"""The project's configuration, as pytest reads it, for a program that is not pytest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_sopbench import Outcome, RunRecord, load_session
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions.header import SessionHeader
from pytest_sopbench._sessions.writer import sealed_session
from pytest_sopbench._settings import project_file
from pytest_sopbench._settings.project_file import FILES, read_project
from pytest_sopbench._settings.table import SPECS
from pytest_sopbench.errors import SessionFileError, SopbenchError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


NATIVE = pytest.mark.skipif(
    pytest.version_tuple < (9, 0), reason="pytest reads native TOML from version 9.0 on"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("pytest.ini", "[pytest]\nsop_paths = a b", id="pytest.ini"),
        pytest.param(".pytest.ini", "[pytest]\nsop_paths = a b", id="hidden"),
        pytest.param("tox.ini", "[tox]\n[pytest]\nsop_paths =\n    a\n    b", id="tox"),
        pytest.param("setup.cfg", "[tool:pytest]\nsop_paths = a b", id="setup.cfg"),
        pytest.param(
            "pytest.toml", '[pytest]\nsop_paths = ["a", "b"]', id="pytest.toml", marks=NATIVE
        ),
        pytest.param(
            ".pytest.toml", '[pytest]\nsop_paths = ["a", "b"]', id="hidden toml", marks=NATIVE
        ),
        pytest.param(
            "pyproject.toml", '[tool.pytest]\nsop_paths = ["a", "b"]', id="native", marks=NATIVE
        ),
        pytest.param(
            "pyproject.toml", '[tool.pytest.ini_options]\nsop_paths = "a b"', id="pyproject"
        ),
    ],
)
def test_every_file_is_read_as_pytest_reads_it(
    here: Path, pytester: pytest.Pytester, name: str, text: str
) -> None:
    for folder in (here, pytester.path):
        (folder / name).write_text(text, "utf-8")

    ours = read_project(here).words("sop_paths")
    theirs = pytester.parseconfig().getini("sop_paths")

    assert ("a", "b") == ours
    assert ["a", "b"] == list(theirs)


@NATIVE
@pytest.mark.parametrize("first", range(len(FILES) - 1))
def test_the_first_file_counts_and_the_others_are_not_read(here: Path, first: int) -> None:
    for number, name in enumerate(FILES[first:]):
        table = {"pyproject.toml": "tool.pytest", "setup.cfg": "tool:pytest"}.get(name, "pytest")
        quote = '"' if name.endswith(".toml") else ""
        (here / name).write_text(f"[{table}]\nsop_paths = {quote}p{number}{quote}\n")

    assert ("p0",) == read_project(here).words("sop_paths")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("pytest.toml", '[pytest]\nsop_paths = "b"', id="pytest.toml"),
        pytest.param(".pytest.toml", '[pytest]\nsop_paths = "b"', id="hidden toml"),
        pytest.param("pyproject.toml", '[tool.pytest]\nsop_paths = "b"', id="native"),
    ],
)
def test_what_an_older_pytest_does_not_read_is_passed_over(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setattr(project_file, "_reads_toml", lambda: False)
    (here / name).write_text(text)
    (here / "tox.ini").write_text("[pytest]\nsop_paths = a\n")

    assert ("a",) == read_project(here).words("sop_paths")


@pytest.mark.parametrize("name", ["pyproject.toml", "tox.ini", "setup.cfg"])
def test_a_file_that_does_not_speak_of_pytest_is_passed_over(here: Path, name: str) -> None:
    inner = here / "inner"
    inner.mkdir()
    (inner / name).write_text("[other]\n")
    (here / "pytest.ini").write_text("[pytest]\nsop_paths = a\n")

    project = read_project(inner)

    assert here == project.folder
    assert ("a",) == project.words("sop_paths")


def test_an_empty_pytest_ini_hides_what_stands_above(here: Path) -> None:
    inner = here / "inner"
    inner.mkdir()
    (inner / "pytest.ini").touch()
    (here / "tox.ini").write_text("[pytest]\nsop_paths = a\n")

    assert inner == read_project(inner).folder


def test_paths_start_from_the_folder_of_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = here / "inner"
    inner.mkdir()
    (here / "pytest.ini").write_text("[pytest]\nsop_dir = kept\n")
    monkeypatch.chdir(inner)

    assert here / "kept" / "sessions" == read_project(inner).sessions_dir


def test_a_rule_of_one_line_keeps_its_spaces_and_backslashes(here: Path) -> None:
    (here / "pytest.ini").write_text("[pytest]\nsop_snapshot_rules =\n    replace:a=\\d b\n    x\n")

    assert ("replace:a=\\d b", "x") == read_project(here).words("sop_snapshot_rules")


@NATIVE
@pytest.mark.parametrize("value", ["", "{}", "[]"], ids=["text", "table", "list"])
def test_an_empty_value_is_the_default(here: Path, value: str) -> None:
    (here / "pytest.toml").write_text(f"[pytest]\nsop_paths = {value or repr('')}\n")

    assert SPECS["sop_paths"].default == read_project(here).words("sop_paths")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("pyproject.toml", "[", id="toml"),
        pytest.param("pytest.ini", "no section", id="ini"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(here: Path, name: str, text: str) -> None:
    (here / name).write_text(text)

    with pytest.raises(SopbenchError, match=f"{name}: cannot be read"):
        read_project(here)


def test_a_quote_that_stands_alone_is_told(here: Path) -> None:
    (here / "pytest.ini").write_text("[pytest]\nsop_paths = it's\n")

    with pytest.raises(SopbenchError, match=r"pytest\.ini: sop_paths: no closing quotation"):
        read_project(here).words("sop_paths")


def test_a_home_that_does_not_exist_stays_as_it_is_written(here: Path) -> None:
    (here / "pytest.ini").write_text("[pytest]\nsop_paths = ~no-such-user/domains\n")

    assert (Path("~no-such-user/domains"),) == read_project(here).folders("sop_paths")


@pytest.fixture
def saved(here: Path) -> Path:
    header = SessionHeader(plugin="", agent="a:b", started="", judging="")
    records = [
        RunRecord(
            domain="d",
            task="T1",
            agent="a:b",
            outcome=Outcome.CORRECT,
        ),
        RunRecord(domain="d", task="T2", agent="a:b", outcome=Outcome.NOT_RUN, reason="never"),
    ]
    path = here / "kept" / "sessions" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(sealed_session(header, map(to_line, records))))
    (here / "pytest.ini").write_text("[pytest]\nsop_dir = kept\n")
    return path


def test_a_session_is_loaded_by_name_path_or_text(saved: Path) -> None:
    found = [load_session("s"), load_session(saved), load_session("kept/sessions/s.jsonl")]

    assert [("T1", "T2")] * 3 == [tuple(run.task for run in one.records) for one in found]


def test_a_session_that_is_not_there_is_told(saved: Path) -> None:
    with pytest.raises(SessionFileError, match="cannot be read"):
        load_session("gone")


def test_without_pandas_the_extra_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(SessionFileError, match="needs pandas") as raised:
        load_session(saved).to_dataframe()

    assert "pip install pandas; the extra 'pandas' brings it" == raised.value.hint
