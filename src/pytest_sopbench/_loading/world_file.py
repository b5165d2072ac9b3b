"""The world of a domain: `world.json`, what rows change in it, and the tools that work on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast

from pydantic import JsonValue as Json
from pydantic import ValidationError

from pytest_sopbench._core.contract import Operator
from pytest_sopbench._core.domain import StateRules
from pytest_sopbench._core.model.task import LookupTool, ToolSpec
from pytest_sopbench._core.model.world import (
    Argument,
    Key,
    NextKey,
    Precondition,
    Row,
    Rows,
    Value,
    Where,
    World,
    WorldTool,
    as_key,
)
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError, ToolSpecError

from .files import (
    did_you_mean,
    digest,
    is_a_file,
    listed,
    read_json,
    read_json_lines,
    read_text,
    shown,
    text_digest,
)
from .layout import Layout
from .metadata import Described, Flag, LookupShape, Shape, problems_of
from .tools import ToolEntry, parameter_names

WORLD_FILE: Final = "world.json"
STATE_FILE: Final = "expected_state.jsonl"

_TABLE = '{"tables": {"orders": {"key": "order_id", "rows": [{"order_id": "O-1"}]}}}'
_ROWS = '{"orders": [{"order_id": "O-1", "status": "closed"}]}'
_LINE = f'{{"task": "T_1", "state": {_ROWS}}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainWorld:
    """The world of a domain, and what its columns and keys are.

    Attributes:
        path: the file.
        world: its tables.
        columns: the columns of each table.
        tools: the tools without code that work on it.
        generated: the tables whose keys a tool makes up.
        expected: the states of `expected_state.jsonl`, by task, if there is such a file.
    """

    path: Path
    world: World
    columns: Mapping[str, tuple[str, ...]]
    tools: Mapping[str, WorldTool] = field(default_factory=dict[str, WorldTool])
    generated: frozenset[str] = frozenset()
    expected: Mapping[str, Rows] | None = None

    @property
    def digest(self) -> str:
        """The hash of its tables and tools."""
        return digest([_as_json(self.world), {n: repr(one) for n, one in self.tools.items()}])

    def rows(self, value: JsonValue, *, may_lack_key: bool) -> Rows:
        """Read the rows that a task adds or changes, or that a right run leaves.

        Args:
            value: as it stands in a cell or a line.
            may_lack_key: whether a new row may be without a key that a tool makes up.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(value, Mapping):
            _wrong(f"{shown(value)} is no object of tables; write {_ROWS}")
        return {
            table: tuple(self._rows_of(table, rows, may_lack_key=may_lack_key))
            for table, rows in value.items()
        }

    def _rows_of(self, table: str, rows: JsonValue, *, may_lack_key: bool) -> Iterator[Row]:
        if table not in self.columns:
            hint = did_you_mean(table, self.columns) or f"it has {listed(self.columns)}"
            _wrong(f"the world has no table {table!r}; {hint}")
        if not isinstance(rows, list):
            _wrong(f"table {table!r} is no list of rows; write {_ROWS}")
        key, columns, seen = self.world.keys[table], self.columns[table], set[Key]()
        for number, row in enumerate(rows, start=1):
            lacks_key = isinstance(row, Mapping) and key not in row
            try:
                if not (lacks_key and may_lack_key and table in self.generated):
                    one = _key_of(key, row, number)
                    if one in seen:
                        _wrong(f"row {number}: {key} {one!r} stands twice")
                    seen.add(one)
            except ValueError as fault:
                _wrong(f"table {table!r}, {fault}")
            found = cast("Row", row)
            unknown = next((name for name in found if name not in columns), None)
            if unknown is not None:
                hint = did_you_mean(unknown, columns) or f"it has {listed(columns)}"
                _wrong(f"table {table!r}, row {number}: no column {unknown!r}; {hint}")
            yield found


