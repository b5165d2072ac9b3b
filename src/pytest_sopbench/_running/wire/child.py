"""Agents that are programs: `--agent exec:COMMAND` and `--agent lines:COMMAND`.

`exec:` starts a child for each run. It is given the request on its standard input, which then ends,
and its standard output is the answer. `lines:` starts a child that makes many runs and speaks JSON
lines; its tools are called by lines as well, so it needs no server.

A child leads a process group of its own, and is ended with everything that it has started. What it
writes to its standard error is the output of the run. Two words name the two kinds, since nobody
can tell a child that is slow to say `ready` from one that waits for the end of its input.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import Context
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any, Final, cast

from pytest_sopbench._core.protocols import AgentContext
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import short
from pytest_sopbench._running.descendants import (
    end_with_descendants,
    marked,
    wait_unreaped,
)
from pytest_sopbench._running.event_loop import in_thread, offloaded
from pytest_sopbench._running.tools.calls import OpenCall
from pytest_sopbench._running.tools.toolbox import Served, Tools, begin, finish
from pytest_sopbench.errors import AgentSpecError, RunOverError, ToolError

from .request import (
    PROTOCOL,
    REPORTED,
    AgentAwayError,
    AgentDiedError,
    AgentElsewhere,
    Asked,
    ServiceError,
    json_in,
    output_of,
    read_answer,
)
from .server import OVER, Address, Door, as_body
from .service import shared_server

EXEC: Final = "exec:"
LINES: Final = "lines:"

LARGEST_OUTPUT: Final = 16 * 1024 * 1024
"""Bytes of an answer, or of one line."""

_LOG_KEPT: Final = 256 * 1024
"""Characters of a child's standard error that a run keeps."""

_LAST_WORDS: Final = 5.0
"""Seconds for what stands in the pipes when all who could write are gone."""

_SHOWN: Final = 300
_LOGS: Final = "\nlogs belong on its standard error; exec: is for a child that only answers"
_UNREADY: Final = "\nlines: is for a child that writes ready first; exec: is for one run a child"
_READY_WITHIN: Final = 60.0


def _command(spec: str, prefix: str, folder: Path) -> list[str]:
    try:
        words = shlex.split(spec.removeprefix(prefix))
    except ValueError as fault:
        msg = f"agent {spec!r}: {fault}"
        raise AgentSpecError(
            msg, hint="write the command as for a shell; no shell runs it"
        ) from None
    if not words:
        msg = f"agent {spec!r}: the command is missing"
        raise AgentSpecError(msg, hint=f"write {prefix}node agent.mjs, in quotes")
    found = shutil.which(words[0], path=os.environ.get("PATH")) or shutil.which(folder / words[0])
    if found is None:
        msg = f"agent {spec!r}: there is no program {words[0]!r}"
        raise AgentSpecError(msg, hint=f"looked on the PATH and in {folder}")
    return [found, *words[1:]]


# A child for each run.


class ExecAgent(AgentElsewhere):
    """Starts a child for each run."""

    def __init__(self, spec: str, context: AgentContext) -> None:
        self._command = _command(spec, EXEC, context.path)
        self._folder = context.path
        super().__init__(context, shared_server(Address(*context.options.tool_address)))

    async def _answer(self, asking: Asked, tools: Tools, approver: Callable[..., Any]) -> object:
        del approver
        door = cast("Door", asking.door)
        told = {"SOPBENCH_TOOLS": door.call, "SOPBENCH_MCP": door.mcp}
        environment = marked({**os.environ, **told, "TRACEPARENT": asking.traceparent})
        child = OneRun(self._command, self._folder, environment)
        try:
            # To start and to end a child takes milliseconds, which all runs on the loop would wait.
            status = await offloaded(lambda: child.talk(asking.text.encode() + b"\n"))
        except OSError as fault:
            msg = f"the child could not be started: {fault}"
            raise AgentAwayError(msg) from None
        except asyncio.CancelledError:
            in_thread(child.end)
            raise
        log = child.log.decode("utf-8", "replace")
        if log:
            sys.stderr.write(log)
        if child.size > LARGEST_OUTPUT:
            msg = f"the child wrote more than {LARGEST_OUTPUT:,} bytes"
            raise ServiceError(msg)
        if status:
            _complain(status, log)
        return read_answer(_text_of(b"".join(child.output)).strip(), tools)


