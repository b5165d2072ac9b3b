"""Files that appear whole or not at all: written aside, then renamed into place in one step."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

from pytest_sopbench.errors import SopbenchError

_BLOCK = 4_096
SOP_DIR = "say with sop_dir where sessions may be written"
"""What to do if the folder of sessions takes nothing."""


@contextlib.contextmanager
def refused_as(error: type[SopbenchError], path: Path, hint: str = "") -> Generator[None]:
    """Say of a file that the disk did not take it, as an error of ours."""
    try:
        yield
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        raise error(msg, hint=hint) from fault


@contextlib.contextmanager
def replace_path(path: Path) -> Generator[Path]:
    """Yield a free path beside another one, and rename it to that one when the block ends.

    If the block fails nothing was replaced, and nothing is left aside.

    Raises:
        OSError: the disk did not take it.
    """
    aside = _aside(path)
    try:
        yield aside
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replace_file(path: Path, *, is_durable: bool = False) -> Generator[BinaryIO]:
    """Write a file aside, and put it into place when it is whole; its folder is made.

    `is_durable` waits until the disk has it, so that not even a power failure leaves half of it.

    Raises:
        OSError: the disk did not take it.
    """
    with replace_path(path) as aside, _opened(aside) as file:
        yield file
        if is_durable:
            _sync(file)


@contextlib.contextmanager
def add_file(path: Path) -> Generator[BinaryIO]:
    """Write a file aside, and put it into a place that is free once it is on the disk.

    Raises:
        FileExistsError: the place is taken.
        OSError: the disk did not take it.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.kept.tmp")
    try:
        with replace_file(aside, is_durable=True) as file:
            yield file
        try:
            # Fails if two sessions keep the same name at once, which a look before would miss.
            os.link(aside, path)
        except FileExistsError:
            raise
        except OSError:
            # A disk without links.
            if path.exists():
                raise FileExistsError(path) from None
            aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def copy_file(source: Path, path: Path) -> None:
    """Copy a file in one step; one that is there is replaced.

    Raises:
        OSError: the disk did not take it.
    """
    with source.open("rb") as whole, replace_file(path) as copy:
        shutil.copyfileobj(whole, copy)


def try_writing(path: Path) -> None:
    """See that a file could be written, and leave everything as it was but for missing folders.

    Raises:
        OSError: it could not.
    """
    if path.exists():
        with opened_at_once(path, os.O_APPEND):
            return
    aside = _aside(path)
    try:
        with _opened(aside) as file:
            # A full disk makes files, and takes nothing into them.
            file.write(bytes(_BLOCK))
            _sync(file)
    finally:
        aside.unlink(missing_ok=True)


def opened_at_once(path: Path, flags: int) -> BinaryIO:
    """Open a file to write, and wait for nobody who would have to read a pipe first.

    Raises:
        OSError: it cannot be opened, or is a pipe that nobody reads.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    os.set_blocking(number, True)
    return os.fdopen(number, "wb")


def try_making(path: Path) -> None:
    """See that a file can be made in a folder that is there, and leave nothing behind.

    Raises:
        OSError: it cannot.
    """
    aside = _aside(path)
    with aside.open("wb"):
        pass
    aside.unlink()


def _aside(path: Path) -> Path:
    # Of this process alone, in the same folder, so that renaming it is one step.
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _opened(aside: Path) -> BinaryIO:
    try:
        return aside.open("wb")
    except FileNotFoundError:
        # Looked for when it is missed: of a folder of thousands, only the first file misses it.
        aside.parent.mkdir(parents=True, exist_ok=True)
        return aside.open("wb")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