def read_world(
    described: Described, layout: Layout, specs: Sequence[ToolSpec], ids: Collection[str]
) -> DomainWorld | None:
    """Read `world.json` and what speaks of it; nothing if a domain has none.

    Raises:
        LoadingError: the file, or a tool that works on it, cannot be used; a key speaks of a world
            that is not there.
    """
    path = described.path.parent / WORLD_FILE
    metadata = described.metadata
    if not is_a_file(path):
        asking = [
            key
            for key in ("world_column", "expected_state_column", "judged_state")
            if getattr(metadata, key)
        ]
        asking += [f"tools.{name}" for name, entry in metadata.tools.items() if action_of(entry)]
        if asking:
            problem = f"key {asking[0]!r}: the domain has no {WORLD_FILE}"
            raise LoadingError(described.path, problem, hint=f"write one: {_TABLE}")
        return None
    known = _tables(path)
    parts = {one.name: one for one in specs}
    tools: dict[str, WorldTool] = {}
    columns = {name: [*names] for name, (_, names, _) in known.items()}
    entries = {
        name: entry
        for name, entry in metadata.tools.items()
        if action_of(entry) or entry.table in known
    }
    for entry in entries.values():
        if entry.insert is not None and entry.insert in columns and isinstance(entry.set, Mapping):
            has = columns[entry.insert]
            has += [one for one in entry.set if one not in has]
    for name, (_, _, rows) in known.items():
        if not rows and len(columns[name]) == 1:
            problem = f"table {name!r}: nothing says which columns it has"
            raise LoadingError(path, problem, hint='add "columns": [...]')
    world = World(
        keys={name: key for name, (key, _, _) in known.items()},
        rows={name: rows for name, (_, _, rows) in known.items()},
    )
    fixed = {name: tuple(one) for name, one in columns.items()}
    for name, entry in entries.items():
        if name not in parts:
            problem = f"key 'tools.{name}': no tool spec has this name"
            raise ToolSpecError(described.path, problem, hint=did_you_mean(name, parts))
        reader = _ToolReader(described, parts[name], entry, layout, fixed)
        tools[name] = reader.tool(world.keys)
    generated = frozenset(
        one.table
        for one in tools.values()
        if isinstance(one.values.get(world.keys[one.table]), NextKey)
    )
    found = DomainWorld(path=path, world=world, columns=fixed, tools=tools, generated=generated)
    return replace(found, expected=_expected_states(found, described.path.parent, ids))


_Table: TypeAlias = tuple[str, tuple[str, ...], Mapping[Key, Row]]
"""Of a table its key, its columns and its rows."""


def _tables(path: Path) -> Mapping[str, _Table]:
    content = read_json(path)
    match content:
        case {"tables": dict() as tables, **others} if tables and not others:
            return {name: _table(path, name, one) for name, one in tables.items()}
        case _:
            problem = "must be an object with the one key 'tables', and at least one table in it"
            raise LoadingError(path, problem, hint=f"write {_TABLE}")


def _table(path: Path, name: str, content: JsonValue) -> _Table:
    try:
        return _rows(*_parts(content))
    except ValueError as fault:
        raise LoadingError(path, f"table {name!r}: {fault}", hint=f"write {_TABLE}") from None


def _parts(content: JsonValue) -> tuple[str, list[str] | None, list[JsonValue]]:
    if not isinstance(content, Mapping):
        _wrong(f"{shown(content)} is no object")
    odd = [one for one in content if one not in {"key", "columns", "rows"}]
    if odd:
        _wrong(f"key {odd[0]!r} is unknown; a table has 'key', 'rows' and 'columns'")
    key, declared, rows = content.get("key"), content.get("columns"), content.get("rows", [])
    if not isinstance(key, str) or not key:
        _wrong("needs 'key': the column that tells its rows apart")
    if declared is not None and not (
        isinstance(declared, list) and all(isinstance(one, str) for one in declared)
    ):
        _wrong("'columns' is no list of names")
    if not isinstance(rows, list):
        _wrong("'rows' is no list")
    return key, cast("list[str] | None", declared), rows


def _rows(key: str, declared: list[str] | None, rows: list[JsonValue]) -> _Table:
    columns = dict.fromkeys((key, *(declared or ())))
    found: dict[Key, Row] = {}
    for number, row in enumerate(rows, start=1):
        one = _key_of(key, row, number)
        if one in found:
            _wrong(f"row {number}: {key} {one!r} stands twice")
        found[one] = held = cast("Row", row)
        stranger = next((c for c in held if declared is not None and c not in columns), None)
        if stranger is not None:
            _wrong(f"row {number}: 'columns' does not name {stranger!r}")
        columns.update(dict.fromkeys(held))
    return key, tuple(columns), found


def _key_of(key: str, row: JsonValue, number: int) -> Key:
    if not isinstance(row, Mapping):
        _wrong(f"row {number}: {shown(row)} is no object")
    if key not in row:
        _wrong(f"row {number}: its key {key!r} is missing")
    try:
        return as_key(row[key])
    except ValueError as fault:
        _wrong(f"row {number}: {fault}")


