"""Libraries that only some need: imported when a file asks for them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from pytest_sopbench.errors import LoadingError


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
            hint=f"pip install {package}; the extra 'import' of this package brings all of these",
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
