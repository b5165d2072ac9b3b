"""Call tools as an agent elsewhere does, by the standard library alone."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pytest_sopbench import ToolError
from pytest_sopbench.bundled.dangerous_goods.policy import decide


def over_http(url: str) -> Callable[..., Any]:
    """Return a function that calls the tools below an address."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def call(name: str, /, **arguments: Any) -> Any:
        connection.request("POST", f"{parts.path}/{name}", json.dumps(arguments))
        return value_of(json.loads(connection.getresponse().read()))

    return call


def by_mcp(client: Any, loop: asyncio.AbstractEventLoop) -> Callable[..., Any]:
    """Return a function that calls tools by a client of MCP, in another thread than its loop."""

    def call(name: str, /, **arguments: Any) -> Any:
        result = asyncio.run_coroutine_threadsafe(client.call_tool(name, arguments), loop).result(
            60
        )
        text = result.content[0].text
        if result.is_error:
            raise ToolError(text)
        return result.structured_content or json.loads(text)

    return call


def value_of(told: dict[str, Any]) -> Any:
    """Return the result of a call, or raise its error, as the policy expects it."""
    if "error" in told:
        raise ToolError(told["error"])
    return told["result"]


def answer(request: dict[str, Any], call: Callable[..., Any]) -> dict[str, Any]:
    """Return the answer of our protocol."""
    usage = {"input_tokens": 30, "output_tokens": 4}
    return {"output": decide(request["inputs"], call), "usage": usage}
