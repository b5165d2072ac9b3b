"""The law of gates: one that holds has an intact line of every selected run, and enough of them.

Sessions are invented here, with all that may befall one: runs that crash or never start, tasks
that are deselected, tests of the user's own that fail, a process that is killed, shards that are
put together, one of which lacks what it should have, and files that are edited afterwards.

An edit is a function from the lines of a file to its lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunKey, RunRecord, SavedSession
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.conditions import GateSpec, GateState
from pytest_sopbench._core.gates.quarantine import NOTHING_FORGIVEN, Forgiven
from pytest_sopbench._core.model.task import TaskName, shard_number, share_of
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions.commands.gate import decide_gates
from pytest_sopbench._sessions.commands.merge import merge_shards
from pytest_sopbench._sessions.header import (
    DomainHeader,
    SessionHeader,
    SessionOptions,
    planned_tasks,
)
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import summarized
from pytest_sopbench._sessions.writer import (
    sealed_session,
    start_to_line,
    store_session,
    summary_to_line,
)
from pytest_sopbench.errors import SessionFileError

DOMAINS = ("claims", "refunds")
TASKS = tuple(f"T{number}" for number in range(1, 8))
AGENT = "mypkg:agent"
AGENTS = (AGENT, "mypkg:other")
RULE = RuleResult(
    id="no-wire",
    clause="",
    severity=Severity.MUST,
    kind=DemandKind.FORBIDS,
    state=RuleState.BROKEN,
    why="wire was called",
)
NAMES = [TaskName(domain, task) for domain in DOMAINS for task in TASKS]
FORGIVEN = st.one_of(
    st.just(NOTHING_FORGIVEN),
    st.builds(
        Forgiven,
        answers=st.frozensets(st.sampled_from(NAMES), max_size=3),
        rules=st.dictionaries(st.sampled_from(NAMES), st.just(frozenset({RULE.id})), max_size=3),
    ),
)

Edit = Callable[[Sequence[str]], Sequence[str]]

OUTCOMES = st.sampled_from(
    [*[Outcome.CORRECT] * 6, Outcome.WRONG, Outcome.TIMEOUT, Outcome.UNAVAILABLE, Outcome.NOT_RUN]
)


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of a selected run.

    A run that is `deselected` was taken away by an option of pytest, and the header says so.
    Without a `line` the process died in it, or before it. One that `breaks` breaks a rule that
    must hold.
    """

    outcome: Outcome
    deselected: bool = False
    line: bool = True
    begun: bool = True
    breaks: bool = False


FATES = st.one_of(
    st.builds(Fate, outcome=OUTCOMES),
    st.builds(Fate, outcome=OUTCOMES),
    st.builds(Fate, outcome=OUTCOMES),
    st.builds(
        Fate,
        outcome=OUTCOMES,
        deselected=st.booleans(),
        line=st.booleans(),
        begun=st.booleans(),
    ),
    st.builds(
        Fate, outcome=st.sampled_from([Outcome.CORRECT, Outcome.WRONG]), breaks=st.booleans()
    ),
)


@dataclass(frozen=True, kw_only=True)
class Invented:
    """A session: the fate of each selected run, how it ended, and in how many shards it was made.

    `failures` are other tests that failed, by shard. `forgets` is a run whose task one shard has
    neither planned nor made, in any trial, as where its job named a path without SOP tests.
    `forgiven` is what its tasks file forgave. `doubts` are judged fields on which no gate may rest.
    """

    fates: Mapping[RunKey, Fate]
    shards: int
    is_whole: bool
    failures: int
    forgets: RunKey | None
    forgiven: Forgiven = NOTHING_FORGIVEN
    doubts: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])


