"""The stepwise agent: the model is given one step of the SOP at a time."""

from __future__ import annotations

from .agent import Stepwise

__all__ = ["Stepwise"]
