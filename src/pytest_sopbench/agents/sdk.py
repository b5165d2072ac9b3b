"""Import a library that only an extra installs, or say what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pytest_sopbench.errors import AgentSpecError


def load_sdk(name: str) -> Any:
    """Return a library by its name.

    Raises:
        AgentSpecError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        msg = f"{name} is not installed: pip install {name}"
        raise AgentSpecError(msg) from None
