"""The server through which agents elsewhere call the tools of their runs.

One server for a process, on loopback, in a thread of its own. Each run that is open has a path that
nobody can guess; when the run is over the path is gone. Below it stand

- `GET  /runs/ID/tools`: the tool specs;
- `POST /runs/ID/call/NAME`: one call, its arguments as a JSON object;
- `/runs/ID/mcp`: the same tools by the Model Context Protocol.

Calls go through the toolbox of the run, as those of an agent in this process do: they are recorded,
checked, limited and refused there. What a tool says no to comes back as a result, since a model
must be able to read it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future, InvalidStateError
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any, Final, TypeAlias, TypeVar

from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.values.json import STRICT, JsonValue
from pytest_sopbench._running.tools.toolbox import Served, Tools, serve_async
from pytest_sopbench.errors import AgentSpecError, RunOverError

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

LARGEST_REQUEST: Final = 8 * 1024 * 1024
"""Bytes of a request; more than the longest arguments that a toolbox takes."""

_STARTS_WITHIN: Final = 60.0
_LOCAL: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
OVER: Final = "the run is over: no tool can be called any more"
INSTALL: Final = install_hint("h11", "mcp", "uvicorn", extra="wire")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and by which host agents reach it.

    Attributes:
        listen: an address of this machine. Another than loopback lets other machines in.
        told: the host that agents are told, such as `host.docker.internal`.
    """

    listen: str = "127.0.0.1"
    told: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Door:
    """The way to the tools of one run: where they are called, one by one or by MCP."""

    base: str
    run: str
    over: Future[RunOverError] = field(default_factory=Future[RunOverError], compare=False)

    @property
    def call(self) -> str:
        """Where calls are posted: the name of the tool follows."""
        return f"{self.base}/runs/{self.run}/call"

    @property
    def mcp(self) -> str:
        return f"{self.base}/runs/{self.run}/mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTools:
    """A toolbox that is served by MCP over streamable HTTP.

    Attributes:
        url: where the server is.
    """

    url: str

    @property
    def config(self) -> dict[str, Any]:
        """The settings of a client, in the usual form: `{"mcpServers": {"sop": {...}}}`."""
        return {"mcpServers": {"sop": {"type": "http", "url": self.url}}}


