"""A Python process that has imported pytest and this package, and becomes others by forking.

A new interpreter takes most of a second of processor time to import them; a fork takes none.
`tests/processes/popen.py` asks it for processes. Each is what `python -m pytest ...` or
`python -c ...` would be: its own arguments, streams, environment, folder and import path, and
nothing of another session. It ends when the process that started it does.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import random
import runpy
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import installed
import popen

# Domains, programs, and what imports a plugin that a session may load later.
NOT_OF_SESSIONS = {"bundled", "child", "syrupy_extension"}
SCRIPTS = {"pytest", "sopbench"}
HEADER_BYTES = 4
LIFELINE = 0


@dataclass(frozen=True, slots=True)
class Command:
    """A module (`-m`), a code (`-c`) or a script, and the arguments behind it."""

    way: str
    what: str
    rest: list[str]
    unbuffered: bool

    @property
    def argument(self) -> str:
        """What `sys.argv` begins with; of a module, `runpy` puts in its file."""
        return self.way or self.what

    @property
    def first_of_path(self) -> str:
        return {"-m": str(Path.cwd()), "-c": ""}.get(self.way, str(Path(self.what).parent))


@dataclass(frozen=True, slots=True)
class Request:
    """One process that is asked for, as `subprocess.Popen` would start it."""

    args: list[str]
    cwd: str
    env: dict[str, str]
    umask: int
    path: str

    @property
    def is_worker(self) -> bool:
        """Whether it is a worker of xdist."""
        return tuple(self.args[-2:]) == popen.WORKER

    @property
    def is_of_a_domain(self) -> bool:
        """Whether it runs the code of a domain, in a session of its own."""
        return popen.is_of_a_domain(self.args)

    @property
    def command(self) -> Command:
        """What the arguments say, read as Python reads them."""
        program, *options = self.args
        if self.is_of_a_domain:
            return Command("-c", options[2], [], unbuffered=False)
        if Path(program).name not in SCRIPTS:
            unbuffered = options[0] == "-u"
            first, *rest = options[unbuffered:]
            way, what = first[:2], first[2:] or rest.pop(0)
            return Command(way, what, rest, unbuffered=unbuffered)
        return Command("", program, options, unbuffered=False)


def import_all() -> None:
    """Import what sessions import, through pytest's own hook, which a session would else miss."""
    import pytest  # noqa: PLC0415 - this process is to start before it imports

    with tempfile.TemporaryDirectory() as empty:
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.environ.pop("PYTEST_ADDOPTS", None)
        options = ["-psopbench", "-pxdist", "-pno:cacheprovider", f"--rootdir={empty}"]
        pytest.main([*options, "--collect-only", "-q", empty])
    import_module("xdist.remote")
    package = import_module("pytest_sopbench")
    for module in pkgutil.walk_packages(package.__path__, "pytest_sopbench."):
        if not NOT_OF_SESSIONS & set(module.name.split(".")):
            with suppress(ImportError):  # what needs a library that is not installed
                import_module(module.name)


class Server:
    """Waits for requests and for the ends of the processes that it has become."""

    def __init__(self, path: str) -> None:
        self.folder = Path(path).parent
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{path}.new")
        self.listener.listen(64)
        Path(f"{path}.new").rename(path)  # whoever finds it may connect
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(LIFELINE, selectors.EVENT_READ)
        self.children: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> Request:
        """Return in a new process alone, with the request that this process is to fulfil."""
        while True:
            for key, _ in self.selector.select():
                if key.fd == LIFELINE:
                    # Its starter may have ended without a chance to tidy up.
                    shutil.rmtree(self.folder, ignore_errors=True)
                    os._exit(0)
                if key.fileobj is not self.listener:
                    self.report(key.fd)
                elif (request := self.accept()) is not None:
                    return request

    def accept(self) -> Request | None:
        connection, _ = self.listener.accept()
        try:
            request, streams = receive(connection)
        except (OSError, ValueError):
            connection.close()
            return None
        pid = os.fork()
        if not pid:
            if request.is_of_a_domain:
                os.setsid()
            self.close()
            connection.close()
            take_streams(streams)
            return request
        for descriptor in streams:
            os.close(descriptor)
        ended = os.pidfd_open(pid)
        self.children[ended] = (pid, connection)
        self.selector.register(ended, selectors.EVENT_READ)
        with suppress(OSError):
            connection.sendall(pid.to_bytes(HEADER_BYTES, "big"))
        return None

    def report(self, ended: int) -> None:
        pid, connection = self.children.pop(ended)
        self.selector.unregister(ended)
        os.close(ended)
        _, status = os.waitpid(pid, 0)
        with suppress(OSError), connection:
            connection.sendall(status.to_bytes(HEADER_BYTES, "big"))

    def close(self) -> None:
        """Let go, in a new process, of everything by which the server knows the others."""
        self.selector.close()
        self.listener.close()
        for ended, (_, connection) in self.children.items():
            os.close(ended)
            connection.close()


