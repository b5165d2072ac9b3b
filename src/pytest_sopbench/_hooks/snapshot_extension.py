"""Where syrupy keeps a trajectory. Imported only where the fixture `sop_snapshot` is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from pytest_sopbench._core.snapshot import SUFFIX
from pytest_sopbench._sessions.snapshot_folder import write_whole

from .snapshots import FILE


class TrajectoryExtension(SingleFileSnapshotExtension):
    """One file per task, whichever test asks for it.

    What syrupy is given is text already, so there is nothing to serialize. It discovers nothing:
    which snapshots are unused it would tell from the names of tests, and there the snapshot of a
    test that fails before it compares is unused, and then deleted.
    """

    _write_mode = WriteMode.TEXT
    file_extension = SUFFIX.removeprefix(".")

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: object) -> str:  # noqa: ARG003 - syrupy's signature
        return str(test_location.item.stash[FILE])

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:  # noqa: ARG003 - syrupy's signature
        # Asked of every collected test, those without a task included.
        return cls.__name__

    def discover_snapshots(self, **_: object) -> SnapshotCollections:
        return SnapshotCollections()

    @classmethod
    def write_snapshot(
        cls, *, snapshot_location: str, snapshots: Sequence[tuple[Any, Any, Any]], **_: object
    ) -> None:
        # All of it, since what syrupy does first is to warn of a file that no test is named as.
        path = Path(snapshot_location)
        path.parent.mkdir(parents=True, exist_ok=True)
        for data, _location, _index in snapshots:
            write_whole(path, data)
