"""What the providers have in common."""

from __future__ import annotations

import json
from typing import NoReturn

from .competent import Move
from .seen import Seen


class BadRequestError(Exception):
    """A request that the provider itself would refuse."""


def refuse(why: str) -> NoReturn:
    """Say what is wrong with a request."""
    raise BadRequestError(why)


def action_text(move: Move, asked: Seen) -> str:
    """Write the calls as text; a server that is asked to stop before observations does so."""
    parts = ["Thought: the procedure asks for it"]
    for call in move.calls:
        given = call.arguments
        written = given if isinstance(given, str) else json.dumps(given)
        parts.append(f"Action: {call.name}\nAction Input: {written}")
    text = "\n".join(parts)
    if not asked.stop:
        # Nobody stopped it, so that it goes on with what it expects to be told.
        text += '\nObservation: {"score": 3}\nThought: I guess\nFinal Answer: Hazard Class A'
    return text
