"""The first line of a saved session: what was asked of whom, and judged how."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from sys import intern
from typing import Any

from pytest_sopbench._core.model.shards import Share
from pytest_sopbench._core.records.lines.trace_line import members
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.lines.checksum import identity_from

from .git import GitState
from .options import SessionOptions, options_to_json, read_session_options

_OTHERS = "others"


def _parts(value: Any) -> Mapping[str, Any]:
    if isinstance(value, SessionOptions):
        return options_to_json(value)
    parts = members(value)
    others = parts.pop(_OTHERS, {})
    return {**parts, **others}


# Taken at import: an agent may put others into their place, also into those that JSON calls.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_parts).encode

SCHEMA = 2
"""Counts up when a reader of before could misread what is written."""

UNCHECKED = 1
"""The last schema whose lines carry no checksum."""


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
    different domains agree on the one they share; empty where it was not recorded. `agents` are the
    planned tasks of each agent by its name; empty where all are of the session's one agent, or
    where it was not recorded. `share` is what a shard has of the domain, `None` where the
    session is none. `comparers` say by field what compared it, down to its version, where the judge
    did not. `others` is what another version tells beside.
    """

    sop: str = ""
    specs: str = ""
    tools: str = ""
    data: str = ""
    judging: str = ""
    agents: Mapping[str, PlannedTasks] = field(default_factory=dict[str, PlannedTasks])
    share: Share | None = None
    comparers: Mapping[str, str] = field(default_factory=dict[str, str])
    others: Mapping[str, JsonValue] = field(
        default_factory=dict[str, JsonValue], compare=False, repr=False
    )


def planned_trials(tasks: Mapping[str, Iterable[int]]) -> tuple[int, dict[str, tuple[int, ...]]]:
    """Return `trials` and `some_trials` of a header, given the planned trials of each task."""
    # Several agents may have the same trial of a task.
    numbers = {task: tuple(sorted({*some})) for task, some in tasks.items()}
    trials = max((one[-1] for one in numbers.values()), default=1)
    every = (*range(1, trials + 1),)
    return trials, {task: some for task, some in numbers.items() if some != every}


def planned_tasks(tasks: Mapping[str, Iterable[int]]) -> PlannedTasks:
    """Return what is planned, given the planned trials of each task in the order of the tasks."""
    trials, some_trials = planned_trials(tasks)
    return PlannedTasks(planned=tuple(tasks), trials=trials, some_trials=some_trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHeader:
    """What a reader must know before the first run.

    `started` is an ISO instant with its zone. `options` are those that say which runs were made
    and how; what is secret, or only of this machine, has no place among them. `judging` is the
    `rules_fingerprint` of the rules. `git` is `None` outside a repository. `identity` is of this
    one session: it tells which journals are its own, and the checksums of its lines begin with it.
    `others` is what another version tells beside, which stays when the header is written again.
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
    others: Mapping[str, JsonValue] = field(
        default_factory=dict[str, JsonValue], compare=False, repr=False
    )

    @property
    def agents(self) -> Mapping[str, str]:
        """The specs of the session's agents, by what their runs are filed under."""
        return self.options.agents or {self.agent: self.agent}

    @property
    def tells_agents(self) -> bool:
        """Whether it is called by agents of which its domains tell, as where marks name them."""
        told = {agent for domain in self.domains.values() for agent in domain.agents}
        return bool(told) and told == {*self.agent.split(", ")}


def made_of(header: SessionHeader, *parts: str) -> SessionHeader:
    """Return the header of a session that is made of others, as one of its own.

    Args:
        header: with what the session says of itself.
        parts: what it is made of, and how; the same parts give the same identity.
    """
    return replace(header, schema=SCHEMA, identity=identity_from(parts))


def header_to_line(header: SessionHeader) -> str:
    """One line of ASCII JSON without its end, and without its checksum."""
    return _encode({"type": "header", "schema": header.schema, **_parts(header)})


def header_from_json(data: Mapping[str, Any]) -> SessionHeader:
    """Read what `header_to_line` wrote; keys that are not known are kept as they stand.

    Raises:
        ValueError: a key is missing, or holds something else than it should.
    """
    try:
        git = data["git"]
        return SessionHeader(
            schema=data["schema"],
            plugin=str(data["plugin"]),
            agent=str(data["agent"]),
            started=str(data["started"]),
            judging=str(data["judging"]),
            agent_args=dict(data["agent_args"]),
            options=_options(data["options"]),
            git=GitState(commit=git["commit"], dirty=git["dirty"]) if git else None,
            domains={name: _domain(one) for name, one in data["domains"].items()},
            identity=str(data.get("identity", "")),
            others=_others(data, SessionHeader),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        msg = f"a header with missing or unusable keys: {fault}"
        raise ValueError(msg) from fault


def _options(data: Mapping[str, JsonValue]) -> SessionOptions:
    options = read_session_options(data)
    # A shard that means nothing is refused here: a part might pass for the whole.
    _ = options.shard
    return options


def _domain(data: Mapping[str, Any]) -> DomainHeader:
    agents: Mapping[str, Any] = data.get("agents", {})
    return DomainHeader(
        sop=data["sop"],
        specs=data["specs"],
        tools=data["tools"],
        data=data["data"],
        judging=str(data.get("judging", "")),
        agents={name: PlannedTasks(**_planned(one)) for name, one in agents.items()},
        share=_share(data.get("share")),
        comparers={str(name): str(one) for name, one in data.get("comparers", {}).items()},
        others=_others(data, DomainHeader),
        **_planned(data),
    )


def _others(
    data: Mapping[str, Any], known: type[SessionHeader | DomainHeader]
) -> Mapping[str, JsonValue]:
    read = {"type", "crc", *(one.name for one in fields(known))} - {_OTHERS}
    return {name: one for name, one in data.items() if name not in read}


def _share(data: Mapping[str, Any] | None) -> Share | None:
    if data is None:
        return None
    return Share(tasks=int(data["tasks"]), digest=str(data["digest"]), part=int(data["part"]))


def _planned(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        # The runs of a session, and of others beside it, name the same tasks.
        "planned": tuple(map(intern, data["planned"])),
        # Sessions that were saved before there were trials have one of each task.
        "trials": int(data.get("trials", 1)),
        "some_trials": {
            task: tuple(int(one) for one in numbers)
            for task, numbers in data.get("some_trials", {}).items()
        },
    }
