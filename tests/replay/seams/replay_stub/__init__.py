"""Model providers on the loopback that say back what they were asked, plain and streamed."""

from __future__ import annotations

from .provider import Provider
from .tapes import MemoryTape

__all__ = ["MemoryTape", "Provider"]
