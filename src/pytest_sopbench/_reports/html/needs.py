"""What must be installed before an HTML page can be written."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

NAME: Final = "html"
MISSING: Final = "jinja2 is not installed, which an HTML page needs: pip install jinja2"


def missing_for(name: str) -> str:
    """Say what a format lacks and how it is installed; nothing where it can be written."""
    return MISSING if name == NAME and find_spec("jinja2") is None else ""
