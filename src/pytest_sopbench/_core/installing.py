"""How a library that an extra brings is installed: one wording for every message."""

from __future__ import annotations


def install_hint(*libraries: str, extra: str) -> str:
    """Return a command that works wherever this package came from, and name the extra."""
    brings = "it" if len(libraries) == 1 else "these"
    return f"pip install {' '.join(libraries)}; the extra {extra!r} brings {brings}"
