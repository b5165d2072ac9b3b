"""What the parts of the campaign share: a case, a part, and children that run the plugin."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import lab

TEMPORARY = tempfile.TemporaryDirectory(prefix="sopbench-campaign-")
"""Where children with workers have their temporary folders. In the usual place they would remove
what other test runs have left there, which takes minutes and looks as if they hung."""

HANG_GUARD_SECONDS = 120
"""No child needs so long, whatever else the machine does; one that does hangs."""

RIGHT = '''
def right(inputs, tools):
    """The answer that the SOP asks for."""
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}
'''
"""An agent that is right on every task of the small domain: `agents:right`."""


@dataclass(frozen=True, slots=True)
class Case:
    """One piece of bad luck.

    `run` gets an empty folder of its own, and returns None where the plugin survived, else one
    text that says what failed. The kind of a case is what its name has before the first `/`.
    """

    name: str
    run: Callable[[Path], str | None]

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases that one session tries together; where it fails, each is tried again alone.

    Where each survives alone, their failure together counts only if it is `conclusive`: cases
    that may end a session keep those after them from being tried at all.
    """

    cases: tuple[Case, ...]
    run: Callable[[Path], str | None]
    conclusive: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """Cases of one sort: `cases` is given a seed, names are unique and depend on it alone."""

    name: str
    cases: Callable[[int], Sequence[Case]]
    together: Callable[[Sequence[Case]], Iterable[Batch]] | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended; `status` is None where it hung and was killed, below 0 for a signal."""

    status: int | None
    out: str
    err: str

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"


def run_pytest(
    folder: Path,
    *args: str,
    env: Mapping[str, str | None] | None = None,
    xdist: bool = False,
    guard: float = HANG_GUARD_SECONDS,
) -> Ended:
    """Run a pytest session with nothing but our plugin (and xdist) in a child process."""
    plugins = ("-psopbench", *(("-pxdist",) if xdist else ()))
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": None, **(env or {})}
    return run_command(
        folder, sys.executable, "-m", "pytest", *plugins, *args, env=settings, guard=guard
    )


def run_sopbench(
    folder: Path,
    *args: str,
    env: Mapping[str, str | None] | None = None,
    guard: float = HANG_GUARD_SECONDS,
) -> Ended:
    """Run the `sopbench` command in a child process."""
    program = "from pytest_sopbench.cli import main; main()"
    return run_command(folder, sys.executable, "-c", program, *args, env=env, guard=guard)


def run_command(
    folder: Path,
    *command: str,
    env: Mapping[str, str | None] | None = None,
    guard: float = HANG_GUARD_SECONDS,
) -> Ended:
    """Run a command in a process group of its own; what is left of the group is killed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(env or {}),
            stdin=subprocess.DEVNULL,
            # No pipes: what the child leaves behind would hold them open.
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        status = wait(process, guard=guard)
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read()
    return Ended(status, said.decode("utf-8", "replace"), complained.decode("utf-8", "replace"))


def collect(process: subprocess.Popen[bytes], *, guard: float = HANG_GUARD_SECONDS) -> Ended:
    """Wait for a child that leads a group of its own and writes into pipes."""
    status: int | None
    try:
        out, err = process.communicate(timeout=guard)
        status = process.returncode
    except subprocess.TimeoutExpired:
        # Ended it may have all the same, and something that it started holds its streams.
        status = process.poll()
        kill_group(process.pid)
        out, err = process.communicate()
    finally:
        kill_group(process.pid)
    return Ended(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def wait(process: subprocess.Popen[bytes], *, guard: float = HANG_GUARD_SECONDS) -> int | None:
    """Wait for a child that leads a group of its own; kill it, and what it leaves behind."""
    try:
        return process.wait(timeout=guard)
    except subprocess.TimeoutExpired:
        return None
    finally:
        kill_group(process.pid)
        process.wait()


def kill_group(leader: int) -> None:
    """Kill the processes of a group that a child of ours leads."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """What a child sees of the environment; a change to None takes a variable away."""
    ours = ("PYTEST_", "COV_CORE_", "SOP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # A session in CI is stricter, a terminal of another width breaks lines elsewhere.
    kept |= {"COLUMNS": "120", "PYTHONDONTWRITEBYTECODE": "1"}
    kept["PYTEST_DEBUG_TEMPROOT"] = TEMPORARY.name
    kept.pop("CI", None)
    changed = kept | {name: value for name, value in changes.items() if value is not None}
    return {name: value for name, value in changed.items() if changes.get(name, "") is not None}


def write_lab(folder: Path, name: str = "lab", *, tasks: int = 6) -> Path:
    """Write the small domain into `folder/domains/NAME`, with the right agent beside it."""
    domain = lab.write_lab(folder / "domains", name, tasks=tasks)
    (folder / "agents.py").write_text(RIGHT, encoding="utf-8")
    # Else pytest looks for the root of the project in the folders above.
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return domain


def sessions(folder: Path) -> list[Path]:
    """The saved sessions of a folder, oldest first."""
    return sorted((folder / ".sop" / "sessions").glob("2*-*-*-*.jsonl"))


def lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a saved session that can be read."""
    found: list[dict[str, Any]] = []
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


# Not what `faulthandler` dumps of a process that dies, which has no comma before "in".
# And not the toolbox, whose errors are raised to the agent: a thread of it may let them through.
# Nor the line by which pytest says where Ctrl-C met the session, which waited for a run.
_OUR_FRAME = re.compile(
    r"""(File "[^"]*pytest_sopbench/(?!_running/tools/)[\w/]+\.py", line \d+, in )"""
    r"""|(^\S*pytest_sopbench/[\w/]+\.py:\d+: (?!KeyboardInterrupt$))""",
    re.MULTILINE,
)


def traceback_of_ours(text: str) -> str | None:
    """What shows that the plugin itself broke: an internal error, or a traceback through it.

    Returns None where neither is there. A traceback that goes through the plugin and ends in
    code of the agent or the domain is one of theirs only where the plugin shows it cut to their
    frames, as it promises; so any frame of the plugin counts.
    """
    if "INTERNALERROR" in text:
        place = text.rindex("INTERNALERROR")
        return f"an internal error of pytest: {text[max(0, place - 500) : place + 500]}"
    found = _OUR_FRAME.search(text)
    if found is None:
        return None
    return (
        f"a traceback through the plugin: {text[max(0, found.start() - 300) : found.end() + 900]}"
    )


def excerpt(ended: Ended, *, size: int = 1_500) -> str:
    """The ends of both streams, for the reason of a failure."""
    out, err = ended.out[-size:].strip(), ended.err[-size:].strip()
    return f"status {ended.status}\n--- stdout\n{out}\n--- stderr\n{err}"
