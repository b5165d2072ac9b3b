"""The columns and tools of a domain that is there already, so that rows can be added to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Final

from pytest_sopbench._audit.observing.covering import conditions_of
from pytest_sopbench._audit.policy_source import every_number
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._drafting.asking import UnusableError, json_in
from pytest_sopbench._drafting.shape import (
    BOOLEAN,
    CHOICE,
    DATE,
    ID,
    KEY,
    NUMBER,
    Column,
    Row,
    Shape,
    Tool,
    read_shape,
)
from pytest_sopbench._loading.evidence import DRAFTING
from pytest_sopbench._loading.tables import read_table
from pytest_sopbench.errors import LoadingError, SopbenchError

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BY_HAND: Final = "write such rows by hand; their labels are what the policy decides"
_OUTPUTS: Final = frozenset({"enum", "boolean", "integer", "number"})


def rows_of(domain: Domain) -> list[Row]:
    """Return the rows of a domain without their labels."""
    return [{**one.inputs, **one.results, ID: one.id} for one in domain.tasks]


def shape_of(domain: Domain) -> Shape:
    """Return the columns and tools of a domain: as drafted, or else as its rows have them.

    Raises:
        SopbenchError: labels of further rows would prove nothing, and why.
        LoadingError: what was drafted cannot be read.
    """
    if problem := next(_obstacles(domain), ""):
        msg = f"{domain.folder}: no rows can be added: {problem}"
        raise SopbenchError(msg, hint=_BY_HAND)
    rows = rows_of(domain)
    drafted = domain.folder / DRAFTING / "tools.json"
    if drafted.is_file():
        try:
            shape = read_shape(json_in(drafted.read_text("utf-8")))
        except UnusableError as fault:
            raise LoadingError(drafted, str(fault)) from fault
    else:
        shape = _found(domain, rows)
    columns = [_counting_on(one, rows) if one.type == KEY else one for one in shape.columns]
    return replace(shape, columns=tuple(columns), id_column=header_of(domain)[0])


def header_of(domain: Domain) -> tuple[str, tuple[str, ...]]:
    """Return the column of ids, and all columns of the data file in their order."""
    table = read_table(domain.data_file)
    wanted = [one for one in domain.input_columns if one not in table.columns]
    ids = [name for name in table.columns if table.cells(name) == [*domain.task_ids]]
    problem = f"its columns have other names than {wanted[0]}" if wanted else ""
    problem = problem or ("" if ids else "no column holds the ids")
    if problem:
        msg = f"{domain.data_file}: no rows can be added: {problem}"
        raise SopbenchError(msg, hint=_BY_HAND)
    return ids[0], table.columns


def _obstacles(domain: Domain) -> Iterator[str]:
    """Say what a generated row could not be true to."""
    if domain.policy_file is None:
        yield "there is no policy.py, and nothing else says a label"
    if domain.data_file.name != "data.csv":
        yield f"its rows are in {domain.data_file.name}, and only those of data.csv can go on"
    if domain.tools_file is not None or domain.mcp is not None:
        yield "what its code answers about new records is not known"
    if domain.document is not None:
        yield "its answers are documents"
    yield from _obstacles_of_worlds(domain)
    for tool in domain.lookups.values():
        if tool.table:
            yield f"what {tool.name} serves are records beside the row"
    for one in domain.fields:
        if one.type.value not in _OUTPUTS:
            yield f"the output {one.name} is no label, no boolean and no number"


def _obstacles_of_worlds(domain: Domain) -> Iterator[str]:
    has_rows = domain.world is not None and any(domain.world.rows.values())
    if has_rows or any(one.action != "insert" for one in domain.world_tools.values()):
        yield "its world has records, and new rows have none there"
    if any(task.world or task.expected_state is not None for task in domain.tasks):
        yield "its rows say by themselves what the world is"


def _found(domain: Domain, rows: Sequence[Row]) -> Shape:
    served = {name: tool for tool in domain.lookups.values() for name in tool.returns}
    id_column, header = header_of(domain)
    keys = {tool.column_of(name) for tool in domain.lookups.values() for name in tool.key}
    inputs = [name for name in domain.input_columns if name != id_column]
    policy = domain.policy_file.read_text("utf-8-sig") if domain.policy_file else ""
    columns = [
        _column(name, rows, policy, is_key=name in keys)
        for name in header
        if name != id_column and (name in inputs or name in served)
    ]
    fresh = {one.name for one in columns if one.type == KEY} | {id_column}
    for tool in domain.lookups.values():
        by = [tool.column_of(name) for name in tool.key]
        if tool.returns and fresh.isdisjoint(by):
            told = ", ".join(by) or "nothing"
            msg = (
                f"{domain.folder}: no rows can be added: {tool.name} looks up by {told}, which is"
                " no number of one record, so that a new row may contradict another"
            )
            raise SopbenchError(msg, hint=_BY_HAND)
    return Shape(
        outputs=tuple(
            {"name": one.name, "type": one.type.value, "values": list(one.values)}
            for one in domain.fields
        ),
        columns=tuple(columns),
        inputs=tuple(inputs),
        tools=(
            *(
                Tool(name=one.name, description="", key=one.key, returns=one.returns)
                for one in domain.lookups.values()
            ),
            *(Tool(name=name, description="", key=()) for name in domain.world_tools),
        ),
    )


def _column(name: str, rows: Sequence[Row], policy: str, *, is_key: bool) -> Column:
    values = [one[name] for one in rows if one[name] is not None]
    if any(isinstance(one, list | Mapping) for one in values):
        msg = f"no rows can be added: the column {name} holds lists or objects"
        raise SopbenchError(msg, hint=_BY_HAND)
    texts = [str(one) for one in values]
    if is_key and len({*texts}) == len(texts) and all(map(_NUMBERED.fullmatch, texts)):
        return Column(name=name, type=KEY)
    if values and all(isinstance(one, bool) for one in values):
        return Column(name=name, type=BOOLEAN)
    if values and all(isinstance(one, int | float) for one in values):
        numbers = [Decimal(str(one)) for one in values]
        places = max(-int(one.as_tuple().exponent) for one in numbers)
        return _ordered(name, NUMBER, numbers, policy, step=Decimal(1).scaleb(-max(places, 0)))
    if values and all(map(_DATE.fullmatch, texts)):
        days = [Decimal(date.fromisoformat(one).toordinal()) for one in texts]
        return _ordered(name, DATE, days, policy, step=Decimal(1))
    return Column(name=name, type=CHOICE, values=tuple(sorted({*texts})))


def _ordered(
    name: str, kind: str, numbers: Sequence[Decimal], policy: str, *, step: Decimal
) -> Column:
    """Return a column with a range for what its rows have and what the policy compares."""
    cut_offs = [one for one in _compared_with(name, policy) if kind == NUMBER]
    low = min([*numbers, *(one - step for one in cut_offs)])
    high = max([*numbers, *(one + step for one in cut_offs)])
    # One number alone is no range, and nothing is below nothing if no row is.
    low = max(low, Decimal(0)) if min(numbers) >= 0 else low
    return Column(name=name, type=kind, low=low, high=max(high, low + step), step=step)


def _compared_with(name: str, policy: str) -> Iterator[Decimal]:
    constants = constants_of(policy)
    for one in conditions_of(policy):
        if one.is_cut_off and re.search(rf"\b{re.escape(name)}\b", one.text):
            yield from every_number(one.text)
            yield from (
                number
                for constant in one.names & {*constants}
                for number in every_number(ast.unparse(constants[constant]))
            )


def constants_of(policy: str) -> Mapping[str, ast.Assign]:
    """Return the assignments of names outside of functions."""
    return {
        target.id: node
        for node in ast.parse(policy).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _counting_on(column: Column, rows: Sequence[Row]) -> Column:
    """Return a column of keys that begins behind the last key of the rows."""
    texts = [str(one[column.name]) for one in rows if one.get(column.name) is not None]
    prefix, first, width = last_number(texts) or (column.prefix, column.first, column.width)
    return replace(column, prefix=prefix, first=first, width=width)


def last_number(texts: Sequence[str]) -> tuple[str, int, int] | None:
    """Return how the last of these begins, the highest number behind that, and its digits."""
    last = _NUMBERED.fullmatch(texts[-1]) if texts else None
    if last is None:
        return None
    found = [one for one in map(_NUMBERED.fullmatch, texts) if one and one[1] == last[1]]
    highest = max(found, key=lambda one: int(one[2]))
    return last[1], int(highest[2]), len(highest[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What of a policy stands for one clause: conditions by number, and lines."""

    conditions: frozenset[int]
    lines: frozenset[int]


def part_of(policy: str, clause: str, cited: Mapping[int, Sequence[str]]) -> Part:
    """Return what stands for a clause, by the comments of a policy.

    A comment in the body of an `if` speaks of its condition, and one beside a constant of every
    condition that reads it.
    """
    named = {line for line, clauses in cited.items() if clause in clauses}
    tree = ast.parse(policy)
    names = {name for name, one in constants_of(policy).items() if one.lineno in named}
    tests = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While):
            test = {*range(node.test.lineno, (node.test.end_lineno or node.test.lineno) + 1)}
            if named & (test if test & {*cited} else _own_lines(node.body)):
                tests |= test
    conditions = frozenset(
        number
        for number, one in enumerate(conditions_of(policy))
        if one.line in tests | named or one.names & names
    )
    return Part(conditions=conditions, lines=frozenset(named | tests))


def _own_lines(body: Sequence[ast.stmt]) -> set[int]:
    """The lines of statements that have no other ones in them."""
    plain: list[Any] = [one for one in body if not hasattr(one, "body")]
    return {line for one in plain for line in range(one.lineno, one.end_lineno + 1)}
