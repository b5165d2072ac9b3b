"""The steps that an agent is given, and whether they can be carried out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from pytest_sopbench.errors import AgentSpecError

from .completion import COMPLETE


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
        command = f"sopbench steps {domain or 'DOMAIN'} --propose {model or 'PROVIDER/MODEL'}"
        hint = f"write them into its steps.json, or have a model propose them: {command}"
        raise AgentSpecError(msg, hint=hint)
    if COMPLETE in tools:
        msg = f"{where} has a tool {COMPLETE!r}, which the agent needs for itself"
        raise AgentSpecError(msg, hint="give the tool another name")
