"""A model at the billing desk: it is given the procedure, and asks for tools until it answers."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

TOLD = """{sop}

Work through the procedure for this reading:

{reading}

Answer with nothing but a JSON object that has the keys "decision" and "billed_kwh"."""


def agent(sop: str, inputs: dict[str, Any], tools: Any, model: str = "stand-in") -> dict[str, Any]:
    told = TOLD.format(sop=sop, reading=json.dumps(inputs))
    messages: list[Any] = [{"role": "user", "content": told}]
    while True:
        reply: Any = client().chat.completions.create(
            model=model, messages=messages, tools=tools.openai()
        )
        tools.report(usage=reply.usage, model=f"openai/{model}")
        said = reply.choices[0].message
        if not said.tool_calls:
            answer: dict[str, Any] = json.loads(said.content)
            return answer
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            result = tools.execute_tool(call.function.name, json.loads(call.function.arguments))
            content = json.dumps(result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


@cache
def client() -> Any:
    """Return one client for all runs; where they are replayed, no key is needed."""
    # Loaded here, so that the tests can say that it is missing.
    import openai  # noqa: PLC0415

    return openai.OpenAI(api_key=os.environ.get("OPENAI_API_KEY", "unused"))