@st.composite
def invented(draw: st.DrawFn) -> Invented:
    domains = draw(st.lists(st.sampled_from(DOMAINS), min_size=1, max_size=2, unique=True))
    trials = draw(st.integers(1, 2))
    count = draw(st.integers(1, len(TASKS)))
    agents = draw(st.sampled_from([AGENTS[:1], AGENTS[:1], AGENTS]))
    keys = [
        RunKey(domain, task, trial, agent)
        for domain in domains
        for agent in agents
        for trial in range(1, trials + 1)
        for task in TASKS[:count]
    ]
    # Mostly all is well, since a gate that never holds proves nothing.
    is_well = draw(st.booleans())
    well = st.builds(Fate, outcome=st.sampled_from([*[Outcome.CORRECT] * 6, Outcome.WRONG]))
    shards = draw(st.sampled_from([0, 0, 1, 2, 3]))
    # One of several agents may be asked for a few tasks only: nobody knows that it lacks one.
    may_forget = shards and not is_well and len(agents) == 1
    forgets = draw(st.sampled_from([None, None, *keys])) if may_forget else None
    return Invented(
        fates={key: draw(well if is_well else FATES) for key in keys},
        shards=shards,
        is_whole=is_well or draw(st.booleans()),
        failures=0 if is_well else draw(st.sampled_from([0, 0, 1])),
        forgets=forgets,
        forgiven=draw(FORGIVEN),
        doubts=draw(st.sampled_from([{}, {}, {"refunds": {"reason": "no calibration"}}])),
    )


def leave(lines: Sequence[str]) -> Sequence[str]:
    return lines


def drop(place: int) -> Edit:
    """Remove a line of a run, and leave the summary that counts it."""

    def edit(lines: Sequence[str]) -> Sequence[str]:
        runs = [line for line in lines if '"type":"run"' in line]
        if not runs:
            return lines
        gone = runs[place % len(runs)]
        return [line for line in lines if line != gone]

    return edit


def repeat(place: int) -> Edit:
    """Write a line of a run twice."""

    def edit(lines: Sequence[str]) -> Sequence[str]:
        at = place % len(lines)
        return [*lines[: at + 1], *([lines[at]] if at else []), *lines[at + 1 :]]

    return edit


def cut(length: int) -> Edit:
    """Lose the end of the file, as by a power failure."""

    def edit(lines: Sequence[str]) -> Sequence[str]:
        text = "".join(f"{line}\n" for line in lines)
        return text[: max(len(lines[0]) + 1, len(text) - length)].splitlines()

    return edit


def alter(place: int) -> Edit:
    """Turn what was wrong into what was right, and leave the checksum as it is."""

    def edit(lines: Sequence[str]) -> Sequence[str]:
        wrong = [line for line in lines if '"outcome":"wrong"' in line]
        if not wrong:
            return lines
        target = wrong[place % len(wrong)]
        turned = target.replace('"outcome":"wrong"', '"outcome":"correct"')
        return [turned if line == target else line for line in lines]

    return edit


def without_summary(edit: Edit) -> Edit:
    """Make an edit, and remove what would contradict it."""

    def both(lines: Sequence[str]) -> Sequence[str]:
        return [one for one in edit(lines) if not one.startswith('{"type":"summary"')]

    return both


PLACES = st.integers(0, 40)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.just(leave),
    st.just(leave),
    st.builds(drop, PLACES),
    st.builds(repeat, PLACES),
    st.builds(cut, st.integers(1, 400)),
    st.builds(alter, PLACES),
    st.builds(without_summary, st.builds(alter, PLACES)),
    st.builds(without_summary, st.builds(drop, PLACES)),
)


def record_of(key: RunKey, fate: Fate) -> RunRecord:
    return RunRecord(
        domain=key.domain,
        task=key.task,
        trial=key.trial,
        agent=key.agent,
        outcome=fate.outcome,
        rules=(RULE,) if fate.breaks else (),
        contract=RuleState.BROKEN if fate.breaks else None,
    )