def receive(connection: socket.socket) -> tuple[Request, list[int]]:
    header, streams, _, _ = socket.recv_fds(connection, HEADER_BYTES, 3)
    length = int.from_bytes(header, "big")
    with connection.makefile("rb") as file:
        return Request(**json.loads(file.read(length))), streams


def take_streams(streams: list[int]) -> None:
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)


def become(request: Request) -> None:
    """Take on what `exec` would have set, then run what the arguments name."""
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    os.umask(request.umask)
    os.chdir(request.cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    sys.dont_write_bytecode = bool(request.env.get("PYTHONDONTWRITEBYTECODE"))
    command = request.command
    open_streams(unbuffered=command.unbuffered or bool(request.env.get("PYTHONUNBUFFERED")))
    sys.orig_argv[:] = request.args
    sys.argv[:] = [command.argument, *command.rest]
    found = [path for path in request.env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = (
        BASE_PATH if request.is_of_a_domain else [command.first_of_path, *found, *BASE_PATH]
    )
    sys.path_importer_cache.clear()
    if not request.is_of_a_domain:
        popen.install_in_fork(request.path)
    if command.way == "-m":
        runpy.run_module(command.what, run_name="__main__", alter_sys=True)
    elif command.way == "-c":
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(command.what, main.__dict__)  # noqa: S102 - as `python -c` does
    else:
        runpy.run_path(command.what, run_name="__main__")


def open_streams(*, unbuffered: bool) -> None:
    """Make `sys.stdin` and the others anew, for they know whether they are a terminal."""
    sys.stdin = sys.__stdin__ = stream(0, "r", "strict", unbuffered=False)
    sys.stdout = sys.__stdout__ = stream(1, "w", "strict", unbuffered=unbuffered)
    sys.stderr = sys.__stderr__ = stream(2, "w", "backslashreplace", unbuffered=unbuffered)


def stream(number: int, mode: str, errors: str, *, unbuffered: bool) -> Any:
    raw = open(  # noqa: SIM115 - it lives as long as the process
        number, f"{mode}b", buffering=0 if unbuffered else -1, closefd=False
    )
    name = ("<stdin>", "<stdout>", "<stderr>")[number]
    lines = number == 2 or os.isatty(number)
    file = io.TextIOWrapper(
        raw, sys.__stdout__.encoding, errors, line_buffering=lines, write_through=unbuffered
    )
    file.mode = mode
    with suppress(AttributeError):
        raw.raw.name = name
    return file


def end_at_once(end: Callable[[int], NoReturn] = os._exit) -> None:
    """End after all other functions of the exit, in place of freeing what was inherited.

    To free it is two thirds of the processor time of a short session. A process that ends by an
    exception or a signal, or whose streams cannot be written, ends as ever.
    """
    if not statuses:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except (AttributeError, OSError, ValueError):
        return
    # Not `os._exit`, in whose place there may be what a session has put there.
    end(statuses[0])


# With what status this process ends, once it has fulfilled the request that it was forked for.
statuses: list[int] = []
# Without the folder of this file, and `PYTHONPATH` was not set.
BASE_PATH = sys.path[1:]


def main() -> Request:
    # Ctrl-C is for the tests; when they have ended so does this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Functions that are registered later are called before it.
    atexit.register(end_at_once)
    installed.remember()
    import_all()
    server = Server(sys.argv[1])
    gc.collect()
    gc.freeze()
    # Each session asks whether there are any, and counting takes 10 ms.
    gc.get_freeze_count = lambda: 1
    sys.stdout.flush()
    return server.serve()


if __name__ == "__main__":
    request = main()
    try:
        become(request)
        statuses.append(0)
    except SystemExit as end:
        if isinstance(end.code, int | None):
            statuses.append((end.code or 0) & 0xFF)
        raise