def _wrong(problem: str) -> NoReturn:
    """Say what is wrong with a table, or with rows; whoever catches it knows the place."""
    raise ValueError(problem) from None


def _expected_states(
    known: DomainWorld, folder: Path, ids: Collection[str]
) -> Mapping[str, Rows] | None:
    path = folder / STATE_FILE
    if not is_a_file(path):
        return None
    tasks, found = frozenset(ids), dict[str, Rows]()
    for number, content in read_json_lines(path):
        if not isinstance(content, Mapping) or {*content} != {"task", "state"}:
            raise LoadingError(
                path, "not an object with 'task' and 'state'", row=number, hint=f"write {_LINE}"
            )
        task = content["task"]
        if not isinstance(task, str) or task not in tasks:
            raise LoadingError(path, f"the domain has no task {shown(task)}", row=number)
        if task in found:
            raise LoadingError(path, f"task {task!r} stands on a line before", row=number)
        try:
            found[task] = known.rows(content["state"], may_lack_key=True)
        except ValueError as fault:
            raise LoadingError(path, str(fault), row=number) from None
    lacking = [one for one in ids if one not in found]
    if lacking:
        raise LoadingError(
            path,
            f"no line for {len(lacking)} of {len(ids)} tasks, such as {lacking[0]!r}",
            hint='give each task a line; "state": {} says that nothing may change',
        )
    return found


# The tools.


def action_of(entry: LookupShape) -> Literal["", "search", "insert", "update", "transition"]:
    """Return what an entry of `tools` does to the world, but for a look-up."""
    for action in ("search", "insert", "update", "transition"):
        if getattr(entry, action) is not None:
            return cast("Literal['search']", action)
    return ""


_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "look_up": frozenset({"table", "key", "returns", "value", "missing", "many", "not_found"}),
    "search": frozenset({"search", "where", "order_by", "returns"}),
    "insert": frozenset({"insert", "set", "requires", "returns"}),
    "update": frozenset({"update", "key", "set", "requires", "returns"}),
    "transition": frozenset(
        {"transition", "key", "column", "from_", "to", "set", "requires", "returns", "error"}
    ),
}
"""The keys that each kind of tool may have."""

_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "look_up": (),
    "search": ("returns",),
    "insert": ("set",),
    "update": ("key", "set"),
    "transition": ("key", "column", "from_", "to"),
}


class _Requirement(Shape):
    """One condition of `requires`."""

    error: str
    where: Json = None
    table: str | None = None
    exists: Flag = True


