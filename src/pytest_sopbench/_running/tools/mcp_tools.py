"""Tools that an MCP server serves: one connection a process, for all runs of its domain.

The client of the official SDK lives in an event loop of its own thread, in a context without a run,
so that its requests are never taken for the model traffic of an agent.

What is not the agent's fault never counts against it. A result with `isError`, and arguments that
the server refuses, are errors of the call, which the agent sees. Whatever else goes wrong makes the
run unavailable. A server that is gone stays gone for the session: one that is started again may
have forgotten what earlier calls did.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager, suppress
from contextvars import Context, copy_context
from importlib.util import find_spec
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast
from urllib.parse import urlsplit

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import secrets_of
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.world import Tables
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.values.json import JsonValue, same_json, short_repr, to_json_value
from pytest_sopbench._core.values.text import as_seconds
from pytest_sopbench._running.descendants import Reaper
from pytest_sopbench._settings.readers import ENV
from pytest_sopbench.errors import ToolError, ToolSpecError, Unavailable

if TYPE_CHECKING:
    from anyio import CancelScope
    from anyio.abc import Process
    from mcp import Client
    from mcp.types import CallToolResult, Tool

Streams: TypeAlias = Any
"""The two streams of a transport, from the server and to it; their types are private to the SDK."""

LONGEST: Final = 64 << 20
"""Bytes of one line of a server; one that never ends would fill the memory."""

LAST_WORDS: Final = 4_000
"""Bytes of a program's stderr that an error quotes."""

PARTING: Final = 2.0
"""Seconds that a server has to end by itself, and that its last words are waited for."""

_FAREWELL: Final = 15.0
"""Seconds after which a connection that does not end is left to its thread."""

_PAGES: Final = 100
_LISTED: Final = 20
_QUOTED: Final = 1_000
_NOTHING: Final = "(nothing)"
_INVALID_PARAMS: Final = -32602
_CLOSED: Final = -32000
_OVER: Final = "the run is over: no tool can be called any more"


class McpServerGoneError(Unavailable):
    """The server of a domain's tools gives no answer: the agent has no part in it."""


