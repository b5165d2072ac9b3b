"""Pages on a session: written all or none, and never half of one."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from errno import ENOENT
from os import O_APPEND, O_TRUNC, strerror
from pathlib import Path
from typing import BinaryIO

from pytest_sopbench.errors import SopbenchError

from .atomic import opened_at_once, replace_file, try_making, try_writing


def write_pages(pages: Mapping[Path, str]) -> None:
    """Write every page aside, and put them into place together.

    Raises:
        SopbenchError: names the first file that the disk did not take. The others were not written.
    """
    with ExitStack() as stack:
        for path, page in pages.items():
            stack.enter_context(_named(path))
            # Where a link leads, so that it stays one.
            file = stack.enter_context(_opened(path.resolve()))
            # No file takes half of a character.
            file.write(page.encode("utf-8", "backslashreplace"))
            file.flush()


def try_page(path: Path) -> None:
    """See that a page could be written, and leave everything as it was.

    Raises:
        OSError: it could not.
    """
    file = path.resolve()
    if file.is_file():
        # To write into it is not enough: another file takes its place.
        try_making(file)
    else:
        try_writing(file)


def add_to_page(path: Path, page: str) -> None:
    """Write behind what a file holds already.

    Raises:
        SopbenchError: the disk did not take it.
    """
    with _named(path), opened_at_once(path, O_APPEND) as file:
        file.write(page.encode("utf-8", "backslashreplace"))


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    if path.exists() and not path.is_file():
        # A device or a pipe: renaming a file over it would take it away from everybody.
        with opened_at_once(path, O_TRUNC) as file:
            yield file
    elif not path.parent.is_dir():
        # A folder that is not there is more often a slip than a wish.
        raise FileNotFoundError(ENOENT, strerror(ENOENT))
    else:
        with replace_file(path) as file:
            yield file


@contextmanager
def _named(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        raise SopbenchError(msg) from fault
