"""What the texts of options mean, and what is said of those that mean nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

import pytest

from pytest_sopbench._core.gates import budget
from pytest_sopbench._core.gates import spec as gate_text
from pytest_sopbench._core.gates.summary_gates import GateSpec
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.trajectory.snapshot_rules import SnapshotRules, read_rules
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.commands.resume import ALWAYS_AGAIN, MAY_BE_AGAIN

AUTO: Final = "auto"
ALL: Final = "all"
KEPT_SESSIONS: Final = 20

MOST_TRIALS: Final = 1_000
"""More are a slip: each trial is an item, of which a session would have too many to begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How many tasks of each domain to draw, and with which seed."""

    size: int
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The `number`-th of `count` parts of each domain, counted from 1."""

    number: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The session to resume, outcomes whose runs are made again, and whether to in any case."""

    session: str
    retry: frozenset[Outcome] = frozenset()
    anyway: bool = False


def read_resume(session: str | None, retry: str | None, *, anyway: bool) -> Resume | None:
    """Read which session to resume, and how; the latter means nothing without the former."""
    if session is None:
        for name, given in (("--sop-resume-retry", retry), ("--sop-resume-anyway", anyway)):
            if given:
                msg = f"{name}: say with --sop-resume=NAME which session to resume"
                raise pytest.UsageError(msg)
        return None
    words = [word for one in (retry or "").split(",") if (word := one.strip())]
    unknown = [word for word in words if word not in MAY_BE_AGAIN]
    if unknown or (retry is not None and not words):
        msg = (
            f"--sop-resume-retry={retry}: one or more of {','.join(MAY_BE_AGAIN)} expected\n"
            f"{', '.join(sorted(ALWAYS_AGAIN))} are always made again"
        )
        raise pytest.UsageError(msg)
    return Resume(session=session, retry=frozenset(map(Outcome, words)), anyway=anyway)


def read_agent_args(values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `--sop-agent-arg KEY=VALUE`, each key once."""
    pairs: dict[str, str] = {}
    for value in values:
        name, sign, text = value.partition("=")
        if not sign or not name.isidentifier():
            msg = f"--sop-agent-arg {value}: write KEY=VALUE, KEY being a parameter of the agent"
            raise pytest.UsageError(msg)
        if name in pairs:
            msg = f"--sop-agent-arg {name}: given twice"
            raise pytest.UsageError(msg)
        pairs[name] = text
    return tuple(pairs.items())


def read_budget(values: Sequence[str]) -> budget.Budget:
    """Read `--sop-budget`: one in money, one in time."""
    try:
        return budget.read_budget(values)
    except ValueError as fault:
        msg = f"--sop-budget={fault}"
        raise pytest.UsageError(msg) from None


def read_count(name: str, value: str | None) -> int | None:
    """Read a whole number of at least 1."""
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]+", value) or int(value) < 1:
        msg = f"{name}={value}: a whole number of at least 1 expected"
        raise pytest.UsageError(msg)
    return int(value)


def read_keep(name: str, value: str | None) -> int | None:
    """Read how many sessions are kept; `None` where all are."""
    if value == ALL:
        return None
    if value is not None and not re.fullmatch(r"0*[1-9][0-9]*", value):
        msg = f"{name} = {value}: a whole number of at least 1 expected, or {ALL}"
        raise pytest.UsageError(msg)
    return int(value) if value is not None else KEPT_SESSIONS


def read_trials(name: str, value: str | None) -> int:
    """Read how often each task is run; 1 where nothing is said of it."""
    trials = read_count(name, value) or 1
    if trials > MOST_TRIALS:
        msg = f"{name}={value}: at most {MOST_TRIALS} trials of each task can be run in one session"
        raise pytest.UsageError(msg)
    return trials


def read_concurrency(name: str, value: str | None) -> int | Literal["auto"] | None:
    """Read how many runs may be in flight; `None` where nothing is said of it."""
    if value == AUTO:
        return AUTO
    try:
        return read_count(name, value)
    except pytest.UsageError:
        msg = f"{name}={value}: a whole number of at least 1, or auto, expected"
        raise pytest.UsageError(msg) from None


def read_natural(name: str, value: str | None) -> int | None:
    """Read a whole number of at least 0."""
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]+", value):
        msg = f"{name}={value}: a whole number expected"
        raise pytest.UsageError(msg)
    return int(value)


def read_seconds(name: str, value: str | None, default: float) -> float | None:
    """Read a time limit in seconds; 0 is none."""
    if value is None:
        return default
    try:
        seconds = float(value.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < inf:
        msg = f"{name}={value}: seconds expected, such as 90 or 0.5; 0 is no limit"
        raise pytest.UsageError(msg)
    return seconds or None


def read_sample(value: str | None) -> Sample | None:
    """Read `N` or `N@SEED`."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]+)(?:@([0-9]+))?", value)
    if not found or int(found[1]) < 1:
        msg = f"--sop-sample={value}: write N or N@SEED, such as 20 or 20@7"
        raise pytest.UsageError(msg)
    return Sample(size=int(found[1]), seed=int(found[2] or 0))


def read_shard(value: str | None) -> Shard | None:
    """Read `i/n`."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", value)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        msg = f"--sop-shard={value}: write i/n with i from 1 to n, such as 1/4"
        raise pytest.UsageError(msg)
    return Shard(number=int(found[1]), count=int(found[2]))


def read_tags(value: str | None) -> frozenset[str]:
    """Read a comma list of tags."""
    tags = frozenset(tag for one in (value or "").split(",") if (tag := one.strip()))
    if value is not None and not tags:
        msg = f"--sop-tags={value}: name at least one tag"
        raise pytest.UsageError(msg)
    return tags


def read_fail_under(name: str, value: str | None) -> tuple[GateSpec, ...]:
    """Read a bound on TSR; `none` is no gate."""
    if value is None or value == "none":
        return ()
    return (_read(name, value, gate_text.read_fail_under),)


def read_gate(name: str, value: str) -> GateSpec:
    """Read `[DOMAIN:]NAME=VALUE`."""
    return _read(name, value, gate_text.read_gate)


def _read(name: str, value: str, read: Callable[[str], GateSpec]) -> GateSpec:
    try:
        return read(value)
    except ValueError as fault:
        msg = f"{name}={fault}"
        raise pytest.UsageError(msg) from None


def read_reports(values: Sequence[str]) -> tuple[str, ...]:
    """Read `md=PATH` and `md=github`."""
    for value in values:
        kind, sign, target = value.partition("=")
        if kind != "md" or not sign or not target:
            msg = f"--sop-report={value}: write md=PATH, or md=github for the step summary"
            raise pytest.UsageError(msg)
    return tuple(value.partition("=")[2] for value in values)


def read_choice(name: str, value: str | None, choices: Sequence[str]) -> str:
    """Read one of a few words; the first is what holds where nothing is given."""
    if value is None:
        return choices[0]
    if value not in choices:
        msg = f"{name}={value}: one of {', '.join(choices)} expected"
        raise pytest.UsageError(msg)
    return value


def read_snapshot_rules(values: Sequence[str]) -> SnapshotRules:
    """Read how trajectories are compared with approved ones."""
    try:
        return read_rules(values)
    except ValueError as fault:
        msg = f"sop_snapshot_rules: {fault}"
        raise pytest.UsageError(msg) from None


def read_scoring(value: str | None) -> Scoring:
    """Read whose rules decide."""
    return Scoring(read_choice("sop_scoring", value, [one.value for one in Scoring]))
