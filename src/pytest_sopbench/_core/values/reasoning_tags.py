"""The tags in which models think aloud."""

from __future__ import annotations

from typing import Final

REASONING: Final = (
    "thinking", "think", "thoughts", "thought", "analysis", "reasoning", "reflection", "scratchpad"
)  # fmt: skip
"""Tags inside which nothing is an answer."""
