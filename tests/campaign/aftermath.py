"""What must be true of a session that was killed, and of the one that resumes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from campaign.kit import (
    Ended,
    excerpt,
    run_pytest,
    run_sopbench,
    sessions,
    traceback_of_ours,
)
from campaign.victims import KILLED, TASKS, arguments, truth
from pytest_sopbench import Outcome, SavedSession
from pytest_sopbench._core.gates.conditions import GateSpec, GateState
from pytest_sopbench._sessions.commands.gate import decide_gates
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench.errors import SessionFileError


class Aftermath:
    """Judges what a kill has left.

    Args:
        home: the folder of the project.
        mode: how the session was run.
        agent: the one that it ran.
        older: what the files of older sessions held before.
        is_worker: whether a worker was killed, and the session went on.
    """

    def __init__(
        self, home: Path, mode: str, agent: str, older: Mapping[str, bytes], *, is_worker: bool
    ) -> None:
        self._home = home
        self._is_worker = is_worker
        self._folder = home / ".sop" / "sessions"
        self._mode = mode
        self._agent = agent
        self._older = older
        self._truth = truth(agent)
        # What a session adds to the list that resumes this one has ended after the kill.
        self._ended = _ended_runs(home)
        self._crashed: set[str] = set()

    def fault(self, killed: Ended, *, by_hand: bool, shows: bool) -> str | None:
        """Say what is not as promised of a killed session, and of the one that resumes it.

        Args:
            killed: how it ended.
            by_hand: whether it was Ctrl-C, of which pytest says where the code was.
            shows: whether `sopbench show` is asked as well.
        """
        faults = [*self._older_changed(), *self._of_killed(killed, by_hand=by_hand)]
        if not faults and shows:
            shown = run_sopbench(self._home, "show", "last", "--all")
            if shown.status not in {0, 2} or traceback_of_ours(shown.text):
                faults.append(f"show last: {excerpt(shown)}")
        if not faults:
            words = arguments(self._mode, self._agent, "--sop-resume=last")
            resumed = run_pytest(self._home, *words, xdist=True)
            faults = [*self._older_changed(), *self._of_resumed(resumed)]
            if faults:
                faults.append(f"resumed: {excerpt(resumed)}")
        return "\n".join([*faults, f"killed: {excerpt(killed)}"]) if faults else None

    def _of_killed(self, killed: Ended, *, by_hand: bool) -> Iterator[str]:
        if not by_hand and (fault := traceback_of_ours(killed.text)):
            yield fault
        newest = sessions(self._home)[-1]
        if f"{newest}" in self._older:
            if self._ended or killed.status == 0:
                yield f"there is no session, but status {killed.status}, ended {self._ended}"
            return
        yield from self._claims()
        try:
            saved = read_session(newest)
        except SessionFileError as fault:
            yield f"the killed session cannot be read: {fault}"
            return
        yield from self._of_saved(saved, killed.status)

    def _of_saved(self, saved: SavedSession, status: int | None) -> Iterator[str]:
        outcomes = {one.task: one.outcome for one in saved.records}
        lost = [task for task, outcome in self._ended.items() if outcomes.get(task) != outcome]
        if self._is_worker:
            # The test that a worker was in the middle of counts as a crash, and fails.
            self._crashed = {task for task in lost if outcomes.get(task) is Outcome.CRASH}
            lost = [task for task in lost if task not in self._crashed]
        if lost:
            yield f"ended before the kill, and lost: {lost}"
        is_whole = saved.finished and outcomes == self._truth
        if status == 0 and not (is_whole and self._agent == "steady"):
            yield f"status 0 of a session that was killed or has failures: {outcomes}"
        asked = decide_gates(saved, [GateSpec(name="tsr", value=0.01)]).state
        if asked is GateState.HOLDS and not saved.finished:
            yield "a gate holds of a session that has no end"

    def _claims(self) -> Iterator[str]:
        """Say where a file tells more than happened."""
        called = {*_words(self._home / "calls.txt")}
        for path in self._folder.glob("*.jsonl"):
            if f"{path}" in self._older or path.is_symlink():
                continue
            try:
                saved = read_session(path)
            except SessionFileError:
                continue
            for one in saved.records:
                is_real = one.outcome is self._truth[one.task] and one.task in called
                if not is_real and one.outcome not in {Outcome.CRASH, Outcome.NOT_RUN}:
                    yield f"{path.name} claims {one.outcome} of {one.task}"
            if saved.finished and len(saved.records) != TASKS:
                yield f"{path.name} says that it is whole, with {len(saved.records)} runs"

    def _older_changed(self) -> Iterator[str]:
        for name, before in self._older.items():
            path = Path(name)
            if not path.exists() or path.read_bytes() != before:
                yield f"an older session is not what it was: {path.relative_to(self._home)}"

    def _of_resumed(self, resumed: Ended) -> Iterator[str]:
        if fault := traceback_of_ours(resumed.text):
            yield fault
        if resumed.status != (0 if self._agent == "steady" else 1):
            yield f"the resumed session ends with {resumed.status}"
        try:
            saved = read_session(self._folder / "last.jsonl")
        except SessionFileError as fault:
            yield f"the resumed session cannot be read: {fault}"
            return
        outcomes = {one.task: one.outcome for one in saved.records}
        if not saved.finished or saved.problems or outcomes != self._truth:
            yield f"the resumed session comes to other outcomes: {outcomes}, {saved.problems}"
        calls = Counter(_words(self._home / "calls.txt"))
        # What counts as a crash is made again.
        kept = [task for task in self._ended if task not in self._crashed]
        if again := [task for task in kept if calls[task] > 1]:
            yield f"ended before the kill, and made again: {again}"


def _ended_runs(home: Path) -> dict[str, Outcome]:
    """The runs of which the disk had taken the line before the kill."""
    words = _words(home / "ended.txt")
    before = words[: words.index(KILLED)]
    pairs = zip(before[::2], before[1::2], strict=True)
    gone = {Outcome.CRASH, Outcome.NOT_RUN}
    return {task: Outcome(one) for task, one in pairs if Outcome(one) not in gone}


def _words(path: Path) -> list[str]:
    return path.read_text("ascii").split() if path.exists() else []
