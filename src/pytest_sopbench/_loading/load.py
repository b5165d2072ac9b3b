"""One domain, loaded from its folder.

Its files are read in turn, and none of its code runs. Tools without code come last: each is held
against the columns and records that it serves, and none may hand the agent an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import LookupTool, McpServer, ToolSpec
from pytest_sopbench._core.model.world import WorldTool
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError, ToolSpecError

from .contract import domain_contract
from .documents import load_document_domain
from .files import (
    did_you_mean,
    digest,
    is_a_file,
    listed,
    read_text,
    refuse_links_out,
    shown,
    text_digest,
    unordered_digest,
)
from .layout import Layout, lay_out, task_ids
from .metadata import DATA_FILE as PUBLISHED_DATA
from .metadata import (
    FILE_NAMES,
    NAME_RULE,
    Described,
    DocumentMetadata,
    described_in,
    is_domain_name,
    read_metadata,
)
from .outputs import empty_warnings, label_warnings, output_fields
from .rows import Records, RecordTable, TaskRows, record_tables
from .steps_file import FILE_NAME as STEPS_FILE
from .steps_file import own_steps, steps_as_json
from .tables import ColumnType, Table, infer_type, odd_cell, read_table, rename
from .tools import EXPECTED_CALLS_FILE as EXPECTED_CALLS
from .tools import TOOL_SPECS_FILE as SPECS_FILE
from .tools import ToolEntry, mcp_server, read_expected_calls, read_tool_specs
from .world_file import STATE_FILE, WORLD_FILE, DomainWorld, read_world, state_rules

SOP_FILES = ("sop.txt", "sop.md", "SKILL.md")
DATA_FILES = (PUBLISHED_DATA, "data.csv", "tasks.jsonl")
TOOLS_FILE = "tools.py"
POLICY_FILE = "policy.py"

FILES = (
    *FILE_NAMES, *SOP_FILES, *DATA_FILES, SPECS_FILE, TOOLS_FILE, POLICY_FILE, STEPS_FILE,
    EXPECTED_CALLS, WORLD_FILE, STATE_FILE,
)  # fmt: skip
"""The files that a domain has by their names; its metadata names others."""


def is_domain_folder(folder: Path) -> bool:
    """Whether a folder says that it is a domain, or does not let us see whether it does.

    One with an SOP and tasks has lost what describes it: its tasks are not passed over.
    """
    try:
        return bool(described_in(folder)) or all(
            any((folder / name).exists() for name in names) for names in (SOP_FILES, DATA_FILES)
        )
    except PermissionError:
        # Told when it is loaded; a listing has it among the broken ones.
        return True


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
    data_file, data_notices = _data_file(folder)
    table = rename(read_table(data_file), metadata.columns, source=described.path)
    layout = lay_out(described, table, specs)
    tables = record_tables(described, table, layout) if metadata.tables else ()
    fields = output_fields(described, table)
    ids = task_ids(table, layout.id_column, layout.inputs)
    types = _types(described, table, layout)
    calls_file, tools = folder / EXPECTED_CALLS, [spec.name for spec in specs]
    expected: Mapping[str, tuple[ExpectedCall, ...]] = {}
    if is_a_file(calls_file):
        expected = read_expected_calls(calls_file, tasks=ids, tools=tools)
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
    records = Records(tables={one.name: one for one in tables}, tasks=tasks)
    lookups = lookup_tools(described, layout, specs, records, but=world_tools)
    tools_file, policy_file = _optional(folder / TOOLS_FILE), _optional(folder / POLICY_FILE)
    mcp = mcp_server(described, specs, {**lookups, **world_tools}, tools_file)
    tools_hash = _tools_hash(lookups, tools_file, mcp, world, reject=metadata.reject_bad_arguments)
    notices = (
        *data_notices,
        *empty_warnings(described, fields, table),
        *_odd_cells(described, table, layout),
    )
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
            *layout.warnings,
            *(warning for one in tables for warning in one.warnings),
            *(() if tools_file or mcp else unserved(specs, {**lookups, **world_tools})),
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


# Tools without code: check that each serves what it may, and never an answer.

_LEAKS = {
    "returns": "would hand the agent the expected answer",
    "value": "would hand the agent the expected answer",
}
_TELLS = "would tell the agent when its answer is right"


def lookup_tools(
    described: Described,
    layout: Layout,
    specs: Sequence[ToolSpec],
    records: Records,
    but: Collection[str] = (),
) -> Mapping[str, LookupTool]:
    """The entries of `tools`, by name, but for those that work on the world.

    Raises:
        ToolSpecError: no spec has the name; a column or a parameter does not exist; the entry
            would serve, or compare with, an expected answer or a private column.
        RowError: a record lacks what the entry asks for, or is not the only one.
    """
    by_name = {spec.name: spec for spec in specs}
    tools: dict[str, LookupTool] = {}
    for name, entry in described.metadata.tools.items():
        if name in but:
            continue
        if name not in by_name:
            raise ToolSpecError(
                described.path,
                f"key 'tools.{name}': no tool spec has this name",
                hint=did_you_mean(name, by_name)
                or f"toolspecs.json has {listed(by_name) or 'no tool'}",
            )
        tools[name] = _Entry(described, by_name[name], entry, layout, records).tool()
    return tools


def unserved(specs: Iterable[ToolSpec], tools: Collection[str]) -> Iterator[str]:
    """Yield a warning of the tools that nothing can answer for, if there are any."""
    names = [spec.name for spec in specs if spec.name not in tools]
    if names:
        yield (
            f"nothing answers for {listed(names)}: there is no tools.py,"
            " and 'tools' has no entry; calls of them fail"
        )


@dataclass(frozen=True, slots=True)
class _Entry(ToolEntry):
    """One entry of `tools` with all that it is checked against."""

    layout: Layout
    records: Records

    def tool(self) -> LookupTool:
        entry = self.entry
        self._check_kind()
        returns = tuple(entry.returns) if entry.value is None else (entry.value,)
        in_table = self._in_table()
        served = self._row_columns() if entry.table is None else in_table
        for name in returns:
            self._check_column("value" if entry.value else "returns", name, served)
        for key, pairs in (("key", entry.key), ("check", entry.check)):
            known = (*in_table, *self._row_columns()) if key == "key" else self._row_columns()
            for parameter, column in pairs.items():
                self._check_column(key, column, known)
                self.parameter(key, parameter)
        record_key = {one: column for one, column in entry.key.items() if column in in_table}
        if entry.table is not None:
            alone = None if entry.many else tuple(record_key.values())
            self.records.check(entry.table, (*record_key.values(), *returns), alone)
        pairs = {**entry.key, **entry.check}
        return LookupTool(
            name=self.spec.name,
            key=tuple(one for one in entry.key if one not in record_key),
            check=tuple(entry.check),
            returns=returns,
            missing=entry.missing,
            result=entry.result,
            table=entry.table or "",
            record_key=tuple(record_key),
            columns={one: column for one, column in pairs.items() if one != column},
            bare=entry.value is not None,
            many=entry.many,
            not_found=entry.not_found,
        )

    def _check_kind(self) -> None:
        """See that the entry serves one thing, and says nothing that has no effect."""
        kinds = [kind for kind in ("returns", "value", "result") if self._serves(kind)]
        if not kinds:
            hint = "add 'returns' (columns) or 'result' (a constant)"
            self.refuse("", "says nothing to serve", hint)
        if self.entry.table is not None and kinds == ["result"]:
            kinds = ["table", *kinds]
        if kinds[1:]:
            self.refuse("", f"has both {kinds[0]!r} and {kinds[1]!r}", "keep one of them")
        twice = set(self.entry.key) & set(self.entry.check)
        if twice:
            problem = f"{min(twice)!r} stands in 'key' as well"
            self.refuse(".check", problem, "keep it in one of them")
        self._check_table_words()

    def _check_table_words(self) -> None:
        entry, given = self.entry, self.entry.model_fields_set
        idle = [key for key in ("many", "not_found") if key in given]
        if entry.table is None and idle:
            self.refuse(f".{idle[0]}", "there is no 'table' to look in", "add 'table'")
        if entry.many and "missing" in given:
            problem = "a list of many records has their empty columns as nulls"
            hint = "take it off; 'not_found' says what happens when no record fits"
            self.refuse(".missing", problem, hint)
        if not entry.many and entry.not_found == "empty":
            problem = "only a list can be empty, and there is no 'many'"
            self.refuse(".not_found", problem, 'add "many": true, or take it off')

    def _serves(self, kind: str) -> bool:
        entry = self.entry
        return (
            "result" in entry.model_fields_set if kind == "result" else bool(getattr(entry, kind))
        )

    def _in_table(self) -> tuple[str, ...]:
        """The columns of the records that the tool looks in, but for what no agent may see."""
        name = self.entry.table
        if name is None:
            return ()
        self._check_column(
            "table", name, (*self.records.tables, *self._row_columns()), "table or column"
        )
        if name in self.layout.private:
            self.refuse_private("table", name)
        return self.records.columns(name)

    def _row_columns(self) -> tuple[str, ...]:
        return (*self.layout.inputs, *self.layout.results)

    def _check_column(
        self, key: str, name: str, known: Sequence[str], what: str = "column"
    ) -> None:
        layout = self.layout
        if name in {layout.tags, layout.acceptable, layout.disagreement, *layout.outputs}:
            problem = f"{name!r} speaks about the answer, and {_LEAKS.get(key, _TELLS)}"
            self.refuse(f".{key}", problem, "take it off")
        if name in layout.private and key in _LEAKS:
            self.refuse_private(key, name)
        if name not in known:
            in_table = key in _LEAKS and self.entry.table is not None
            where = f"table {self.entry.table!r}" if in_table else "the data file"
            hint = did_you_mean(name, known) or f"it has {listed(known)}"
            self.refuse(f".{key}", f"{where} has no {what} {name!r}", hint)
