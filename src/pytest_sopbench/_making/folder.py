"""A new folder appears whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pytest_sopbench.errors import LoadingError


@contextmanager
def new_folder(target: Path) -> Generator[Path]:
    """Yield an empty folder, which becomes the target when the block ends.

    Where the block fails, nothing is left.

    Raises:
        LoadingError: the disk did not take it, or the target is there and not empty.
    """
    made = [one for one in target.parents if not one.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as fault:
        raise _refused(target, fault) from fault
    try:
        # A folder of this kind is for its maker alone, and a domain is one to share.
        aside.chmod(0o755)
        yield aside
        aside.rename(target)
    except BaseException as fault:
        shutil.rmtree(aside, ignore_errors=True)
        for one in made:
            _remove_empty(one)
        if isinstance(fault, OSError):
            raise _refused(target, fault) from fault
        raise


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts as UTF-8, with the line ends that they have."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return


def _refused(target: Path, fault: OSError) -> LoadingError:
    return LoadingError(target, f"cannot be written: {fault.strerror or fault}")
