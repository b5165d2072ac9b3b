"""Numbers as offices write them: read as the number that was meant, or left as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._making.table import EMPTY, Column, cell_of, text_cell, with_forms

from .conftest import Read, texts_of


def in_office(group: str, decimal: str) -> Callable[[Decimal], str]:
    """How an office writes a number: with this between thousands, and that before decimals."""

    def write(number: Decimal) -> str:
        return f"{number:,f}".translate({ord(","): group, ord("."): decimal})

    return write


OFFICES: Final[Mapping[str, Callable[[Decimal], str]]] = {
    "american": in_office(",", "."),
    "german": in_office(".", ","),
    "swiss": in_office("'", "."),
    "swiss of Word": in_office("\u2019", "."),
    "french": in_office(" ", ","),
    "a program with a point": in_office("", "."),
    "a program with a comma": in_office("", ","),
}
numbers = st.decimals(-(10**9), 10**9, places=3).map(lambda one: one.normalize()) | st.integers(
    -5000, 5000
).map(Decimal)


def column_of(texts: Sequence[str], name: str = "Value") -> Column:
    return Column(name=name, short=name, letter="A", cells=[text_cell(text) for text in texts])


def read(columns: Sequence[Column], usual: str = "") -> list[Column]:
    rows = range(2, 2 + len(columns[0].cells))
    return with_forms(columns, rows, usual=usual, asked="")


@given(
    st.sampled_from([*OFFICES]),
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8),
)
def test_a_table_of_one_office_never_becomes_other_numbers(
    office: str, rows: list[tuple[Decimal, Decimal]]
) -> None:
    written = [[OFFICES[office](one) for one in cells] for cells in zip(*rows, strict=True)]

    columns = read([column_of(texts) for texts in written])

    for column, texts, meant in zip(columns, written, zip(*rows, strict=True), strict=True):
        as_it_was = [text_cell(text).text for text in texts] == column.texts
        assert as_it_was or [Decimal(text) for text in column.texts] == list(meant)
        assert as_it_was or not column.stays_text


@given(st.lists(st.text(max_size=8), min_size=1, max_size=6))
def test_texts_become_numbers_only_where_every_one_is_a_number(texts: list[str]) -> None:
    (column,) = read([column_of([*texts, "free text"])])

    assert [text_cell(text).text for text in [*texts, "free text"]] == column.texts


@given(st.sampled_from([*OFFICES]), st.lists(numbers, min_size=1, max_size=6))
def test_what_is_read_once_stays_when_it_is_read_again(office: str, meant: list[Decimal]) -> None:
    (once,) = read([column_of([OFFICES[office](one) for one in meant])])

    (twice,) = read([once])

    assert once.texts == twice.texts


@pytest.mark.parametrize(
    ("texts", "becomes"),
    [
        pytest.param(["12,50-", "3,00"], ["-12.50", "3.00"], id="the minus of SAP"),
        pytest.param(["\u221212,50", "3,00"], ["-12.50", "3.00"], id="the minus of typographers"),
        pytest.param(["0.123", "2,5"], ["0.123", "2,5"], id="a point and a comma"),
        pytest.param(["1.234", "1,5"], ["1.234", "1,5"], id="thousands or decimals"),
        pytest.param(["1,234", "99.95"], ["1,234", "99.95"], id="the same the other way round"),
        pytest.param(["1.234,00", "1.234"], ["1234.00", "1234"], id="the column shows its groups"),
        pytest.param(["1.234.567", "1.234"], ["1234567", "1234"], id="two groups are no decimals"),
        pytest.param(["007", "1,5"], ["007", "1,5"], id="zeros in front are of an id"),
        pytest.param(["12.34.567", "1,5"], ["12.34.567", "1,5"], id="no groups of three"),
        pytest.param(["15 %", "0.15"], ["15 %", "0.15"], id="a percentage beside a fraction"),
        pytest.param(["$ 5", "5 EUR"], ["$ 5", "5 EUR"], id="two currencies"),
        pytest.param(["$1,234.50", "$7"], ["1234.50", "7"], id="one currency"),
        pytest.param(["2.1", "2.10"], ["2.1", "2.10"], id="numbers of clauses keep their zeros"),
        pytest.param(["1 234", "5 678"], ["1 234", "5 678"], id="digits apart may be a code"),
    ],
)
def test_a_column_of_numbers(texts: list[str], becomes: list[str]) -> None:
    (column,) = read([column_of(texts)])

    assert becomes == column.texts


def test_numbers_of_a_workbook_stay_beside_texts_of_numbers(read_book: Read) -> None:
    sheet = read_book([["No", "Sum"], ["a", 12.5], ["b", "1.234,50"], ["c", None]])

    assert ["12.5", "1234.50", ""] == texts_of(sheet, "Sum")


def test_percentages_as_text_are_fractions_beside_those_of_excel(read_book: Read) -> None:
    sheet = read_book([["No", "Fee"], ["a", 0.15], ["b", "2,5 %"]], formats={"B2": "0%"})

    assert ["0.15", "0.025"] == texts_of(sheet, "Fee")


def test_empty_cells_have_no_say() -> None:
    column = Column(
        name="Value", short="Value", letter="A", cells=[EMPTY, text_cell("1,5"), cell_of(2)]
    )

    assert ["", "1.5", "2"] == read([column])[0].texts
