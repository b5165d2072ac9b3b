"""How our own modules are loaded, and that a program that calls pytest gets its process back."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from pytest_sopbench._hooks.process.own_modules import OwnModules
from pytest_sopbench._hooks.session.domains import active_domain

SEEN = """
import gc, sys
from pathlib import Path

def agent(inputs):
    finders = [type(one).__name__ for one in sys.meta_path]
    Path("seen.txt").write_text(f"{finders[0]} {gc.isenabled()} {gc.get_freeze_count() > 0}")
    return "pass"
"""

LOADER = """
from pathlib import Path
from pytest_sopbench._core import verdict

def agent(inputs):
    Path("seen.txt").write_text(type(verdict.__loader__).__name__)
    return "pass"
"""


COUNT = gc.get_freeze_count
"""Of Python itself; while tests run another stands in its place."""


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", COUNT)


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, make_domain: Callable[..., Path]) -> None:
    make_domain()
    pytester.makepyfile(desk=SEEN)


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """A program that has taken nothing from the collector; the suite itself has."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def frozen() -> int:
    """The objects that a program has taken from the collector itself."""
    gc.freeze()
    return gc.get_freeze_count()


def test_a_session_finds_its_modules_first_and_freezes_what_is_loaded(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest_inprocess("--sop-domain=lab", "--agent=desk:agent")

    assert "OwnModules True True" == (pytester.path / "seen.txt").read_text()


@pytest.mark.usefixtures("unfrozen")
def test_a_program_gets_its_finders_and_its_collector_back(pytester: pytest.Pytester) -> None:
    pytester.runpytest_inprocess("--sop-domain=lab", "--agent=desk:agent")

    assert not [one for one in sys.meta_path if isinstance(one, OwnModules)]
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_a_program_without_a_collector_stays_without_one(pytester: pytest.Pytester) -> None:
    gc.disable()

    try:
        pytester.runpytest_inprocess("--sop-domain=lab", "--agent=desk:agent")
        is_on = gc.isenabled()
    finally:
        gc.enable()

    assert (is_on, (pytester.path / "seen.txt").read_text()) == (False, "OwnModules False True")


def test_what_a_program_froze_itself_stays_frozen(pytester: pytest.Pytester, frozen: int) -> None:
    pytester.runpytest_inprocess("--sop-domain=lab", "--agent=desk:agent")

    assert gc.get_freeze_count() > frozen // 2


def test_modules_of_others_are_found_as_ever() -> None:
    assert OwnModules().find_spec("json.decoder", None) is None


@pytest.mark.usefixtures("new_interpreters")
def test_pytest_rewrites_none_of_our_modules(
    pytester: pytest.Pytester,
) -> None:
    # As pytest does for every module of a plugin that is installed.
    pytester.makeconftest("import pytest; pytest.register_assert_rewrite('pytest_sopbench')")
    pytester.makepyfile(desk=LOADER)

    pytester.runpytest_subprocess("--sop-domain=lab", "--agent=desk:agent")

    assert "SourceFileLoader" == (pytester.path / "seen.txt").read_text()


@pytest.mark.usefixtures("new_interpreters")
def test_a_file_that_a_module_of_the_user_left_open_is_written(pytester: pytest.Pytester) -> None:
    """Python writes it as it ends, if the collector comes by."""
    pytester.makeconftest("import notes")
    pytester.makepyfile(notes="FILE = open('kept.txt', 'w')\nFILE.write('kept')\ndef more(): ...")

    pytester.runpytest_subprocess("--sop-domain=lab", "--agent=desk:agent")

    assert "kept" == (pytester.path / "kept.txt").read_text()


def test_a_package_that_lies_on_the_path_alone_has_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(active_domain, "version", missing)

    assert "" == active_domain.own_version.__wrapped__()
