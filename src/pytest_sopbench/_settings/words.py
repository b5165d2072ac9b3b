"""Ini values whose text is cut into words, as a shell does it."""

from __future__ import annotations

from pathlib import Path


def unsplit(name: str, fault: ValueError, file: Path | None) -> str:
    """Say that the text of an ini value cannot be cut into words."""
    return (
        f"{file}: {name}: {str(fault).lower()}\n"
        "write a quote or a backslash that belongs to a value inside quotes"
    )
