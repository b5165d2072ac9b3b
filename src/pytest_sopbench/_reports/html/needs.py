"""What must be installed before an HTML page can be written."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from pytest_sopbench._core.installing import install_hint

NAME: Final = "html"
MISSING: Final = (
    f"jinja2 is not installed, which an HTML page needs: {install_hint('jinja2', extra='html')}"
)


def missing_for(name: str) -> str:
    """Say what a format lacks and how it is installed; nothing where it can be written."""
    return MISSING if name == NAME and find_spec("jinja2") is None else ""
