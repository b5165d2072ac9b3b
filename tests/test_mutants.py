"""The mutations themselves: each still applies, and what a trial says of one can be believed."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

# The mutations are a program beside the tests.
sys.path.append(str(Path(__file__).parent))

from mutants.copies import copy_source, copy_with
from mutants.mutant import (
    PACKAGE,
    DoesNotApplyError,
    Mutant,
    mutated,
    place_in,
    place_of,
    refuse_no_python,
    texts_of,
)
from mutants.table import MUTANTS
from mutants.trial import SLOW, Ended, Result

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
FILE = "numbers/sums.py"
ADDS = Mutant(
    name="sums/minus",
    function="add",
    old="return one + other",
    new="return one - other",
    tests=("test_sums.py",),
    harm="Two and two are nothing.",
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "src" / PACKAGE / FILE
    file.parent.mkdir(parents=True)
    file.write_text("def add(one, other):\n    return one + other\n")
    return tmp_path / "src"


def test_each_mutation_applies_to_the_source_exactly_once() -> None:
    texts = texts_of(SOURCE)

    for mutant in MUTANTS:
        assert mutated(mutant, place_in(texts, mutant))


def test_the_tests_that_find_them_are_there() -> None:
    def is_there(named: str) -> bool:
        file, _, inside = named.partition("[")[0].partition("::")
        path, test = TESTS / file, inside.rpartition("::")[2]
        return path.is_file() and (not test or f"def {test}(" in path.read_text("utf-8"))

    assert [] == [one for one in {*SLOW, *_named_tests()} if not is_there(one)]


def _named_tests() -> list[str]:
    return [test for one in MUTANTS for test in one.tests]


def test_each_mutation_has_a_name_of_its_own_and_says_what_it_would_do() -> None:
    assert [] == [name for name, count in Counter(one.name for one in MUTANTS).items() if count > 1]
    assert [] == [one.name for one in MUTANTS if not one.harm.endswith(".") or not one.tests]
    assert len(MUTANTS) >= 100


def test_a_file_that_was_moved_is_found(source: Path) -> None:
    moved = source / PACKAGE / "arithmetic" / "sums.py"
    moved.parent.mkdir()
    (source / PACKAGE / FILE).rename(moved)

    assert moved == place_of(ADDS, source)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("return one", "no file has add with", id="gone"),
        pytest.param(
            f"def add(one, other):\n    {ADDS.old}\n    {ADDS.old}\n",
            "stands 2 times in add",
            id="twice",
        ),
    ],
)
def test_a_mutation_that_does_not_apply_is_named(source: Path, text: str, why: str) -> None:
    (source / PACKAGE / FILE).write_text(text)

    with pytest.raises(DoesNotApplyError, match=f"sums/minus: .*{why}"):
        mutated(ADDS, place_of(ADDS, source))


def test_a_mutation_that_makes_no_python_is_refused(source: Path) -> None:
    broken = replace(ADDS, new="return one +")

    with pytest.raises(DoesNotApplyError, match=r"what it makes of sums\.py is no Python"):
        refuse_no_python(broken, place_of(broken, source))


def test_a_copy_has_the_change_and_the_tree_it_is_made_of_has_not(
    source: Path, tmp_path: Path
) -> None:
    base = copy_source(source, tmp_path / "base")

    copy = copy_with(ADDS, base, tmp_path / "copy")

    assert ADDS.new in (copy / PACKAGE / FILE).read_text()
    for other in (source, base):
        assert ADDS.old in (other / PACKAGE / FILE).read_text()


def test_a_copy_has_no_bytecode_of_the_file_that_is_changed(source: Path, tmp_path: Path) -> None:
    kept = source / PACKAGE / "numbers" / "__pycache__"
    kept.mkdir()
    (kept / "sums.cpython-311.pyc").write_bytes(b"")
    (kept / "other.cpython-311.pyc").write_bytes(b"")

    copy = copy_with(ADDS, copy_source(source, tmp_path / "base"), tmp_path / "copy")

    left = (copy / PACKAGE / "numbers" / "__pycache__").iterdir()
    assert ["other.cpython-311.pyc"] == [one.name for one in left]


@pytest.mark.parametrize(
    ("status", "result"),
    [
        pytest.param(0, Result.SURVIVED, id="all passed"),
        pytest.param(1, Result.KILLED, id="one failed"),
        pytest.param(2, Result.UNCLEAR, id="collection was broken"),
        pytest.param(5, Result.UNCLEAR, id="nothing was collected"),
        pytest.param(None, Result.TIMED_OUT, id="it was stopped"),
    ],
)
def test_only_a_failed_test_kills(status: int | None, result: Result) -> None:
    assert result is Ended(status, "", "").result
