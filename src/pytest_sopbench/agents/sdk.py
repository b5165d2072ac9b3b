"""Import a library that only an extra installs, or say what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from pytest_sopbench.errors import AgentSpecError

_EXTRAS: Final = {"openai": "openai", "boto3": "bedrock", "jinja2": "openai"}


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
        extra = _EXTRAS[name]
        msg = f"{name} is not installed: pip install 'pytest-sopbench[{extra}]'"
        raise AgentSpecError(msg) from None
