"""The places of a library through which its requests go, patched and given back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_sopbench.errors import CassetteError

Through = Callable[[Any], Any]
"""Takes what stood in the door, and returns what stands there while traffic is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """An attribute of a class; `through` makes its replacement."""

    owner: type
    name: str
    through: Through


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """A library whose traffic is seen, once this module of it is imported."""

    module: str
    library: str
    doors: Callable[[Any], Iterable[Door]]

    def open(self, module: Any) -> tuple[Door, ...]:
        """Return the doors of the imported module.

        Raises:
            CassetteError: the library has moved one.
        """
        try:
            doors = tuple(self.doors(module))
        except (AttributeError, ImportError, TypeError, ValueError) as error:
            raise CassetteError(self._moved(module, str(error))) from error
        for door in doors:
            if door.name not in vars(door.owner):
                where = f"{door.owner.__qualname__} has no {door.name} of its own"
                raise CassetteError(self._moved(module, where))
        return doors

    def _moved(self, module: Any, why: str) -> str:
        package = __import__(module.__name__.partition(".")[0])
        version = getattr(package, "__version__", "of unknown version")
        return (
            f"{self.library} {version} cannot be recorded or replayed: {why}. "
            "Install another version of it."
        )


class Patches:
    """What was patched, and what stood there before."""

    def __init__(self) -> None:
        """Begin with nothing patched."""
        self._done: dict[tuple[int, str], tuple[Door, Any, Any]] = {}

    def apply(self, doors: Sequence[Door]) -> None:
        """Patch each door that is not patched yet."""
        for door in doors:
            key = (id(door.owner), door.name)
            if key in self._done:
                continue
            before = vars(door.owner)[door.name]
            after = door.through(before)
            setattr(door.owner, door.name, after)
            self._done[key] = (door, before, after)

    def undo(self) -> None:
        """Put back what stood there, but nothing over what somebody else has put there since."""
        while self._done:
            _, (door, before, after) = self._done.popitem()
            if vars(door.owner).get(door.name) is after:
                setattr(door.owner, door.name, before)
