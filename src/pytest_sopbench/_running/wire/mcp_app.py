"""The tools of a run by the Model Context Protocol, for both eras of it.

The low-level server of the official SDK is used, since tool specs reach the wire unchanged by it.
An error of a tool is a result with `is_error`: a model cannot read an error of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._running.tools.facade import Served, Tools

NAME: Final = "sopbench"
_PATH: Final = "/runs/{run}/mcp"


def mcp_app(
    tools_of: Callable[[str], Tools | None],
    serve: Callable[[str, str, object], Awaitable[Served | None]],
    over: str,
) -> Any:
    """Return the Starlette application that serves `/runs/ID/mcp`.

    Args:
        tools_of: the tools of a run that is open.
        serve: makes a call for a run, by the name of its tool; `None` if the run is over.
        over: what is said then.
    """
    import mcp_types as types  # noqa: PLC0415 - optional, and takes a second
    from mcp.server.lowlevel import Server  # noqa: PLC0415
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

    def tools_in(context: Any) -> Tools | None:
        return tools_of(context.request.path_params["run"])

    async def list_tools(context: Any, _: object) -> Any:
        tools = tools_in(context)
        specs = [] if tools is None else tools.json_schema()
        return types.ListToolsResult(tools=[types.Tool(**_as_tool(one)) for one in specs])

    async def call_tool(context: Any, params: Any) -> Any:
        arguments: object = {} if params.arguments is None else params.arguments
        run: str = context.request.path_params["run"]
        served = await serve(run, params.name, arguments)
        if served is None:
            return _result(types, over, is_error=True)
        value, error = served
        if error is not None:
            return _result(types, str(error), is_error=True)
        return _result(types, value, is_error=False)

    server: Any = Server(NAME, on_list_tools=list_tools, on_call_tool=call_tool)
    server.get_tool_input_schema = _no_schema
    # Hosts and origins are checked before a request comes here.
    anybody = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(
        streamable_http_path=_PATH,
        json_response=True,
        stateless_http=True,
        transport_security=anybody,
    )


def _no_schema(_: str) -> None:
    """Keep the SDK from listing the tools for each call, to compare its headers with its arguments.

    The toolbox checks arguments.
    """


def _as_tool(spec: dict[str, JsonValue]) -> dict[str, Any]:
    schema = spec.get("parameters")
    # Clients refuse a schema that does not say that arguments are an object.
    whole = {"type": "object", **schema} if isinstance(schema, dict) else {"type": "object"}
    return {
        "name": spec["name"],
        "description": spec.get("description") or "",
        "inputSchema": whole,
    }


def _result(types: Any, value: JsonValue, *, is_error: bool) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # A text that no encoding takes would end the request; escaped it is readable.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structuredContent=value if isinstance(value, dict) and not is_error else None,
        isError=is_error,
    )
