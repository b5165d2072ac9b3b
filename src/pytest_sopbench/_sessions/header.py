"""The first line of a saved session: options, agents, commit, set-up."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pytest_sopbench._core.model.task import Share, TaskName
from pytest_sopbench._core.records.lines import members
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._settings.readers import Shard

from .lines import identity_from

if TYPE_CHECKING:
    from pytest_sopbench._core.comparing.comparison import Setup

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

    `None` where there is no repository, no commit, no git, or no reply in time; never raises.
    """
    if not _has_repository(folder):
        return None
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


def _has_repository(folder: Path) -> bool:
    """Tell whether git would find one; to ask git itself costs a process."""
    if "GIT_DIR" in os.environ:
        return True
    start = folder.resolve()
    # Not of `pathlib`, which raises where a folder above may not be read.
    return any(os.path.exists(above / ".git") for above in (start, *start.parents))  # noqa: PTH110


# The options in the header of a saved session: each named once, with its type and its form.
#
# On disk they are an object of names. What an older or newer version wrote there, or something
# else put into it, is kept as it stands when a session is written again: only what has changed is.

SHARD: Final = "--sop-shard="
"""How the option of a shard begins, among what selected the tasks of a session."""


_Form: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], JsonValue]]
"""How an option is read from JSON, and written; `None` and a wrong type are read as empty."""


def _values(given: JsonValue) -> tuple[JsonValue, ...]:
    return tuple(given) if isinstance(given, list) else ()


def _texts(given: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, _values(given)))


def _names(given: JsonValue) -> tuple[TaskName, ...]:
    names = (text.partition("/") for text in _texts(given))
    return tuple(TaskName(domain, task) for domain, _, task in names)


def _number(given: JsonValue) -> float | None:
    return given if isinstance(given, int | float) and not isinstance(given, bool) else None


def _count(given: JsonValue) -> int | None:
    # A number that something else has put there says nothing.
    return given if type(given) is int and given >= 0 else None


def _object(given: JsonValue) -> Mapping[str, JsonValue]:
    return given if isinstance(given, Mapping) else {}


def _doubts(given: JsonValue) -> Mapping[str, Mapping[str, str]]:
    return {
        domain: {name: str(why) for name, why in told.items()}
        for domain, told in _object(given).items()
        if isinstance(told, Mapping)
    }


def _as_it_is(value: JsonValue) -> JsonValue:
    return value


_TEXT: Final[_Form] = (lambda given: str(given or ""), str)
_TEXTS: Final[_Form] = (_texts, list)
_VALUES: Final[_Form] = (_values, list)
_NAMES: Final[_Form] = (_names, lambda names: [str(one) for one in names])
_COUNT: Final[_Form] = (_count, _as_it_is)
_NUMBER: Final[_Form] = (_number, _as_it_is)
_SHARE: Final[_Form] = (
    lambda given: given if isinstance(given, str) else _count(given),
    _as_it_is,
)
_FLAG: Final[_Form] = (lambda given: given is True, bool)
_OBJECT: Final[_Form] = (_object, dict)
_RULES: Final[_Form] = (
    lambda given: {_names([name])[0]: _texts(ids) for name, ids in _object(given).items()},
    lambda rules: {str(name): [*ids] for name, ids in rules.items()},
)
_MAYBE: Final[_Form] = (lambda given: _object(given) or None, dict)
_SPECS: Final[_Form] = (
    lambda given: {name: str(spec) for name, spec in _object(given).items()},
    dict,
)
_DOUBTS: Final[_Form] = (
    _doubts,
    lambda doubts: {domain: {**why} for domain, why in doubts.items()},
)


