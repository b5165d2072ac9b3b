"""Domains, the rules that their runs are judged by, and the hash of these rules.

Two sessions are comparable if their rules have one hash. What decides an outcome belongs into the
rules, and so into the hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.model.task import (
    ASKED_OF_OTHERS,
    Compare,
    LookupTool,
    McpServer,
    OutputField,
    Scoring,
    Task,
    ToolSpec,
)
from pytest_sopbench._core.model.world import StateChange, World, WorldTool
from pytest_sopbench._core.trajectory.calls import ExpectedCall

from .contract import Contract, Rule, ValueCondition
from .steps import Procedure, split_sop


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRules:
    """How the end state of a run is judged: against the one that its task, or the policy, leaves.

    Attributes:
        columns: the tables that matter, and of each the columns that do; none names all.
        generated: the tables whose keys tools make up, so that a new row is known by the others.
        private: columns whose values no reason tells.
        digest: of the world, and of the policy if that says what is right.
        by_policy: whether the policy says so; its changes are asked of `expected`.
        expected: the changes that the policy makes, by the id of the task, or why nobody knows
            them.
    """

    columns: Mapping[str, tuple[str, ...]]
    generated: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()
    digest: str = ""
    by_policy: bool = False
    expected: Mapping[str, tuple[StateChange, ...] | str] = field(
        default_factory=dict[str, "tuple[StateChange, ...] | str"]
    )


# Without slots, since what is known of its fields is found out once and not for each run.
@dataclass(frozen=True, kw_only=True)
class JudgingRules:
    """How the runs of one domain are judged: built once, the same for all of its tasks.

    Without a `contract` no rule is checked. `expected_calls` are the calls that a run should
    make, by the id of its task; a task that is not there has none to be held against. `sop` is
    the procedure, whose own examples are no answer if an agent pastes it. With `document` the
    answer is a JSON document, and there are no `fields`. `world` are the tables that tools change,
    and `state` says how they are judged, if they are. `comparers` says of each field that others
    compare by what they do so, down to its version.
    """

    fields: tuple[OutputField, ...]
    scoring: Scoring = Scoring.EXACT
    sop: str = ""
    contract: Contract | None = None
    expected_calls: Mapping[str, tuple[ExpectedCall, ...]] = field(
        default_factory=dict[str, "tuple[ExpectedCall, ...]"]
    )
    document: DocumentRules | None = None
    comparers: Mapping[str, str] = field(default_factory=dict[str, str])
    world: World | None = None
    state: StateRules | None = None

    @cached_property
    def asked_of_others(self) -> tuple[OutputField, ...]:
        """The fields that others compare."""
        return tuple(one for one in self.fields if one.compare in ASKED_OF_OTHERS)

    @cached_property
    def private(self) -> frozenset[str]:
        """The names of the fields that are masked."""
        return frozenset(one.name for one in self.fields if one.private)

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """The names of the fields that are not compared."""
        return tuple(one.name for one in self.fields if one.compare is Compare.IGNORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One SOP with its tool specs, tools and tasks: a folder.

    Attributes:
        name: what `--sop-domain` takes.
        folder: where its files lie.
        data_file: the file with its rows.
        sop: the text of the procedure, as the agent is shown it.
        tool_specs: its tools, as a model is shown them.
        fields: its output fields, and how each is compared.
        tasks: one for each row, in the order of the rows. They may be built on demand, so index
            the sequence and do not keep what it returns.
        task_ids: the ids of the tasks, in the same order.
        input_columns: the columns that the agent is given.
        title: for readers, like `description`, `industry`, `licence` and `version`.
        private_columns: never given to an agent, and masked in every output.
        lookups: tools without code, by name.
        world: the tables that its tools change, if it has any.
        world_tools: tools without code that look into the world or change it, by name.
        state: how the end state of a run is judged, if the domain says that it is.
        tools_file: `tools.py`, if the domain has one.
        mcp: the MCP server that serves its tools, if the domain names one.
        policy_file: `policy.py`, if the domain has one.
        reject_bad_arguments: whether a call that breaks its spec is refused.
        contract: the rules about tool calls, if there are any.
        expected_calls: the calls that are expected, by the id of the task.
        document: how its answers are judged, if they are JSON documents and it has no tools.
        own_steps: the steps that its `steps.json` gives, if the domain has one.
        warnings: what is odd about the folder, one sentence each.
        notices: those of the warnings that decide what is right, which each session says aloud.
        hashes: of content (`sop`, `specs`, `tools`, `data`), so they survive a reformatting.
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
    world: World | None = None
    world_tools: Mapping[str, WorldTool] = field(default_factory=dict[str, WorldTool])
    state: StateRules | None = None
    tools_file: Path | None = None
    mcp: McpServer | None = None
    policy_file: Path | None = None
    reject_bad_arguments: bool = False
    contract: Contract | None = None
    expected_calls: Mapping[str, tuple[ExpectedCall, ...]] = field(
        default_factory=dict[str, "tuple[ExpectedCall, ...]"]
    )
    document: DocumentRules | None = None
    own_steps: Procedure | None = None
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def codeless(self) -> frozenset[str]:
        """The names of the tools without code."""
        return frozenset((*self.lookups, *self.world_tools))

    @property
    def procedure(self) -> Procedure:
        """The SOP as steps: those of `steps.json`, else those that its text shows."""
        return self.own_steps or split_sop(self.sop)


def judging_rules(domain: Domain) -> JudgingRules:
    """Return how the runs of a domain are judged, if nobody asks for something else."""
    return JudgingRules(
        fields=domain.fields,
        sop=domain.sop,
        contract=domain.contract,
        expected_calls=domain.expected_calls,
        document=domain.document,
        world=domain.world,
        state=domain.state,
    )


# Whether two sessions were judged alike.

# Made at import, as what hangs on it must not hang on what an agent puts into `json`.
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)

_NAMES: Final[Mapping[type, str]] = {ValueCondition: "Comparison"}
"""Types that had another name once; by the new one no older baseline would be comparable."""

VERSION = 7
"""Counts up when the judge itself decides otherwise than before for the same rules."""


def rules_fingerprint(rules: Mapping[str, JudgingRules]) -> str:
    """Hash what decides whether an answer matches, or a contract holds.

    That is types, aliases, tolerances, scoring, the versions of the functions that compare, the
    rules without the clauses they cite, and, if answers are read out of texts, the major version
    of what reads their Markdown.

    The known labels of a field are no part of it: they come from the rows, word reasons and
    decide nothing, and a row that is added must not make a baseline incomparable.

    Args:
        rules: by the name of their domain; the order of domains and of fields means nothing.
    """
    material = {
        "version": VERSION,
        "domains": {
            name: {
                "scoring": one.scoring.value,
                **({"markdown": _markdown_version()} if one.document is None else {}),
                **_document(one.document),
                **_state(one.state),
                "fields": {
                    field.name: {**_field(field), **_compared(field, one)} for field in one.fields
                },
                "rules": _rules(one.contract),
            }
            for name, one in rules.items()
        },
    }
    return sha256(_ENCODER.encode(material).encode()).hexdigest()


def contract_fingerprint(contract: Contract | None) -> str:
    """Hash what the rules of a contract demand, without the clauses they cite."""
    return sha256(_ENCODER.encode(_rules(contract)).encode()).hexdigest()


def _rules(contract: Contract | None) -> dict[str, Any]:
    return {rule.id: _rule(rule) for rule in contract.rules} if contract else {}


def _markdown_version() -> str:
    # Known without loading it, which only a text without any mark asks for.
    return version("markdown-it-py").partition(".")[0]


def _field(field: OutputField) -> dict[str, Any]:
    return {
        "type": field.type.value,
        "aliases": dict(field.aliases),
        "tolerance": field.tolerance,
        "ordered": field.ordered,
        "compare": field.compare.value,
    }


def _document(rules: DocumentRules | None) -> dict[str, Any]:
    # Left out if there is none, so that what was judged before keeps its hash.
    if rules is None:
        return {}
    return {
        "schema": rules.schema,
        "ignored": sorted(rules.ignored),
        "ordered": sorted(rules.ordered),
    }


def _state(rules: StateRules | None) -> dict[str, Any]:
    if rules is None:
        return {}
    columns = {name: sorted(one) for name, one in rules.columns.items()}
    return {"state": {"columns": columns, "by": rules.digest}}


def _compared(field: OutputField, rules: JudgingRules) -> dict[str, Any]:
    # Said only if there is something to say, so that other baselines keep their hash.
    said: dict[str, Any] = {}
    if field.spelled:
        said |= {"units": field.units, "grouping": field.grouping, "decimal": field.decimal}
    if field.formats:
        said["formats"] = field.formats
    if field.key:
        said["key"] = field.key
    if field.compare is Compare.JSON:
        ignored, ordered = sorted(field.ignored_paths), sorted(field.ordered_paths)
        said |= {"ignored": ignored, "ordered_paths": ordered}
    if field.compare in ASKED_OF_OTHERS:
        said |= {"comparer": rules.comparers.get(field.name, ""), "at_least": field.at_least}
    return said


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "demand": _spelled(rule.demand),
        "severity": rule.severity.value,
        "when": _spelled(rule.when),
    }


def _spelled(value: object) -> Any:
    """Write a value of a rule with the name of its type, since `all` and `any` look alike."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: _spelled(getattr(value, one.name)) for one in fields(value)}
        return {_NAMES.get(type(value), type(value).__name__): named}
    if isinstance(value, Mapping):
        return {name: _spelled(one) for name, one in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_spelled(one) for one in cast("Sequence[object]", value)]
    return value
