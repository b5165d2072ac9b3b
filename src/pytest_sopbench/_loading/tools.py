"""The tool specs of a domain, and the calls that a task expects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from pytest_sopbench._core.model.task import McpServer, ToolSpec
from pytest_sopbench._core.trajectory.calls import ExpectedCall, read_groups
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._settings.readers import ENV
from pytest_sopbench.errors import LoadingError, ToolSpecError

from .files import (
    cut,
    did_you_mean,
    listed,
    read_json,
    read_json_lines,
)
from .metadata import Described, LookupShape

# Read tool specs in the four shapes that providers and protocols have for them.

TOOL_SPECS_FILE = "toolspecs.json"

_SHAPES = (
    "a tool spec is {'toolSpec': {...}}, {'type': 'function', 'function': {...}},"
    " {'name', 'description', 'inputSchema'} or {'name', 'description', 'parameters'}"
)
_ADDRESS: Final = re.compile(r"https?://[^/?#@\s]+(?:[/?#]\S*)?")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Under these keys stand values, which may look like schemas and are none.
_VALUES = frozenset({"const", "default", "enum", "example", "examples"})
# Under these keys stand schemas by name, and the name may look like a keyword.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def read_tool_specs(path: Path) -> tuple[ToolSpec, ...]:
    """Read a list of tool specs, in the order of the file.

    Raises:
        LoadingError: the file cannot be read.
        ToolSpecError: it is no list, or one of the specs cannot be used.
    """
    content = read_json(path)
    if isinstance(content, Mapping) and isinstance(content.get("tools"), list):
        content = content["tools"]
    if not isinstance(content, list):
        raise ToolSpecError(path, "not a list of tool specs", hint=_SHAPES)
    specs: dict[str, ToolSpec] = {}
    for place, entry in enumerate(content, 1):
        spec = _spec(path, place, entry)
        if spec.name in specs:
            raise ToolSpecError(
                path,
                f"tool {place} is called {spec.name!r}, and so is one before it",
                hint="give each tool a name of its own",
            )
        specs[spec.name] = spec
    return tuple(specs.values())


def parameter_names(spec: ToolSpec) -> tuple[str, ...]:
    """The names of a tool's parameters."""
    properties = spec.parameters.get("properties")
    return tuple(properties) if isinstance(properties, Mapping) else ()


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One entry of `tools`, the spec of its tool, and the errors that name it."""

    described: Described
    spec: ToolSpec
    entry: LookupShape

    def parameter(self, key: str, name: str) -> str:
        """Return the name of a parameter; refuse one that the tool does not have."""
        parameters = parameter_names(self.spec)
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            hint = hint or f"its parameters: {listed(parameters) or 'none'}"
            self.refuse(f".{key}", f"the tool has no parameter {name!r}", hint)
        return name

    def refuse_private(self, key: str, name: str) -> NoReturn:
        hint = "private columns never reach the agent; take it off"
        self.refuse(f".{key}", f"{name!r} is a private column", hint)

    def refuse(self, key: str, problem: str, hint: str) -> NoReturn:
        path, name = self.described.path, self.spec.name
        raise ToolSpecError(path, f"key 'tools.{name}{key}': {problem}", hint=hint)


def _spec(path: Path, place: int, entry: JsonValue) -> ToolSpec:
    inner = _unwrapped(entry)
    if inner is None:
        raise ToolSpecError(path, f"tool {place} is not a tool spec", hint=_SHAPES)
    name = inner.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ToolSpecError(path, f"tool {place} has no name", hint=_SHAPES)
    label = f"tool {place} ({name!r})"
    description = inner.get("description") or ""
    if not isinstance(description, str):
        raise ToolSpecError(path, f"{label}: the description is not a text")
    schema = _object_schema(path, label, _schema(inner))
    _check_references(path, label, schema)
    _check_schema(path, label, schema)
    return ToolSpec(name=name, description=description, parameters=schema)


def _unwrapped(entry: JsonValue) -> Mapping[str, JsonValue] | None:
    if not isinstance(entry, Mapping):
        return None
    for wrapper in ("toolSpec", "function"):
        inner = entry.get(wrapper)
        if inner is not None:
            return inner if isinstance(inner, Mapping) else None
    return entry


def _schema(inner: Mapping[str, JsonValue]) -> JsonValue:
    schema = inner.get("inputSchema", inner.get("parameters"))
    if isinstance(schema, Mapping) and set(schema) == {"json"}:
        return schema["json"]
    return schema


def _object_schema(path: Path, label: str, schema: JsonValue) -> Mapping[str, JsonValue]:
    if schema is None:
        # How OpenAI writes a function without parameters.
        return {"type": "object", "properties": {}}
    if not isinstance(schema, Mapping):
        raise ToolSpecError(path, f"{label}: the schema of its arguments is not an object")
    if schema.get("type", "object") != "object":
        raise ToolSpecError(
            path,
            f"{label}: the schema of its arguments has the type {schema['type']!r}",
            hint="arguments have names, so their schema has the type 'object'",
        )
    return {"type": "object", **schema}


def _check_references(path: Path, label: str, schema: JsonValue) -> None:
    for reference in references(schema):
        if not reference.startswith("#"):
            raise ToolSpecError(
                path,
                f"{label}: '$ref' to {reference!r}, which lies outside of the schema",
                hint="nothing is fetched for a tool spec: copy the schema into '$defs' and refer"
                " to '#/$defs/NAME'",
            )


def references(value: JsonValue) -> Iterator[str]:
    """Yield what a schema refers to, at every depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _REFERENCES and isinstance(inner, str):
                yield inner
            elif key not in _VALUES:
                # A parameter may be called '$ref' or 'default' without being the keyword.
                if key in _NAMED and isinstance(inner, Mapping):
                    inner = list(inner.values())  # noqa: PLW2901 - what stands under the names
                yield from references(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from references(inner)


def _check_schema(path: Path, label: str, schema: Mapping[str, JsonValue]) -> None:
    import jsonschema_rs  # noqa: PLC0415 - only if it is asked for

    try:
        jsonschema_rs.validator_for(dict(schema), retriever=_never_fetched)
    except jsonschema_rs.ValidationError as fault:
        place = "/".join(str(part) for part in fault.instance_path)
        where = f" at {place!r}" if place else ""
        raise ToolSpecError(
            path, f"{label}: not a valid JSON schema{where}: {cut(fault.message)}"
        ) from fault


def _never_fetched(uri: str) -> NoReturn:
    raise LoadingError(uri, "nothing is fetched for a tool spec")


# The MCP server that serves the tools, from `mcp` in the metadata.


def mcp_server(
    described: Described,
    specs: Sequence[ToolSpec],
    lookups: Collection[str],
    tools_file: Path | None,
) -> McpServer | None:
    """Return the MCP server that the metadata name, or `None` if they name none.

    Raises:
        ToolSpecError: it is neither a program nor an address, or has nothing to serve.
    """
    given = described.metadata.mcp
    if given is None:
        return None
    values = [*given.env.values(), *given.headers.values()]
    named = [one.removeprefix(ENV) for one in values if one.startswith(ENV)]
    either = 'write {"command": ["PROGRAM", "ARGUMENT"]} or {"url": "https://HOST/mcp"}'
    # Of an address nothing is quoted: it may hold a password.
    faults = (
        (bool(given.command) == bool(given.url), "a server is a program or an address", either),
        (given.command[:1] == [""], "the program of 'command' is empty", either),
        (
            bool(given.url) and not _ADDRESS.fullmatch(given.url),
            "'url' is no address of http or https, or it names a user",
            "secrets stand in 'headers', as env:NAME",
        ),
        (bool(given.url and given.env), "'env' is for a program", "an address has 'headers'"),
        (bool(given.command and given.headers), "'headers' are for an address", "write 'env'"),
        (not all(map(str.isidentifier, named)), "no variable has such a name", "write env:NAME"),
        (tools_file is not None, "there is a tools.py as well", "keep one of the two"),
        (all(one.name in lookups for one in specs), "'tools' serves every tool", "keep one"),
    )
    for is_so, problem, hint in faults:
        if is_so:
            raise ToolSpecError(described.path, f"key 'mcp': {problem}", hint=hint)
    return McpServer(
        command=tuple(given.command), url=given.url, env=given.env, headers=given.headers
    )


# The calls that are expected of each task, from `expected_calls.jsonl` beside the data.

EXPECTED_CALLS_FILE = "expected_calls.jsonl"

LINE = '{"task": "T_1", "calls": [{"name": "tool", "arguments": {"parameter": 1}}]}'
"""What a line looks like, for hints."""


def read_expected_calls(
    path: Path, *, tasks: Collection[str], tools: Collection[str]
) -> Mapping[str, tuple[ExpectedCall, ...]]:
    """Read one line per task; a task without a line has no expected calls.

    Args:
        path: the file.
        tasks: the ids of the domain's tasks.
        tools: the names of its tools.

    Raises:
        LoadingError: a line is no such object, names a task or a tool that the domain does not
            have, or a task that a line before it named; carries the line.
    """
    ids, names = frozenset(tasks), frozenset(tools)
    expected: dict[str, tuple[ExpectedCall, ...]] = {}
    for number, data in read_json_lines(path):
        try:
            task, calls = _expected_of(data)
        except ValueError as fault:
            raise LoadingError(path, str(fault), row=number, hint=f"write {LINE}") from fault
        if task not in ids:
            problem = f"the domain has no task {task!r}"
            raise LoadingError(path, problem, row=number, hint=did_you_mean(task, ids))
        if task in expected:
            problem = f"task {task!r} stands on a line before"
            raise LoadingError(path, problem, row=number, hint="give each task one line")
        for step, call in enumerate(calls, start=1):
            if call.name not in names:
                problem = f"call {step}: no tool is called {call.name!r}"
                raise LoadingError(path, problem, row=number, hint=did_you_mean(call.name, names))
        expected[task] = calls
    return expected


def _expected_of(data: JsonValue) -> tuple[str, tuple[ExpectedCall, ...]]:
    match data:
        case {"task": str() as task, "calls": list() as calls, **others} if not others:
            return task, read_groups(calls, ExpectedCall)
        case _:
            msg = "not an object with a text 'task' and a list 'calls'"
            raise ValueError(msg)
