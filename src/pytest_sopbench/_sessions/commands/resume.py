"""What an earlier session leaves to one that resumes it, and why it may not be taken over."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.comparing import unlike_comparers
from pytest_sopbench._core.comparison import CONTENTS, setup_changes
from pytest_sopbench._core.domain import JudgingRules, rules_fingerprint
from pytest_sopbench._core.gates.calibration import (
    JudgeReport,
    together,
    with_doubts,
)
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.usage import listed
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._core.variants import joined
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.event_logs import trace_name, traces_folder
from pytest_sopbench._sessions.header import (
    DomainHeader,
    GitState,
    SessionHeader,
    SessionOptions,
    options_to_json,
    setups_of,
)
from pytest_sopbench._sessions.journal import (
    clear_journals,
    journals_folder,
    unmerged_journal,
)
from pytest_sopbench._sessions.lines import damage_lines, sealed, seed_of
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import SavedSession
from pytest_sopbench._sessions.writer import start_to_line, write_lines
from pytest_sopbench._settings.readers import ALWAYS_AGAIN
from pytest_sopbench.errors import SessionFileError

_NAMED: Final = 3
_COMMIT: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumable:
    """What a session leaves: the runs to take over, and those that are asked to be made again.

    `problems` are what was damaged and is not taken over.
    """

    saved: SavedSession
    finished: Mapping[RunKey, RunRecord]
    again: frozenset[RunKey]
    problems: tuple[str, ...] = ()


def read_resumable(path: Path, again: Collection[Outcome]) -> Resumable:
    """Read what is left of a session, after its journals were brought into its file.

    Args:
        path: the file of the session.
        again: outcomes whose runs are to be made again, beside those that always are.

    Raises:
        SessionFileError: the file or a journal cannot be read, its header is damaged, or it holds
            a slim baseline; or the disk did not take the file with its journals in it.
    """
    lost = merge_journal_into_session(path)
    saved = read_session(path)
    if saved.slim:
        msg = f"{path}: a slim baseline holds outcomes alone, and no runs to take over"
        raise SessionFileError(msg, hint="name the session that it was made of")
    return Resumable(
        saved=saved,
        finished={
            one.key: one
            for one in saved.records
            if one.outcome not in ALWAYS_AGAIN and one.outcome not in again
        },
        again=frozenset(one.key for one in saved.records if one.outcome in again),
        problems=(*lost, *damage_lines(path, saved.damaged)),
    )


def merge_journal_into_session(path: Path) -> Sequence[str]:
    """Write into a session's file what stands in its journals alone, and remove them.

    Wherever this is cut short, the session reads as before.

    Returns:
        What is to be told of the journals, such as damaged lines, which are gone then.

    Raises:
        SessionFileError: a file cannot be read, or its header is damaged, or it cannot be written.
    """
    if not path.exists() or not journals_folder(path).is_dir():
        return ()
    saved = read_session(path)
    left = unmerged_journal(path, saved.header)
    if saved.finished or not (left.finished or left.unfinished):
        return left.problems
    for key, run in left.finished.items():
        place = traces_folder(path) / trace_name(key)
        if run.events and not place.exists():
            write_lines(place, (run.events.encode(),))
    starts = map(start_to_line, left.unfinished)
    runs = (run.line for run in left.finished.values())
    write_lines(path, _with_lines(path, saved.header, (*starts, *runs)))
    clear_journals(journals_folder(path))
    return left.problems


def _with_lines(path: Path, header: SessionHeader, lines: Iterable[str]) -> Iterator[bytes]:
    """Yield the lines of a file, with others below its header."""
    seed = seed_of(header.identity)
    with path.open("rb") as file:
        yield file.readline()
        # Before the others, since the last line of a key wins.
        for line in lines:
            yield sealed(line, seed) + b"\n"
        # A line without an end was cut short.
        yield from (line for line in file if line.endswith(b"\n") and line.strip())


def header_differences(then: SessionHeader, now: SessionHeader) -> Iterator[str]:
    """Say of which agent the runs were, if it is another; the domains are for later."""
    # One that only one of the sessions has is left to its runs.
    for name, spec in then.agents.items():
        if name in now.agents and spec != now.agents[name]:
            yield f"agent {name}: {spec} there, {now.agents[name]} here"
    if then.agents.keys().isdisjoint(now.agents):
        yield f"agent: {then.agent} there, {now.agent} here"
    for what, before, today in (
        ("agent arguments", _shown(then.agent_args), _shown(now.agent_args)),
        ("scoring", then.options.scoring or None, now.options.scoring),
    ):
        if before != today:
            yield f"{what}: {before} there, {today} here"
    # A prompt is known once the agent is made, which is after this is asked first.
    for change in setup_changes(setups_of(then), setups_of(now)):
        if change.what.startswith("prompt"):
            yield f"{change.what}: {change.before} there, {change.now} here"


def git_differences(then: GitState | None, now: GitState | None) -> Iterator[str]:
    """Say in what the project's code differs, as far as git tells."""
    if then is None or now is None:
        if then is not now:
            yield f"git: {_commit(then)} there, {_commit(now)} here"
        return
    if then.commit != now.commit:
        yield f"git commit: {_commit(then)} there, {_commit(now)} here"
    if then.dirty != now.dirty:
        yield f"git: {_state(then)} there, {_state(now)} here"