class OneRun:
    """A child that makes one run: a thread for each pipe, so that none waits for another."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._start = partial(_started, command, folder, environment)
        self._environment = environment
        self._lock = Lock()
        self._is_over = False
        self.process: subprocess.Popen[bytes] | None = None
        self.output: list[bytes] = []
        self.size = 0
        self.log = b""

    def talk(self, request: bytes) -> int:
        """Start the child, hand over the request, and return the status with which it ended.

        Raises:
            OSError: it cannot be started.
        """
        with self._lock:
            if self._is_over:
                return 0
            process = self.process = self._start()
        reading = [in_thread(partial(self._read, process)), in_thread(partial(self._keep, process))]
        in_thread(lambda: _write(process, request))
        wait_unreaped(process)
        # What it has started may hold the pipes for ever.
        self.end()
        wait(reading, timeout=_LAST_WORDS)
        return process.returncode

    def end(self) -> None:
        """End the child with all that it has started; one that has not started never does."""
        with self._lock:
            self._is_over = True
            if self.process is not None:
                end_with_descendants(self.process, self._environment)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        for chunk in _chunks(process.stdout):
            self.size += len(chunk)
            if self.size > LARGEST_OUTPUT:
                self.end()
                return
            self.output.append(chunk)

    def _keep(self, process: subprocess.Popen[bytes]) -> None:
        for chunk in _chunks(process.stderr):
            self.log = (self.log + chunk)[-_LOG_KEPT:]


def _started(
    command: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the user's own agent
        command,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=folder, env=environment, start_new_session=True,
    )  # fmt: skip


def _chunks(stream: IO[bytes] | None) -> Iterator[bytes]:
    """Yield what comes out of a pipe to its end, and close it."""
    if stream is not None:
        with stream:
            while chunk := os.read(stream.fileno(), 64 * 1024):
                yield chunk


def _write(process: subprocess.Popen[bytes], request: bytes) -> None:
    # A child that does not read, or is gone, is no reason not to hear it.
    if process.stdin is not None:
        with suppress(OSError, ValueError):
            process.stdin.write(request)
        with suppress(OSError, ValueError):
            process.stdin.close()


def _message_of(line: bytes) -> tuple[dict[str, JsonValue], str, str]:
    """Return a message, its type, and the id of its run; only `ready` is of none."""
    message = json_in(_text_of(line))
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(kind, str):
        shown = line[:_SHOWN].decode("utf-8", "replace").strip()
        msg = f"the child wrote a line that is no message of the protocol: {shown}{_LOGS}"
        raise ServiceError(msg)
    name = "" if kind == "ready" else message.get("run")
    if not isinstance(name, str):
        msg = f"the child wrote {kind!r} without the id of the request's run: {short(name)}"
        raise ServiceError(msg)
    return message, kind, name


def _text_of(output: bytes) -> str:
    """Return what a child wrote; a letter in place of another would be another answer.

    Raises:
        ServiceError: it is not UTF-8.
    """
    try:
        return output.decode()
    except UnicodeDecodeError as fault:
        msg = f"the child's output is not UTF-8 at byte {fault.start + 1:,}: {fault.reason}"
        raise ServiceError(msg) from None


def _complain(status: int, log: str) -> None:
    """Raise what a status other than 0 means.

    Raises:
        AgentDiedError: a signal ended the child.
        ServiceError: it ended itself.
    """
    last = next((line for line in reversed(log.splitlines()) if line.strip()), "")
    said = f": {last.strip()[:_SHOWN]}" if last else ""
    if status < 0:
        msg = f"the child was ended by signal {-status}{said}"
        raise AgentDiedError(msg)
    msg = f"the child ended with status {status}{said}"
    raise ServiceError(msg)


# A child that makes many runs, and speaks JSON lines.


class LinesAgent(AgentElsewhere):
    """Keeps children that make runs; starts another one if all have as many as they want."""

    def __init__(self, spec: str, context: AgentContext) -> None:
        super().__init__(context, None)
        self._command = _command(spec, LINES, context.path)
        self._folder = context.path
        self._lock = Lock()
        self._children: list[LinesChild] = []
        self._fault: Exception | None = None

    async def _answer(self, asking: Asked, tools: Tools, approver: Callable[..., Any]) -> object:
        run = LinesRun(asking.run, tools, approver)
        taking = in_thread(lambda: self._child_for(run))
        try:
            child = await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            # A child that is found too late gets its place back.
            taking.add_done_callback(lambda found: _give_back(found, run))
            raise
        child.send({"type": "run", **asking.body})
        try:
            answer = await asyncio.wrap_future(run.answer)
        except asyncio.CancelledError:
            child.cancel(run)
            raise
        return output_of(answer, tools)

    def _child_for(self, run: LinesRun) -> LinesChild:
        """Return a child that has room for a run, which has its place then.

        Raises:
            ServiceError: a child was started and does not speak the protocol.
        """
        with self._lock:
            if self._fault is not None:
                raise self._fault
            self._children = [one for one in self._children if one.is_alive]
            for child in self._children:
                if child.take(run):
                    return child
            try:
                # Its environment is not that of the run that it happens to be started for: what it
                # asks a model by it belongs to no run.
                child = Context().run(LinesChild, self._command, self._folder)
            except ServiceError as fault:
                # A program does not learn the protocol by being asked again.
                self._fault = fault
                raise
            self._children.append(child)
            child.take_first(run)
            return child


class LinesRun:
    """A run that a child makes: its tools, its approver, and the answer that is waited for."""

    def __init__(self, name: str, tools: Tools, approver: Callable[..., Any]) -> None:
        self.name: Final = name
        self.tools: Final = tools
        self.approver: Final = approver
        self.answer: Final[Future[dict[str, JsonValue]]] = Future()

    def end(self, came: dict[str, JsonValue] | BaseException) -> None:
        """Hand over what came of the run; the first word counts."""
        with suppress(InvalidStateError):
            if isinstance(came, BaseException):
                self.answer.set_exception(came)
            else:
                self.answer.set_result(came)


def _give_back(found: Future[LinesChild], run: LinesRun) -> None:
    if not found.cancelled() and found.exception() is None:
        found.result().give_back(run)


class LinesChild:
    """One child: threads read its lines and its log, write ours, and wait for its end.

    Raises:
        ServiceError: it does not say `ready`.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self._environment = marked(os.environ)
        try:
            self._process = _started(command, folder, self._environment)
        except OSError as fault:
            msg = f"the child could not be started: {fault}"
            raise ServiceError(msg) from None
        self._lock = Lock()
        self._ending = Lock()
        self._runs: dict[str, LinesRun] = {}
        self._lost: set[str] = set()
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._log = b""
        self._ready: Future[int] = Future()
        self._concurrency = 1
        self._end: Exception | None = None
        self.is_alive = True
        self._logging = Thread(target=self._keep_log, daemon=True, name="sopbench-child")
        self._logging.start()
        for work in (self._read, self._write, self._watch):
            Thread(target=work, daemon=True, name="sopbench-child").start()
        atexit.register(self.close)
        try:
            self._concurrency = self._ready.result(_READY_WITHIN)
        except FutureTimeoutError:
            self.close()
            late = f"the child has not said it is ready within {_READY_WITHIN:g} s"
            msg = f"{late}{self._said()}{_UNREADY}"
            raise ServiceError(msg) from None
        except ServiceError:
            self.close()
            raise

    def take(self, run: LinesRun) -> bool:
        """Give a run a place, if there is one."""
        with self._lock:
            if not self.is_alive or len(self._runs) + len(self._lost) >= self._concurrency:
                return False
            self._runs[run.name] = run
            return True

    def take_first(self, run: LinesRun) -> None:
        """Give the run that the child was started for its place.

        A child may have died since it said `ready`: the run ends then as the child did, and does
        not wait for its time limit.
        """
        with self._lock:
            if self._end is None:
                self._runs[run.name] = run
                return
        run.end(self._end)

    def send(self, message: Mapping[str, JsonValue]) -> None:
        """Have a line written; nobody waits for a child that does not read."""
        self._outgoing.put(json.dumps(message).encode() + b"\n")

    def give_back(self, run: LinesRun) -> None:
        """Free the place of a run that the child was never asked for."""
        with self._lock:
            self._runs.pop(run.name, None)

    def cancel(self, run: LinesRun) -> None:
        """Tell the child that a run is over. Its place is free once the child has said so."""
        with self._lock:
            if self._runs.pop(run.name, None) is None:
                return
            self._lost.add(run.name)
            is_stuck = len(self._lost) >= self._concurrency
        self.send({"type": "cancel", "run": run.name})
        if is_stuck:
            # All of its places are held by runs that are over.
            in_thread(self.close)

    def close(self) -> None:
        """End the child with all that it has started."""
        self.is_alive = False
        atexit.unregister(self.close)
        self._outgoing.put(None)
        with self._ending:
            end_with_descendants(self._process, self._environment)

    def _write(self) -> None:
        stream = self._process.stdin
        while stream is not None and (line := self._outgoing.get()) is not None:
            # A child that is gone is told of by the thread that reads.
            with suppress(OSError, ValueError):
                stream.write(line)
                stream.flush()
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.close()

    def _keep_log(self) -> None:
        for chunk in _chunks(self._process.stderr):
            self._log = (self._log + chunk)[-_LOG_KEPT:]

    def _read(self) -> None:
        error: Exception | None = None
        stream = self._process.stdout
        while error is None and stream is not None:
            line = stream.readline(LARGEST_OUTPUT)
            if not line:
                break
            try:
                self._hear(line)
            except Exception as fault:  # noqa: BLE001 - else its runs would wait for ever
                error = fault
        if stream is not None:
            stream.close()
        self.is_alive = False
        has_gone = error is None and wait_unreaped(self._process, _LAST_WORDS)
        self.close()
        self._logging.join(_LAST_WORDS)
        if error is None:
            how = f"with status {self._process.returncode}" if has_gone else "by closing its output"
            msg = f"the child ended in the middle of a run, {how}{self._said()}"
            error = AgentDiedError(msg)
        with self._lock:
            self._end = error
            runs, self._runs = [*self._runs.values()], {}
        for run in runs:
            run.end(error)
        with suppress(InvalidStateError):
            self._ready.set_exception(ServiceError(str(error)))

    def _watch(self) -> None:
        """End what a child has left when it has died: it may hold the output open for ever."""
        wait_unreaped(self._process)
        self.close()

    def _said(self) -> str:
        lines = self._log.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {last[:_SHOWN]}" if last else ""

    def _hear(self, line: bytes) -> None:
        """Do what a line asks for.

        Raises:
            ServiceError: it is none of the protocol, no UTF-8, or too long.
        """
        if not line.strip():
            return
        if len(line) == LARGEST_OUTPUT and not line.endswith(b"\n"):
            msg = f"the child wrote a line of more than {LARGEST_OUTPUT:,} bytes"
            raise ServiceError(msg)
        message, kind, name = _message_of(line)
        if kind == "ready":
            self._hear_ready(message)
            return
        with self._lock:
            run = self._runs.get(name)
            if kind in {"answer", "error"}:
                self._lost.discard(name)
        if kind == "call":
            self._begin(run, message)
        elif kind == "approve":
            in_thread(lambda: self._approve(run, message))
        elif run is None:
            # Of a run that is over, or that the child has made up: nobody waits for it.
            return
        elif kind == "report":
            run.tools.report(**{key: message[key] for key in REPORTED if key in message})
        elif kind in {"answer", "error"}:
            self._hear_end(run, kind, message)
        else:
            msg = f"the child wrote a message of the unknown type {kind!r}"
            raise ServiceError(msg)

    def _hear_ready(self, message: Mapping[str, JsonValue]) -> None:
        protocol, most = message.get("protocol"), message.get("concurrency", 1)
        if protocol != PROTOCOL:
            msg = f"the child speaks protocol {protocol!r}, and this is {PROTOCOL}"
            raise ServiceError(msg)
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            msg = f"the child is ready for {most!r} runs at a time: a whole number is expected"
            raise ServiceError(msg)
        with suppress(InvalidStateError):
            self._ready.set_result(most)

    def _hear_end(self, run: LinesRun, kind: str, message: dict[str, JsonValue]) -> None:
        with self._lock:
            self._runs.pop(run.name, None)
        if kind == "error":
            run.end(ServiceError(f"{message.get('message', 'the agent failed')}"))
        elif "output" not in message:
            run.end(ServiceError("the child answered without an output"))
        else:
            run.end(message)

    def _begin(self, run: LinesRun | None, message: Mapping[str, JsonValue]) -> None:
        """Take down that a call begins, in the order of the lines, and have it answered.

        In a thread of its own a call might begin after the answer behind it has ended the run, and
        be seen by nobody.
        """
        tool, given = message.get("tool"), message.get("arguments", {})
        name = tool if isinstance(tool, str) else json.dumps(tool)
        if run is None:
            self._tell(message, (None, ToolError(OVER)))
            return
        call = begin(run.tools, name, given)
        if isinstance(call, OpenCall):
            in_thread(lambda: self._tell(message, finish(run.tools, call)))
            return
        if isinstance(call, RunOverError):
            # In this process it would be raised into the agent.
            self.cancel(run)
            run.end(call)
        self._tell(message, (None, call))

    def _tell(self, message: Mapping[str, JsonValue], served: Served) -> None:
        body = as_body(served)
        told = body if isinstance(body, dict) else {}
        self.send(
            {"type": "result", "run": message.get("run"), "call": message.get("call"), **told}
        )

    def _approve(self, run: LinesRun | None, message: Mapping[str, JsonValue]) -> None:
        told: dict[str, JsonValue] = {"approved": False, "reason": "the run is over"}
        if run is not None:
            given = {key: f"{message[key]}" for key in ("title", "summary") if key in message}
            moment = "before" if message.get("moment") == "before" else "after"
            try:
                decision = run.approver(f"{message.get('step', '')}", moment=moment, **given)
                told = {"approved": decision.approved, "reason": decision.reason}
            except Exception as error:  # noqa: BLE001 - of the user's own approver
                run.end(error)
                return
        call = message.get("call")
        self.send({"type": "approval", "run": message.get("run"), "call": call, **told})
