"""Tools without code: check that each serves what it may, and never an answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.model.task import LookupTool, ToolSpec
from pytest_sopbench._loading.files.cells import did_you_mean, listed
from pytest_sopbench._loading.metadata import Described
from pytest_sopbench.errors import ToolSpecError

from .layout import Layout
from .rows import Records
from .tools import ToolEntry

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


def unserved(specs: Iterable[ToolSpec], tools: Collection[str]) -> str:
    """A warning of the tools that nothing can answer for, or an empty string."""
    names = [spec.name for spec in specs if spec.name not in tools]
    if not names:
        return ""
    return (
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
        tables = [one.name for one in self.records.tables]
        self._check_column("table", name, (*tables, *self._row_columns()), "table or column")
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
