"""The folder that sessions lie in."""

from __future__ import annotations

from pathlib import Path


def make_folder(path: Path) -> None:
    """Make the folder of a file; `.sop` ignores itself in git.

    Raises:
        OSError: the disk did not take it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = next((one for one in path.absolute().parents if one.name == ".sop"), None)
    if own is not None and not (own / ".gitignore").exists():
        (own / ".gitignore").write_text("*\n", "utf-8")
