"""Run cases at once, each in a process of its own, so that none can end or hang the campaign."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from campaign.kit import Batch, Case, Part, kill_group
from campaign.report import Result

CASE_GUARD_SECONDS = 600
"""No case needs so long; its process is ended by the alarm that it sets itself."""

_FORK = multiprocessing.get_context("fork")


class _TimeUpError(Exception):
    """The campaign may not go on."""


@dataclass(frozen=True, slots=True)
class _Suspects:
    """Cases that failed in one session, and what each did alone, as far as it was tried."""

    part: str
    names: tuple[str, ...]
    failure: str
    conclusive: bool
    alone: list[Result] = field(default_factory=list)

    def results(self) -> list[Result]:
        """What is known once all were tried: where each survives alone, it is what they share."""
        if len(self.alone) < len(self.names):
            return []
        if not self.conclusive or any(one.failure is not None for one in self.alone):
            return self.alone
        return [Result(self.part, self.names, f"together, and none of them alone:\n{self.failure}")]


@dataclass(frozen=True, slots=True)
class _Waiting:
    part: str
    batch: Batch
    suspects: _Suspects | None = None


@dataclass(frozen=True, slots=True)
class _Running:
    job: _Waiting
    process: ForkProcess
    answer: Connection
    folder: Path


def run_all(
    plan: Sequence[tuple[Part, Sequence[Case]]],
    *,
    jobs: int,
    minutes: int = 0,
    keep: Path | None = None,
) -> Iterator[Result]:
    """Yield a result as cases end; a batch that fails is tried again case by case.

    When the minutes are over no case begins, and what runs is killed: it yields nothing.
    """
    waiting = [_Waiting(part.name, one) for part, cases in plan for one in _batches(part, cases)]
    waiting.reverse()
    running: list[_Running] = []
    with _room(keep) as room, _time_limit(minutes):
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    running.append(_start(waiting.pop(), room))
                for one in _ended(running):
                    running.remove(one)
                    failure = _failure(one)
                    waiting += _to_try_alone(one.job, failure)
                    yield from _results(one.job, failure)
        except _TimeUpError:
            pass
        finally:
            for one in running:
                _end(one)


def _to_try_alone(job: _Waiting, failure: str | None) -> list[_Waiting]:
    cases = job.batch.cases
    if failure is None or len(cases) == 1:
        return []
    names = tuple(case.name for case in cases)
    suspects = _Suspects(job.part, names, failure, job.batch.conclusive)
    return [_Waiting(job.part, _alone(case), suspects) for case in cases]


def _results(job: _Waiting, failure: str | None) -> list[Result]:
    names = tuple(case.name for case in job.batch.cases)
    result = Result(job.part, names, failure)
    if job.suspects is not None:
        job.suspects.alone.append(result)
        return job.suspects.results()
    return [] if failure is not None and len(names) > 1 else [result]


def _batches(part: Part, cases: Sequence[Case]) -> Iterator[Batch]:
    if part.together is None:
        yield from (_alone(case) for case in cases)
    else:
        yield from part.together(cases)


def _alone(case: Case) -> Batch:
    return Batch((case,), case.run)


def _start(job: _Waiting, room: Path) -> _Running:
    name = re.sub(r"\W+", "_", f"{job.part}_{job.batch.cases[0].name}")[:60]
    folder = Path(tempfile.mkdtemp(prefix=f"{name}_", dir=room))
    answer, telling = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_try, args=(job.batch, folder, telling))
    process.start()
    telling.close()
    return _Running(job, process, answer, folder)


def _try(batch: Batch, folder: Path, telling: Connection) -> None:
    """Run a case, in the process of its own."""
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(CASE_GUARD_SECONDS)
    os.chdir(folder)
    try:
        failure = batch.run(folder)
    except Exception:  # noqa: BLE001 - a case that breaks is one that failed
        failure = f"the case itself broke:\n{traceback.format_exc()}"
    telling.send(failure)


def _ended(running: Sequence[_Running]) -> list[_Running]:
    ready = wait([source for one in running for source in (one.answer, one.process.sentinel)])
    return [one for one in running if one.answer in ready or one.process.sentinel in ready]


def _failure(one: _Running) -> str | None:
    failure: str | None
    try:
        failure = one.answer.recv() if one.answer.poll() else "the process of the case died"
    except EOFError:
        failure = "the process of the case died"
    one.process.join(1 if failure is None else 0)
    _end(one)
    if failure == "the process of the case died":
        failure += f" with status {one.process.exitcode}"
    return failure


def _end(one: _Running) -> None:
    if one.process.pid is not None:
        kill_group(one.process.pid)
    one.process.join()
    one.answer.close()
    with contextlib.suppress(OSError):
        one.folder.chmod(0o700)
    if one.folder.parent.name != "kept":
        shutil.rmtree(one.folder, ignore_errors=True)


@contextlib.contextmanager
def _room(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        kept = keep.resolve() / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    room = Path(tempfile.mkdtemp(prefix="campaign-"))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


@contextlib.contextmanager
def _time_limit(minutes: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TimeUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(minutes * 60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
