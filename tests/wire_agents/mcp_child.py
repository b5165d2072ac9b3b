"""The reference policy as a child that calls its tools by the official MCP client."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client
from policy_tools import answer

from pytest_sopbench import ToolError

request = json.load(sys.stdin)


async def main() -> None:
    loop = asyncio.get_running_loop()
    async with Client(request["tools"]["mcp"]["url"], mode=sys.argv[1]) as client:

        def call(name: str, /, **arguments: Any) -> Any:
            made = asyncio.run_coroutine_threadsafe(client.call_tool(name, arguments), loop)
            result = made.result(60)
            text = result.content[0].text
            if result.is_error:
                raise ToolError(text)
            return result.structured_content if result.structured_content else json.loads(text)

        print(json.dumps(await asyncio.to_thread(answer, request, call)))


asyncio.run(main())
