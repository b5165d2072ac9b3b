"""Domains and their judging rules: what rests on tasks, contracts and expected calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_sopbench._core.contract.rules import Contract
from pytest_sopbench._core.model.task import LookupTool, OutputField, Scoring, Task, ToolSpec
from pytest_sopbench._core.model.trajectory import ExpectedCall


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
