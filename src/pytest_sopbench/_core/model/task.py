"""The values that travel the road from a row to a rate.

All are frozen. The words are those of the glossary: a *task* is one situation, a *run* is one
agent on one task, a *trace* is what was observed of it, a *verdict* is what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    # These rest on the values below, so at run time only they import this module.
    from pytest_sopbench._core.contract.rules import Contract

    from .trajectory import ExpectedCall

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""What JSON can say; the only kind of value that leaves an agent or a tool."""


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
    """What an output field asks of an answer: the right value, any value, or nothing."""

    EXACT = "exact"
    PRESENT = "present"
    IGNORE = "ignore"


class Scoring(StrEnum):
    """Whose rules decide: ours, or those of the published SOP-Bench scorer."""

    EXACT = "exact"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputField:
    """A named part of the answer, and how it is compared.

    `values` are the known labels of an enum field, as written; `aliases` maps another accepted
    spelling to the label it stands for.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the runs of one domain are judged: built once, the same for all of its tasks.

    Without a `contract` no rule is checked. `expected_calls` are the calls that a run should
    make, by the id of its task; a task that is not there has none to be held against. `sop` is
    the procedure, whose own examples are no answer where an agent pastes it.
    """

    fields: tuple[OutputField, ...]
    scoring: Scoring = Scoring.EXACT
    sop: str = ""
    contract: Contract | None = None
    expected_calls: Mapping[str, tuple[ExpectedCall, ...]] = field(
        default_factory=dict[str, "tuple[ExpectedCall, ...]"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is shown it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupTool:
    """A tool without code, which serves columns of the task's own row, or a constant.

    `key` and `check` name parameters that must equal the column of the same name; `returns`
    names the columns that are served. `missing` says what happens when all of them are empty:
    `error` is a `ToolError`, `null` serves nulls. A tool with `returns` empty serves `result`.
    """

    name: str
    key: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    missing: str = "error"
    result: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One situation: what the agent is given, and the answer that is expected of it.

    `results` are the columns that are neither inputs nor outputs: what tools may serve.
    `line` is the line of the data file on which the row starts, counted from 1. `acceptable`
    are further right answers; `disagreement` is the reason why the expected answer is known to
    contradict the SOP, or empty.
    """

    domain: str
    id: str
    line: int
    inputs: Mapping[str, JsonValue]
    expected: Mapping[str, JsonValue]
    results: Mapping[str, JsonValue]
    acceptable: tuple[Mapping[str, JsonValue], ...] = ()
    disagreement: str = ""
    tags: tuple[str, ...] = ()
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One SOP with its tool specs, tools and tasks: a folder.

    `tasks` may build its tasks on demand, so index it and do not keep them; `task_ids` are
    their ids, in the order of the rows. `input_columns` are what the agent is given.
    `hashes` are of content (`sop`, `specs`, `tools`, `data`), so they survive a reformatting.
    """

    name: str
    folder: Path
    data_file: Path
    sop: str
    tool_specs: tuple[ToolSpec, ...]
    fields: tuple[OutputField, ...]
    tasks: Sequence[Task]
    task_ids: tuple[str, ...]
    input_columns: tuple[str, ...]
    title: str = ""
    description: str = ""
    industry: str = ""
    licence: str = ""
    version: str = ""
    private_columns: frozenset[str] = frozenset()
    lookups: Mapping[str, LookupTool] = field(default_factory=dict[str, LookupTool])
    tools_file: Path | None = None
    policy_file: Path | None = None
    reject_bad_arguments: bool = False
    contract: Contract | None = None
    expected_calls: Mapping[str, tuple[ExpectedCall, ...]] = field(
        default_factory=dict[str, "tuple[ExpectedCall, ...]"]
    )
    warnings: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
