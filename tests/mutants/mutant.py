"""A mutation of the source, by its text, and the place in the tree where that text stands."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "pytest_sopbench"


class DoesNotApplyError(Exception):
    """The source has changed, so that a mutation is none any more."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the source that makes a lie possible.

    Attributes:
        name: what `--only` asks for; its first part is the area.
        function: the function, `Class.method`, class or constant that is changed; empty if the
            text stands in none. No path, so that a function may move.
        old: a text that stands exactly once in it.
        new: what stands there instead.
        tests: files below `tests/`, or single tests of them, one of which must fail.
        harm: what would go wrong for a user.
    """

    name: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]
    harm: str


def texts_of(source: Path) -> dict[Path, str]:
    """Return the files of a source tree with what stands in them."""
    package = source / PACKAGE
    return {path: path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}


def place_of(mutant: Mutant, source: Path) -> Path:
    """Return the file to change in a source tree.

    Raises:
        DoesNotApplyError: no function of that name has the old text, or several have it.
    """
    return place_in(texts_of(source), mutant)


def place_in(texts: Mapping[Path, str], mutant: Mutant) -> Path:
    """Return the file to change, of files that have been read.

    Raises:
        DoesNotApplyError: no function of that name has the old text, or several have it.
    """
    found = [
        path
        for path, text in texts.items()
        if any(mutant.old in part for part in _parts(mutant, text))
    ]
    if len(found) != 1:
        said = "no file has" if not found else f"{len(found)} files have"
        msg = f"{mutant.name}: {said} {mutant.function or 'a place'} with its old text"
        raise DoesNotApplyError(msg)
    return found[0]


def mutated(mutant: Mutant, path: Path) -> str:
    """Return the text of a file with the change in it.

    Raises:
        DoesNotApplyError: the old text stands there more than once, or nothing would change.
    """
    text = path.read_text("utf-8")
    parts = [part for part in _parts(mutant, text) if mutant.old in part]
    count = sum(part.count(mutant.old) for part in parts)
    if count != 1 or mutant.old == mutant.new:
        why = f"its old text stands {count} times in" if count != 1 else "it changes nothing in"
        msg = f"{mutant.name}: {why} {mutant.function or path.name}"
        raise DoesNotApplyError(msg)
    changed = parts[0].replace(mutant.old, mutant.new)
    start = text.index(parts[0])
    return text[:start] + changed + text[start + len(parts[0]) :]


def _parts(mutant: Mutant, text: str) -> list[str]:
    """Return what a file defines under the name of the function; the whole file without one."""
    if mutant.old not in text:
        return []
    if not mutant.function:
        return [text]
    return _defined(text).get(mutant.function, [])


@cache
def _defined(text: str) -> dict[str, list[str]]:
    """Return the functions, methods, classes and constants of a file, whole lines, by name."""
    lines = text.splitlines(keepends=True)
    found: dict[str, list[str]] = {}

    def look(body: Sequence[ast.stmt], outer: str) -> None:
        for one in body:
            name = _name(one)
            if name:
                decorators = getattr(one, "decorator_list", [])
                first = min(line.lineno for line in (one, *decorators))
                part = "".join(lines[first - 1 : one.end_lineno])
                found.setdefault(f"{outer}{name}", []).append(part)
            if isinstance(one, ast.ClassDef):
                look(one.body, f"{outer}{name}.")
            elif isinstance(one, ast.If | ast.Try):
                look(one.body, outer)

    look(ast.parse(text).body, "")
    return found


def _name(one: ast.stmt) -> str:
    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return one.name
    target = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def refuse_no_python(mutant: Mutant, path: Path) -> None:
    """Refuse a mutation that any import finds.

    Raises:
        DoesNotApplyError: it does not apply, or what comes of it is no Python.
    """
    try:
        compile(mutated(mutant, path), path.name, "exec")
    except SyntaxError as fault:
        msg = f"{mutant.name}: what it makes of {path.name} is no Python: {fault}"
        raise DoesNotApplyError(msg) from fault
