"""The source stays in small files and small rooms."""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "pytest_sopbench"
LINES = 300
FILES = 15

LONGER = {
    "_hooks/books/recorder.py": 303,
    "_hooks/deciding/gate.py": 321,
    "_hooks/printing/summary.py": 315,
    "_hooks/runs/prefetch.py": 316,
    "_hooks/session/session.py": 322,
    "_running/engine/dispatcher.py": 301,
    "_running/tools/facade.py": 313,
    "_running/tools/toolbox.py": 301,
}
"""Files that were longer when the ceiling was drawn, with their ceilings, which only fall."""


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


def test_no_room_holds_more_files_than_can_be_overseen() -> None:
    counts = {
        room.relative_to(SOURCE).as_posix(): len([*room.glob("*.py")])
        for room in {path.parent for path in modules()}
    }

    assert "_core/model" in counts
    assert {} == {room: count for room, count in counts.items() if count > FILES}
