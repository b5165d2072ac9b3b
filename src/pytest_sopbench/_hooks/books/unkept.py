"""Say why a session could not be kept, whatever it was that kept it from that."""

from __future__ import annotations

from pathlib import Path

from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench.errors import SopbenchError


def why_unkept(path: Path, error: Exception) -> str:
    """Return one message. An agent may have put anything in the place of what writing needs."""
    if isinstance(error, SopbenchError):
        return str(error)
    said = harmless(f"{type(error).__name__}: {error}")
    return f"{path}: cannot be written: {said}{_place_of(error)}"


def _place_of(error: Exception) -> str:
    """Name the line that has raised it: often it is what was put there."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" (at {harmless(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
