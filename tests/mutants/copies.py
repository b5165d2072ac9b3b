"""Copies of the source tree, one for each mutant, so that no change reaches the working tree."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mutants.mutant import PACKAGE, Mutant, mutated, place_of


def copy_source(source: Path, folder: Path) -> Path:
    """Copy the package into a folder, with its bytecode, and return the root to import it from."""
    shutil.copytree(source / PACKAGE, folder / PACKAGE)
    return folder


def copy_with(mutant: Mutant, base: Path, folder: Path) -> Path:
    """Copy a root that `copy_source` made, with one mutant in it.

    Files are shared with the base, as links, but for the one that is changed. Its bytecode goes:
    within one second, and with as many characters, Python would take it for that of the change.

    Raises:
        DoesNotApplyError: the mutant does not apply.
    """
    shutil.copytree(base / PACKAGE, folder / PACKAGE, copy_function=_link)
    path = place_of(mutant, folder)
    text = mutated(mutant, path)
    path.unlink()
    path.write_text(text, "utf-8")
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        stale.unlink()
    return folder


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
