"""Imports of agents and of domains' code, bounded in time."""

from __future__ import annotations

from contextlib import AbstractContextManager

from pytest_sopbench._hooks.session.import_limit import import_limit
from pytest_sopbench._hooks.session.session import SopSession


def bounded_import(sop: SopSession, what: str) -> AbstractContextManager[None]:
    """Bound the import of `what`, which is made inside, by the time limit of runs.

    Raises:
        pytest.UsageError: it took longer.
    """
    return import_limit(sop.config, sop.options, what)
