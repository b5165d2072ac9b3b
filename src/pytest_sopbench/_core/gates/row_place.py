"""Where the row of a task lies, for those who look at a repository."""

from __future__ import annotations

from typing import NamedTuple


class RowPlace(NamedTuple):
    """A line of a data file, by its path from the top of the repository, with `/` between."""

    path: str
    line: int
