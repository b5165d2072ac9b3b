"""A plan as text: what was read, what each column becomes, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_sopbench._making.sheet.table import Column
from pytest_sopbench._reports.text import WIDTH, columns, counted, cut, labelled, one_line, padded

from .fields import OutputValues, examples, secrets_of, type_of
from .plan import REPORT, LeftOut, Plan

SHOWN: Final = 20
"""Reasons to leave rows out that the terminal lists; the report in the folder has all of them."""

_ROWS: Final = 4

_VALUES: Final = 12
_OF_MANY: Final = 4
_NAME: Final = 24
_ROLE: Final = 9
_TYPE: Final = 9
HIDDEN: Final = "(hidden)"
"""Stands for what is private."""


def preview_lines(plan: Plan, *, every: bool) -> Iterator[str]:
    """Yield a plan; `every` lists each row that is left out, however many they are."""
    yield from _read_lines(plan)
    yield ""
    yield from _column_lines(plan)
    yield ""
    for output in plan.roles.outputs:
        yield from _output_lines(plan, output)
    yield ""
    yield from _tool_lines(plan)
    yield from _dropped_lines(plan)
    yield from _left_out_lines(plan, every=every)
    for number, note in enumerate(plan.notes):
        yield from labelled("" if number else "notes", f"- {one_line(note)}")


def _read_lines(plan: Plan) -> Iterator[str]:
    sheet = plan.sheet
    where = f", sheet {sheet.title}" if sheet.title else ""
    rows = f"{counted(len(sheet.numbers), 'row')} under the header in row {sheet.header}"
    yield from labelled("cases", f"{sheet.path}{where}: {rows}")
    yield from labelled(
        "tasks", f"{len(plan.kept)}, and {counted(len(plan.left_out), 'row')} left out"
    )
    words = counted(len(plan.procedure.text.split()), "word")
    yield from labelled("sop", f"{plan.procedure.source}: {words} -> {plan.procedure.file}")


def _column_lines(plan: Plan) -> Iterator[str]:
    yield f"{'column':<{_NAME}} {'part':<{_ROLE}}{'type':<{_TYPE}}three examples"
    secrets = secrets_of({one.name: plan.values(one) for one in plan.roles.private})
    for column in plan.columns:
        texts = plan.values(column)
        declared = "text" if column.name in plan.texts else ""
        kind = type_of(texts, declared)
        if column.name in plan.outputs:
            kind = plan.outputs[column.name].type.value
        found = examples(texts, secrets)
        shown = HIDDEN if column in plan.roles.private else ", ".join(found) or "(none)"
        head = (
            f"{padded(one_line(column.name), _NAME)} {_part(plan, column):<{_ROLE}}{kind:<{_TYPE}}"
        )
        yield f"{head}{cut(one_line(shown), WIDTH - columns(head))}"


def _part(plan: Plan, column: Column) -> str:
    roles = plan.roles
    if column is roles.id:
        return "id"
    if column in roles.outputs:
        return "output"
    if column in roles.private:
        return "private"
    return "input" if column in roles.inputs else "tool"


def _output_lines(plan: Plan, output: Column) -> Iterator[str]:
    values: OutputValues = plan.outputs[output.name]
    counts = values.counts.most_common()
    if output in plan.roles.private:
        told = f"{len(counts)} values {HIDDEN}"
    else:
        shown = _VALUES if values.labels or len(counts) <= _VALUES else _OF_MANY
        told = ", ".join(f"{one_line(value)} {count}" for value, count in counts[:shown])
        more = len(counts) - shown
        told = f"{told} and {more} more values" if more > 0 else told
    yield from labelled("values", f"{output.name} ({values.type.value}): {told}")


def _tool_lines(plan: Plan) -> Iterator[str]:
    names = plan.names
    key = names[plan.roles.id.name]
    for number, tool in enumerate(plan.tools):
        served = ", ".join(names[one.name] for one in tool.columns)
        yield from labelled("" if number else "tools", f"{tool.name}({key}) -> {served}")
    if not plan.tools:
        yield from labelled("tools", "none: no column is left for them")


def _dropped_lines(plan: Plan) -> Iterator[str]:
    """Name the columns that are dropped, those with one reason together."""
    groups: dict[str, list[str]] = {}
    for name, why in plan.dropped.items():
        groups.setdefault(why, []).append(name)
    for number, (why, names) in enumerate(groups.items()):
        yield from labelled("" if number else "dropped", one_line(f"{', '.join(names)}: {why}"))


def _left_out_lines(plan: Plan, *, every: bool) -> Iterator[str]:
    """Name the rows that are left out, those with one reason together."""
    groups: dict[str, list[LeftOut]] = {}
    for row in plan.left_out:
        groups.setdefault(row.reason, []).append(row)
    shown = list(groups.items())[: None if every else SHOWN]
    for number, (reason, rows) in enumerate(shown):
        named = rows if every else rows[:_ROWS]
        more = f" and {len(rows) - len(named)} more" if len(rows) > len(named) else ""
        text = f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, named))}{more}: {reason}"
        yield from labelled("" if number else "left out", one_line(text))
    told = sum(len(rows) if every else min(len(rows), _ROWS) for _, rows in shown)
    if len(plan.left_out) > told:
        yield from labelled("", f"{REPORT} has all {len(plan.left_out)} rows")
