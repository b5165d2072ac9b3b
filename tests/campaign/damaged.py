"""A damaged session before every command that reads one: an error or an honest result."""

from __future__ import annotations

import fcntl
import os
import random
import resource
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from builders.saved import planned_records, read_resumable
from click.testing import CliRunner, Result

from campaign.damages import Damage
from campaign.kit import (
    Ended,
    excerpt,
    run_pytest,
    run_sopbench,
    sessions,
    traceback_of_ours,
    write_lab,
)
from pytest_sopbench import Outcome, RunKey, SavedSession, load_session
from pytest_sopbench.cli import main
from pytest_sopbench.errors import SessionFileError

FOLDER: Final = Path(".sop/sessions")
WHOLE: Final = FOLDER / "whole.jsonl"
LONGEST: Final = 1_000
"""Characters of one line that say what is wrong with a file; a reader reads no more."""

MEMORY: Final = 4 << 30
"""Bytes; a session here takes a few kilobytes."""

GATE: Final = "tsr=60%"
"""Holds of each sound session that has an end."""

AGENT: Final = '''
import os
from agents import right


def mixed(inputs, tools):
    """Wrong on the fifth task, raises on the seventh."""
    number = int(inputs["sample_id"].rpartition("_")[2])
    print("looking at", number)
    answer = right(inputs, tools)
    if number == 7:
        raise ValueError("the seventh")
    return {"grade": "unknown"} if number == 5 else answer


def dying(inputs, tools):
    if inputs["sample_id"] == "T_06":
        os._exit(7)
    return mixed(inputs, tools)
'''
RUN: Final = ("-q", "--sop-domain=lab", "-osop_traces=all")

SOURCES: Final = ("whole", "trials", "shard1", "slim", "left", "journal")
"""Sessions that came to their end, one that did not, one without checksums; and a journal."""