def header_of(session: Invented, keys: Sequence[RunKey], number: int) -> SessionHeader:
    """Write what the controller says at the end: what is selected, whatever was collected."""
    away = [key for key in keys if session.fates[key].deselected]
    domains: dict[str, DomainHeader] = {}
    for name in dict.fromkeys(key.domain for key in session.fates):
        tasks: dict[str, list[int]] = {}
        for key in keys:
            if key.domain == name and not session.fates[key].deselected:
                tasks.setdefault(key.task, []).append(key.trial)
        every = planned_tasks(tasks)
        pool = {key.task for key in session.fates if key.domain == name}
        of_agents = {
            agent: planned_tasks(_trials(session, keys, name, agent))
            for agent in agents_in(session)
        }
        domains[name] = DomainHeader(
            planned=every.planned,
            trials=every.trials,
            some_trials=every.some_trials,
            agents=of_agents if len(of_agents) > 1 else {},
            share=share_of(pool, number, session.shards) if session.shards else None,
        )
    shard = [f"--sop-shard={number}/{session.shards}"] if session.shards else []
    return SessionHeader(
        plugin="1.0",
        agent=", ".join(agents_in(session)),
        started="2026-01-01T00:00:00+00:00",
        judging="j",
        options=SessionOptions(
            selection=tuple(shard),
            failures=session.failures if session.is_whole else None,
            quarantined=tuple(sorted(session.forgiven.answers)),
            may_break={name: tuple(ids) for name, ids in session.forgiven.rules.items()},
            doubtful=session.doubts,
            not_evaluated=f"-k took {len(away)} tasks away" if away else "",
        ),
        domains=domains,
    )


def agents_in(session: Invented) -> Sequence[str]:
    return [*dict.fromkeys(key.agent for key in session.fates)]


def _trials(
    session: Invented, keys: Sequence[RunKey], domain: str, agent: str
) -> Mapping[str, list[int]]:
    tasks: dict[str, list[int]] = {}
    for key in keys:
        if (key.domain, key.agent) == (domain, agent) and not session.fates[key].deselected:
            tasks.setdefault(key.task, []).append(key.trial)
    return tasks


def lines_of(session: Invented, keys: Sequence[RunKey], number: int) -> list[str]:
    """Write the lines of a session, or of a shard of it, as they stand when it has ended."""
    gone = session.forgets and session.forgets._replace(trial=0)
    made = [key for key in keys if key._replace(trial=0) != gone]
    header = header_of(session, made, number)
    lines: list[str] = []
    records: list[RunRecord] = []
    for key in made:
        fate = session.fates[key]
        if fate.deselected:
            continue
        if fate.line or session.is_whole:
            # A session that comes to its end writes what it has not seen: `crash`, `not_run`.
            lost = Outcome.CRASH if fate.begun else Outcome.NOT_RUN
            records.append(record_of(key, fate if fate.line else replace(fate, outcome=lost)))
            lines.append(to_line(records[-1]))
        elif fate.begun:
            lines.append(start_to_line(key))
    if session.is_whole:
        lines.append(summary_to_line(summarized(records)))
    return [line.decode().rstrip("\n") for line in sealed_session(header, lines)]


def save(folder: Path, name: str, lines: Sequence[str]) -> SavedSession:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), "ascii")
    return read_session(path)


def saved_of(folder: Path, session: Invented, edit: Edit) -> SavedSession:
    """Write a session, in one piece or in shards that are merged, the last one edited."""
    if not session.shards:
        return save(folder, "last", edit(lines_of(session, [*session.fates], 1)))
    parts: list[SavedSession] = []
    for number in range(1, session.shards + 1):
        keys = [key for key in session.fates if shard_number(key.task, session.shards) == number]
        lines = lines_of(session, keys, number)
        parts.append(save(folder, f"part{number}", edit(lines) if number == 1 else lines))
    whole = merge_shards(parts)
    store_session(folder / "all.jsonl", whole.header, whole.records, whole.summaries)
    return read_session(folder / "all.jsonl")