def domain_differences(
    name: str, then: DomainHeader, now: Mapping[str, str], rules: JudgingRules
) -> Iterator[str]:
    """Say in what a domain differs that its runs are judged by, or that agents were given.

    Args:
        name: of the domain.
        then: as the session has it.
        now: hashes of its content.
        rules: by which its runs are judged.
    """
    for part, said in CONTENTS.items():
        if getattr(then, part) != now.get(part):
            yield f"domain {name}: its {said} {'was' if part == 'sop' else 'were'} changed since"
    if then.judging != rules_fingerprint({name: rules}):
        unlike = "; ".join(unlike_comparers(name, then.comparers, rules.comparers))
        what = unlike or "types, scoring, contract"
        yield f"domain {name}: answers were judged by other rules there ({what})"


def some_names(keys: Iterable[RunKey]) -> str:
    """Name a few tasks, and count the others."""
    return first_of(dict.fromkeys(f"{key.domain}/{key.task}" for key in keys), _NAMED)


def _shown(arguments: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(arguments.items())) or "none"


def _commit(git: GitState | None) -> str:
    return git.commit[:_COMMIT] if git is not None else "no repository"


def _state(git: GitState) -> str:
    return "uncommitted changes" if git.dirty else "no uncommitted changes"


# Options that a session learns with its first run, of which parts of a session may differ.


def unlike(
    one: SessionOptions, other: SessionOptions
) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]:
    """Return in which options two shards differ that one session cannot differ in.

    What a shard without a run could not learn is left out, and so are the prices of its runs, and
    what came of its model judge.
    """
    mine, its = _comparable(one, other), _comparable(other, one)
    same = {name for name in (*mine, *its) if mine.get(name) == its.get(name)}
    return (
        {name: value for name, value in mine.items() if name not in same},
        {name: value for name, value in its.items() if name not in same},
    )


def _comparable(options: SessionOptions, other: SessionOptions) -> Mapping[str, JsonValue]:
    options = replace(options, prices="", judge=None, doubtful={}, drafts={}, variants={})
    if not other.prompts:
        options = replace(options, prompts={})
    return options_to_json(options if other.setups else replace(options, setups={}))


def learned(whole: SessionOptions, parts: Sequence[SessionOptions]) -> SessionOptions:
    """Return options with what shards have learned of agents and prices; all prices are named.

    A judge that was doubtful in one of them is so in all together, and what it consumed adds up.
    So is a domain whose labels nobody had reviewed.
    """
    return replace(
        whole,
        prompts=next((one.prompts for one in parts if one.prompts), whole.prompts),
        setups=next((one.setups for one in parts if one.setups), whole.setups),
        prices=listed(*(one.prices for one in parts)) or "",
        variants=joined(one.variants for one in parts),
        doubtful=_doubtful(parts),
        drafts={name: why for one in parts for name, why in one.drafts.items()},
        judge=_judge(parts),
    )


def _doubtful(parts: Iterable[SessionOptions]) -> Mapping[str, Mapping[str, str]]:
    doubtful: dict[str, dict[str, str]] = {}
    for one in parts:
        for domain, fields in one.doubtful.items():
            doubtful[domain] = {**fields, **doubtful.get(domain, {})}
    return doubtful


def _judge(parts: Sequence[SessionOptions]) -> JudgeReport | None:
    if all(one.judge is None for one in parts):
        return None
    told = (with_doubts(one.judge, one.doubtful) for one in parts)
    return together(one for one in told if one is not None)
