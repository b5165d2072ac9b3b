"""The steps that a stepwise agent works through, and what ends one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pytest_sopbench.agents.conversation import ToolRequest, as_object
from pytest_sopbench.errors import AgentSpecError

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


# The steps that an agent is given, and whether they can be carried out.


class PlannedStep(Protocol):
    """One step of an SOP; `approvals` are among `before` and `after`."""

    @property
    def number(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def approvals(self) -> Sequence[str]: ...


class Plan(Protocol):
    """An SOP as steps, and the text that applies to all of them."""

    @property
    def steps(self) -> Sequence[PlannedStep]: ...
    @property
    def general(self) -> str: ...
    @property
    def why_not(self) -> str: ...


def check_plan(
    plan: Plan, tools: Collection[str], *, domain: str = "", model: str = "PROVIDER/MODEL"
) -> None:
    """Complain of an SOP that cannot be carried out step by step.

    Raises:
        AgentSpecError: it shows no steps, or one of the tools has the name of the agent's own.
    """
    where = f"domain {domain}" if domain else "the SOP"
    if not plan.steps:
        msg = f"{where} shows no steps: {plan.why_not}"
        asks = f"--propose {model or 'PROVIDER/MODEL'}"
        command = f"sopbench list {domain or 'DOMAIN'} --steps {asks}"
        hint = f"write them into its steps.json, or have a model propose them: {command}"
        raise AgentSpecError(msg, hint=hint)
    if COMPLETE in tools:
        msg = f"{where} has a tool {COMPLETE!r}, which the agent needs for itself"
        raise AgentSpecError(msg, hint="give the tool another name")