def intact_lines(saved: SavedSession) -> dict[RunKey, str]:
    """Read a file by its lines alone: the outcome that stands there of each run."""
    lines = map(json.loads, saved.path.read_text("ascii").splitlines())
    return {
        RunKey(one["domain"], one["task"], one["trial"], one["agent"]): one["outcome"]
        for one in lines
        if one["type"] == "run"
    }


WELL = Invented(
    fates={RunKey("refunds", task, 1, AGENT): Fate(outcome=Outcome.CORRECT) for task in TASKS},
    shards=2,
    is_whole=True,
    failures=0,
    forgets=None,
)


@given(session=invented(), bound=st.sampled_from([0.0, 0.5, 0.75, 1.0]), edit=EDITS)
@example(session=WELL, bound=1.0, edit=leave)
@example(session=replace(WELL, shards=0), bound=1.0, edit=drop(0))
@example(session=replace(WELL, forgets=RunKey("refunds", "T1", 1, AGENT)), bound=0.0, edit=leave)
@settings(max_examples=120)
def test_a_gate_that_holds_has_a_line_of_every_selected_run_and_enough_of_them(
    session: Invented, bound: float, edit: Edit
) -> None:
    with TemporaryDirectory() as folder:
        try:
            saved = saved_of(Path(folder), session, edit)
            gated = decide_gates(saved, [GateSpec(name="tsr", value=bound)])
        except SessionFileError:
            event("refused")
            return
        event(gated.state.value)
        if gated.state is not GateState.HOLDS:
            return
        found = intact_lines(saved)

    assert {*session.fates} == {*found}
    asked = {key: one for key, one in found.items() if not is_excused(session, key)}
    assert asked
    several = len(agents_in(session)) > 1
    groups = {(key.domain, key.agent) for key in asked}
    for agent in agents_in(session):
        for domain in (*dict.fromkeys(key.domain for key in asked), ""):
            mine = [key for key in asked if key.agent == agent and domain in {"", key.domain}]
            right = [key for key in mine if found[key] == Outcome.CORRECT.value]
            # What stands in the file became of the run, or less where its line is lost.
            assert all(session.fates[key].outcome is Outcome.CORRECT for key in right)
            assert len(right) >= bound * len(mine)
            where = title(domain, agent, several=several) if len(groups) > 1 else ""
            told = [one.value for one in gated.gates if one.where == where]
            assert told or not (mine and domain)
            assert not mine or not told or told == [len(right) / len(mine)]
    assert Outcome.NOT_RUN.value not in found.values()
    assert not session.failures
    assert not [key for key in found if fails_by_rule(session, key)]
    assert not [key.domain for key in asked if key.domain in session.doubts]


def is_excused(session: Invented, key: RunKey) -> bool:
    """Tell whether the answer of a run is forgiven: an agent gave it, and its task may fail."""
    answered = {Outcome.CORRECT, Outcome.WRONG, Outcome.NO_ANSWER}
    may_fail = TaskName(key.domain, key.task) in session.forgiven.answers
    return may_fail and session.fates[key].outcome in answered


def fails_by_rule(session: Invented, key: RunKey) -> bool:
    may_break = TaskName(key.domain, key.task) in session.forgiven.rules
    return session.fates[key].breaks and not may_break


def title(domain: str, agent: str, *, several: bool) -> str:
    """Return what the gate calls the runs of an agent, in a domain or in all of them."""
    if not several:
        return domain or "all"
    return f"{domain or 'all'} ({agent})"


def test_a_session_in_which_all_is_well_holds(tmp_path: Path) -> None:
    """Else the law would say nothing."""
    gates = [GateSpec(name="tsr", value=1.0)]
    (tmp_path / "shards").mkdir()

    plain = decide_gates(saved_of(tmp_path, replace(WELL, shards=0), leave), gates)
    merged = decide_gates(saved_of(tmp_path / "shards", WELL, leave), gates)

    assert (GateState.HOLDS, GateState.HOLDS) == (plain.state, merged.state)
