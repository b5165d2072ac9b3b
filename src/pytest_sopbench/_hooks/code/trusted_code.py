"""A domain's own code, loaded only where it is trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_sopbench._core.model.protocols import Policy
from pytest_sopbench._hooks.session.domains import ActiveDomain
from pytest_sopbench._running.tools.domain_code import ManagerFactory
from pytest_sopbench._running.tools.mcp_tools import McpTools
from pytest_sopbench.errors import SopbenchError


def manager_factory(active: ActiveDomain) -> ManagerFactory | None:
    """Return what makes the domain's tool manager, or `None` where it has no `tools.py`.

    Raises:
        pytest.UsageError: the code is not trusted, or cannot be used.
    """
    file = active.domain.tools_file
    if file is None:
        return None
    _check_trust(active, file)
    try:
        from pytest_sopbench._running.tools.domain_code import load_manager_factory  # noqa: PLC0415 - only where a domain has code

        return load_manager_factory(active.domain)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def mcp_tools(active: ActiveDomain) -> McpTools | None:
    """Return what reaches the domain's MCP server, or `None` where it has none; it is not started.

    A server counts as code of its domain, also behind an address: it is given what the agent says
    and what `env:` names, and an address of this machine may be that of anything.

    Raises:
        pytest.UsageError: it is not trusted, or a variable is not set.
    """
    if active.domain.mcp is None:
        return None
    _check_trust(active, active.domain.folder / "metadata.json, key 'mcp'")
    try:
        return McpTools(active.domain, os.environ)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def policy(active: ActiveDomain) -> Policy:
    """Return the domain's reference policy.

    Raises:
        pytest.UsageError: it has none, its code is not trusted, or cannot be used.
    """
    file = active.domain.policy_file
    if file is None:
        msg = (
            f"reference-policy: domain {active.domain.name} has no policy.py\n"
            "give another --agent, or write the SOP as decide(inputs, call) in that file"
        )
        raise pytest.UsageError(msg)
    _check_trust(active, file)
    try:
        from pytest_sopbench._running.tools.domain_code import load_policy  # noqa: PLC0415 - only where a domain has code

        return load_policy(active.domain)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def _check_trust(active: ActiveDomain, file: Path) -> None:
    if not active.trusted:
        msg = (
            f"{file}: this code lies outside the project, and is not run unasked\n"
            f"name the domain by its path, or add its folder to sop_trust"
        )
        raise pytest.UsageError(msg)
