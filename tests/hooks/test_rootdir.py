"""A value that pytest takes for a test path may cost the project its configuration file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_sopbench._hooks.settings.asked import check_rootdir
from pytest_sopbench._settings.table import TABLE

OPTIONS = [name for spec in TABLE if spec.is_option for name in (spec.option, *spec.aliases)]


@pytest.fixture
def project(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A project with a gate in its configuration, and a domain outside of it."""
    make_domain(under="elsewhere")
    folder = pytester.mkdir("project")
    (folder / "pytest.ini").write_text("[pytest]\nsop_fail_under = 0.9\n")
    (folder / "half.py").write_text("def agent(inputs): return 'pass'\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("project")
def test_a_separate_path_that_loses_the_configuration_is_stopped(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest("--sop-domain", "../elsewhere/lab", "--agent=half:agent")

    assert 4 == result.ret
    result.stderr.fnmatch_lines(
        [
            "ERROR: --sop-domain ../elsewhere/lab: pytest took the value for a test path, *",
            "write --sop-domain=../elsewhere/lab",
        ]
    )


@pytest.mark.usefixtures("project")
def test_the_same_path_with_an_equals_sign_keeps_the_gate(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=../elsewhere/lab", "--agent=half:agent")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 90% does not hold*"])


def test_a_separate_path_inside_the_project_loses_nothing(
    pytester: pytest.Pytester, project: Path, make_domain: Callable[..., Path]
) -> None:
    make_domain(under="project/domains")

    result = pytester.runpytest("--sop-domain", "./domains/lab", "--agent=half:agent")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 90% does not hold*"])


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.usefixtures("project")
def test_no_option_may_take_the_configuration_away(pytester: pytest.Pytester, option: str) -> None:
    """Whatever the option: its value is a folder outside of the project, after a space."""
    config = pytester.parseconfig(option, "../elsewhere")

    assert config.inipath is None
    with pytest.raises(pytest.UsageError, match=f"^{option} ../elsewhere: pytest took the value"):
        check_rootdir(config)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_may_have_a_path_behind_an_equals_sign(
    pytester: pytest.Pytester, project: Path, option: str
) -> None:
    config = pytester.parseconfig(f"{option}=../elsewhere")

    check_rootdir(config)

    assert project / "pytest.ini" == config.inipath


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_may_have_a_value_that_is_no_path_after_a_space(
    pytester: pytest.Pytester, project: Path, option: str
) -> None:
    config = pytester.parseconfig(option, "x" * 300)

    check_rootdir(config)

    assert project / "pytest.ini" == config.inipath


@pytest.mark.usefixtures("project")
def test_a_baseline_elsewhere_costs_no_session_its_gate(pytester: pytest.Pytester) -> None:
    (pytester.path / "elsewhere" / "main.jsonl").write_text("{}")

    result = pytester.runpytest("--sop-compare", "../elsewhere/main.jsonl")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-compare ../elsewhere/main.jsonl: pytest took *"])


@pytest.mark.usefixtures("project")
def test_one_task_of_a_folder_elsewhere_is_noticed(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig("--sop-domain", "../elsewhere/lab::T_01")

    with pytest.raises(pytest.UsageError, match="pytest took the value"):
        check_rootdir(config)


@pytest.mark.usefixtures("project")
def test_options_of_the_environment_are_watched_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--sop-save ../elsewhere", prepend=" ")

    result = pytester.runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-save ../elsewhere: pytest took the value *"])


@pytest.mark.usefixtures("project")
def test_options_of_a_file_of_arguments_are_watched_too(pytester: pytest.Pytester) -> None:
    Path("args.txt").write_text("--sop-save\n../elsewhere\n")

    config = pytester.parseconfig("@args.txt")

    assert config.inipath is None
    with pytest.raises(pytest.UsageError, match=r"^--sop-save \.\./elsewhere: pytest took"):
        check_rootdir(config)


@pytest.mark.usefixtures("project")
def test_a_named_rootdir_does_not_find_the_configuration_again(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfig("--rootdir=.", "--sop-compare", "../elsewhere")

    assert config.inipath is None
    with pytest.raises(pytest.UsageError, match=r"pytest\.ini was not read"):
        check_rootdir(config)


def test_rootdir_may_not_move_where_there_is_no_configuration(
    pytester: pytest.Pytester, project: Path
) -> None:
    (project / "pytest.ini").unlink()
    config = pytester.parseconfig("--sop-compare", "../elsewhere")

    assert project != config.rootpath
    with pytest.raises(pytest.UsageError, match=f"rootdir is {pytester.path} instead of {project}"):
        check_rootdir(config)


def test_the_configuration_of_others_is_not_read_in_its_place(
    pytester: pytest.Pytester, project: Path
) -> None:
    (project / "pytest.ini").unlink()
    stranger = pytester.path / "elsewhere" / "pytest.ini"
    stranger.write_text("[pytest]\n")
    config = pytester.parseconfig("--sop-compare", "../elsewhere")

    with pytest.raises(pytest.UsageError, match=f"and {stranger} was read"):
        check_rootdir(config)


def test_the_configuration_of_the_tests_that_were_typed_is_the_one_that_counts(
    pytester: pytest.Pytester, project: Path
) -> None:
    (project / "inside").mkdir()
    tests = pytester.mkdir("tests")
    (tests / "pytest.ini").write_text("[pytest]\n")
    lost = pytester.parseconfig("--sop-compare", "inside", "../tests")
    kept = pytester.parseconfig("../tests", "--sop-compare", "../tests/pytest.ini")

    check_rootdir(kept)
    assert tests / "pytest.ini" == kept.inipath
    with pytest.raises(pytest.UsageError, match=f"{tests}/pytest.ini was not read"):
        check_rootdir(lost)


def test_the_value_that_did_it_is_the_one_that_is_named(
    pytester: pytest.Pytester, project: Path
) -> None:
    (project / "inside").mkdir()
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    config = pytester.parseconfig("--sop-domain", "./inside", "--sop-compare", "../elsewhere")

    with pytest.raises(pytest.UsageError, match=r"^--sop-compare \.\./elsewhere: pytest took"):
        check_rootdir(config)


@pytest.mark.parametrize("file", ["pytest.ini", "../project/pytest.ini"])
def test_a_named_configuration_is_never_lost(
    pytester: pytest.Pytester, project: Path, file: str
) -> None:
    config = pytester.parseconfig("-c", file, "--sop-compare", "../elsewhere")

    check_rootdir(config)

    assert project / "pytest.ini" == config.inipath
