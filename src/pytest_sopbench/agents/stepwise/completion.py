"""The agent's own tool: with it a model says that a step is done. It is no tool of the domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_sopbench.agents.conversation import ToolRequest, as_object

COMPLETE: Final = "complete_step"
END: Final = "answer"
"""What stands in the place of a step where the procedure is at its end."""


class IncompleteError(Exception):
    """A call of the tool that does not complete the step; the message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A step that is done: what it has found, and where the SOP goes on, if it says so."""

    summary: str
    following: str = ""


def completion_spec(numbers: Sequence[str]) -> Mapping[str, Any]:
    """Return the tool spec, for an SOP with these steps."""
    return {
        "name": COMPLETE,
        "description": "Say that the current step is done. Call it alone, after all results.",
        "parameters": {
            "type": "object",
            "properties": {
                "summary": {
                    "type": "string",
                    "description": "What this step has found, decided or done: every value that a "
                    "later step may need.",
                },
                "next": {
                    "type": "string",
                    "enum": [*numbers, END],
                    "description": "Only where the procedure orders to go on elsewhere than at the "
                    f"next step: the number of that step, or {END!r} where it ends here.",
                },
            },
            "required": ["summary"],
            "additionalProperties": False,
        },
    }


def read_completion(request: ToolRequest, numbers: Sequence[str]) -> Completion:
    """Read a call of the tool.

    Raises:
        IncompleteError: it has no summary, or names a step that there is not.
    """
    given = as_object(request.arguments)
    if given is None:
        msg = f"the arguments of {COMPLETE} must be one JSON object with a summary"
        raise IncompleteError(msg)
    summary = given.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        msg = "the summary is missing: say in words what this step has found"
        raise IncompleteError(msg)
    wanted = given.get("next")
    if wanted is None or wanted == "":
        return Completion(summary=summary.strip())
    named = str(wanted).strip().removeprefix("Step ").removeprefix("step ")
    if named not in (*numbers, END):
        msg = f"there is no step {wanted!r}; the steps are {', '.join(numbers)}, or {END!r}"
        raise IncompleteError(msg)
    return Completion(summary=summary.strip(), following=named)
