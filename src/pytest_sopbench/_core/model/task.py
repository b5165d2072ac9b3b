"""What a task is: its fields, its key and its agent, and the share of them that a machine takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from pytest_sopbench._core.values.json import JsonValue

# The values that travel the road from a row to a rate.
#
# All are frozen. The words are those of the glossary: a *task* is one situation, a *run* is one
# agent on one task, a *trace* is what was observed of it, a *verdict* is what came of it.


class FieldType(StrEnum):
    """How the cells of one column, or the values of one output field, are read."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    LIST = "list"
    ENUM = "enum"
    TEXT = "text"


class Compare(StrEnum):
    """What an output field asks of an answer: the right value, any value, or nothing.

    With `MATCHES` and `ONE_OF` the expected cell holds patterns, with `CONTAINS_ALL` phrases, with
    `JSON` a document. With `SIMILAR` a text has to be as like the expected one as is declared. With
    `CALL` a function of the user says whether a value is right, with `JUDGE` a model.
    """

    EXACT = "exact"
    PRESENT = "present"
    IGNORE = "ignore"
    MATCHES = "matches"
    ONE_OF = "one_of"
    CONTAINS_ALL = "contains_all"
    JSON = "json"
    SIMILAR = "similar"
    CALL = "call"
    JUDGE = "judge"


PUBLISHED_TOO: Final = frozenset({Compare.EXACT, Compare.PRESENT, Compare.IGNORE})
"""Comparisons that the published scorer knows as well, in its own way."""

# Not a set: the hash of a member is Python's own, and this is asked of each field of each run.
ASKED_OF_OTHERS: Final = (Compare.CALL, Compare.JUDGE, Compare.SIMILAR)
"""Comparisons that the judge does not make: whoever makes them is asked before it judges."""


