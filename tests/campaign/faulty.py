"""Sessions whose disk fails: full, read-only, gone, or refusing one step of many."""

from __future__ import annotations

import errno
import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from campaign.kit import (
    Ended,
    excerpt,
    run_command,
    run_pytest,
    sessions,
    traceback_of_ours,
    write_lab,
)
from pytest_sopbench import Outcome, load_session
from pytest_sopbench.errors import SessionFileError

TASKS = 8
FOLDER = Path(".sop/sessions")
MODES: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "in flight": ("--sop-concurrency=3",),
    "workers": ("-n2",),
}

# What the victim loads: the k-th call of one function fails where it is about our files.
BREAKER = """
import io
import json
import os
import threading

told = json.loads(os.environ.get("CAMPAIGN_FAULT", "{}"))
counted = 0
counting = threading.Lock()


def is_ours(value):
    if isinstance(value, int):
        try:
            value = os.readlink(f"/proc/self/fd/{value}")
        except OSError:
            return False
    return ".sop" in str(value)


def breaking(function):
    def wrapper(*args, **kwargs):
        global counted
        mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
        is_read = told["function"] == "open" and not set(str(mode)) & set("wax+")
        if args and is_ours(args[0]) and not is_read:
            with counting:
                counted += 1
                # A disk that is full stays full; other faults come and go.
                fails = counted >= told["at"] if told["stays"] else counted == told["at"]
            if fails:
                with open("hit.txt", "w") as file:
                    file.write("hit")
                raise OSError(told["errno"], os.strerror(told["errno"]))
        return function(*args, **kwargs)

    return wrapper


if told:
    module = io if told["function"] == "open" else os
    setattr(module, told["function"], breaking(getattr(module, told["function"])))
"""

