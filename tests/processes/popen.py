"""Python processes that fork from a ready one, wherever a test would start a new interpreter.

Only those that start pytest, `sopbench`, a worker of xdist or the code of a domain are taken, and
only where a fork can be told from a new process by what has been imported alone. All others are
started as ever. A test that is about the start of a process asks for the fixture
`new_interpreters`.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READY = Path(__file__).with_name("ready.py")
HEADER_BYTES = 4
START_SECONDS = 300
WORKER = ("-c", "import sys;exec(eval(sys.stdin.readline()))")
"""What starts a worker of xdist."""
WAYS = {
    ("-mpytest",),
    ("-m", "pytest"),
    WORKER,
    ("-c", "from pytest_sopbench.cli import main; main()"),
}
SCRIPTS = {"pytest", "sopbench"}
ISOLATED = ["-I", "-c"]
"""How the code of a domain is run, with all that our own program is found by in its first line."""
OF_A_DOMAIN = "import sys; sys.path.extend("
# The fork takes these over itself; in all else that Python reads the two have to agree.
TAKEN_OVER = {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
NEW_SESSION = "start_new_session"
PLAIN = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "shell": False,
    "restore_signals": True,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    NEW_SESSION: False,
    "process_group": -1,
}

execute_child = subprocess.Popen._execute_child
try_wait = getattr(subprocess.Popen, "_try_wait", None)  # Windows has none, where nothing forks
waitid = getattr(os, "waitid", None)
internal_poll = subprocess.Popen._internal_poll
signature = inspect.signature(execute_child)


@dataclass(frozen=True, slots=True)
class Ready:
    """Where the ready process listens, and what it has in common with those that it becomes."""

    path: str
    env: dict[str, str]
    group: tuple[int, int]


@dataclass(slots=True)
class Switch:
    """Whether processes fork, and from which; that one is started when it is first needed."""

    on: bool = False
    ready: Ready | None = None


switch = Switch()
running: dict[int, socket.socket] = {}
"""Processes that run the code of a domain, and by what their end is told: they are waited for."""


def install() -> None:
    """Let processes of this process fork wherever the switch is on; twice is as good as once."""
    subprocess.Popen._execute_child = execute_or_fork
    subprocess.Popen._try_wait = wait_for_either
    subprocess.Popen._internal_poll = poll_either
    os.waitid = waitid_either


def install_in_fork(path: str) -> None:
    """Let the workers of a session that has been forked fork from where it did."""
    install()
    switch.on = True
    switch.ready = described(path)


def described(path: str) -> Ready:
    return Ready(path, read_by_python(os.environ), (os.getpgid(0), os.getsid(0)))


def read_by_python(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter reads as it starts."""
    names = [name for name in env if name.startswith(("PYTHON", "LC_", "LANG", "COVERAGE_"))]
    return {name: env[name] for name in names if name not in TAKEN_OVER}


def answers(ready: Ready) -> bool:
    """Return whether the ready process lives: a test may have killed it as a parent of its own."""
    with socket.socket(socket.AF_UNIX) as connection:
        return not connection.connect_ex(ready.path)


def start() -> Ready:
    folder = tempfile.mkdtemp(prefix="ready")
    path = str(Path(folder) / "socket")
    process = subprocess.Popen(
        [sys.executable, str(READY), path],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=folder,
    )
    starter = os.getpid()

    def stop() -> None:
        if os.getpid() == starter and process.stdin is not None:
            process.stdin.close()
            process.wait()

    atexit.register(stop)
    for _ in range(START_SECONDS * 50):
        if Path(path).exists():
            return described(path)
        if process.poll() is not None:
            break
        time.sleep(0.02)
    message = "the process from which those of tests fork did not start"
    raise RuntimeError(message)


def ours(asked: Mapping[str, Any], env: Mapping[str, str]) -> list[str]:
    """Return the command where it is one that can be forked, else nothing."""
    if not isinstance(asked["args"], list | tuple):
        return []
    program, *options = map(os.fsdecode, asked["args"])
    of_a_domain = is_of_a_domain([program, *options])
    if any(asked[name] != value for name, value in PLAIN.items() if name != NEW_SESSION):
        return []
    if asked[NEW_SESSION] != of_a_domain:
        return []
    if of_a_domain:
        return [program, *options]
    if program in SCRIPTS:
        script = shutil.which(program, path=env.get("PATH"))
        is_ours = script is not None and Path(script).parent == Path(sys.executable).parent
        return [str(script), *options] if is_ours else []
    begins = options[1:3] if options[:1] == ["-u"] else options[:2]
    is_ours = program == sys.executable and bool({tuple(begins[:1]), tuple(begins)} & WAYS)
    return [program, *options] if is_ours else []


