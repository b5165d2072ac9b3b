"""Where syrupy keeps a trajectory. Imported only if the fixture `sop_snapshot` is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.session import SnapshotSession

from pytest_sopbench._core.trajectory.snapshot import SUFFIX
from pytest_sopbench._hooks.snapshots import FILE
from pytest_sopbench._sessions.snapshots import write_whole
from pytest_sopbench.errors import SnapshotFileError


class TrajectoryExtension(SingleFileSnapshotExtension):
    """One file per task, whichever test asks for it.

    What syrupy is given is text already, so there is nothing to serialize. It discovers nothing:
    which snapshots are unused it would tell from the names of tests, and there the snapshot of a
    test that fails before it compares is unused, and then deleted.
    """

    _write_mode = WriteMode.TEXT
    file_extension = SUFFIX.removeprefix(".")

    found: str | SnapshotFileError | None = None
    """What stands in the file that is compared with, why it cannot be read, or `None`: no file."""

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: object) -> str:  # noqa: ARG003 - syrupy's signature
        return str(test_location.item.stash[FILE])

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: object = 0) -> str:
        # Shown, and never the name of a file, so nothing in it has to be replaced.
        return f"{test_location.testname}.{index}" if index else test_location.testname

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:  # noqa: ARG003 - syrupy's signature
        # Asked of every collected test, those without a task included.
        return cls.__name__

    def read_snapshot_data_from_location(self, **_: object) -> str | None:
        # Read already, by what asks syrupy. What is raised here fails, and is not written over.
        if isinstance(self.found, SnapshotFileError):
            raise self.found
        return self.found

    def discover_snapshots(self, **_: object) -> SnapshotCollections:
        return SnapshotCollections()

    @classmethod
    def write_snapshot(
        cls, *, snapshot_location: str, snapshots: Sequence[tuple[Any, Any, Any]], **_: object
    ) -> None:
        # All of it, since what syrupy does first is to warn of a file that no test is named as.
        for data, _location, _index in snapshots:
            write_whole(Path(snapshot_location), data)


def assertion_of(item: pytest.Item, session: SnapshotSession) -> SnapshotAssertion:
    """Return what compares, writes and counts for an item, as syrupy's own fixture makes it."""
    option: Any = item.config.option
    return SnapshotAssertion(
        session=session,
        extension_class=TrajectoryExtension,
        test_location=PyTestLocation(item),
        update_snapshots=option.update_snapshots,
        update_new_snapshots_only=option.update_new_snapshots_only,
    )