AGENT = """
import contextlib
import os
import shutil
from pathlib import Path

from agents import right

HABIT = os.environ.get("CAMPAIGN_HABIT", "")
OWN = Path(".sop/sessions")


def newest():
    return max(OWN.glob("2*.jsonl"))


def habit():
    if HABIT == "folder removed":
        shutil.rmtree(OWN, ignore_errors=True)
    elif HABIT == "all removed":
        shutil.rmtree(".sop", ignore_errors=True)
    elif HABIT == "folder moved":
        OWN.rename("elsewhere")
    elif HABIT == "folder is a file":
        # The session may make its folder anew in between.
        while not OWN.is_file():
            shutil.rmtree(OWN, ignore_errors=True)
            with contextlib.suppress(IsADirectoryError):
                OWN.write_text("no folder")
    elif HABIT == "session removed":
        newest().unlink()
    elif HABIT == "session emptied":
        newest().write_bytes(b"")
    elif HABIT == "session is a folder":
        path = newest()
        path.unlink()
        path.mkdir()
    elif HABIT == "session of another":
        newest().write_bytes(min(OWN.glob("2*.jsonl")).read_bytes())
    elif HABIT == "session halved":
        path = newest()
        os.truncate(path, path.stat().st_size // 2)
    elif HABIT == "noise in the session":
        with newest().open("ab") as file:
            file.write(b"\\x00\\xff{}[]\\n")
    elif HABIT == "last is a folder":
        (OWN / "last.jsonl").unlink()
        (OWN / "last.jsonl").mkdir()
    elif HABIT == "last leads to a full device":
        (OWN / "last.jsonl").unlink()
        (OWN / "last.jsonl").symlink_to("/dev/full")


def agent(inputs, tools):
    if inputs["sample_id"] == "T_05":
        habit()
    print("looking", "x" * 3000)
    return right(inputs, tools)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What fails. Without a `function`, `habit` is what the agent does to the folder.

    Where a gate is asked, `is_gated`, a session that is not saved is no success; else it says so.
    `size` are the kilobytes left on a disk of the session's own; `limit` is that of one file.
    """

    mode: str = "default"
    function: str = ""
    at: int = 0
    number: int = errno.ENOSPC
    habit: str = ""
    size: int = 0
    limit: int = 0
    read_only: bool = False
    before: tuple[str, str] = ("", "")
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    spares_older: bool = True
    is_gated: bool = True

    def run(self, folder: Path) -> str | None:
        home = folder / "project"
        home.mkdir()
        _write_project(home)
        first = run_pytest(home, *self._words("default"))
        if first.status != 0:
            return f"an undisturbed session: {excerpt(first)}"
        older = {one: one.read_bytes() for one in sessions(home)}
        _prepare(home, *self.before)
        ended = self._disturbed(home)
        faults = [*self._faults(home, ended, older)]
        if not faults and self.spares_older and not any(self.before):
            faults = [*self._afterwards(home)]
        return "\n".join([*faults, excerpt(ended)]) if faults else None

    def _words(self, mode: str) -> list[str]:
        words = ["-q", "--sop-domain=lab", "--sop-agent=desk:agent", "-osop_traces=all"]
        return [*words, *MODES[mode]]

    def _disturbed(self, home: Path) -> Ended:
        told = {
            "function": self.function,
            "at": self.at,
            "errno": self.number,
            "stays": self.number == errno.ENOSPC,
        }
        env = {"CAMPAIGN_FAULT": json.dumps(told)} if self.function else {}
        env |= {"CAMPAIGN_HABIT": self.habit, **self.env}
        gate = ("--sop-gate=tsr=90%",) if self.is_gated else ()
        words = [*self._words(self.mode), *gate, *self.options]
        if not (self.size or self.limit or self.read_only):
            return run_pytest(home, *words, env=env, xdist=True)
        plugins = ("-psopbench", "-pxdist")
        command = (sys.executable, "-m", "pytest", *plugins, *words)
        env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return run_command(home, *self._confined(command), env=env)

    def _confined(self, command: tuple[str, ...]) -> tuple[str, ...]:
        if self.limit or not can_mount():
            limit = self.limit or max(1, self.size // 4)
            return ("bash", "-c", f'ulimit -f {limit}; trap "" XFSZ; exec "$@"', "bash", *command)
        if self.read_only:
            script = "mount --bind .sop .sop && mount -o remount,bind,ro .sop; exec"
            return ("unshare", "-rm", "bash", "-c", f'{script} "$@"', "bash", *command)
        script = (
            "cp -a .sop seen || exit; used=$(du -sk seen | cut -f1);"
            f" mount -t tmpfs -o size=$((used + {self.size}))k none .sop || exit;"
            ' cp -a seen/. .sop && "$@"; status=$?; rm -rf seen; cp -a .sop seen;'
            " exit $status"
        )
        return ("unshare", "-rm", "bash", "-c", script, "bash", *command)

    def _faults(self, home: Path, ended: Ended, older: Mapping[Path, bytes]) -> Iterator[str]:
        if fault := traceback_of_ours(ended.text):
            yield fault
        if ended.status is None:
            yield "it hangs"
        where = home / ("seen/sessions" if (home / "seen").exists() else FOLDER)
        made = [one for one in where.glob("2*.jsonl") if home / FOLDER / one.name not in older]
        is_whole = [*map(_is_whole, made)] == [True]
        is_told = not self.is_gated and "not saved" in ended.text
        if ended.status == 0 and not is_whole and not is_told:
            yield f"status 0, and no whole session: {[one.name for one in made]}"
        if ended.status != 0 and "cannot be" not in ended.text and not is_whole:
            yield "no line says what cannot be written"
        for path in made:
            yield from _claims(path)
        if self.spares_older:
            yield from _older_changed(where, older)

    def _afterwards(self, home: Path) -> Iterator[str]:
        """Go on, on a disk that is well again."""
        if (home / "seen").exists():
            shutil.rmtree(home / ".sop")
            (home / "seen").rename(home / ".sop")
        resumed = run_pytest(home, *self._words("default"), "--sop-resume=last")
        # A session that lost its first line is refused by name.
        is_refused = resumed.status == 4 and "--sop-resume=last: " in resumed.text
        if is_refused:
            resumed = run_pytest(home, *self._words("default"))
        if resumed.status != 0 or traceback_of_ours(resumed.text):
            yield f"afterwards: {excerpt(resumed)}"


@functools.cache
def can_mount() -> bool:
    """Tell whether this process may have a disk of its own."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]  # in a space of its own
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _write_project(home: Path) -> None:
    write_lab(home, tasks=TASKS)
    (home / "conftest.py").write_text("import breaker\n", "utf-8")
    (home / "breaker.py").write_text(BREAKER, "utf-8")
    (home / "desk.py").write_text(AGENT, "utf-8")


def _prepare(home: Path, what: str, place: str) -> None:
    path = home / place
    if what:
        path.parent.mkdir(parents=True, exist_ok=True)
    if what == "a file":
        path.write_text("no folder", "utf-8")
    elif what:
        path.symlink_to(what)


def _is_whole(path: Path) -> bool:
    try:
        saved = load_session(path)
    except SessionFileError:
        return False
    right = [one for one in saved.records if one.outcome is Outcome.CORRECT]
    return saved.finished and not saved.problems and len(right) == TASKS


def _older_changed(where: Path, older: Mapping[Path, bytes]) -> Iterator[str]:
    for path, before in older.items():
        now = where / path.name
        if not now.exists() or now.read_bytes() != before:
            yield f"an older session is not what it was: {path.name}"


def _claims(path: Path) -> Iterator[str]:
    try:
        saved = load_session(path)
    except SessionFileError as fault:
        if path.name not in str(fault):
            yield f"{path.name}: an unclear error: {fault}"
        return
    if saved.finished and len(saved.records) != TASKS:
        yield f"{path.name} says that it is whole, with {len(saved.records)} runs"
