"""Rules about tool specs: do rows and implementations fit them?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from pytest_sopbench._audit.model import Finding, Place, error, warning
from pytest_sopbench._audit.policy_source import frozen
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.model.task import LookupTool, ToolSpec
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import listed, shown
from pytest_sopbench._loading.load import TOOLS_FILE
from pytest_sopbench._loading.tools import TOOL_SPECS_FILE as SPECS_FILE
from pytest_sopbench._loading.tools import parameter_names


@warning("row-breaks-spec", "What a row says of a parameter is not what the spec of a tool allows.")
def _rows_break_spec(subject: Subject) -> Iterator[Finding]:
    """One fault for each column and the rows of it, whatever number of tools they break."""
    tools: dict[tuple[str, tuple[int, ...]], list[tuple[ToolSpec, str]]] = {}
    for spec in subject.domain.tool_specs:
        for name in parameter_names(spec):
            column = _column_of(subject, spec, name)
            broken = _broken_rows(subject, spec, name, column) if column else []
            if broken:
                tools.setdefault((column, tuple(broken)), []).append((spec, name))
    for (name, rows), broken_by in tools.items():
        names = [spec.name for spec, _ in broken_by]
        first = subject.tasks[rows[0]]
        value, cell = {**first.results, **first.inputs}[name], subject.cell(name, rows[0])
        yield Finding(
            place=Place(file=subject.data_file, line=first.line, column=name, tool=names[0]),
            what=f"{subject.rows(rows)} break the spec of {listed(names)}, such as {shown(value)}",
            do=_as_text(name) if all(_takes(*one, cell) for one in broken_by) else _CORRECT,
        )


_CORRECT: Final = "correct the cells, or the spec: a call with what the row says counts as bad"


def _as_text(column: str) -> str:
    declared = json.dumps({"types": {column: "text"}})[1:-1]
    return f"the cells are read as numbers or lists, and the spec says text: {declared}"


def _takes(spec: ToolSpec, name: str, cell: JsonValue) -> bool:
    """Whether the spec takes the text of the cell, as it is written."""
    validator = _validator(spec, name)
    return isinstance(cell, str) and validator is not None and validator.is_valid(cell)


def _column_of(subject: Subject, spec: ToolSpec, name: str) -> str:
    """The column of a row with which a call would be made; empty if there is none."""
    if not subject.tasks:
        return ""
    first, lookup = subject.tasks[0], subject.domain.lookups.get(spec.name)
    if lookup is not None and name in (*lookup.key, *lookup.check):
        column = lookup.column_of(name)
        return column if column in first.inputs or column in first.results else ""
    if name in first.inputs:
        return name
    return name if lookup is None and name in first.results else ""


def _broken_rows(subject: Subject, spec: ToolSpec, name: str, column: str) -> list[int]:
    validator = _validator(spec, name)
    if validator is None:
        return []
    known: dict[str, bool] = {}
    broken: list[int] = []
    for position, task in enumerate(subject.tasks):
        value = {**task.results, **task.inputs}.get(column)
        # A blank is nothing that a call could be made with.
        if value in (None, "", [], {}):
            continue
        key = frozen(value)
        if key not in known:
            known[key] = validator.is_valid(value)
        if not known[key] and _may_be_called(subject, spec, position):
            broken.append(position)
    return broken


def _may_be_called(subject: Subject, spec: ToolSpec, position: int) -> bool:
    """Whether somebody who follows the procedure calls the tool on this row, if that is known."""
    run = subject.observed.policy.get(position)
    return run is None or bool(run.error) or any(one.name == spec.name for one in run.calls)


def _validator(spec: ToolSpec, name: str) -> Any:
    properties = spec.parameters.get("properties")
    shape = properties.get(name) if isinstance(properties, Mapping) else None
    if not isinstance(shape, Mapping):
        return None
    kept = {key: spec.parameters[key] for key in ("$defs", "definitions") if key in spec.parameters}
    try:
        return jsonschema_rs.validator_for({**kept, **shape})
    except ValueError:
        # It refers to a part of the schema that is not here.
        return None


@error("spec-without-tool", "A tool has a spec, and nothing serves it.")
def _specs_without_tools(subject: Subject) -> Iterator[Finding]:
    domain = subject.domain
    sights = subject.observed.tools
    idle = [one.name for one in domain.tool_specs if one.name not in domain.codeless]
    if domain.tools_file is None and domain.mcp is None and idle:
        yield Finding(
            place=Place(file=SPECS_FILE),
            what=f"nothing serves {listed(idle)}",
            do=f"add a {TOOLS_FILE}, or name them under 'tools' in the metadata",
        )
    for name in idle if domain.tools_file is not None else ():
        if name in sights and sights[name].unknown:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=name),
                what="the manager answers as it answers to a tool that there is not",
                do="implement it, or take its spec away",
            )


@warning("tool-without-spec", "The manager has the method of a tool that no spec names.")
def _tools_without_specs(subject: Subject) -> Iterator[Finding]:
    named = {spec.name for spec in subject.domain.tool_specs}
    for name in subject.observed.extra_tools:
        if name not in named:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=name),
                what="the manager has a method of this name, and there is no spec of it",
                do="write its spec, or let its name begin with an underscore",
            )


@error("parameter-not-accepted", "Spec and implementation of a tool have different parameters.")
def _unaccepted(subject: Subject) -> Iterator[Finding]:
    for spec in subject.domain.tool_specs:
        sight = subject.observed.tools.get(spec.name)
        signature = sight.signature if sight is not None else None
        names = parameter_names(spec)
        # A method that takes the whole mapping names no parameter of the spec.
        if signature is None or not set(names) & set(signature.accepts):
            continue
        refused = [one for one in names if one not in signature.accepts]
        if refused and not signature.anything:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=spec.name),
                what=f"its method does not accept {listed(map(repr, refused))}, which its spec has",
                do="accept it, or take it out of the spec",
            )
        lacking = [one for one in signature.required if one not in names]
        if lacking:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=spec.name),
                what=f"its method needs {listed(map(repr, lacking))}, which its spec does not have",
                do="add it to the spec, or give it a default",
            )


@warning("optional-key", "A look-up tool needs a parameter that its spec does not require.")
def _optional_keys(subject: Subject) -> Iterator[Finding]:
    for spec in subject.domain.tool_specs:
        lookup = subject.domain.lookups.get(spec.name)
        if lookup is None:
            continue
        required = spec.parameters.get("required")
        needed = required if isinstance(required, list) else []
        for name in (*lookup.key, *lookup.check, *lookup.record_key):
            if name not in needed:
                yield Finding(
                    place=Place(file=SPECS_FILE, column=name, tool=spec.name),
                    what="the tool looks it up, and the spec does not require it",
                    do="add it to 'required': a call without it fails",
                )


@warning(
    "unread-argument",
    "A look-up tool requires an argument that a column tells, and never looks at it.",
)
def _unread(subject: Subject) -> Iterator[Finding]:
    for spec in subject.domain.tool_specs:
        lookup = subject.domain.lookups.get(spec.name)
        unread = _not_looked_at(subject, spec, lookup) if lookup is not None else []
        if unread:
            yield Finding(
                place=Place(file=subject.metadata_file, tool=spec.name),
                what=f"it requires {listed(map(repr, unread))} and does not look at it",
                do="name it in 'key' or 'check', or a call for another row is served",
            )


def _not_looked_at(subject: Subject, spec: ToolSpec, lookup: LookupTool) -> list[str]:
    """Required parameters that a column says the value of; of a constant nothing is asked."""
    required = spec.parameters.get("required")
    looked_at = {*lookup.key, *lookup.check, *lookup.record_key}
    names: list[JsonValue] = required if isinstance(required, list) and lookup.returns else []
    row = {**subject.tasks[0].inputs, **subject.tasks[0].results} if subject.tasks else {}
    return [str(name) for name in names if name in row and name not in looked_at]