class McpTools:
    """The connection of this process to the MCP server of one domain.

    Args:
        domain: it names an MCP server, which is trusted.
        environment: where `env:NAME` is read.

    Raises:
        ToolSpecError: the domain names none, or a variable is not set.
    """

    def __init__(self, domain: Domain, environment: Mapping[str, str]) -> None:
        if domain.mcp is None:
            raise ToolSpecError(domain.folder, "the domain names no MCP server")
        self._domain = domain
        self._server = domain.mcp
        self._held: list[str] = []
        given = {**self._server.env, **self._server.headers}
        self._given = {name: self._held_by(one, environment) for name, one in given.items()}
        self._redaction = Redaction(secrets=secrets_of(self._held), forms=False)
        self._context = Context()
        self._ready: Future[None] = Future()
        self._lock = Lock()
        self._waiting: set[Future[Any]] = set()
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._ended = asyncio.Event()
        self._thread = Thread(target=self._run, daemon=True, name="sopbench-mcp")
        self._is_closing = False
        self._gone = ""
        # What a program said beside its messages, and the status it has ended with.
        self._words = b""
        self._noise = ""
        self._status: int | None = None

    # What the session does.

    def start(self, seconds: float) -> None:
        """Connect, and check that the server has the tools of `toolspecs.json`.

        Whatever is sent, now or later, is sent in the context of this call.

        Raises:
            ToolSpecError: it does not answer in so many seconds, lacks a tool, or has another
                schema of one; or the SDK is not installed.
        """
        if find_spec("mcp") is None:
            self._refuse("the package 'mcp' is not installed", "install the extra wire")
        self._context = copy_context()
        self._thread.start()
        try:
            self._ready.result(seconds)
        except TimeoutError:
            # Before it is ended, which it may have words for.
            words = self._quoted()
            self._refuse(
                f"the MCP server {self._shown} did not answer within {as_seconds(seconds)}{words}",
                "raise --sop-timeout, or start it by hand and see what it waits for",
            )
        finally:
            if self._client is None:
                self.close()

    def manager(self, task: Task, world: Tables | None = None, /) -> McpManager:
        """Return what serves the tools of one run; all tasks have the same server."""
        del task, world
        return McpManager(self)

    def close(self) -> None:
        """End the connection, and a program with all that it has started."""
        self._is_closing = True
        if self._loop is not None and self._task is not None:
            # The loop may have ended by itself.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._wait()

    # What runs do, in any thread.

    def ask(self, name: str, arguments: dict[str, JsonValue]) -> Future[CallToolResult]:
        """Send a call.

        Raises:
            Unavailable: the server is gone.
        """
        if self._gone or self._client is None or self._loop is None:
            raise McpServerGoneError(self._gone)
        call = self._client.call_tool(name, arguments)
        try:
            # Not in the context of the run, whose recording would take the request for its own.
            asked = self._context.copy().run(asyncio.run_coroutine_threadsafe, call, self._loop)
        except RuntimeError:
            call.close()
            self._wait()
            raise McpServerGoneError(self._gone) from None
        with self._lock:
            self._waiting.add(asked)
            is_gone = bool(self._gone)
        if is_gone:
            # It went meanwhile, and a loop that has ended answers nobody.
            asked.cancel()
        return asked

    def answer(self, asked: Future[CallToolResult]) -> object:
        """Wait for what becomes of a call.

        Raises:
            ToolError: the server says that it failed.
            Unavailable: there is no answer.
        """
        try:
            result = asked.result()
        except CancelledError:
            self._wait()
            raise McpServerGoneError(self._gone) from None
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, there is no answer
            # The protocol has one code for bad arguments and for a tool that is gone since.
            is_gone = "unknown tool" in str(error).lower()
            if getattr(error, "code", None) == _INVALID_PARAMS and not is_gone:
                raise ToolError(self._redaction.text(str(error))) from None
            if getattr(error, "code", None) == _CLOSED:
                # What has closed it is known when its thread has ended.
                self._wait()
            raise McpServerGoneError(self._gone or self._told(error)) from None
        finally:
            with self._lock:
                self._waiting.discard(asked)
        value = self._redaction.value(_value(result))
        if result.is_error:
            raise ToolError(value if isinstance(value, str) else json.dumps(value))
        return value

    def _wait(self) -> None:
        if self._thread.ident is not None:
            self._thread.join(_FAREWELL)

    # The thread of the connection.

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._context.run(asyncio.run, self._serve())
        except BaseException as fault:  # noqa: BLE001 - told to whoever waits, and never printed
            error = _first(fault)
        closed = f"the connection to the MCP server {self._shown} was closed"
        gone = closed if self._is_closing or error is None else self._told(error)
        with self._lock:
            self._gone = gone
            waiting = [*self._waiting]
        if not self._ready.done():
            is_fault = isinstance(error, ToolSpecError)
            self._ready.set_exception(error if error and is_fault else self._fault(gone))
        for one in waiting:
            one.cancel()

    async def _serve(self) -> None:
        from mcp import Client  # noqa: PLC0415 - as in `start`

        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        transport = self._program() if self._server.command else self._address()
        async with Client(transport, cache=None) as client:
            self._check(await _listed(client))
            self._client = client
            self._ready.set_result(None)
            await self._ended.wait()
        msg = "it closed its stdout"
        raise ConnectionError(msg)

    @asynccontextmanager
    async def _address(self) -> AsyncGenerator[Streams]:
        import httpx2  # noqa: PLC0415 - as in `start`
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - as in `start`

        # An answer may take as long as the run. The SDK follows redirects within the server's own
        # origin only, so no header reaches another host.
        timeout = httpx2.Timeout(30.0, read=None)
        async with (
            httpx2.AsyncClient(headers=self._given, timeout=timeout) as client,
            # A server that hangs would not let the session end.
            streamable_http_client(
                self._server.url, http_client=client, terminate_on_close=False
            ) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _program(self) -> AsyncGenerator[Streams]:
        # Not the SDK's own transport: it logs each line that is no message, with a traceback, and
        # keeps a line that never ends; and it tells neither the status nor the last words.
        import anyio  # noqa: PLC0415 - as in `start`
        from mcp.client.stdio import get_default_environment  # noqa: PLC0415 - as in `start`

        reaper = Reaper()
        try:
            process = await anyio.open_process(
                self._command(),
                env=reaper.marked(get_default_environment() | self._given),
                cwd=self._domain.folder,
                start_new_session=True,
            )
        except BaseException:
            reaper.close()
            raise
        to_session, from_server = anyio.create_memory_object_stream[Any](0)
        to_server, from_session = anyio.create_memory_object_stream[Any](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, to_session)
                tasks.start_soon(_write, process, from_session)
                tasks.start_soon(self._listen, process)
                try:
                    yield from_server, to_server
                finally:
                    with anyio.CancelScope(shield=True):
                        await self._end(process)
                    reaper.close()
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (to_session, from_server, to_server, from_session):
                stream.close()
            with anyio.CancelScope(shield=True):
                await process.aclose()

    def _command(self) -> Sequence[str]:
        program, *arguments = self._server.command
        if program == "python":
            # That of the session: another one may lack what the server imports.
            return [sys.executable, *arguments]
        # On Windows a name may stand for a .cmd, which is only found so.
        return [shutil.which(program) or program, *arguments]

    async def _read(self, process: Process, to_session: Any) -> None:
        import anyio  # noqa: PLC0415 - as in `start`
        from anyio.streams.buffered import BufferedByteReceiveStream  # noqa: PLC0415 - as in `start`
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - as in `start`
        from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415 - as in `start`

        lines = BufferedByteReceiveStream(cast("Any", process.stdout))
        ended = (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError, OSError)
        async with to_session, anyio.create_task_group() as watching:
            watching.start_soon(_wait_for, process, watching.cancel_scope)
            with suppress(*ended, anyio.BrokenResourceError):
                while True:
                    try:
                        line = await lines.receive_until(b"\n", LONGEST)
                    except anyio.DelimiterNotFound:
                        self._noise = f"more than {LONGEST:,} bytes on one line"
                        break
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        # Programs print what does not belong there; no answer is lost by it.
                        self._noise = self._noise or short_repr(
                            line[:_QUOTED].decode("utf-8", "replace")
                        )
                        continue
                    await to_session.send(SessionMessage(message))
            watching.cancel_scope.cancel()
        self._ended.set()

    async def _listen(self, process: Process) -> None:
        async for part in cast("Any", process.stderr):
            self._words = (self._words + part)[-LAST_WORDS:]

    async def _end(self, process: Process) -> None:
        """Close a program's stdin, which tells it to end, and wait a little before it is killed."""
        import anyio  # noqa: PLC0415 - as in `start`

        stdin = cast("Any", process.stdin)
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stdin.aclose()
        with anyio.move_on_after(PARTING):
            while process.returncode is None:  # noqa: ASYNC110 - as in `_wait_for`
                await anyio.sleep(0.01)
        self._status = process.returncode
        # One that has ended has been waited for: its group may be a stranger's.
        if process.returncode is None:
            with suppress(OSError, AttributeError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(OSError):
                process.kill()
        # What is left in the pipe of its stderr is read meanwhile.
        await anyio.sleep(0.05)

    # What is checked at the start.

    def _held_by(self, value: str, environment: Mapping[str, str]) -> str:
        if not value.startswith(ENV):
            return value
        name = value.removeprefix(ENV)
        if name not in environment:
            self._refuse(f"key 'mcp': the environment has no variable {name!r}", "set it")
        self._held.append(environment[name])
        return environment[name]

    def _check(self, tools: Mapping[str, Tool]) -> None:
        for spec in self._domain.tool_specs:
            if spec.name in self._domain.lookups:
                continue
            tool = tools.get(spec.name)
            if tool is None:
                names = ", ".join([*tools][:_LISTED]) or "none"
                self._refuse(
                    f"the MCP server {self._shown} has no tool {spec.name!r}; it has {names}",
                    "correct the name in toolspecs.json, or have the server serve it",
                )
            ours, theirs = _meaning(spec.parameters), _meaning(tool.input_schema)
            if not same_json(ours, theirs):
                self._refuse(
                    f"tool {spec.name!r}: the MCP server {self._shown} takes other arguments than"
                    f" toolspecs.json says: {_difference(ours, theirs)}",
                    "copy the inputSchema that the server lists",
                )

    # How things are told.

    def _refuse(self, problem: str, hint: str) -> NoReturn:
        raise self._fault(problem, hint)

    def _fault(self, problem: str, hint: str = "") -> ToolSpecError:
        return ToolSpecError(self._domain.folder, problem, hint=hint)

    @property
    def _shown(self) -> str:
        if self._server.command:
            return repr(self._redaction.text(" ".join(self._server.command)))
        place = urlsplit(self._server.url)
        return f"at {place.scheme}://{place.netloc}{place.path}"

    def _told(self, error: BaseException) -> str:
        words = self._redaction.text(str(error)) or type(error).__name__
        end = (
            f"failed: {words}" if self._status is None else f"has ended with status {self._status}"
        )
        return f"the MCP server {self._shown} {end}{self._quoted()}"

    def _quoted(self) -> str:
        said = self._redaction.text(self._words.decode("utf-8", "replace")).strip()
        noise = self._redaction.text(self._noise)
        return "".join(
            (
                f"\nit wrote on stdout what is no message: {noise}" if noise else "",
                f"\nits last words on stderr:\n{said}" if said else "",
            )
        )


class McpManager:
    """Serves the calls of one run, one after another."""

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools
        self._asked: Future[CallToolResult] | None = None
        self._is_over = False

    def process_tool_call(self, name: str, arguments: dict[str, JsonValue], /) -> object:
        """Serve one call.

        Raises:
            ToolError: the server says that it failed, or the run has ended meanwhile.
            Unavailable: there is no answer.
        """
        self._asked = asked = self._tools.ask(name, arguments)
        if self._is_over:
            asked.cancel()
        try:
            return self._tools.answer(asked)
        except Unavailable:
            if self._is_over:
                raise ToolError(_OVER) from None
            raise

    def close(self) -> None:
        """Give up the call that is being made, as its run is over."""
        self._is_over = True
        if self._asked is not None:
            self._asked.cancel()


async def _listed(client: Client) -> dict[str, Tool]:
    """Return every tool that a server lists, by name."""
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


async def _wait_for(process: Process, reading: CancelScope) -> None:
    """End the reading of a program that has ended: what it started may hold its stdout open."""
    import anyio  # noqa: PLC0415 - as in `McpTools.start`

    # Not `wait`, which waits for its pipes as well.
    while process.returncode is None:  # noqa: ASYNC110 - there is no event of it alone
        await anyio.sleep(0.1)
    await anyio.sleep(PARTING)
    reading.cancel()


async def _write(process: Process, from_session: Any) -> None:
    import anyio  # noqa: PLC0415 - as in `McpTools.start`

    stdin = cast("Any", process.stdin)
    async with from_session:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for one in from_session:
                line = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(line.encode("utf-8", "replace") + b"\n")


def _first(error: BaseException) -> BaseException:
    """Return the error that a group was made for."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _value(result: CallToolResult) -> JsonValue:
    """Return what a tool gave, as one that runs in this process would.

    That is its structured content, or else its content: a text as it is, if it is not a JSON object
    or list; what is no text as the object that the protocol has for it; several as a list.

    Raises:
        McpServerGoneError: it holds a number that JSON does not have.
    """
    if result.structured_content is not None:
        notes: list[str] = []
        value = to_json_value(result.structured_content, notes)
        if notes:
            msg = f"a tool gave what is no JSON: {notes[0]}"
            raise McpServerGoneError(msg)
        return value
    parts = [_part(one) for one in result.content]
    if result.is_error and all(isinstance(one, str) for one in parts):
        return "\n".join(map(str, parts)) or "the tool failed, and said nothing of it"
    return parts[0] if len(parts) == 1 else parts or None


def _part(content: Any) -> JsonValue:
    if content.type != "text":
        return to_json_value(content.model_dump(mode="json", by_alias=True, exclude_none=True))
    text: str = content.text
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return to_json_value(json.loads(text))
    return text


# Two schemas mean the same, if they differ in nothing but what is for readers.

_FOR_READERS: Final = frozenset(
    {"title", "description", "$schema", "$comment", "examples", "default", "deprecated"}
)
# Under these keys stand schemas by name, which may be called like a key.
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})


def _meaning(schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    # A tool spec invites arguments that it does not name only if it says so.
    plain: dict[str, Any] = {"type": "object", "properties": {}, "required": [], **schema}
    if plain.get("additionalProperties") is False:
        del plain["additionalProperties"]
    return cast("dict[str, JsonValue]", _without_words(plain))


def _without_words(schema: Any) -> JsonValue:
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return [*map(_without_words, cast("Sequence[object]", schema))]
    if not isinstance(schema, Mapping):
        return cast("JsonValue", schema)
    kept: dict[str, JsonValue] = {}
    for key, inner in cast("Mapping[str, Any]", schema).items():
        if key in _NAMED and isinstance(inner, Mapping):
            named = cast("Mapping[str, Any]", inner)
            kept[key] = {name: _without_words(one) for name, one in named.items()}
        elif key == "required" and isinstance(inner, list):
            kept[key] = sorted(cast("list[JsonValue]", inner), key=str)
        elif key not in _FOR_READERS:
            kept[key] = _without_words(inner)
    return kept


def _difference(ours: JsonValue, theirs: JsonValue, place: str = "") -> str:
    """Say where two schemas differ first."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in {**ours, **theirs}:
            here, there = ours.get(key, _NOTHING), theirs.get(key, _NOTHING)
            if key not in ours or key not in theirs or not same_json(here, there):
                return _difference(here, there, f"{place}/{key}")
    return f"at {place!r} it says {_written(ours)}, the server {_written(theirs)}"


def _written(schema: JsonValue) -> str:
    return "nothing" if schema is _NOTHING else short_repr(schema)
