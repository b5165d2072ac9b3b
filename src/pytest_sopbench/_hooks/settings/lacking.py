"""Name the package that an option is of, where pytest would only say that the option is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

import pytest

from pytest_sopbench._core.installing import install_hint

PACKAGES: Final = {
    "-n": ("pytest-xdist", "xdist", "xdist"),
    "--numprocesses": ("pytest-xdist", "xdist", "xdist"),
    "--dist": ("pytest-xdist", "xdist", "xdist"),
    "--snapshot-update": ("syrupy", "syrupy", "snapshot"),
}
"""Options of the packages that extras bring: package, module and extra."""


def refuse_lacking(parser: pytest.Parser, args: Sequence[str]) -> None:
    """Refuse an option that nothing has because its package is not installed.

    Raises:
        pytest.UsageError: with the command that installs it.
    """
    for word in parser.parse_known_and_unknown_args(args)[1]:
        option = word[:2] if word.startswith("-n") else word.partition("=")[0]
        package, module, extra = PACKAGES.get(option, ("", "", ""))
        if package and find_spec(module) is None:
            hint = install_hint(package, extra=extra)
            msg = f"{option} needs {package}, which is not installed: {hint}"
            raise pytest.UsageError(msg)
