"""Whatever stands in a table: a domain that loads, or one clear error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._making.imported import (
    Plan,
    Procedure,
    Roles,
    domain_files,
    make_plan,
    preview_lines,
    proposed_id,
    proposed_inputs,
    proposed_outputs,
    proposed_private,
)
from pytest_sopbench._making.place import Place, write_files
from pytest_sopbench._making.table import Cell, Grid, Merged, cell_of, table_of
from pytest_sopbench.errors import LoadingError

PLACE = Place(name="any", folder=Path("domains/any"), domain="any")
SOP = Procedure(file="sop.md", text="Decide.\n", source="sop.md")

values = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(
        ["", " ", "Decision", "decision ", "No", "007", "true", "pay", "Pay", "[1", '"']
    ),
    st.sampled_from(
        ["1.234", "1,5", "2.007,01", "1'234.50", "15 %", "5 EUR", "01.02.2026", "NULL"]
    ),
    st.integers(-5, 5),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
    st.dates(),
    st.datetimes(),
)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    width = draw(st.integers(1, 6))
    height = draw(st.integers(1, 8))
    rows: Sequence[Sequence[Cell]] = [
        [cell_of(draw(values)) for _ in range(width)] for _ in range(height)
    ]
    merged = list[Merged]()
    if draw(st.booleans()):
        top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
        bottom, right = draw(st.integers(top, height - 1)), draw(st.integers(left, width - 1))
        merged.append(Merged(top=top, bottom=bottom, left=left, right=right))
    return Grid(
        path=Path("cases.xlsx"),
        title="",
        rows=rows,
        numbers=range(1, height + 1),
        typed=draw(st.booleans()),
        merged=merged,
        has_header=draw(st.booleans()),
        decimal=draw(st.sampled_from(["", "."])),
    )


def planned(grid: Grid) -> Plan | None:
    """Take every proposal; none where the table is refused."""
    try:
        sheet = table_of(grid)
        key = proposed_id(sheet)
        if key is None:
            return None
        outputs = tuple(one for one in proposed_outputs(sheet) if one is not key)
        private = proposed_private(sheet, (key, *outputs))
        inputs = proposed_inputs(sheet, (key, *outputs, *private), outputs) if outputs else ()
        roles = Roles(id=key, inputs=inputs, outputs=outputs, private=private)
        return make_plan(PLACE, sheet, roles, SOP) if outputs else None
    except LoadingError:
        return None


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(grids())
def test_a_table_becomes_a_domain_that_loads_or_is_refused_in_one_line(grid: Grid) -> None:
    plan = planned(grid)
    if plan is None:
        return

    with TemporaryDirectory() as name:
        write_files(Path(name), domain_files(plan, "\n".join(preview_lines(plan, every=True))))
        domain = load_domain(Path(name))

    assert len(plan.kept) == len(domain.task_ids)
    assert len(plan.kept) + len(plan.left_out) == len(plan.sheet.numbers)
    assert {one.name for one in domain.fields}.isdisjoint(domain.input_columns)