class Scoring(StrEnum):
    """Whose rules decide: ours, or those of the published SOP-Bench scorer."""

    EXACT = "exact"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputField:
    """A named part of the answer, and how it is compared.

    Attributes:
        name: as in `output_columns`.
        type: how its values are read.
        values: the known labels of an enum field, as written.
        aliases: another accepted spelling to the label it stands for.
        tolerance: how far a number may be off, in its own unit.
        ordered: whether a list has to have the same order.
        compare: whether the right value, any value or none is asked for, or who says.
        comparer: what compares it, if that is a function: `module:function`, or the name by
            which it is registered.
        rubric: what a model judges it by, if one does.
        at_least: the score from which on a value is right whose comparer returns a score alone.
        units: the spellings of the unit that may stand beside a number.
        grouping: what may stand between the thousands of a number, and `decimal` before its
            fraction.
        formats: how a date may be written, as `strptime` has it, beside the ISO format.
        key: the name by which the items of a list are told apart, if they are objects.
        ignored_paths: places of a document that are not compared.
        ordered_paths: lists in a document whose order counts.
        declared: whether `metadata.json` says the type, or it was inferred from the column.
        private: whether its values are masked in every output.
    """

    name: str
    type: FieldType
    values: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerance: float = 0.0
    ordered: bool = False
    compare: Compare = Compare.EXACT
    declared: bool = False
    private: bool = False
    comparer: str = ""
    at_least: float | None = None
    rubric: str = ""
    units: tuple[str, ...] = ()
    grouping: str = ""
    decimal: str = "."
    formats: tuple[str, ...] = ()
    key: str = ""
    ignored_paths: tuple[str, ...] = ()
    ordered_paths: tuple[str, ...] = ()

    @property
    def spelled(self) -> bool:
        """Whether its numbers are written otherwise than JSON and Python write them."""
        return bool(self.units or self.grouping or self.decimal != ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is shown it.

    Attributes:
        name: what the agent calls it by.
        description: what it does, in the words of the domain.
        parameters: a JSON schema of type object.
    """

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupTool:
    """A tool without code, which serves columns of the task's own row, or a constant.

    `key` and `check` name parameters that must equal a column: the one that `columns` has for
    the parameter, or the one of the same name. `returns` names the columns that are served, as
    an object, or as the value itself if `bare`. `missing` says what happens when all of them
    are empty: `error` is a `ToolError`, `null` serves nulls. A tool with `returns` empty serves
    `result`.

    With `table` the columns of `returns` are those of the task's records of that name, and
    `record_key` are the parameters that choose among them. `many` serves a list of all that
    fit, empty columns as nulls; else one fits at most. `not_found` says what happens when none
    does: `error` is a `ToolArgumentError`, `empty` serves an empty list.
    """

    name: str
    key: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    missing: str = "error"
    result: JsonValue = None
    table: str = ""
    record_key: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    bare: bool = False
    many: bool = False
    not_found: str = "error"

    def column_of(self, parameter: str) -> str:
        """The column that a parameter has to equal."""
        return self.columns.get(parameter, parameter)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """An MCP server that serves a domain's tools: a program that is started, or an address.

    Attributes:
        command: the program and its arguments; empty if there is an address.
        url: the address; empty if there is a program.
        env: variables of the program's environment.
        headers: headers of every request to the address.

    A value `env:NAME` of `env` or `headers` is read from the environment late, and never recorded.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One situation: what the agent is given, and the answer that is expected of it.

    Attributes:
        domain: the name of the domain.
        id: the id of the task, unique in its domain; it never depends on the order of rows.
        line: the line of the data file on which the row starts, counted from 1.
        inputs: what the agent is given: input column to value, typed.
        expected: the right answer: output field to value, in the type of the field.
        expected_as_written: the same as it stands in the data file, which is what is judged by;
            if it is not given, it is `expected`.
        results: the columns that are neither inputs nor outputs: what tools may serve.
        tables: the task's own records of each table beside the data file, which tools may serve.
        acceptable: further right answers, each of the shape of `expected`.
        disagreement: why the expected answer is known to contradict the SOP; empty if it
            does not.
        tags: what `--sop-tags` selects by.
        world: the rows that the task adds to the world, or changes, by table.
        expected_state: the rows that a right run leaves behind otherwise than it found them;
            `None` if that is not said.
        hash: of the row, the output fields and the tools; only tasks of equal hash are compared.
    """

    domain: str
    id: str
    line: int
    inputs: Mapping[str, JsonValue]
    expected: Mapping[str, JsonValue]
    expected_as_written: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    results: Mapping[str, JsonValue]
    acceptable: tuple[Mapping[str, JsonValue], ...] = ()
    disagreement: str = ""
    tags: tuple[str, ...] = ()
    hash: str
    tables: Mapping[str, Sequence[Mapping[str, JsonValue]]] = field(
        default_factory=dict[str, "Sequence[Mapping[str, JsonValue]]"]
    )

    world: Mapping[str, Sequence[Mapping[str, JsonValue]]] = field(
        default_factory=dict[str, "Sequence[Mapping[str, JsonValue]]"]
    )
    expected_state: Mapping[str, Sequence[Mapping[str, JsonValue]]] | None = None

    def __post_init__(self) -> None:
        if not self.expected_as_written:
            object.__setattr__(self, "expected_as_written", self.expected)


# What names a run, a task or a group of runs, and what stands for a value that is not shown.

MASK = "***"
"""What stands in every output for the value of a private column."""


class RunKey(NamedTuple):
    """What makes a run this run and no other: one agent on one task, once."""

    domain: str
    task: str
    trial: int = 1
    agent: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> RunKey:
        """Read what `_asdict` returns from a line that may hold more.

        Raises:
            KeyError: a part is missing.
        """
        return cls(data["domain"], data["task"], data["trial"], data["agent"])


class TaskName(NamedTuple):
    """A task by its domain and its id."""

    domain: str
    task: str

    def __str__(self) -> str:
        return f"{self.domain}/{self.task}"


class TaskKey(NamedTuple):
    """A task as two sessions have it in common; `agent` is empty if each has one agent."""

    domain: str
    task: str
    agent: str = ""


class GroupKey(NamedTuple):
    """The runs of one agent on one domain, which are counted together."""

    domain: str
    agent: str

    def title(self, groups: Collection[GroupKey]) -> str:
        """Return what the group is called among all groups of its session.

        That is the name of its domain, and beside it the agent if several ran on the domain.
        """
        agents = sum(group.domain == self.domain for group in groups)
        return self.domain if agents == 1 else f"{self.domain} ({self.agent})"


def agent_of(title: str) -> str:
    """Return the agent of the group that is called so; nothing if its domain had one agent."""
    return title.partition(" (")[2].removesuffix(")")


def agents_of(groups: Collection[GroupKey]) -> Mapping[str, str]:
    """Return the agent of each group by what the group is called."""
    return {group.title(groups): group.agent for group in groups}


def domain_of(title: str) -> str:
    """Return the domain of the group that is called so; the name of a domain has no blank."""
    return title.partition(" (")[0]


# Short labels for the agents of one session, which tell them apart wherever room is short.

PARAMETER: Final = "sop_agent["
"""How the name of an agent begins that is a parameter of the fixture `sop_agent`."""


def of_parameter(label: str) -> str:
    """Return what runs are filed under whose agent is a parameter of the fixture `sop_agent`."""
    return f"{PARAMETER}{label}]"


def parameter_of(agent: str) -> str | None:
    """Return the parameter that an agent is, or `None` if it is none."""
    return agent[len(PARAMETER) : -1] if agent.startswith(PARAMETER) else None


def labels_of(agents: Collection[str]) -> Mapping[str, str]:
    """Return a label for each agent: the shortest end of its name that no other agent could have.

    `function-calling:openai/gpt-5-mini` is `gpt-5-mini`. Beside `react:openai/gpt-5-mini` it is
    `function-calling:gpt-5-mini`, and beside `function-calling:openai-responses/gpt-5-mini` it is
    `openai/gpt-5-mini`. The labels depend on nothing but the set of agents.

    Args:
        agents: their names, each once: what the user called them, or their specs.
    """
    forms = {agent: _forms(agent) for agent in agents}
    holders: dict[str, int] = {}
    for some in forms.values():
        for form in some:
            holders[form] = holders.get(form, 0) + 1
    # If another agent could be called by each of its forms, an agent keeps its whole name: the
    # other one cannot be called so, since two could be.
    return {
        agent: next((form for form in some if holders[form] == 1), agent)
        for agent, some in forms.items()
    }


def telling_labels(agents: Collection[str]) -> Mapping[str, str]:
    """Return a label for each agent if there are several, and nothing if one goes without."""
    several = {*agents}
    return labels_of(several) if len(several) > 1 else {}


def named_agents(text: str, agents: Collection[str]) -> Sequence[str]:
    """Return the agents that a user may mean: by name, or by label; none if there is no such."""
    if text in agents:
        return (text,)
    return tuple(agent for agent, label in labels_of(agents).items() if label == text)


def _forms(agent: str) -> Sequence[str]:
    """Return what an agent may be called, the shortest first; all of it is the last."""
    inner = parameter_of(agent)
    if inner is not None:
        return (inner, agent)
    kind, colon, rest = agent.partition(":")
    if not colon:
        return (agent,)
    if "/" in rest:
        tail = rest.rpartition("/")[2]
        ends = [tail, f"{kind}:{tail}", rest] if tail else []
    else:
        parts = kind.split(".")
        ends = [rest, *(f"{'.'.join(parts[-n:])}:{rest}" for n in range(1, len(parts)))]
    shorter = sorted(dict.fromkeys(ends), key=len)
    return (*(one for one in shorter if one and one != agent), agent)


# Which part of a session a task is in, and what shows that the parts are the whole.


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a shard has of one domain.

    `tasks` counts the tasks that all shards share out, `digest` is that of their ids, and `part`
    counts those that are the shard's own, before a sample or a limit takes some of them.
    """

    tasks: int
    digest: str
    part: int


def shard_number(task_id: str, count: int) -> int:
    """Return the shard of a task, from 1; by its id alone, so that new rows move no other."""
    return int.from_bytes(_hashed(task_id)[:8], "big") % count + 1


def ids_digest(ids: Iterable[str]) -> str:
    """Return a digest of a set of ids, whichever way they are ordered."""
    return sha256(b"".join(sorted(map(_hashed, {*ids})))).hexdigest()[:16]


def share_of(ids: Iterable[str], number: int, count: int) -> Share:
    """Return the share that the `number`-th of `count` shards has of some tasks."""
    every = {*ids}
    part = sum(shard_number(task, count) == number for task in every)
    return Share(tasks=len(every), digest=ids_digest(every), part=part)


def _hashed(task_id: str) -> bytes:
    return sha256(task_id.encode("utf-8", "backslashreplace")).digest()