def _kept(form: _Form, *, always: bool = False, where: str = "") -> Any:
    """Make the field of an option.

    Args:
        form: how it stands in JSON.
        always: whether a new session writes it where it is empty too.
        where: the field that says whether it is written, whatever it is.
    """
    told = {"form": form, "always": always, "where": where}
    empty = form[0](None)
    if isinstance(empty, Mapping):
        return field(default_factory=dict[str, Any], metadata=told)
    return field(default=empty, metadata=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What was asked of a session, and what it recorded beside its runs; empty is not recorded.

    A field is called as the option is on disk, and a new session writes them in this order.

    Attributes:
        selection: the options that selected its tasks, as they are written.
        agents: the specs of its agents by name, where it had several or the user named one.
        concurrency: runs in flight: a number, `auto`, or `None` for one in each process.
        replay: how recorded model traffic was used, empty where it was not.
        failures: the tests that failed and that no gate forgives; `None` where the session did not
            come to its end, and where `records_failures` does not hold.
        not_evaluated: what took selected tasks away.
        compare: its baseline.
        broken: what tests or agents broke in their process, which counts among the failures.
        judge: what its model judge consumed, and how far it can be relied on.
        doubtful: by domain and output field why no gate may rest on its judge.
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
        variants: what variants of tasks came to: outcomes by domain, agent, variant and task.
        slim: whether it is a slim baseline.
        reason: why that was accepted.
        rescored: whose rules it was judged by before.
        records_failures: whether it counts failures; older sessions did not.
        stands: the object on disk that these were read from; `None` for a new session.
    """

    selection: tuple[str, ...] = _kept(_TEXTS, always=True)
    trials: int | None = _kept(_COUNT, always=True)
    agents: Mapping[str, str] = _kept(_SPECS)
    gates: tuple[str, ...] = _kept(_TEXTS, always=True)
    max_calls: int | None = _kept(_COUNT, always=True)
    concurrency: int | str | None = _kept(_SHARE, always=True)
    timeout: float | None = _kept(_NUMBER, always=True)
    retries: int | None = _kept(_COUNT, always=True)
    scoring: str = _kept(_TEXT, always=True)
    contract: str = _kept(_TEXT, always=True)
    approver: str = _kept(_TEXT, always=True)
    replay: str = _kept(_TEXT)
    failures: int | None = _kept(_COUNT, where="records_failures")
    not_evaluated: str = _kept(_TEXT)
    compare: str = _kept(_TEXT)
    broken: tuple[str, ...] = _kept(_TEXTS)
    judge: Mapping[str, JsonValue] | None = _kept(_MAYBE)
    doubtful: Mapping[str, Mapping[str, str]] = _kept(_DOUBTS)
    quarantined: tuple[TaskName, ...] = _kept(_NAMES)
    may_break: Mapping[TaskName, tuple[str, ...]] = _kept(_RULES)
    must_pass: tuple[TaskName, ...] = _kept(_NAMES)
    expired: tuple[TaskName, ...] = _kept(_NAMES)
    prompts: Mapping[str, JsonValue] = _kept(_OBJECT)
    setups: Mapping[str, JsonValue] = _kept(_OBJECT)
    resumed: tuple[JsonValue, ...] = _kept(_VALUES)
    resumed_anyway: tuple[str, ...] = _kept(_TEXTS)
    prices: str = _kept(_TEXT)
    replay_misses: Mapping[str, JsonValue] = _kept(_OBJECT)
    variants: Mapping[str, JsonValue] = _kept(_OBJECT)
    slim: bool = _kept(_FLAG)
    reason: str = _kept(_TEXT)
    rescored: str = _kept(_TEXT)
    records_failures: bool = False
    stands: Mapping[str, JsonValue] | None = field(default=None, compare=False, repr=False)

    @property
    def shard(self) -> Shard | None:
        """The part of a whole that this session is, or `None`.

        Raises:
            ValueError: what it says of a shard means nothing.
        """
        shards = [one.removeprefix(SHARD) for one in self.selection if one.startswith(SHARD)]
        return Shard.read(shards[0]) if shards else None


_TABLE: Final = tuple(
    (one.name, *one.metadata["form"], one.metadata["always"], one.metadata["where"])
    for one in fields(SessionOptions)
    if one.metadata
)


def read_session_options(stands: Mapping[str, JsonValue]) -> SessionOptions:
    """Read the options of a header; what is missing or of a wrong type is empty."""
    known: dict[str, Any] = {}
    for name, read, *_, where in _TABLE:
        if name in stands:
            known[name] = read(stands[name])
        if where:
            known[where] = name in stands
    return SessionOptions(**known, stands=dict(stands))


def options_to_json(options: SessionOptions) -> dict[str, JsonValue]:
    """Return what `read_session_options` reads: as it stood, but for what has changed since."""
    found = dict(options.stands or {})
    for name, read, write, always, where in _TABLE:
        value = getattr(options, name)
        is_there = name in found
        is_kept = is_there and read(found[name]) == value
        is_told = value != read(None) or (always and (is_there or options.stands is None))
        if not (getattr(options, where) if where else is_told or is_kept):
            found.pop(name, None)
        elif not is_kept:
            found[name] = write(value)
    return found


# The first line of a saved session: what was asked of whom, and judged how.

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


# What the header of a saved session says of the agents themselves.


def setups_of(header: SessionHeader) -> Mapping[str, Setup]:
    """Return what each agent says of itself; of one that says nothing, what it was given."""
    from pytest_sopbench._core.comparing.comparison import Setup  # noqa: PLC0415 - only where sessions are compared

    told, hashes = header.options.setups, header.options.prompts
    found = {name: _setup(told, hashes, name) for name in dict.fromkeys((*told, *hashes))}
    # What the session was given says nothing more of an agent that lists its own settings.
    return found or {header.agent: Setup(agent=header.agent, settings=dict(header.agent_args))}


def _setup(told: Mapping[str, JsonValue], hashes: Mapping[str, JsonValue], name: str) -> Setup:
    from pytest_sopbench._core.comparing.comparison import Setup  # noqa: PLC0415 - only where sessions are compared

    said = _setup_object(told, name)
    settings = said.get("settings")
    return Setup(
        agent=_text(said, "agent"),
        model=_text(said, "model"),
        prompt=_text(said, "prompt"),
        prompt_hash=_text(hashes, name),
        settings={key: str(one) for key, one in settings.items()}
        if isinstance(settings, Mapping)
        else None,
    )


def _setup_object(held: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    found = held.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(held: Mapping[str, JsonValue], name: str) -> str:
    found = held.get(name)
    return found if isinstance(found, str) else ""