def is_of_a_domain(args: list[str]) -> bool:
    program, *options = args
    is_isolated = program == sys.executable and options[:2] == ISOLATED
    return is_isolated and options[2].startswith(OF_A_DOMAIN)


def can_be_forked(args: list[str], env: Mapping[str, str], cwd: str) -> bool:
    """Return whether a fork would be as a process of its own: whatever is inherited must agree."""
    ready = switch.ready
    return (
        ready is not None
        # What runs the code of a domain is given no environment, and reads none.
        and (is_of_a_domain(args) or ready.env == read_by_python(env))
        and ready.group == (os.getpgid(0), os.getsid(0))
        and Path(cwd).is_dir()
        and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        and not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    )


def execute_or_fork(process: Any, *given: Any) -> None:
    asked = signature.bind(process, *given).arguments
    env = {
        os.fsdecode(name): os.fsdecode(value)
        for name, value in (os.environ if asked["env"] is None else asked["env"]).items()
    }
    args = ours(asked, env) if switch.on else []
    if args and (switch.ready is None or not answers(switch.ready)):
        switch.on = False
        switch.ready = start()
        switch.on = True
    cwd = os.fsdecode(asked["cwd"] or Path.cwd())
    if args and can_be_forked(args, env, cwd):
        fork(process, asked, {"args": args, "cwd": cwd, "env": env})
    else:
        execute_child(process, *given)


def fork(process: Any, asked: Mapping[str, Any], request: dict[str, Any]) -> None:
    assert switch.ready is not None
    os.umask(umask := os.umask(0))
    body = json.dumps(request | {"umask": umask, "path": switch.ready.path}).encode()
    streams = [asked["p2cread"], asked["c2pwrite"], asked["errwrite"]]
    streams = [number if given == -1 else given for number, given in enumerate(streams)]
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(switch.ready.path)
        socket.send_fds(connection, [len(body).to_bytes(HEADER_BYTES, "big")], streams)
        connection.sendall(body)
        process.pid = received(connection)
    except BaseException:
        connection.close()
        raise
    finally:
        names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        process._close_pipe_fds(*(asked[name] for name in names))
    process._child_created = True
    process.end_of_fork = connection
    if is_of_a_domain(request["args"]):
        running[process.pid] = connection


def received(connection: socket.socket) -> int:
    number = connection.recv(HEADER_BYTES, socket.MSG_WAITALL)
    if len(number) < HEADER_BYTES:
        message = "the process from which those of tests fork has ended"
        raise RuntimeError(message)
    return int.from_bytes(number, "big")


def wait_for_either(process: Any, wait_flags: int) -> tuple[int, int]:
    connection = getattr(process, "end_of_fork", None)
    if connection is None:
        assert try_wait is not None
        return try_wait(process, wait_flags)
    if wait_flags & os.WNOHANG and not select.select([connection], [], [], 0)[0]:
        return 0, 0
    running.pop(process.pid, None)
    with connection:
        return process.pid, received(connection)


def waitid_either(kind: int, number: int, how: int) -> Any:
    """Tell of the end of a process that is to stay unreaped; it is no child of this process."""
    connection = running.get(number)
    if connection is None or not how & os.WNOWAIT:
        assert waitid is not None
        return waitid(kind, number, how)
    return select.select([connection], [], [], 0 if how & os.WNOHANG else None)[0] or None


def poll_either(process: Any, *given: Any, **named: Any) -> int | None:
    if getattr(process, "end_of_fork", None) is None:
        return internal_poll(process, *given, **named)
    # A thread that waits holds the lock, and will set the status itself.
    if process.returncode is None and process._waitpid_lock.acquire(blocking=False):
        try:
            if process.returncode is None:
                pid, status = wait_for_either(process, os.WNOHANG)
                if pid:
                    process._handle_exitstatus(status)
        finally:
            process._waitpid_lock.release()
    return process.returncode
