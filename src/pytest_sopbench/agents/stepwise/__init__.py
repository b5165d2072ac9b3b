"""The stepwise agent: the model is given one step of the SOP at a time."""

from __future__ import annotations

from pytest_sopbench.agents.stepwise.agent import Stepwise

__all__ = ["Stepwise"]