@dataclass(frozen=True, slots=True)
class _ToolReader(ToolEntry):
    """One entry of `tools` that works on the world, with all that it is checked against."""

    layout: Layout
    tables: Mapping[str, tuple[str, ...]]

    def tool(self, keys: Mapping[str, str]) -> WorldTool:
        entry = self.entry
        action = action_of(entry) or "look_up"
        table = str(entry.table if action == "look_up" else getattr(entry, action))
        self._check_table(action, table)
        self._check_words(action)
        key = {p: self._column("key", table, c) for p, c in entry.key.items()}
        for parameter in key:
            self.parameter("key", parameter)
        returns = entry.returns if entry.value is None else [entry.value]
        served = tuple(self._served(table, name) for name in returns)
        if action == "look_up":
            return WorldTool(
                name=self.spec.name, action=action, table=table,
                lookup=self._lookup(table, key, served, keys),
            )  # fmt: skip
        for name in entry.order_by:
            self._column("order_by", table, name.removeprefix("-"))
        values = self._values(table, keys[table], insert=action == "insert")
        required = cast("Any", self.spec.parameters.get("required", ()))
        return WorldTool(
            name=self.spec.name,
            action=action,
            table=table,
            key=key,
            where=self._where("where", table, entry.where),
            order_by=tuple(entry.order_by),
            values=values,
            column=self._column("column", table, entry.column) if entry.column else "",
            sources=tuple(entry.from_) if isinstance(entry.from_, list) else (entry.from_,),
            target=self._value("to", entry.to),
            requires=tuple(self._requires(action, table)),
            returns=served,
            error=entry.error,
            optional=tuple(name for name in parameter_names(self.spec) if name not in required),
        )

    def _lookup(
        self, table: str, key: Mapping[str, str], served: tuple[str, ...], keys: Mapping[str, str]
    ) -> LookupTool:
        entry = self.entry
        if not served:
            self.refuse("", "says nothing to serve", "add 'returns', a list of columns")
        if not entry.many and keys[table] not in key.values():
            hint = f"add \"many\": true, or name the key {keys[table]!r} under 'key'"
            self.refuse(".key", "does not tell the rows of the table apart", hint)
        return LookupTool(
            name=self.spec.name, returns=served, missing=entry.missing, table=table,
            record_key=tuple(key), columns={p: c for p, c in key.items() if p != c},
            bare=entry.value is not None, many=entry.many, not_found=entry.not_found,
        )  # fmt: skip

    def _check_table(self, action: str, table: str) -> None:
        if table not in self.tables:
            hint = did_you_mean(table, self.tables) or f"it has {listed(self.tables)}"
            self.refuse(f".{action}", f"{WORLD_FILE} has no table {table!r}", hint)
        if table in self.described.metadata.tables or table in self.layout.results:
            where = "a table beside the data file, or a column, has this name too"
            self.refuse(f".{action}", f"{table!r}: {where}", "rename one of them")

    def _check_words(self, action: str) -> None:
        given = self.entry.model_fields_set
        for word in sorted(given - _WORDS[action]):
            name = word.rstrip("_")
            others = listed(one.rstrip("_") for one in sorted(_WORDS[action]))
            self.refuse(f".{name}", f"means nothing beside {action!r}", f"its keys: {others}")
        for word in _NEEDS[action]:
            if word not in given or getattr(self.entry, word) in ({}, [], ""):
                self.refuse("", f"needs {word.rstrip('_')!r}", "")

    def _values(self, table: str, key: str, *, insert: bool) -> Mapping[str, Value]:
        given = self.entry.set
        if given is None:
            return {}
        if not isinstance(given, Mapping) or not given:
            self.refuse(".set", f"{shown(given)} is no object of columns", "")
        values = {self._column("set", table, c): self._value("set", v) for c, v in given.items()}
        if insert and key not in values:
            self.refuse(".set", f"gives no key {key!r}", f'such as {{"{key}": {{"next": "R-"}}}}')
        if not insert and key in values:
            self.refuse(".set", f"changes the key {key!r}", "a row keeps its key")
        others = [c for c, v in values.items() if isinstance(v, NextKey) and c != key]
        if others:
            self.refuse(".set", f"{others[0]!r} is not the key, and 'next' makes keys", "")
        return values

    def _value(self, key: str, given: JsonValue) -> Value:
        if isinstance(given, Mapping) and len(given) == 1:
            ((word, name),) = given.items()
            if word == "argument" and isinstance(name, str):
                return Argument(name=self.parameter(key, name))
            if word == "next" and isinstance(name, str):
                return NextKey(prefix=name)
        return given

    def _requires(self, action: str, table: str) -> Iterator[Precondition]:
        given = self.entry.requires
        if given is None:
            return
        if not isinstance(given, list) or not given:
            self.refuse(".requires", f"{shown(given)} is no list of conditions", "")
        for number, one in enumerate(given):
            yield self._precondition(f"requires[{number}]", action, table, one)

    def _precondition(self, place: str, action: str, table: str, given: JsonValue) -> Precondition:
        try:
            one = _Requirement.model_validate(given)
        except ValidationError as fault:
            hint = "it has 'where', 'error', 'table' and 'exists'"
            self.refuse(f".{place}", problems_of(fault), hint)
        if one.model_extra or not one.error:
            what = f"{min(one.model_extra)!r} is unknown" if one.model_extra else "needs 'error'"
            self.refuse(f".{place}", what, "it has 'where', 'error', 'table' and 'exists'")
        if one.table is None and (action == "insert" or "exists" in one.model_fields_set):
            self.refuse(f".{place}", "needs 'table': there is no row yet to look at", "")
        if one.table is not None:
            self._check_table(place, one.table)
        where = self._where(f"{place}.where", one.table or table, one.where)
        if not where and one.table is None:
            self.refuse(f".{place}", "needs 'where'", "")
        return Precondition(where=where, error=one.error, table=one.table or "", exists=one.exists)

    def _where(self, key: str, table: str, given: JsonValue) -> tuple[Where, ...]:
        if given is None:
            return ()
        if not isinstance(given, Mapping):
            self.refuse(f".{key}", f"{shown(given)} is no object of columns", "")
        found: list[Where] = []
        for name, said in given.items():
            column = self._column(key, table, name)
            if column in self.layout.private:
                self.refuse_private(key, column)
            bounds = said if isinstance(said, Mapping) and "argument" not in said else None
            for operator, bound in (bounds or {"equals": said}).items():
                if bounds is not None and operator not in _OPERATORS:
                    known = listed(_OPERATORS)
                    self.refuse(f".{key}.{name}", f"{operator!r} is no comparison", known)
                value = self._value(f"{key}.{name}", bound)
                if isinstance(value, NextKey):
                    self.refuse(f".{key}.{name}", "'next' makes a key, and compares nothing", "")
                if operator == Operator.IN and not isinstance(value, list | Argument):
                    self.refuse(f".{key}.{name}", "'in' needs a list", "")
                found.append(Where(column=column, operator=operator, value=value))
        return tuple(found)

    def _served(self, table: str, name: str) -> str:
        if name in self.layout.private:
            self.refuse_private("returns", name)
        return self._column("returns", table, name)

    def _column(self, key: str, table: str, name: str) -> str:
        if name not in self.tables[table]:
            hint = did_you_mean(name, self.tables[table]) or f"it has {listed(self.tables[table])}"
            self.refuse(f".{key}", f"table {table!r} has no column {name!r}", hint)
        return name


