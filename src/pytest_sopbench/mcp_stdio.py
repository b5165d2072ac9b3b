"""An MCP server over stdio that only forwards: `python -m pytest_sopbench.mcp_stdio URL`.

It is for agents that start their MCP servers as programs. The tools and the record of their calls
stay in the process of pytest, at the URL that a run was given. A client of MCP hands few variables
of the environment to a server that it starts, so the URL is an argument.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any


async def forward(url: str) -> None:
    """Serve the tools of a run until standard input ends."""
    from mcp import Client  # noqa: PLC0415 - optional
    from mcp.server.lowlevel import Server  # noqa: PLC0415
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    async with Client(url) as client:

        async def list_tools(_context: Any, _params: Any) -> Any:
            return await client.list_tools()

        async def call_tool(_context: Any, params: Any) -> Any:
            return await client.call_tool(params.name, params.arguments or {})

        server: Any = Server("sopbench", on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 - the module and the URL
        sys.exit("usage: python -m pytest_sopbench.mcp_stdio URL")
    asyncio.run(forward(sys.argv[1]))
