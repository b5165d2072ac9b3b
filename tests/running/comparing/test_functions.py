"""Finding comparers: by module, by entry point, by what a project registers."""

from __future__ import annotations

import operator
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._running import comparing as functions
from pytest_sopbench._running.comparing import Place, called
from pytest_sopbench.errors import ComparerError

CODE = """
from functools import partial, wraps

def same(expected, actual, *, field, task, answer):
    return expected == actual

def loud(function):
    @wraps(function)
    def inner(*given, **named):
        return function(*given, **named)
    return inner

wrapped = loud(same)
bound = partial(same)

class Strict:
    def __call__(self, expected, actual, *, field, task, answer):
        return False

strict = Strict()
declared = partial(same)
declared.__version__ = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"comparers_of_{tmp_path.name.rstrip('0123456789')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    return name


def found(spec: str, *, trusted: bool = True, **registered: Any) -> str:
    field = OutputField(name="f", type=FieldType.TEXT, compare=Compare.CALL, comparer=spec)
    place = Place(
        domain="d", folder=Path(), trusted=trusted, path=Path.cwd(), registered=registered
    )
    return called(field, place).identity


@pytest.mark.parametrize("name", ["same", "wrapped", "strict"])
def test_a_version_is_the_hash_of_the_file(module: str, name: str) -> None:
    source = found(f"{module}:same").partition(" source ")[2]

    assert 12 == len(source)
    assert f"{module}:{name} source {source}" == found(f"{module}:{name}")


def test_what_a_partial_was_given_is_a_part_of_its_version(module: str) -> None:
    own = __import__(module).same
    names = {
        one: found("ours", ours=partial(own, **one_of))
        for one, one_of in {"bare": {}, "lax": {"answer": 1}, "strict": {"answer": 2}}.items()
    }

    assert 3 == len({*names.values()})


def test_a_comparer_may_say_its_version_itself(module: str) -> None:
    assert f"{module}:declared version 7" == found(f"{module}:declared")


def test_what_has_no_source_has_to_say_its_version() -> None:
    code = compile("def made(e, a, *, field, task, answer): return True", "<string>", "exec")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - a function without a file

    with pytest.raises(ComparerError, match="its source cannot be read"):
        found("made", made=names["made"])


def test_a_registered_comparer_may_be_named_by_a_domain_that_is_not_trusted(module: str) -> None:
    own = __import__(module).same

    assert found("ours", trusted=False, ours=own).startswith("ours source ")
    with pytest.raises(ComparerError, match="lies outside the project"):
        found(f"{module}:same", trusted=False)


def test_a_package_registers_a_comparer_by_an_entry_point(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint(name="theirs", value=f"{module}:same", group=functions.GROUP)
    monkeypatch.setattr(
        functions, "entry_points", lambda group: EntryPoints([point]).select(group=group)
    )

    assert found("theirs", trusted=False).startswith("theirs source ")
    with pytest.raises(ComparerError, match=r"registered: theirs\)\ndid you mean theirs\?"):
        found("thiers")


@pytest.mark.parametrize("function", [operator.eq, len, partial(print, "x"), Place])
def test_what_cannot_be_called_as_a_comparer_is_refused(function: Any) -> None:
    with pytest.raises(ComparerError, match="it cannot be called"):
        found("odd", odd=function)


def test_code_that_raises_when_imported_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaking_comparers.py").write_text("x = 1\nraise SystemExit('no')\n")

    with pytest.raises(ComparerError, match=r"SystemExit: no, at .*breaking_comparers.py:2"):
        found("breaking_comparers:x")


def test_nothing_but_a_module_is_no_comparer() -> None:
    assert isinstance(functions, ModuleType)
    with pytest.raises(ComparerError, match="it cannot be called"):
        found("odd", odd=functions)