_OPERATORS: Final = tuple(one.value for one in Operator if one is not Operator.MATCHES)
"""What a column can be compared by; patterns are for contracts."""


# Whether the end state is judged, and by what.

ANSWER, STATE = "answer", "state"


def state_rules(
    described: Described, layout: Layout, known: DomainWorld | None, policy: Path | None, tools: str
) -> StateRules | None:
    """Read `judged` and `judged_state`; nothing if the answer alone is judged.

    Args:
        described: the metadata.
        layout: the part of each column.
        known: the world.
        policy: the file of the reference policy.
        tools: a hash of the tools, which decide what the policy leaves.

    Raises:
        LoadingError: a word, a table or a column is unknown, or nothing says what is right.
    """
    metadata, path = described.metadata, described.path
    _check_judged(path, metadata.judged)
    if STATE not in metadata.judged:
        if metadata.judged_state or metadata.expected_state_column or (known and known.expected):
            hint = f'add "judged": ["{ANSWER}", "{STATE}"]'
            raise LoadingError(
                path, "it is said which state is right, and none is judged", hint=hint
            )
        return None
    if known is None:
        hint = f"write one: {_TABLE}"
        raise LoadingError(path, f"key 'judged': the domain has no {WORLD_FILE}", hint=hint)
    sources = [metadata.expected_state_column, known.expected is not None]
    if all(sources):
        problem = f"both 'expected_state_column' and {STATE_FILE} say which state is right"
        raise LoadingError(path, problem, hint="keep one")
    by_policy = not any(sources)
    if by_policy and policy is None:
        hint = f"add {STATE_FILE}, 'expected_state_column', or a policy.py that acts on the world"
        raise LoadingError(path, "key 'judged': nothing says which state is right", hint=hint)
    columns = _judged_columns(described, known)
    said = read_text(policy) if by_policy and policy else ""
    return StateRules(
        columns=columns or dict.fromkeys(known.columns, ()),
        generated=known.generated,
        private=layout.private,
        digest=digest([_as_json(known.world), text_digest(said), tools if by_policy else ""]),
        by_policy=by_policy,
    )


def _check_judged(path: Path, judged: Sequence[str]) -> None:
    strange = [one for one in judged if one not in {ANSWER, STATE}]
    if strange or ANSWER not in judged:
        what = f"{strange[0]!r} is unknown" if strange else "the answer is always judged"
        hint = f'write ["{ANSWER}"] or ["{ANSWER}", "{STATE}"]'
        raise LoadingError(path, f"key 'judged': {what}", hint=hint)


def _judged_columns(described: Described, known: DomainWorld) -> dict[str, tuple[str, ...]]:
    path = described.path
    columns = {name: tuple(one) for name, one in described.metadata.judged_state.items()}
    for table, names in columns.items():
        if table not in known.columns:
            hint = did_you_mean(table, known.columns) or f"it has {listed(known.columns)}"
            problem = f"key 'judged_state': {WORLD_FILE} has no table {table!r}"
            raise LoadingError(path, problem, hint=hint)
        for name in names:
            if name not in known.columns[table]:
                hint = did_you_mean(name, known.columns[table])
                problem = f"key 'judged_state': table {table!r} has no column {name!r}"
                raise LoadingError(path, problem, hint=hint)
    return columns


def _as_json(world: World) -> JsonValue:
    return {name: [dict(world.keys), list(rows.values())] for name, rows in world.rows.items()}