def sources(room: Path) -> Path:
    """Return a project with sound sessions, made once for all cases of a room."""
    folder = room / "sound sessions"
    with (room / ".sound.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            _make_sources(folder)
            (folder / "ready").touch()
    return folder


def _make_sources(folder: Path) -> None:
    write_lab(folder, tasks=8)
    (folder / "desk.py").write_text(AGENT, "utf-8")
    mixed = ("--sop-agent=desk:mixed",)
    _make(folder, "whole", *mixed, f"--sop-gate={GATE}")
    _make(folder, "trials", *mixed, "--sop-trials=2", "--sop-sample=first:5")
    _make(folder, "shard1", *mixed, "--sop-shard=1/2")
    _make(folder, "shard2", *mixed, "--sop-shard=2/2")
    _make(folder, "left", "--sop-agent=desk:dying", "--sop-concurrency=4")
    whole, slim = f"{FOLDER}/whole.jsonl", f"{FOLDER}/slim.jsonl"
    made = run_sopbench(folder, "approve", whole, "--baseline", slim, "--reason", "sound")
    if made.status != 0 or not [*(folder / FOLDER / "left.journals").glob("*.jsonl")]:
        raise RuntimeError(excerpt(made))


def _make(folder: Path, name: str, *options: str) -> None:
    """Run a session, and call it and all that belongs to it by a name."""
    before = {*sessions(folder)}
    ended = run_pytest(folder, *RUN, *options)
    made = {*sessions(folder)} - before
    if len(made) != 1:
        raise RuntimeError(excerpt(ended))
    stem = made.pop().stem
    for path in (folder / FOLDER).glob(f"{stem}.*"):
        path.rename(path.with_name(f"{name}{path.suffix}"))
    (folder / FOLDER / f"{name}.running").unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A damage of a source, drawn by a number.

    `may_claim` tells of a damage that no checksum can find, as it computes them anew.
    """

    source: str
    damage: Damage
    number: int
    may_claim: bool = False
    in_processes: bool = False

    def run(self, folder: Path) -> str | None:
        """Damage a copy, and return what broke or what was told too well; else None."""
        # What is read without an end must not take the memory of the machine.
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        home = folder / "project"
        shutil.copytree(sources(folder.parent), home, symlinks=True)
        os.chdir(home)
        is_journal = self.source == "journal"
        path = FOLDER / f"{'left' if is_journal else self.source}.jsonl"
        sound = {one: _outcomes(load_session(one)) for one in (path, WHOLE)}
        target = FOLDER / "left.journals" / "main.jsonl" if is_journal else path
        self.damage(target, random.Random(self.number))  # noqa: S311 - no secret
        judge = Judge(path, sound, may_claim=self.may_claim)
        faults = [*(judge.of_processes() if self.in_processes else judge.of_commands())]
        return "\n".join(faults) or None


class Judge:
    """Asks every command of a damaged session.

    Args:
        path: the damaged file, from the current folder.
        sound: what came of the runs of it, and of the whole session, before.
        may_claim: whether it may tell of more successes than there were.
    """

    def __init__(
        self, path: Path, sound: Mapping[Path, Mapping[RunKey, Outcome]], *, may_claim: bool
    ) -> None:
        self._path = path
        self._name = str(path)
        self._may_claim = may_claim
        self._sound = sound[path]
        self._known = {**sound[WHOLE], **self._sound}

    def of_commands(self) -> Iterator[str]:
        """Ask in this process, which is quick."""
        yield from self._read()
        for words, may_hold in self._commands():
            result = CliRunner().invoke(main, words)
            why = self._fault(words[0], result, may_hold=may_hold)
            if why:
                yield f"{' '.join(words)}: {why}"
        yield from self._made(FOLDER / "merged.jsonl")
        yield from self._made(FOLDER / "rescored.jsonl")
        yield from self._made(FOLDER / "accepted.jsonl")
        yield from self._resumed()

    def of_processes(self) -> Iterator[str]:
        """Ask as a user does."""
        for words, may_hold in self._commands()[:3]:
            ended = run_sopbench(Path.cwd(), *words)
            if traceback_of_ours(ended.text) or ended.status not in {0, 1, 2, 3}:
                yield f"{words}: {excerpt(ended)}"
            elif ended.status == 0 and words[0] == "gate" and not (may_hold and self._is_intact):
                yield f"a gate holds that is not earned: {excerpt(ended)}"
        for option in (f"--sop-resume=./{self._name}", f"--sop-compare=./{self._name}"):
            options = (option, "--sop-gate=lost=0") if "compare" in option else (option,)
            ended = run_pytest(Path.cwd(), *RUN, "--sop-agent=desk:mixed", *options)
            yield from self._of_session(option, ended)

    def _commands(self) -> Sequence[tuple[tuple[str, ...], bool]]:
        """The commands, and whether their status may be 0 for a session that is intact."""
        name, whole = self._name, str(WHOLE)
        shards = (str(FOLDER / "shard1.jsonl"), str(FOLDER / "shard2.jsonl"))
        merge = (name, shards[1]) if name == shards[0] else shards
        return (
            (("gate", name, "--gate", GATE), True),
            (("gate", name, "--fail-under", "100%"), False),
            (("show", name), True),
            (("show", name, "--all", "--json"), True),
            (("show", name, "lab/T_03"), True),
            (("gate", name, "--gate", "lost=0", "--compare", whole), True),
            (("gate", whole, "--gate", "lost=0", "--compare", name), True),
            (("compare", whole, name, "--gate", "lost=0"), True),
            (("compare", name, whole), True),
            (("compare", whole, name, name, "--json"), True),
            (("report", name, "--to=md"), True),
            (("report", name, "--compare", whole), True),
            (("compare", "--flaky", name, whole), True),
            (("rescore", name, "--scoring", "exact", "--out", f"{FOLDER}/rescored.jsonl"), True),
            (("merge", *merge, "--out", f"{FOLDER}/merged.jsonl"), True),
            (
                ("approve", name, "--baseline", f"{FOLDER}/accepted.jsonl", "--reason", "r"),
                True,
            ),
            (("approve", name, "--reason", "r"), True),
        )

    def _fault(self, command: str, result: Result, *, may_hold: bool) -> str:
        if not isinstance(result.exception, SystemExit | None):
            return f"{type(result.exception).__name__}: {result.exception!s:.300}"
        if result.exit_code not in {0, 1, 2, 3} or traceback_of_ours(result.output):
            return f"status {result.exit_code}: {result.output[-500:]}"
        if result.exit_code and not result.output.strip():
            return f"status {result.exit_code}, and not a word"
        longest = max(result.stderr.splitlines(), key=len, default="")
        if len(longest) > LONGEST:
            return f"a line of {len(longest)} characters: {longest[:300]}"
        if command == "gate" and result.exit_code == 0 and not (may_hold and self._is_intact):
            return f"it holds, and is not earned: {result.output[-300:]}"
        return ""

    @cached_property
    def _is_intact(self) -> bool:
        """Whether all that the session was can still be read."""
        if self._may_claim:
            return True
        try:
            return _outcomes(load_session(self._path)) == self._sound
        except SessionFileError:
            # Gates that are asked of the sound session, with this one beside it.
            return False

    def _read(self) -> Iterator[str]:
        try:
            saved = load_session(self._path)
        except SessionFileError as fault:
            yield from _unclear(str(fault), self._path)
            return
        found = _outcomes(saved)
        if not self._may_claim:
            yield from self._too_well(found, self._name)
            if found != self._sound and not saved.problems and saved.finished:
                yield "something is missing, and nothing is said"
        for one in saved.problems:
            yield from _unclear(one, self._path)

    def _made(self, path: Path) -> Iterator[str]:
        """Look at a session that was made of the damaged one."""
        if path.exists() and not self._may_claim:
            found = _outcomes(load_session(path))
            for key, outcome in found.items():
                if outcome is Outcome.CORRECT and self._known.get(key) is not Outcome.CORRECT:
                    yield f"{path} has {key} correct"

    def _resumed(self) -> Iterator[str]:
        try:
            left = read_resumable(self._path, ())
        except SessionFileError as fault:
            yield from _unclear(str(fault), self._path)
            return
        if not self._may_claim:
            yield from self._too_well(
                {key: one.outcome for key, one in left.finished.items()}, "what is resumed"
            )

    def _too_well(self, found: Mapping[RunKey, Outcome], where: str) -> Iterator[str]:
        lost = {Outcome.NOT_RUN, Outcome.CRASH}
        for key, outcome in found.items():
            if outcome is not self._sound.get(key) and outcome not in lost:
                yield f"{where} claims {outcome} of {key}, which was {self._sound.get(key)}"

    def _of_session(self, option: str, ended: Ended) -> Iterator[str]:
        if fault := traceback_of_ours(ended.text):
            yield f"{option}: {fault}"
        # Two tasks fail whatever is resumed; none is lost where the baseline is intact.
        elif ended.status not in {1, 4} and not ("compare" in option and self._is_intact):
            yield f"{option}: {excerpt(ended)}"
        elif ended.status == 4 and option.partition("=")[0] not in ended.text:
            yield f"{option}: refused, and not by name: {excerpt(ended)}"


def _outcomes(saved: SavedSession) -> dict[RunKey, Outcome]:
    return {one.key: one.outcome for one in planned_records(saved)}


def _unclear(text: str, path: Path) -> Iterator[str]:
    # A link is named as what it leads to.
    if not any(name in text for name in (path.name, "gone.jsonl", ".journals")):
        yield f"an error that does not name the file: {text[:300]}"
    if len(text) > LONGEST:
        yield f"an error of {len(text)} characters: {text[:300]}"
