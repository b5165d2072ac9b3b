"""Read a file of unknown origin within bounds of time and memory.

Office documents, PDF and Parquet are packed, and a file of one megabyte may unpack to gigabytes,
whichever library reads it. So it is read in a child of this process, which the system ends if
it takes too much. If processes cannot fork (Windows), only the sizes of packed files are known.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import pickle
import select
import signal
import stat
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from pathlib import Path
from time import monotonic
from typing import Any, Concatenate, Final, NoReturn, ParamSpec, TypeAlias, TypeVar, cast

from pytest_sopbench._core.installing import install_hint
from pytest_sopbench.errors import LoadingError

P = ParamSpec("P")
T = TypeVar("T")
Reading: TypeAlias = Callable[Concatenate[Path, P], T]

LARGEST: Final = 512 * 1024**2
"""Bytes of a file, and of what a packed one says it unpacks to."""

MEMORY: Final = 2 * 1024**3
SECONDS: Final = 120.0

_HINT: Final = "is it what its name says? keep only the sheet or the pages that are needed"
_DEEP: Final = "is nested too deeply"


def bounded(read: Reading[P, T]) -> Reading[P, T]:
    """Have a file, the first argument, read within bounds.

    Raises:
        LoadingError: as the function does; it is too large, or takes too long or too much to read.
    """

    def within(path: Path, *args: P.args, **named: P.kwargs) -> T:
        _check_size(path)
        if not hasattr(os, "fork"):
            return _plainly(path, lambda: read(path, *args, **named))
        return _in_child(path, lambda: _plainly(path, lambda: read(path, *args, **named)))

    return cast("Reading[P, T]", update_wrapper(within, read))


def too_much_memory(path: Path) -> LoadingError:
    """Return the error for a file that takes more than there is."""
    problem = f"takes more than {_size(MEMORY)} of memory to read"
    return LoadingError(path, problem, hint=_HINT)


def _check_size(path: Path) -> None:
    try:
        found = path.stat()
    except OSError:
        # What reads it says what is wrong.
        return
    if stat.S_ISDIR(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode):
        raise LoadingError(path, "is no regular file", hint="save it as one")
    if found.st_size > LARGEST:
        raise LoadingError(path, f"is larger than {_size(LARGEST)}", hint=_HINT)
    with suppress(OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        # No library reads more of a part than this says.
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(part.file_size for part in packed.infolist())
        if unpacked > LARGEST:
            problem = f"unpacks to {_size(unpacked)}, and {_size(LARGEST)} are allowed"
            raise LoadingError(path, problem, hint=_HINT)


def _plainly(path: Path, read: Callable[[], T]) -> T:
    try:
        return read()
    except MemoryError:
        raise too_much_memory(path) from None
    except RecursionError:
        raise LoadingError(path, _DEEP, hint=_HINT) from None


def _in_child(path: Path, read: Callable[[], T]) -> T:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns of threads, which this child does not need.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(reading)
        _end_as_child(read, writing)
    os.close(writing)
    try:
        data = _received(path, reading)
    finally:
        os.close(reading)
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    try:
        # Our own child wrote it.
        is_whole, found = pickle.loads(data)  # noqa: S301 - see above
    except (EOFError, pickle.UnpicklingError):
        # It was ended before it had said anything, or in the middle of what it said.
        raise too_much_memory(path) from None
    if not is_whole:
        kind, where, problem, row, column, hint = found
        raise kind(where, problem, row=row, column=column, hint=hint)
    value: T = found
    return value


def _received(path: Path, reading: int) -> bytes:
    found, left, until = list[bytes](), LARGEST, monotonic() + SECONDS
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - monotonic()))
        if not ready:
            problem = f"was not read to its end after {SECONDS:g} seconds"
            raise LoadingError(path, problem, hint=_HINT)
        data = os.read(reading, 1024**2)
        if not data:
            return b"".join(found)
        found.append(data)
        left -= len(data)
        if left < 0:
            raise LoadingError(path, f"holds more than {_size(LARGEST)} of text", hint=_HINT)


def _end_as_child(read: Callable[[], object], writing: int) -> NoReturn:
    try:
        # An interpreter that is out of memory says so on its own.
        faulthandler.disable()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        _limit_memory()
        try:
            answer = True, read()
        except LoadingError as error:
            told = type(error), error.path, error.problem, error.row, error.column, error.hint
            answer = False, told
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(answer, stream, pickle.HIGHEST_PROTOCOL)
    finally:
        # Nothing of the parent is ended here: no handler, no buffer, no thread.
        os._exit(0)


def _limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - Windows has none

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _size(count: int) -> str:
    return f"{count / 1024**2:,.0f} MB" if count < 1024**3 else f"{count / 1024**3:,.0f} GB"


# Libraries that only some need: imported when a file asks for them.


def library(name: str, *, path: Path) -> Any:
    """Import a module that reads this file.

    Raises:
        LoadingError: it is not installed; the hint says what to install.
    """
    try:
        return importlib.import_module(name)
    except ImportError as fault:
        package = name.partition(".")[0]
        raise LoadingError(
            path,
            f"{package} is needed to read it, and cannot be imported: {fault}",
            hint=install_hint(package, extra="import"),
        ) from fault


def read_by(path: Path, name: str, fault: Exception) -> LoadingError:
    """Return the error for a file that a library could not read, whatever it raised.

    Raises:
        MemoryError: there was not enough of it, which says nothing of the file's form.
        RecursionError: it is nested too deeply.
    """
    if isinstance(fault, MemoryError | RecursionError):
        raise fault
    told = " ".join(str(fault).split()) or type(fault).__name__
    if "allocate output buffer" in told:
        # So says zlib, by an error of its own.
        raise MemoryError
    return LoadingError(path, f"{name} cannot read it: {told}", hint="is it what its name says?")
