"""The doors of the room that runs agents."""

from __future__ import annotations

from pytest_sopbench._core.steps import deny_all
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import resolve_agent

__all__ = [
    "AgentCaller",
    "deny_all",
    "resolve_agent",
]
