"""The reference policy as a child that starts its MCP server by a command."""

from __future__ import annotations

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from policy_tools import answer, by_mcp

request = json.load(sys.stdin)
url = request["tools"]["mcp"]["url"]
forwarding = StdioServerParameters(
    command=sys.executable, args=["-m", "pytest_sopbench.mcp_stdio", url]
)


async def main() -> None:
    async with Client(forwarding) as client:
        call = by_mcp(client, asyncio.get_running_loop())
        print(json.dumps(await asyncio.to_thread(answer, request, call)))


asyncio.run(main())
