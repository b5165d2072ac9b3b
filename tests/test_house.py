"""The source stays in small files and small rooms."""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "pytest_sopbench"
LINES = 300
SIBLINGS = 12

LONGER: dict[str, int] = {}
"""Files that were longer when the ceiling was drawn, with their ceilings, which only fall."""

WIDER = {
    ".": 19,
    "_core": 20,
    "_hooks": 15,
    "agents": 14,
}
"""Floors of the house, and a room whose paths are public, with their ceilings, which only fall."""


def modules(folder: Path = SOURCE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py"))


def test_no_file_is_longer_than_its_ceiling() -> None:
    lengths = {
        path.relative_to(SOURCE).as_posix(): len(path.read_text("utf-8").splitlines())
        for path in modules()
    }

    assert "plugin.py" in lengths
    assert {} == {
        name: length for name, length in lengths.items() if length > LONGER.get(name, LINES)
    }


def siblings(room: Path) -> list[str]:
    """Return the modules and the rooms that stand side by side in a room."""
    files = [path.name for path in room.glob("*.py") if path.name != "__init__.py"]
    return files + [path.name for path in room.iterdir() if path.is_dir() and modules(path)]


def test_no_room_holds_more_than_can_be_overseen() -> None:
    counts = {
        room.relative_to(SOURCE).as_posix(): len(siblings(room))
        for room in {path.parent for path in modules()}
    }

    assert "_core/model" in counts
    assert {} == {
        room: count for room, count in counts.items() if count > WIDER.get(room, SIBLINGS)
    }