class ToolServer:
    """Serves the tools of all runs of this process that are open.

    Raises:
        AgentSpecError: the server cannot be imported, or cannot listen.
    """

    def __init__(self, address: Address) -> None:
        try:
            import uvicorn  # noqa: PLC0415 - optional
        except ModuleNotFoundError as error:
            msg = f"the server of tools needs {error.name}, which is not installed"
            raise AgentSpecError(msg, hint=INSTALL) from None
        self._runs: dict[str, tuple[Tools, Door]] = {}
        self._lock = Lock()
        self._mcp: Any = None
        self._mcp_starts: asyncio.Lock | None = None
        # With the protocol's number asyncio turns Nagle's algorithm off; without it a call waits
        # for the other side's delayed acknowledgement, 40 ms.
        family = socket.AF_INET6 if ":" in address.listen else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.bind((address.listen, 0))
        except OSError as fault:
            listening.close()
            msg = f"sop_tool_address: cannot listen on {address.listen}: {fault.strerror}"
            raise AgentSpecError(msg, hint="name an address of this machine") from None
        port = listening.getsockname()[1]
        self._base = f"http://{address.told}:{port}"
        self._hosts = {f"{host}:{port}" for host in (*_LOCAL, address.told, address.listen)}
        config = uvicorn.Config(
            self, lifespan="off", log_config=None, access_log=False, timeout_keep_alive=600
        )
        server = uvicorn.Server(config)
        # Signals belong to pytest.
        setattr(server, "capture_signals", nullcontext)  # noqa: B010 - a method, replaced
        started = Event()

        def serve() -> None:
            asyncio.run(_serve(server, listening, started))

        Thread(target=serve, daemon=True, name="sopbench-tools").start()
        if not started.wait(_STARTS_WITHIN):
            msg = "the server of tools has not started"
            raise AgentSpecError(msg)

    def open(self, tools: Tools) -> Door:
        """Give the tools of a run a path."""
        door = Door(self._base, secrets.token_urlsafe(18))
        with self._lock:
            self._runs[door.run] = tools, door
        return door

    def close(self, door: Door) -> None:
        """Forget a run; its path is gone."""
        with self._lock:
            self._runs.pop(door.run, None)

    def tools_of(self, run: str) -> Tools | None:
        """Return the tools of a run that is open."""
        with self._lock:
            found = self._runs.get(run)
        return None if found is None else found[0]

    async def serve(self, run: str, name: str, arguments: object) -> Served | None:
        """Make a call for a run that is open; one call too many ends its agent."""
        with self._lock:
            found = self._runs.get(run)
        if found is None:
            return None
        tools, door = found
        served = await serve_async(tools, name, arguments)
        if isinstance(served[1], RunOverError):
            with suppress(InvalidStateError):
                door.over.set_result(served[1])
        return served

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, body = await self._answer(scope, receive, send)
        if not status:
            return
        # Text that no encoding takes comes out escaped.
        text = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def _answer(  # noqa: PLR0911 - a status for each thing that may be asked
        self, scope: Message, receive: Receive, send: Send
    ) -> tuple[int, JsonValue]:
        """Return a status and a body; 0 if the response has been sent."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1")
                   for name, value in scope["headers"]}  # fmt: skip
        if headers.get("host", "") not in self._hosts:
            return 421, {"error": "this server is for agents under test"}
        if "origin" in headers:
            return 403, {"error": "no page of a browser may call tools"}
        parts = scope["path"].strip("/").split("/", 3)
        if len(parts) < 3 or parts[0] != "runs":  # noqa: PLR2004 - /runs/ID/WHAT
            return 404, {"error": "there is nothing here"}
        tools = self.tools_of(parts[1])
        if tools is None:
            return 410, {"error": OVER}
        match parts[2:], scope["method"]:
            case ["mcp"], _:
                app = await self._mcp_app()
                await app(scope, receive, send)
                return 0, None
            case ["tools"], "GET":
                return 200, {"tools": list[JsonValue](tools.json_schema())}
            case ["call", name], "POST":
                return await self._call(parts[1], name, receive)
            case _:
                return 404, {"error": "GET tools, POST call/NAME, or mcp"}

    async def _mcp_app(self) -> Any:
        """Return the MCP half, made when it is asked for first: it takes a second to import."""
        if self._mcp_starts is None:
            self._mcp_starts = asyncio.Lock()
        async with self._mcp_starts:
            if self._mcp is None:
                self._mcp = await _started(self)
            return self._mcp

    async def _call(self, run: str, name: str, receive: Receive) -> tuple[int, JsonValue]:
        try:
            body = await _body(receive)
        except ConnectionError:
            # Nobody is there to answer, and what did not arrive is no call.
            return 0, None
        if body is None:
            return 413, {"error": f"a request has at most {LARGEST_REQUEST:,} bytes"}
        try:
            arguments: object = STRICT.decode(body.decode("utf-8")) if body.strip() else {}
        except (ValueError, RecursionError) as fault:
            # It is recorded as the bad call that it is.
            arguments = f"[no JSON: {fault}]"
        served = await self.serve(run, name, arguments)
        return (410, {"error": OVER}) if served is None else (200, as_body(served))


T = TypeVar("T")


async def unless_over(door: Door | None, work: Awaitable[T]) -> T:
    """Await what an agent does, and end it if it goes on calling tools after its run is over.

    Raises:
        RunOverError: it did; in this process it would have been raised into it.
    """
    if door is None:
        return await work
    doing = asyncio.ensure_future(work)
    over = asyncio.wrap_future(door.over)
    try:
        both: set[asyncio.Future[Any]] = {doing, over}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            raise over.result()
        return doing.result()
    finally:
        over.cancel()
        doing.cancel()
        # What it opened is closed before the run goes on.
        await asyncio.wait({doing})


def as_body(served: Served) -> JsonValue:
    """Return what an agent reads of a call: a result, or an error that it may act on."""
    value, error = served
    return {"result": value} if error is None else {"error": str(error)}


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; `None` if it is too large.

    Raises:
        ConnectionError: the other side went before it had sent all of it.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > LARGEST_REQUEST:
            return None
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def _started(server: ToolServer) -> Any:
    """Return the MCP application, running until the process ends."""
    app = mcp_app(server)
    running: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def stay() -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(app.router.lifespan_context(app))
            running.set_result(None)
            await asyncio.Event().wait()

    # Kept by the application: a task that nobody holds may be collected.
    app.state.staying = asyncio.create_task(stay())
    await running
    return app


async def _serve(server: Any, listening: socket.socket, started: Event) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    # uvicorn has no event for it.
    while not server.started and not serving.done():  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    started.set()
    await serving


# The tools of a run by the Model Context Protocol, for both eras of it.
#
# The low-level server of the official SDK is used, since tool specs reach the wire unchanged by it.
# An error of a tool is a result with `is_error`: a model cannot read an error of the protocol.

NAME: Final = "sopbench"
_PATH: Final = "/runs/{run}/mcp"


def mcp_app(tool_server: ToolServer) -> Any:
    """Return the Starlette application that serves `/runs/ID/mcp`."""
    import mcp_types as types  # noqa: PLC0415 - optional, and takes a second
    from mcp.server.lowlevel import Server  # noqa: PLC0415
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

    async def list_tools(context: Any, _: object) -> Any:
        tools = tool_server.tools_of(context.request.path_params["run"])
        specs = [] if tools is None else tools.json_schema()
        return types.ListToolsResult(tools=[types.Tool(**_as_tool(one)) for one in specs])

    async def call_tool(context: Any, params: Any) -> Any:
        arguments: object = {} if params.arguments is None else params.arguments
        run: str = context.request.path_params["run"]
        served = await tool_server.serve(run, params.name, arguments)
        if served is None:
            return _result(types, OVER, is_error=True)
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
