"""A mutation of the source, by its text, and the place in the tree where that text stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PACKAGE = "pytest_sopbench"


class DoesNotApplyError(Exception):
    """The source has changed, so that a mutation is none any more."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the source that makes a lie possible.

    Attributes:
        name: what `--only` asks for; its first part is the area.
        file: relative to the package.
        old: a text that stands exactly once in the file.
        new: what stands there instead.
        tests: files below `tests/`, or single tests of them, one of which must fail.
        harm: what would go wrong for a user.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    harm: str


def place_of(mutant: Mutant, source: Path) -> Path:
    """Return the file to change in a source tree; one that was moved is found by name and text.

    Raises:
        DoesNotApplyError: there is none, or there are several.
    """
    package = source / PACKAGE
    named = package / mutant.file
    if named.is_file() and mutant.old in named.read_text("utf-8"):
        return named
    found = [
        path for path in sorted(package.rglob(named.name)) if mutant.old in path.read_text("utf-8")
    ]
    if len(found) != 1:
        said = "no file" if not found else f"{len(found)} files"
        msg = f"{mutant.name}: {said} of the name {named.name} with its old text"
        raise DoesNotApplyError(msg)
    return found[0]


def mutated(mutant: Mutant, path: Path) -> str:
    """Return the text of a file with the change in it.

    Raises:
        DoesNotApplyError: the old text stands there more than once, or nothing would change.
    """
    text = path.read_text("utf-8")
    count = text.count(mutant.old)
    if count != 1 or mutant.old == mutant.new:
        why = f"its old text stands {count} times in" if count != 1 else "it changes nothing in"
        msg = f"{mutant.name}: {why} {path.name}"
        raise DoesNotApplyError(msg)
    return text.replace(mutant.old, mutant.new)


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
