"""The stepwise agent."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_sopbench.agents.dialogue import Finding, Step
from pytest_sopbench.agents.driving import Asking, RunTools, adrive, drive, schema_of
from pytest_sopbench.agents.model_agent import ModelAgent
from pytest_sopbench.agents.settings import whole
from pytest_sopbench.agents.stepwise.plan import Plan, check_plan
from pytest_sopbench.agents.stepwise.walk import Errand, Walk


@dataclass(frozen=True, kw_only=True)
class Stepwise(ModelAgent):
    """An agent whose model is given one step of the SOP at a time.

    A step is carried out with its text, the text that applies to all steps, the inputs, the tools,
    and what earlier steps have found. The model ends it with a tool of the agent's own, and may go
    on at another step where the SOP orders that.
    """

    max_turns: int | str = 100

    name: ClassVar[str] = "stepwise"
    blocks: ClassVar[tuple[str, ...]] = ("system", "user", "remind", "answer", "again")

    def execute(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
        steps: Plan,
        approver: Asking,
    ) -> object:
        """Run the agent on one task, as the session does."""
        walk = self._walk(sop, inputs, tools, output_fields, steps)
        return drive(walk, self._client(), tools, approver, max_context=self._max_context())

    async def aexecute(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
        steps: Plan,
        approver: Asking,
    ) -> object:
        """As `execute`, for async code."""
        walk = self._walk(sop, inputs, tools, output_fields, steps)
        limit = self._max_context()
        return await adrive(walk, self._client(), tools, approver, max_context=limit)

    def _walk(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
        plan: Plan,
    ) -> Generator[Step, Any, Finding]:
        specs = tuple(tools.json_schema())
        check_plan(plan, [str(one["name"]) for one in specs], model=self.model)
        prompt = self._prompt()
        values: dict[str, object] = {
            "sop": sop,
            "general": plan.general,
            "steps": plan.steps,
            "inputs": inputs,
            "tools": specs,
            "output_fields": output_fields,
            "output_schema": schema_of(tools),
            "step": None,
            "found": (),
            "text": "",
            "cut_off": False,
        }

        def render(block: str, **more: object) -> str:
            return prompt.render(block, {**values, **more})

        return Walk(
            Errand(
                steps=plan.steps,
                tools=specs,
                output_fields=output_fields,
                max_turns=whole("max_turns", self.max_turns, least=1),
                render=render,
            )
        ).steps()
