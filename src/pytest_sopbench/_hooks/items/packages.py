"""The Python packages in which a domain happens to lie.

pytest imports the `__init__.py` of every folder above an item before the item runs. A data file
needs none of them, and that of a public checkout may well fail.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


class PackageAboveData(pytest.Package):
    """A package above a data file; it is imported only for tests in Python that lie in it."""

    _needed = True
    _put_off = False

    def enter(self, *, needed: bool) -> None:
        """Be told, before each item below is set up, whether that item needs the package."""
        self._needed = needed
        if needed and self._put_off:
            super().setup()
            self._put_off = False

    def setup(self) -> None:
        if self._needed:
            super().setup()
        else:
            self._put_off = True

    def teardown(self) -> None:
        self._put_off = False
        super().teardown()


def package_above_data(path: Path, parent: pytest.Collector) -> PackageAboveData:
    """Make the node of a folder with an `__init__.py`."""
    make: Callable[..., PackageAboveData] = PackageAboveData.from_parent  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - pytest leaves keywords untyped
    return make(parent, path=path)
