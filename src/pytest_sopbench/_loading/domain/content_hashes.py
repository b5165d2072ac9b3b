"""The hashes of what a domain holds; that of its data is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

DATA = "data"


class ContentHashes(Mapping[str, str]):
    """Hashes by the name of what they are of.

    The rows are most of a domain. To hash them takes longer than the rest together, and a list of
    domains shows no hash.

    Args:
        known: all but that of the data.
        data: makes that one.
    """

    def __init__(self, known: Mapping[str, str], data: Callable[[], str]) -> None:
        self._made = dict(known)
        self._data = data

    def __getitem__(self, name: str) -> str:
        if name == DATA and name not in self._made:
            self._made[DATA] = self._data()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._made, DATA)))

    def __len__(self) -> int:
        return len({*self._made, DATA})

    def __repr__(self) -> str:
        return repr(dict(self))
