"""The reference policy as a child that calls its tools by the official MCP client."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from policy_tools import answer

from pytest_sopbench import ToolError

request = json.load(sys.stdin)


url = request["tools"]["mcp"]["url"]
forwarding = StdioServerParameters(
    command=sys.executable, args=["-m", "pytest_sopbench.mcp_stdio", url]
)
is_stdio = sys.argv[1] == "stdio"


async def main() -> None:
    loop = asyncio.get_running_loop()
    server, mode = (forwarding, "auto") if is_stdio else (url, sys.argv[1])
    async with Client(server, mode=mode) as client:

        def call(name: str, /, **arguments: Any) -> Any:
            made = asyncio.run_coroutine_threadsafe(client.call_tool(name, arguments), loop)
            result = made.result(60)
            text = result.content[0].text
            if result.is_error:
                raise ToolError(text)
            return result.structured_content or json.loads(text)

        print(json.dumps(await asyncio.to_thread(answer, request, call)))


asyncio.run(main())
