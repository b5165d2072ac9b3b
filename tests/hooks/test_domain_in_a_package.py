"""A domain that lies inside a Python package, whose `__init__.py` is no concern of the data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

BROKEN = "import a_provider_that_is_not_installed\n"
DATA = "src/mypkg/domains/lab/data.csv"
RIGHT = "--sop-agent=habits:right"


@pytest.fixture
def packaged(
    make_domain: Callable[..., Path], lab: Path, pytester: pytest.Pytester
) -> pytest.Pytester:
    """The domain in `src/mypkg/domains`, with an `__init__.py` that fails in each folder."""
    lab.rename(pytester.mkdir("elsewhere") / "lab")
    folder = make_domain(under="src/mypkg/domains")
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text(BROKEN)
    pytester.makeini("[pytest]\nsop_paths = src/mypkg/domains\n")
    return pytester


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--sop-domain=lab"], id="zero-file run"),
        pytest.param(["--sop-domain=lab", DATA], id="data file"),
        pytest.param(["--sop-domain=./src/mypkg/domains/lab"], id="folder"),
        pytest.param(["--sop-domain=lab", "-n2"], id="two workers"),
        pytest.param(["--sop-domain=lab", "--import-mode=importlib"], id="importlib"),
        pytest.param(["--sop-domain=lab", "--doctest-modules"], id="doctests"),
    ],
)
def test_no_package_above_a_data_file_is_imported(
    packaged: pytest.Pytester, arguments: list[str]
) -> None:
    result = packaged.runpytest(RIGHT, *arguments)

    result.assert_outcomes(passed=6)
    assert 0 == result.ret


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        pytest.param(["--sop-domain=lab", f"{DATA}::T_02"], 1, id="node id"),
        pytest.param(["--sop-domain=lab", "-k", "T_03 or T_04"], 2, id="keyword"),
        pytest.param(["--sop-domain=lab", "-k", "mypkg"], 6, id="name of the package"),
        pytest.param(["--sop-domain=lab", "--deselect", f"{DATA}::T_01"], 5, id="deselected"),
    ],
)
def test_its_items_are_selected_as_any(
    packaged: pytest.Pytester, arguments: list[str], chosen: int
) -> None:
    result = packaged.runpytest(RIGHT, *arguments)

    assert chosen == result.parseoutcomes()["passed"]
    assert 6 - chosen == result.parseoutcomes().get("deselected", 0) or chosen == 1


def test_what_failed_last_is_selected(packaged: pytest.Pytester) -> None:
    packaged.runpytest("--sop-domain=lab", "--sop-agent=habits:loses_second")

    result = packaged.runpytest("--sop-domain=lab", RIGHT, "--lf")

    result.assert_outcomes(passed=1)


def test_an_id_names_the_file_in_the_package(packaged: pytest.Pytester) -> None:
    result = packaged.runpytest("--sop-domain=lab", RIGHT, "--collect-only", "-q")

    result.stdout.fnmatch_lines([f"{DATA}::T_01", f"{DATA}::T_06"])


INIT = """
def setup_module():
    print("SET UP", __name__)


def teardown_module():
    print("TORN DOWN", __name__)
"""

BESIDE = """
def test_beside():
    print("BESIDE")
"""


@pytest.mark.parametrize("order", ["data first", "tests first"])
def test_a_test_in_the_package_finds_it_set_up(packaged: pytest.Pytester, order: str) -> None:
    package = packaged.path / "src" / "mypkg"
    for folder in (package, package / "domains", package / "domains" / "lab"):
        (folder / "__init__.py").write_text(INIT if folder == package else "")
    (package / "test_beside.py").write_text(BESIDE)
    paths = [DATA, "src/mypkg/test_beside.py"]

    result = packaged.runpytest(
        "--sop-domain=lab", RIGHT, "-s", *(paths if order == "data first" else paths[::-1])
    )

    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["*SET UP mypkg*", "*BESIDE*", "*TORN DOWN mypkg*"])
    assert 1 == str(result.stdout).count("SET UP")


def test_the_fixtures_of_a_conftest_in_the_package_are_seen(packaged: pytest.Pytester) -> None:
    package = packaged.path / "src" / "mypkg"
    for folder in (package, package / "domains", package / "domains" / "lab"):
        (folder / "__init__.py").write_text("")
    (package / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.fixture(scope='session')\ndef sop_agent():\n"
        "    return lambda inputs: {'grade': 'pass'}\n"
    )

    result = packaged.runpytest("--sop-domain=lab")

    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(["sop: lab, 6 tasks"])


def test_a_test_whose_own_package_fails_is_an_error(packaged: pytest.Pytester) -> None:
    package = packaged.path / "src" / "mypkg"
    (package / "__init__.py").write_text(
        "def setup_module():\n    raise RuntimeError('no provider')\n"
    )
    for folder in (package / "domains", package / "domains" / "lab"):
        (folder / "__init__.py").write_text("")
    (package / "test_beside.py").write_text("def test_one(): pass\n\ndef test_two(): pass\n")

    result = packaged.runpytest("--sop-domain=lab", RIGHT, DATA, "src/mypkg/test_beside.py")

    result.assert_outcomes(passed=6, errors=2)
