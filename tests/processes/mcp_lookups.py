"""An MCP server over stdio, or HTTP, that serves the look-up tools of the domain in its folder.

It knows nothing of pytest-sopbench. What the tools look up stands in `served.json`, as `tools` of
the metadata had it. Each word of its command line is a habit. With `sdk` and `url` the official SDK
serves, whose import takes seconds; else a few lines do, by the protocol as it was before 2026.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

HABITS = dict(word.partition("=")[::2] for word in sys.argv[1:])
SPECS = json.loads(Path("toolspecs.json").read_text(encoding="utf-8"))
SERVED = json.loads(Path("served.json").read_text(encoding="utf-8"))
with Path("data.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
CALLS = count(1)
# The SDK has what is printed go to stderr.
STDOUT = os.dup(1)


def schema_of(spec: dict[str, Any]) -> dict[str, Any]:
    inner = spec.get("toolSpec", spec)
    found = inner.get("inputSchema", inner.get("parameters"))
    return found.get("json", found)


def fail(why: str, kind: type[Exception] = LookupError) -> NoReturn:
    raise kind(why)


def looked_up(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    tool = SERVED[name]
    if "result" in tool:
        return tool["result"]
    keys = tool["key"]
    row = next((row for row in ROWS if all(row[key] == arguments.get(key) for key in keys)), None)
    if row is None:
        fail(f"no record with {keys[0]} = {arguments.get(keys[0])!r}")
    for check in tool.get("check", ()):
        if " ".join(row[check].split()) != " ".join(str(arguments[check]).split()):
            fail(f"{check} does not match the record")
    found = {column: json.loads(row[column]) if row[column] else None for column in tool["returns"]}
    if all(value is None for value in found.values()):
        fail(f"{name}: the record has no {', '.join(found)}")
    return found


def page(cursor: str | None) -> dict[str, Any]:
    tools = []
    for spec in SPECS:
        inner, schema = spec.get("toolSpec", spec), schema_of(spec)
        if inner["name"] == HABITS.get("without"):
            continue
        if "other-schema" in HABITS:
            schema = {**schema, "required": []}
        tools.append({"name": inner["name"], "description": "...", "inputSchema": schema})
    # One on each page: whoever reads only the first has too few.
    place = int(cursor or 0)
    more = {"nextCursor": str(place + 1)} if place + 1 < len(tools) else {}
    return {"tools": tools[place : place + 1], **more}


REFUSALS: tuple[tuple[str, str, type[Exception]], ...] = (
    ("refuse", "a fault of the server, which no tool has told of", ValueError),
    ("forget", "Unknown tool: measure", TypeError),
)
ODD = {"reading": float("nan")} if "nan" in HABITS else {}


def refuse() -> None:
    for habit, why, kind in REFUSALS:
        if habit in HABITS:
            fail(why, kind)


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    made = next(CALLS)
    if "garbage" in HABITS:
        os.write(STDOUT, b"DEBUG: a line that is no message\n" * 100)
    if "flood" in HABITS:
        sys.stderr.write("x" * 100_000)
    if made > int(HABITS.get("die-after", 10**9)):
        os.kill(os.getpid(), signal.SIGKILL)
    if made > int(HABITS.get("hang-after", 10**9)):
        Event().wait()
    refuse()
    if "endless" in HABITS:
        while True:
            os.write(STDOUT, b"x" * 1_000_000)
    if "tell" in HABITS:
        return told(json.dumps({"reading": os.environ.get(HABITS["tell"], "it is not there")}))
    try:
        found = looked_up(name, arguments)
    except LookupError as error:
        return told(str(error.args[0]), isError=True)
    structured = {"structuredContent": {**found, **ODD}} if "structured" in HABITS else {}
    return told(json.dumps(found), **structured)


def told(text: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def answered(method: str, given: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            about = {"name": "look-ups", "version": "1"}
            version = given["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return page(given.get("cursor"))
        case "tools/call":
            return call(given["name"], given.get("arguments") or {})
        case _:
            fail(f"there is no method {method}", NotImplementedError)


def serve_lines() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        reply = {"jsonrpc": "2.0", "id": asked["id"]}
        try:
            reply["result"] = answered(asked["method"], asked.get("params") or {})
        except NotImplementedError as error:
            reply["error"] = {"code": -32601, "message": str(error)}
        except TypeError as error:
            reply["error"] = {"code": -32602, "message": str(error)}
        except ValueError as error:
            reply["error"] = {"code": -32603, "message": str(error)}
        os.write(STDOUT, f"{json.dumps(reply)}\n".encode())


def serve_by_sdk() -> None:
    import anyio  # noqa: PLC0415 - it takes seconds
    from mcp import types  # noqa: PLC0415 - it takes seconds
    from mcp.server import Server  # noqa: PLC0415 - it takes seconds
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - it takes seconds

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(page(params.cursor if params else None))

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult.model_validate(call(params.name, params.arguments or {}))

    server = Server("look-ups", on_list_tools=list_tools, on_call_tool=call_tool)

    async def over_stdio() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def over_http() -> None:
        import uvicorn  # noqa: PLC0415 - it takes seconds

        app = server.streamable_http_app(json_response=True, stateless_http="stateless" in HABITS)
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")
        http = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(http.serve)
            while not http.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await anyio.sleep(0.01)
            port = http.servers[0].sockets[0].getsockname()[1]
            os.write(STDOUT, f"{port}\n".encode())

    anyio.run(over_http if "url" in HABITS else over_stdio)


if __name__ == "__main__":
    with Path("servers.txt").open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    if "child" in HABITS:
        # In a session of its own, and deaf to everything but SIGKILL.
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        Path("children.txt").write_text(str(child.pid), encoding="utf-8")
    if "exit" in HABITS:
        sys.exit("the database of the orders cannot be opened")
    if "silent" in HABITS:
        sys.stderr.write("waiting for a password")
        sys.stderr.flush()
        Event().wait()
    if "before" in HABITS:
        os.write(STDOUT, b"Welcome to the server of look-ups!\n\n[1, 2\n")
    if {"sdk", "url"} & HABITS.keys():
        serve_by_sdk()
    else:
        serve_lines()
