"""Reference agents: they give a domain to a model, through the same door as an agent of yours.

    from pytest_sopbench.agents import FunctionCalling

    agent = FunctionCalling(model="openai/gpt-5-mini", temperature=0)

Each is small, so that it can also be read and copied. The libraries of providers are imported when
an agent is made, and not before.
"""

from __future__ import annotations

from pytest_sopbench.agents.conversation import (
    Message,
    ModelClient,
    ModelRequest,
    ModelUsage,
    Reply,
    StopReason,
    ToolRequest,
    ToolResult,
)
from pytest_sopbench.agents.model_agent import FunctionCalling
from pytest_sopbench.agents.react import ReAct
from pytest_sopbench.agents.stepwise import Stepwise

__all__ = [
    "FunctionCalling",
    "Message",
    "ModelClient",
    "ModelRequest",
    "ModelUsage",
    "ReAct",
    "Reply",
    "Stepwise",
    "StopReason",
    "ToolRequest",
    "ToolResult",
]
