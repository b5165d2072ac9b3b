"""A stub of model providers on the loopback: it sees nothing but the requests it is sent.

It plays a competent model. What it knows of a task it reads in the conversation: the procedure by
its number, the inputs, the tools that are offered, and the results of its own calls. The reference
policy of the domain stands for what a model would make of the procedure.
"""

from __future__ import annotations

from .seen import Call, Seen
from .server import Stub

__all__ = ["Call", "Seen", "Stub"]
