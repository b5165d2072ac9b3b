"""One domain, loaded from its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import LookupTool, McpServer, ToolSpec
from pytest_sopbench._core.model.world import WorldTool
from pytest_sopbench._core.steps import Decisions, Scripted
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.contract import domain_contract, domain_expected_calls
from pytest_sopbench._loading.documents import load_document_domain
from pytest_sopbench._loading.domain.layout import Layout, lay_out, task_ids
from pytest_sopbench._loading.domain.lookup_tools import lookup_tools, unserved
from pytest_sopbench._loading.domain.outputs import (
    answers_left_empty,
    label_warnings,
    output_fields,
)
from pytest_sopbench._loading.domain.rows import (
    Records,
    RecordTable,
    TaskRows,
    record_tables,
)
from pytest_sopbench._loading.domain.steps_file import FILE_NAME as STEPS_FILE
from pytest_sopbench._loading.domain.steps_file import own_steps, steps_as_json
from pytest_sopbench._loading.domain.tools import TOOL_SPECS_FILE as SPECS_FILE
from pytest_sopbench._loading.domain.tools import mcp_server, read_tool_specs
from pytest_sopbench._loading.domain.world_file import (
    STATE_FILE,
    WORLD_FILE,
    DomainWorld,
    read_world,
    state_rules,
)
from pytest_sopbench._loading.files.cells import (
    NAME_RULE,
    ColumnType,
    did_you_mean,
    infer_type,
    is_domain_name,
    odd_cell,
    shown,
)
from pytest_sopbench._loading.files.document import (
    digest,
    is_a_file,
    read_json,
    read_text,
    refuse_links_out,
    text_digest,
    unordered_digest,
)
from pytest_sopbench._loading.files.table import Table, read_table, rename
from pytest_sopbench._loading.metadata import DATA_FILE as PUBLISHED_DATA
from pytest_sopbench._loading.metadata import FILE_NAMES, Described, DocumentMetadata, read_metadata
from pytest_sopbench.errors import LoadingError

SOP_FILES = ("sop.txt", "sop.md", "SKILL.md")
DATA_FILES = (PUBLISHED_DATA, "data.csv", "tasks.jsonl")
TOOLS_FILE = "tools.py"
POLICY_FILE = "policy.py"
EXPECTED_CALLS = "expected_calls.jsonl"

FILES = (
    *FILE_NAMES, *SOP_FILES, *DATA_FILES, SPECS_FILE, TOOLS_FILE, POLICY_FILE, STEPS_FILE,
    EXPECTED_CALLS, WORLD_FILE, STATE_FILE,
)  # fmt: skip
"""The files that a domain has by their names; its metadata names others."""


def load_domain(folder: Path, *, name: str | None = None) -> Domain:
    """Load the domain that a folder holds; none of its code runs.

    Args:
        folder: the folder with `metadata.json` or `domain.toml`.
        name: what to call the domain, if not as its metadata does.

    Raises:
        LoadingError: a file is missing or cannot be used; carries its path, line and column.
    """
    if not folder.is_dir():
        raise LoadingError(folder, "no such folder")
    refuse_links_out(folder, FILES)
    described = read_metadata(folder)
    metadata = described.metadata
    domain = metadata.name if name is None else name
    if not is_domain_name(domain):
        raise LoadingError(folder, f"{domain!r} cannot be the name of a domain", hint=NAME_RULE)
    sop = _sop(folder)
    if isinstance(metadata, DocumentMetadata):
        policy = _optional(folder / POLICY_FILE)
        return load_document_domain(described, metadata, name=domain, sop=sop, policy=policy)
    steps = own_steps(folder, sop)
    specs, spec_warnings = _specs(described, folder)
    data_file, data_warnings = _data_file(folder)
    table = rename(read_table(data_file), metadata.columns, source=described.path)
    layout = lay_out(described, table, specs)
    tables = _tables(described, table, layout)
    fields = output_fields(described, table)
    ids = task_ids(table, layout.id_column, layout.inputs)
    types = _types(described, table, layout)
    expected = domain_expected_calls(described, specs, ids)
    world = read_world(described, layout, specs, ids)
    world_tools: Mapping[str, WorldTool] = {} if world is None else world.tools
    tasks = TaskRows(
        domain=domain,
        table=table,
        layout=layout,
        types=types,
        outputs=fields,
        ids=ids,
        tables=tables,
        expected_calls=expected,
        world=world,
    )
    tasks.check(tuple(metadata.types))
    records = Records(tables=tables, tasks=tasks)
    lookups = lookup_tools(described, layout, specs, records, but=world_tools)
    tools_file, policy_file = _optional(folder / TOOLS_FILE), _optional(folder / POLICY_FILE)
    mcp = mcp_server(described, specs, {**lookups, **world_tools}, tools_file)
    tools_hash = _tools_hash(lookups, tools_file, mcp, world, reject=metadata.reject_bad_arguments)
    notices = (*answers_left_empty(described, fields, table), *_odd_cells(described, table, layout))
    return Domain(
        name=domain,
        folder=folder,
        data_file=data_file,
        sop=sop,
        tool_specs=specs,
        fields=fields,
        tasks=tasks,
        task_ids=ids,
        input_columns=layout.inputs,
        title=metadata.title,
        description=metadata.description,
        industry=metadata.industry,
        licence=metadata.licence,
        version=metadata.version,
        private_columns=layout.private,
        lookups=lookups,
        world=None if world is None else world.world,
        world_tools=world_tools,
        state=state_rules(described, layout, world, policy_file, tools_hash),
        tools_file=tools_file,
        mcp=mcp,
        policy_file=policy_file,
        reject_bad_arguments=metadata.reject_bad_arguments,
        contract=domain_contract(
            described, layout, specs, tasks, expected, {} if world is None else world.columns
        ),
        expected_calls=expected,
        own_steps=steps,
        warnings=(
            *described.warnings,
            *spec_warnings,
            *data_warnings,
            *layout.warnings,
            *(warning for one in tables for warning in one.warnings),
            *_tool_warnings(specs, unserved(specs, {**lookups, **world_tools}), tools_file or mcp),
            *label_warnings(fields, table),
            *(steps.warnings if steps else ()),
            *notices,
        ),
        notices=notices,
        hashes={
            "sop": text_digest(sop) if steps is None else digest(steps_as_json(sop, steps)),
            "specs": digest([[one.name, one.description, one.parameters] for one in specs]),
            "tools": tools_hash,
            "data": _data_hash(table, tables),
        },
    )


def _sop(folder: Path) -> str:
    found = [folder / name for name in SOP_FILES if is_a_file(folder / name)]
    if not found:
        raise LoadingError(
            folder,
            "no sop.txt and no sop.md and no SKILL.md",
            hint="the procedure stands in one of them",
        )
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise LoadingError(folder, f"has both {names}", hint="keep one")
    text = read_text(found[0])
    if not text.strip():
        raise LoadingError(found[0], "the file is empty", hint="write the procedure into it")
    return text


def _data_file(folder: Path) -> tuple[Path, tuple[str, ...]]:
    found = [name for name in DATA_FILES if is_a_file(folder / name)]
    if not found:
        raise LoadingError(
            folder,
            "no rows: it has neither data.csv nor test_set_with_outputs.csv nor tasks.jsonl",
            hint="each row is one task: inputs, tool results and expected outputs",
        )
    if found == [PUBLISHED_DATA, "data.csv"]:
        # Public folders have both; only this one has the outputs.
        return folder / PUBLISHED_DATA, (f"data.csv is not read, {PUBLISHED_DATA} is",)
    if len(found) > 1:
        raise LoadingError(folder, f"has both {found[0]} and {found[1]}", hint="keep one")
    return folder / found[0], ()


def _specs(described: Described, folder: Path) -> tuple[tuple[ToolSpec, ...], tuple[str, ...]]:
    path = folder / SPECS_FILE
    if is_a_file(path):
        specs = read_tool_specs(path)
        _check_distractors(described, specs)
        return specs, () if specs else (f"{SPECS_FILE} lists no tool: the agent has no tools",)
    if described.metadata.tools or described.metadata.mcp or (folder / TOOLS_FILE).is_file():
        raise LoadingError(
            folder,
            f"there are tools and no {SPECS_FILE}",
            hint="a model needs the name, description and argument schema of each tool",
        )
    return (), (f"no {SPECS_FILE}: the agent has no tools",)


def _check_distractors(described: Described, specs: Sequence[ToolSpec]) -> None:
    names = [spec.name for spec in specs]
    for name in described.metadata.distractors:
        if name not in names:
            problem = f"key 'distractors': no tool spec has the name {name!r}"
            raise LoadingError(described.path, problem, hint=did_you_mean(name, names))


def _tables(described: Described, table: Table, layout: Layout) -> tuple[RecordTable, ...]:
    if not described.metadata.tables:
        return ()
    return record_tables(described, table, layout)


def _types(described: Described, table: Table, layout: Layout) -> Mapping[str, ColumnType]:
    declared = described.metadata.types
    types: dict[str, ColumnType] = {}
    for name in (*layout.inputs, *layout.results):
        if name in declared:
            types[name] = ColumnType(declared[name])
        else:
            types[name] = ColumnType.WRITTEN if table.typed else infer_type(table.cells(name))
    for name in declared:
        if name not in types:
            raise LoadingError(
                described.path, f"key 'types': {name!r} is neither an input nor a tool result"
            )
    return types


def _odd_cells(described: Described, table: Table, layout: Layout) -> Iterator[str]:
    """Yield the single cell that makes text of a tool result which is something else."""
    for name in layout.results:
        is_told = table.typed or name in described.metadata.types
        odd = None if is_told else odd_cell(table.cells(name))
        if odd is not None:
            place, word = odd
            cell = "a cell" if name in layout.private else shown(table.cells(name)[place])
            yield (
                f"{table.path.name}, row {table.lines[place]}, column {name!r}: {cell} is the only"
                f" one that is no {word}, so tools serve the whole column as text; correct it, or"
                f" say so in 'types'"
            )


def _optional(path: Path) -> Path | None:
    return path if is_a_file(path) else None


def _tool_warnings(
    specs: tuple[ToolSpec, ...], missing: str, others: Path | McpServer | None
) -> tuple[str, ...]:
    return (missing,) if specs and missing and others is None else ()


def _tools_hash(
    lookups: Mapping[str, LookupTool],
    tools_file: Path | None,
    mcp: McpServer | None,
    world: DomainWorld | None,
    *,
    reject: bool,
) -> str:
    tools: Mapping[str, JsonValue] = {name: _said(tool) for name, tool in lookups.items()}
    code = text_digest(read_text(tools_file)) if tools_file else ""
    content: dict[str, JsonValue] = {
        "tools": tools,
        "code": code,
        "reject_bad_arguments": reject,
        **({} if world is None else {"world": world.digest}),
    }
    if mcp is not None:
        content["mcp"] = {**asdict(mcp), "command": [*mcp.command]}
    return digest(content)


def _said(tool: LookupTool) -> JsonValue:
    # Without what is not said of tables, so that tools which have none keep their hash.
    plain = asdict(LookupTool(name=tool.name))
    first = ("name", "key", "check", "returns", "missing", "result")
    return {
        key: value for key, value in asdict(tool).items() if key in first or value != plain[key]
    }


def _data_hash(table: Table, tables: Sequence[RecordTable]) -> str:
    names = sorted(table.columns)
    places = [table.columns.index(name) for name in names]
    rows = unordered_digest([row[place] for place in places] for row in table.rows)
    content: dict[str, JsonValue] = {"columns": names, "rows": rows}
    if tables:
        content["tables"] = {
            one.name: unordered_digest([*key, group.hash] for key, group in one.groups.items())
            for one in tables
        }
    return digest(content)


# The file of `sop_approver = scripted:PATH`: who reads it decides like its author.


def read_script(path: Path) -> Scripted:
    """Read a script of decisions.

    Its keys are steps, `*` stands for all others, and decisions for one task stand below its name:
    `{"4": true, "7": "no signature", "*": false, "dangerous_goods/P_13041": {"7": true}}`.

    Raises:
        LoadingError: the file cannot be read, or holds something else.
    """
    data = read_json(path)
    if not isinstance(data, Mapping):
        hint = 'write {"STEP": true, "STEP": "why it is denied", "*": false}'
        raise LoadingError(path, "must be an object with a decision for each step", hint=hint)
    tasks = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    steps = {key: value for key, value in data.items() if key not in tasks}
    for name in tasks:
        if "/" not in name:
            hint = "decisions for one task stand under DOMAIN/TASK"
            raise LoadingError(path, "no task is called so", column=name, hint=hint)
    return Scripted(
        decisions=_decisions(path, steps, ""),
        tasks={name: _decisions(path, one, f"{name}: ") for name, one in tasks.items()},
    )


def _decisions(path: Path, given: Mapping[str, JsonValue], place: str) -> Decisions:
    read: dict[str, bool | str] = {}
    for step, value in given.items():
        if not isinstance(value, bool | str) or value == "":
            hint = "write true, false, or a text that says why it is denied"
            problem = f"{shown(value)} is no decision"
            raise LoadingError(path, problem, column=f"{place}{step}", hint=hint)
        read[step] = value
    return read
