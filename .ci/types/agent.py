"""A user's agents: a function, an async one, and a class."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_sopbench import ToolError, Tools, Unavailable


def agent(sop: str, inputs: Mapping[str, object], tools: Tools) -> dict[str, object]:
    try:
        order = tools.call("get_order", order_id=inputs["order_id"])
    except ToolError as error:
        return {"decision": "decline", "why": str(error)}
    if not isinstance(order, dict) or not sop:
        msg = "the desk answered with nothing"
        raise Unavailable(msg)
    return {"decision": "refund" if order["days"] == "30" else "decline"}


async def slow_agent(inputs: Mapping[str, object], tools: Tools) -> str:
    names = ", ".join(tools.names)
    return f"<decision>decline</decision> {inputs['order_id']} {names}"


class Desk:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, inputs: Mapping[str, object], tools: Tools) -> Mapping[str, object]:
        return agent(f"limit {self.limit}", inputs, tools)
