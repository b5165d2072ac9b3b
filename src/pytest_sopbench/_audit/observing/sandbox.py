"""Start the child process, watch it, and read what it wrote down.

The process has no environment, works in a copy of the folder, and has limits of time and memory.
It guards against accidents of a domain's own code, and is no prison for hostile code.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any, Final, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.trace import Finding, FindingKind, ToolCall
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._running.descendants import end_with_descendants, has_ended, marked

from .probing import copied, with_other_contents, without_answers

# What the code of a domain did when it was run, row by row.


class IncidentKind(StrEnum):
    """How code of a domain can end, or disturb, the process that runs it."""

    HANGS = "hangs"
    SLOW = "slow"
    EXITS = "exits"
    CRASHES = "crashes"
    FORKS = "forks"
    PRINTS = "prints"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One such end: what was done then, such as a tool and a row, and more words about it."""

    kind: IncidentKind
    tool: str = ""
    position: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRun:
    """What the reference policy did on one row; `error` is what it raised.

    `state` is what its calls changed in the world, if the domain has one.
    """

    position: int
    answer: Mapping[str, JsonValue] | None
    error: str
    calls: tuple[ToolCall, ...]
    state: tuple[StateChange, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool of the domain's own code answered on one row.

    Attributes:
        position: the number of the row, from 0.
        result: what it returned, as JSON has it.
        error: what it raised; empty if it did not.
        not_json: what JSON has no word for in the result; empty if it has.
        again: the same call again, by fresh instances, each as a text.
    """

    position: int
    result: JsonValue
    error: str = ""
    not_json: str = ""
    again: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What the implementation of a tool accepts: names, those it must get, and whether any."""

    accepts: Sequence[str]
    required: Sequence[str]
    anything: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSight:
    """What was seen of one tool of the domain's own code.

    Attributes:
        name: the name of the tool.
        answers: one for each row on which it could be called.
        uncallable: a required parameter that no column of a row has a value for.
        ignored: required parameters that no answer depended on, though others were given.
        blind: how many answers stayed with the id when all other columns were exchanged.
        followed: how many answers went with the columns then.
        unknown: whether it answers as it answers to a name that there is not.
        signature: what its implementation accepts, if that is a method of its name.
    """

    name: str
    answers: Sequence[ToolAnswer] = ()
    uncallable: str = ""
    ignored: Sequence[str] = ()
    blind: int = 0
    followed: int = 0
    unknown: bool = False
    signature: Signature | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """All that was seen; empty if a domain has no code, or it must not be run.

    `opened` are the files of its folder that its tools opened, but for those of every domain.
    """

    policy: Mapping[int, PolicyRun] = field(default_factory=dict[int, PolicyRun])
    tools: Mapping[str, ToolSight] = field(default_factory=dict[str, ToolSight])
    extra_tools: tuple[str, ...] = ()
    incidents: tuple[Incident, ...] = ()
    opened: tuple[str, ...] = ()


# The lines of the child process, read into values.


def observed(lines: Iterable[Mapping[str, Any]], incidents: Sequence[Incident]) -> Observed:
    """Put together what the lines say; a line that was cut off is not among them."""
    policy: dict[int, PolicyRun] = {}
    answers: dict[str, dict[int, ToolAnswer]] = {}
    facts: dict[str, dict[str, Any]] = {}
    methods: Sequence[str] = ()
    opened: Sequence[str] = ()
    for line in lines:
        if "opened" in line:
            opened = line["opened"]
        elif "policy" in line:
            policy[line["policy"]] = _policy_run(line)
        elif "methods" in line:
            methods = line["methods"]
        elif "tool" in line:
            name = line["tool"]
            facts.setdefault(name, {}).update(line.get("seen", {}))
            if line.get("signature"):
                facts[name]["signature"] = Signature(**line["signature"])
            if "answer" in line:
                one = ToolAnswer(**line["answer"])
                answers.setdefault(name, {})[one.position] = one
    return Observed(
        policy=policy,
        tools={
            name: ToolSight(name=name, answers=_in_order(answers.get(name, {})), **seen)
            for name, seen in facts.items()
        },
        extra_tools=tuple(methods),
        incidents=tuple(dict.fromkeys(incidents)),
        opened=tuple(opened),
    )


def _policy_run(line: Mapping[str, Any]) -> PolicyRun:
    answer = line["answer"]
    return PolicyRun(
        position=line["policy"],
        answer=cast("dict[str, JsonValue]", answer) if isinstance(answer, dict) else None,
        error=line["error"] or ("" if isinstance(answer, dict) else f"it returned {answer!r}"),
        calls=tuple(_call(one) for one in line["calls"]),
        state=None if line["state"] is None else tuple(StateChange(**one) for one in line["state"]),
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        name=call["name"],
        arguments=call["arguments"],
        result=call["result"],
        error=call["error"],
        findings=tuple(
            Finding(kind=FindingKind.INVALID_VALUE, parameter="", message=one)
            for one in call["bad"]
        ),
    )


def _in_order(answers: Mapping[int, ToolAnswer]) -> Sequence[ToolAnswer]:
    return tuple(answers[position] for position in sorted(answers))


Told = tuple[Sequence[Mapping[str, Any]], Sequence[Incident]]
"""What processes wrote, and how they ended."""

CHATTY: Final = 1_000_000
"""Bytes of output from which on printing is an incident."""

_PROGRAM: Final = "import sys; sys.path.extend({paths!r}); sys.dont_write_bytecode = True; {call}"
_KEPT: Final = ("SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_TICK: Final = 0.02
_STARTS: Final = 12
_PATIENCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: for one call or one row, for the start, and for all of a domain's code."""

    stall: float = 15.0
    start: float = 120.0
    total: float = 300.0


@dataclass(slots=True, kw_only=True)
class _Ended:
    """How one process ended: the lines that it wrote, and what ended it."""

    lines: Sequence[Mapping[str, Any]]
    kind: IncidentKind | None
    detail: str = ""
    printed: int = 0


def observe(domain: Domain, id_column: str | None, limits: Limits | None = None) -> Observed:
    """Run what a domain has of code, and return what it did."""
    if domain.mcp is not None or (domain.tools_file is None and domain.policy_file is None):
        # A server may write, and it may be one that others use.
        return Observed()
    return observed(*_in_a_room(partial(_job, domain, id_column), _tried, limits))


def observe_coverage(domain: Domain, limits: Limits | None = None) -> Told:
    """See what each task exercises; return what the process wrote, and how it ended."""

    def once(job: Mapping[str, Any], room: Path, limits: Limits) -> Told:
        ended = _process(job, room, [], limits, monotonic() + limits.total)
        incidents = list(_disturbances(ended))
        if ended.kind is not None:
            incidents.append(_incident(ended, _last_doing(ended.lines)))
        return ended.lines, incidents

    return _in_a_room(partial(_alone, domain, "coverage"), once, limits)


def observe_mutants(domain: Domain, limits: Limits | None = None) -> Told:
    """Run every mutant of a domain; return what the processes wrote, and how they ended.

    A mutant that ends the process is told as one that cannot be run, and the others are run.
    """
    return _in_a_room(partial(_alone, domain, "mutants"), _mutants_tried, limits)


def _in_a_room(
    make_job: Callable[[Path], Mapping[str, Any]],
    run: Callable[[Mapping[str, Any], Path, Limits], Told],
    limits: Limits | None,
) -> Told:
    """Do a job in a folder of its own, which is gone afterwards."""
    with TemporaryDirectory(prefix="sopbench-audit-", ignore_cleanup_errors=True) as name:
        room = Path(name)
        try:
            job = make_job(room)
        except (OSError, ValueError, RecursionError) as fault:
            detail = f"its folder cannot be copied: {fault}"
            return [], [Incident(kind=IncidentKind.REFUSED, detail=detail)]
        return run(job, room, limits or Limits())


def _alone(domain: Domain, work: str, room: Path) -> dict[str, Any]:
    return {**_folders(domain, room), "work": work}


def _folders(domain: Domain, room: Path) -> dict[str, Any]:
    """Copy the folder, and once more without the answers if there is a policy to be run."""
    job = {
        "folder": str(copied(domain.folder, room / "own")),
        "unanswered": "",
        "name": domain.name,
        "lines": str(room / "lines"),
    }
    if domain.policy_file is not None:
        copy = copied(domain.folder, room / "unanswered")
        without_answers(copy, domain.data_file.name)
        job["unanswered"] = str(copy)
    return job


def _mutants_tried(job: Mapping[str, Any], room: Path, limits: Limits) -> Told:
    # A mutant that does not end is ended by its processor time, which a busy machine makes long.
    limits = replace(limits, stall=_PATIENCE * limits.stall)
    lines: list[Mapping[str, Any]] = []
    incidents: list[Incident] = []
    until = monotonic() + limits.total
    for _ in range(_STARTS):
        done = [one["mutant"] for one in lines if "mutant" in one]
        ended = _process(job, room, done, limits, until)
        lines += ended.lines
        incidents += [one for one in _disturbances(ended) if one.kind is IncidentKind.REFUSED]
        if ended.kind is None:
            break
        doing = _last_doing(ended.lines)
        if doing.get("step") != "mutant" or ended.kind is IncidentKind.SLOW:
            detail = f"{doing.get('step', 'its start')} {ended.detail}".strip()
            incidents.append(Incident(kind=ended.kind, detail=detail))
            break
        lines.append({**doing, "noticed": {}, "differs": [], "broken": ended.kind.value})
    return lines, incidents


def _job(domain: Domain, id_column: str | None, room: Path) -> dict[str, Any]:
    others = ""
    if domain.tools_file is not None and id_column is not None and len(domain.tasks) > 1:
        copy = copied(domain.folder, room / "others")
        changed = with_other_contents(copy, domain.data_file.name, id_column)
        others = str(copy) if changed else ""
    return {**_folders(domain, room), "others": others}


def _tried(job: Mapping[str, Any], room: Path, limits: Limits) -> Told:
    """Run the job until nothing is left that has not ended a process."""
    lines: list[Mapping[str, Any]] = []
    incidents: list[Incident] = []
    skipped: list[str] = []
    until = monotonic() + limits.total
    for _ in range(_STARTS):
        ended = _process(job, room, skipped, limits, until)
        lines += ended.lines
        incidents += _disturbances(ended)
        if ended.kind is None:
            break
        doing = _last_doing(ended.lines)
        incidents.append(_incident(ended, doing))
        if ended.kind is IncidentKind.SLOW or not _skip(skipped, doing):
            break
    return lines, incidents


def _last_doing(lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    doing: Mapping[str, Any] = {}
    return next((one["doing"] for one in reversed(lines) if "doing" in one), doing)


def _incident(ended: _Ended, doing: Mapping[str, Any]) -> Incident:
    tool = doing.get("tool", "")
    step = doing.get("step", "")
    named = tool or ("policy.py" if step == "policy" else "tools.py" if step else "")
    return Incident(
        kind=ended.kind or IncidentKind.CRASHES,
        tool=named,
        position=doing.get("row"),
        detail=ended.detail,
    )


def _skip(skipped: list[str], doing: Mapping[str, Any]) -> bool:
    """Leave out next time the tool that ended the process; false if it was none."""
    tool = doing.get("tool", "")
    if doing.get("step") != "tool" or tool in skipped:
        return False
    skipped.append(tool)
    return True


def _disturbances(ended: _Ended) -> Iterator[Incident]:
    for line in ended.lines:
        if "forked" in line:
            doing = line["forked"]
            yield Incident(
                kind=IncidentKind.FORKS, tool=doing.get("tool", ""), position=doing.get("row")
            )
        if "refused" in line:
            yield Incident(kind=IncidentKind.REFUSED, detail=line["refused"])
    if ended.printed > CHATTY:
        yield Incident(kind=IncidentKind.PRINTS, detail=f"{ended.printed:,} bytes")


def _process(
    job: Mapping[str, Any], room: Path, skipped: Sequence[Any], limits: Limits, until: float
) -> _Ended:
    lines = Path(job["lines"])
    lines.unlink(missing_ok=True)
    whole = {**job, "skip": list(skipped)}
    (room / "job.json").write_text(json.dumps(whole), encoding="utf-8")
    job_file = str(room / "job.json")
    call = f"from pytest_sopbench._audit.observing.child import main; main({job_file!r})"
    process, environment = started(call, job["folder"], subprocess.PIPE)
    output = _Output()
    reader = Thread(target=output.read, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        kind = _watched(process, lines, limits, until)
    finally:
        end_with_descendants(process, environment)
    reader.join(timeout=2)
    read = list(_read(lines))
    return _judged(process.returncode, kind, read, output)


def started(
    call: str, folder: str | Path, output: int
) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    """Start a process of our own program in a folder; return it, and the little it is told.

    Args:
        call: what it does.
        folder: where it works.
        output: what becomes of what it prints, as `subprocess` says it.
    """
    home = str(Path(__file__).parents[3])
    environment = marked({name: os.environ[name] for name in _KEPT if name in os.environ})
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-c", _PROGRAM.format(paths=[home, *sys.path], call=call)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    return process, environment


class _Output:
    """What a process printed: how much, and the end of it."""

    def __init__(self) -> None:
        self.size = 0
        self.end = b""

    def read(self, stream: Any) -> None:
        """Read until it is closed; nothing of it is kept but the end."""
        with stream:
            while data := stream.read1(65_536):
                self.size += len(data)
                self.end = (self.end + data)[-2_000:]


def _watched(
    process: subprocess.Popen[bytes], lines: Path, limits: Limits, until: float
) -> IncidentKind | None:
    """Wait for the end; say which limit was passed."""
    size, changed = 0, monotonic()
    while not has_ended(process):
        now = monotonic()
        grown = lines.stat().st_size if lines.exists() else 0
        if grown != size:
            size, changed = grown, now
        if now - changed > (limits.stall if size else limits.start):
            return IncidentKind.HANGS
        if now > until:
            return IncidentKind.SLOW
        sleep(_TICK)
    return None


def _read(path: Path) -> Iterator[Mapping[str, Any]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            # The last one may have been cut off.
            with suppress(ValueError, RecursionError):
                read = json.loads(line)
                if isinstance(read, dict):
                    yield read


def _judged(
    status: int, kind: IncidentKind | None, lines: Sequence[Mapping[str, Any]], output: _Output
) -> _Ended:
    if kind is not None:
        return _Ended(lines=lines, kind=kind, printed=output.size)
    if any("done" in one for one in lines):
        return _Ended(lines=lines, kind=None, printed=output.size)
    end = output.end.decode("utf-8", "replace").strip().splitlines()[-1:]
    said = f": {ready_to_cut(end[0])[:200]}" if end else ""
    if status < 0:
        detail = f"signal {signal.Signals(-status).name}{said}"
        return _Ended(lines=lines, kind=IncidentKind.CRASHES, detail=detail, printed=output.size)
    detail = f"status {status}{said}"
    return _Ended(lines=lines, kind=IncidentKind.EXITS, detail=detail, printed=output.size)
