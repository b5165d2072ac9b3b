"""The first line of a saved session: options, agents, commit, set-up."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from pydantic_core import SchemaValidator
from pydantic_core import core_schema as cs

from pytest_sopbench._core.comparison import Setup
from pytest_sopbench._core.gates.calibration import (
    JudgedField,
    JudgeReport,
    judge_report_to_json,
)
from pytest_sopbench._core.model.task import Share, TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import (
    ANY,
    COUNT,
    TEXT,
    TEXTS,
    TRIAL,
    UNKNOWN,
    Keys,
    many,
    maybe,
    members,
    part,
    told,
    value_of,
)
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants import Told
from pytest_sopbench._settings.readers import Shard

from .lines import by_name

# The commit that a session ran on, as far as git tells it.

TIME_LIMIT = 5.0
"""Seconds that git may take; a session does not wait longer for a line in its header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """A commit, and whether the working tree held anything that is not in it."""

    commit: str
    dirty: bool


def git_state(folder: Path, *, time_limit: float = TIME_LIMIT) -> GitState | None:
    """Return the state of the repository around `folder`.

    `None` if there is no repository, no commit, no git, or no reply in time; never raises.
    """
    command = ["git", "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, found on PATH as any git call is
            command,
            cwd=folder,
            # Reading must not take the lock that a commit of the user may need meanwhile.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=time_limit,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "")
    if done.returncode or not commit or commit == "(initial)":
        return None
    return GitState(commit=commit, dirty=any(not line.startswith("#") for line in lines))


# The options in the header of a saved session. On disk they are an object of names.

SHARD: Final = "--sop-shard="
"""How the option of a shard begins, among what selected the tasks of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What was asked of a session, and what it recorded beside its runs; empty is not recorded.

    A field is called as the option is on disk, and a new session writes them in this order.

    Attributes:
        selection: the options that selected its tasks, as they are written.
        agents: the specs of its agents by name, if it had several or the user named one.
        concurrency: runs in flight: a number, `auto`, or `None` for one in each process.
        replay: how recorded model traffic was used, empty if it was not.
        failures: the tests that failed and that no gate forgives; `None` if nobody knows.
        not_evaluated: what took selected tasks away.
        compare: its baseline.
        broken: what tests or agents broke in their process, which counts among the failures.
        judge: what its model judge consumed, and how far it can be relied on.
        doubtful: by domain and output field why no gate may rest on its judge.
        drafts: domains that were drafted, and why no gate may rest on their labels.
        quarantined: tasks that might fail when it was run.
        may_break: the rules that tasks might break when it was run, by the tasks.
        must_pass: tasks that had to pass.
        expired: tasks whose entry in the tasks file was.
        prompts: the hashes of its agents' prompts, by the agents' names.
        setups: what its agents say of themselves, by the agents' names.
        resumed: the sessions that it goes back to, the last one last.
        resumed_anyway: the differences that were accepted then.
        prices: the prices by which costs were reckoned.
        replay_misses: in what requests differed that no recording had, by runs.
        metrics: the packages of its metrics that are not the plugin's, by gate and by name.
        variants: what variants of tasks came to: outcomes by domain, agent, variant and task.
        slim: whether it is a slim baseline.
        reason: why that was accepted.
        rescored: whose rules it was judged by before.
    """

    selection: tuple[str, ...] = ()
    trials: int | None = None
    agents: Mapping[str, str] = field(default_factory=dict[str, str])
    gates: tuple[str, ...] = ()
    max_calls: int | None = None
    concurrency: int | str | None = None
    timeout: float | None = None
    retries: int | None = None
    scoring: str = ""
    contract: str = ""
    approver: str = ""
    replay: str = ""
    failures: int | None = 0
    not_evaluated: str = ""
    compare: str = ""
    broken: tuple[str, ...] = ()
    judge: JudgeReport | None = None
    doubtful: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    drafts: Mapping[str, str] = field(default_factory=dict[str, str])
    quarantined: tuple[TaskName, ...] = ()
    may_break: Mapping[TaskName, tuple[str, ...]] = field(
        default_factory=dict[TaskName, tuple[str, ...]]
    )
    must_pass: tuple[TaskName, ...] = ()
    expired: tuple[TaskName, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    setups: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    resumed: tuple[JsonValue, ...] = ()
    resumed_anyway: tuple[str, ...] = ()
    prices: str = ""
    replay_misses: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    variants: Told = field(default_factory=dict[str, "Mapping[str, Any]"])
    metrics: Mapping[str, str] = field(default_factory=dict[str, str])
    slim: bool = False
    reason: str = ""
    rescored: str = ""

    @property
    def shard(self) -> Shard | None:
        """The part of a whole that this session is, or `None`.

        Raises:
            ValueError: what it says of a shard means nothing.
        """
        shards = [one.removeprefix(SHARD) for one in self.selection if one.startswith(SHARD)]
        return Shard.read(shards[0]) if shards else None


_ALWAYS: Final = frozenset(
    (
        *("selection", "trials", "gates", "max_calls", "concurrency", "timeout", "retries"),
        *("scoring", "contract", "approver", "failures"),
    )
)
"""What every session tells; what else is empty is left out of its header."""

_NOTHING: Final = SessionOptions()


def options_to_json(options: SessionOptions) -> dict[str, JsonValue]:
    """Return what `read_session_options` reads."""
    return {
        name: _plain(value)
        for name, value in members(options).items()
        if name in _ALWAYS or value != getattr(_NOTHING, name)
    }


def _plain(value: object) -> Any:
    """Return a value of an option in words that JSON has."""
    if isinstance(value, TaskName):
        return str(value)
    if isinstance(value, JudgeReport):
        return judge_report_to_json(value)
    if isinstance(value, tuple):
        return [*map(_plain, cast("tuple[object, ...]", value))]
    if isinstance(value, Mapping):
        given = cast("Mapping[object, object]", value)
        return {str(name): _plain(one) for name, one in given.items()}
    return value


def read_session_options(data: Mapping[str, JsonValue]) -> SessionOptions:
    """Read the options of a header; what is not there is empty.

    Raises:
        ValueError: a key is unknown, or holds something else than it should.
    """
    options: SessionOptions = value_of(_READ_OPTIONS, data, "the options of a header")
    return options


# The first line of a saved session: what was asked of whom, and judged how.


def _parts(value: Any) -> Mapping[str, Any]:
    if isinstance(value, SessionOptions):
        return options_to_json(value)
    return told(value)


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_parts).encode

SCHEMA = 1
"""The version of the format; a file of any other is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTasks:
    """The ids of planned tasks, and how often each of them is run.

    Attributes:
        planned: the ids of the tasks.
        trials: how often each task is run: trials 1 to `trials`.
        some_trials: the trials of the tasks that have others.
    """

    planned: tuple[str, ...] = ()
    trials: int = 1
    some_trials: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def trials_of(self, task: str) -> Sequence[int]:
        """Return the numbers of the trials that were planned of a planned task."""
        return self.some_trials.get(task, range(1, self.trials + 1))

    @property
    def runs(self) -> Iterator[tuple[str, int]]:
        """The planned runs as task and trial, the first trials of all tasks before the others."""
        most = max(self.trials, *(one for some in self.some_trials.values() for one in some), 1)
        for trial in range(1, most + 1):
            for task in self.planned:
                if trial in self.trials_of(task):
                    yield task, trial


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainHeader(PlannedTasks):
    """One domain of a session: hashes of its content, and the planned tasks of all its agents.

    `judging` is the `rules_fingerprint` of this domain alone, which tells whether sessions of
    different domains agree on the one they share. `agents` are the planned tasks of each agent by
    its name; empty if all are of the session's one agent. `share` is what a shard has of the
    domain, `None` if the session is none. `comparers` say by field what compared it, down to its
    version, if the judge did not. `deterministic` is false if a server outside of the session
    served tools, which may answer the same call otherwise another time.
    """

    sop: str = ""
    specs: str = ""
    tools: str = ""
    data: str = ""
    judging: str = ""
    agents: Mapping[str, PlannedTasks] = field(default_factory=dict[str, PlannedTasks])
    share: Share | None = None
    comparers: Mapping[str, str] = field(default_factory=dict[str, str])
    deterministic: bool = True


def planned_tasks(tasks: Mapping[str, Iterable[int]]) -> PlannedTasks:
    """Return what is planned, given the planned trials of each task in the order of the tasks."""
    # Several agents may have the same trial of a task.
    numbers = {task: tuple(sorted({*some})) for task, some in tasks.items()}
    trials = max((one[-1] for one in numbers.values()), default=1)
    every = (*range(1, trials + 1),)
    some_trials = {task: some for task, some in numbers.items() if some != every}
    return PlannedTasks(planned=tuple(tasks), trials=trials, some_trials=some_trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHeader:
    """What a reader must know before the first run.

    `started` is an ISO instant with its zone. `options` are those that say which runs were made
    and how; what is secret, or only of this machine, has no place among them. `judging` is the
    `rules_fingerprint` of the rules. `git` is `None` outside a repository. `identity` is of this
    one session: it tells which journals are its own, and the checksums of its lines begin with it.
    """

    plugin: str
    agent: str
    started: str
    judging: str
    agent_args: Mapping[str, str] = field(default_factory=dict[str, str])
    options: SessionOptions = field(default_factory=SessionOptions)
    git: GitState | None = None
    domains: Mapping[str, DomainHeader] = field(default_factory=dict[str, DomainHeader])
    identity: str = ""
    schema: int = SCHEMA

    @property
    def agents(self) -> Mapping[str, str]:
        """The specs of the session's agents, by what their runs are filed under."""
        return self.options.agents or {self.agent: self.agent}

    @property
    def tells_agents(self) -> bool:
        """Whether it is called by agents of which its domains tell, as when marks name them."""
        told = {agent for domain in self.domains.values() for agent in domain.agents}
        return bool(told) and told == {*self.agent.split(", ")}


def made_of(header: SessionHeader, *parts: str) -> SessionHeader:
    """Return the header of a session that is made of others, as one of its own.

    Args:
        header: with what the session says of itself.
        parts: what it is made of, and how; the same parts give the same identity.
    """
    identity = sha256("\n".join(parts).encode()).hexdigest()[:16]
    return replace(header, schema=SCHEMA, identity=identity)


def header_to_line(header: SessionHeader) -> str:
    """One line of ASCII JSON without its end, and without its checksum."""
    return _encode({"type": "header", "schema": header.schema, **_parts(header)})


def header_from_json(data: Mapping[str, Any]) -> SessionHeader:
    """Read what `header_to_line` wrote, with or without its checksum.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    told = {name: one for name, one in data.items() if name not in {"type", "crc"}}
    header: SessionHeader = value_of(_READ_HEADER, told, "a header")
    # A shard that means nothing is refused here: a part might pass for the whole.
    _ = header.options.shard
    return header


_NAME: Final = cs.no_info_after_validator_function(
    lambda text: TaskName(text.partition("/")[0], text.partition("/")[2]), TEXT
)
_OPTIONS: Final = part(
    SessionOptions,
    {
        "concurrency": maybe(cs.union_schema([COUNT, TEXT])),
        "judge": maybe(
            part(
                JudgeReport,
                {
                    "fields": many(part(JudgedField)),
                    "usage": part(Usage, optional=UNKNOWN),
                },
            )
        ),
        "variants": by_name(by_name(by_name(by_name(TEXT)))),
        "doubtful": by_name(by_name(TEXT)),
        **dict.fromkeys(("quarantined", "must_pass", "expired"), many(_NAME)),
        "may_break": cs.dict_schema(_NAME, TEXTS, strict=True),
        "resumed": many(ANY),
    },
    optional=members(_NOTHING),
)
_READ_OPTIONS: Final = SchemaValidator(_OPTIONS)
_PLANNED: Final[Keys] = {"trials": TRIAL, "some_trials": by_name(many(TRIAL))}
_DOMAIN: Final[Keys] = {
    **_PLANNED,
    "agents": by_name(part(PlannedTasks, _PLANNED)),
    "share": maybe(part(Share)),
}
_READ_HEADER: Final = SchemaValidator(
    part(
        SessionHeader,
        {
            "options": _OPTIONS,
            "git": maybe(part(GitState)),
            "domains": by_name(part(DomainHeader, _DOMAIN, optional={"deterministic": True})),
        },
    )
)


# What the header of a saved session says of the agents themselves.


def setups_of(header: SessionHeader) -> Mapping[str, Setup]:
    """Return what each agent says of itself; of one that says nothing, what it was given."""
    told, hashes = header.options.setups, header.options.prompts
    found = {name: _setup(told, hashes, name) for name in dict.fromkeys((*told, *hashes))}
    # What the session was given says nothing more of an agent that lists its own settings.
    return found or {header.agent: Setup(agent=header.agent, settings=dict(header.agent_args))}


def _setup(told: Mapping[str, JsonValue], hashes: Mapping[str, str], name: str) -> Setup:
    found = told.get(name)
    said: Mapping[str, JsonValue] = found if isinstance(found, Mapping) else {}
    settings = said.get("settings")
    return Setup(
        agent=_text(said, "agent"),
        model=_text(said, "model"),
        prompt=_text(said, "prompt"),
        prompt_hash=hashes.get(name, ""),
        settings={key: str(one) for key, one in settings.items()}
        if isinstance(settings, Mapping)
        else None,
    )


def _text(held: Mapping[str, JsonValue], name: str) -> str:
    found = held.get(name)
    return found if isinstance(found, str) else ""
