"""What becomes of cells: the text is what a person sees, and every change is told."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.made import Kind, cell_of

from .conftest import Read, texts_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(12.0, "12", id="a whole number that Excel stores as a float"),
        pytest.param(0.1 + 0.2, "0.3", id="noise of binary numbers"),
        pytest.param(1e21, "1000000000000000000000", id="no exponent"),
        pytest.param(0.0000001, "0.0000001", id="no negative exponent"),
        pytest.param(-7.5, "-7.5", id="negative"),
        pytest.param(Decimal("12.50"), "12.5", id="decimal of a parquet file"),
        pytest.param(float("nan"), "", id="not a number"),
        pytest.param(True, "true", id="a truth value of Excel"),
        pytest.param("TRUE", "TRUE", id="a word stays the word"),
        pytest.param("ja", "ja", id="ja stays ja"),
        pytest.param("0042", "0042", id="leading zeros of a text"),
        pytest.param(" a\u00a0b\u200b ", "a b", id="odd blanks"),
        pytest.param("\u00a0", "", id="only blanks are empty"),
        pytest.param("a\r\nb", "a\nb", id="line ends"),
        pytest.param(date(2025, 10, 1), "2025-10-01", id="date"),
        pytest.param(datetime(2025, 10, 1), "2025-10-01", id="midnight is a date"),  # noqa: DTZ001
        pytest.param(datetime(2025, 10, 1, 9, 30), "2025-10-01T09:30:00", id="moment"),  # noqa: DTZ001
        pytest.param(timedelta(hours=49, minutes=30), "49:30:00", id="duration"),
        pytest.param(-timedelta(hours=22), "-22:00:00", id="negative duration"),
        pytest.param(timedelta(minutes=5, seconds=1.5), "00:05:01.5", id="part of a second"),
        pytest.param(["a", 1], '["a", 1]', id="list of a parquet file"),
    ],
)
def test_a_cell_becomes_the_text_that_a_person_reads(value: Any, text: str) -> None:
    assert text == cell_of(value).text


@given(st.integers(-(10**14), 10**14))
def test_a_whole_number_is_the_same_text_as_a_float(number: int) -> None:
    assert cell_of(number).text == cell_of(float(number)).text == str(number)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_number_reads_back_to_fifteen_digits(number: float) -> None:
    assert float(cell_of(number).text) == float(f"{number:.15g}")


@given(st.text())
def test_tidying_twice_changes_nothing_more(text: str) -> None:
    once = cell_of(text).text

    assert once == cell_of(once).text


def test_the_format_of_a_number_is_what_its_id_looks_like(read_book: Read) -> None:
    sheet = read_book([["No", "x"], [42, 1]], formats={"A2": "00000"})

    assert ["00042"] == texts_of(sheet, "No")


def test_percentages_become_fractions_and_that_is_told(read_book: Read) -> None:
    sheet = read_book([["No", "Fee"], ["a", 0.15], ["b", 0.1]], formats={"B2": "0%", "B3": "0.0%"})

    assert ["0.15", "0.1"] == texts_of(sheet, "Fee")
    assert any("Fee: 2 cells with a percentage" in note for note in sheet.notes)


def test_a_plain_number_beside_percentages_is_told_with_its_row(read_book: Read) -> None:
    sheet = read_book([["No", "Fee"], ["a", 0.15], ["b", 15]], formats={"B2": "0%"})

    assert any("Fee (row 3): 1 cell with a plain number" in note for note in sheet.notes)


def test_a_percent_sign_in_quotes_is_no_percentage(read_book: Read) -> None:
    sheet = read_book([["No", "Fee"], ["a", 15]], formats={"B2": '0" %"'})

    assert Kind.NUMBER is sheet.columns[1].cells[0].kind


def test_a_formula_without_a_stored_value_is_empty_and_told(read_book: Read) -> None:
    sheet = read_book([["No", "Sum", "x"], ["a", "=1+1", 1], ["b", 7, 2]])

    assert ["", "7"] == texts_of(sheet, "Sum")
    assert any(
        "Sum (row 2): 1 cell with a formula that has no stored value" in one for one in sheet.notes
    )


def test_an_error_of_excel_is_empty_and_told(read_book: Read) -> None:
    sheet = read_book([["No", "Sum"], ["a", "#N/A"], ["b", 7]])

    assert ["", "7"] == texts_of(sheet, "Sum")
    assert any("Sum (row 2): 1 cell with an error of Excel" in one for one in sheet.notes)


def test_a_date_among_moments_gets_its_midnight(read_book: Read) -> None:
    moments = [datetime(2025, 1, 2), datetime(2025, 1, 2, 3, 4)]  # noqa: DTZ001 - as Excel has them

    sheet = read_book([["No", "At"], ["a", moments[0]], ["b", moments[1]]])

    assert ["2025-01-02T00:00:00", "2025-01-02T03:04:00"] == texts_of(sheet, "At")


def test_tidied_blanks_are_counted(read_book: Read) -> None:
    sheet = read_book([["No", "Decision"], ["a", "pay "], ["b", "pay"], ["c", "no\u00a0pay"]])

    assert ["pay", "pay", "no pay"] == texts_of(sheet, "Decision")
    assert any("Decision: blanks" in one and "in 2 cells" in one for one in sheet.notes)


def test_merged_cells_below_the_header_have_their_value_in_each_row(read_book: Read) -> None:
    sheet = read_book([["No", "Team"], ["a", "red"], ["b", None], ["c", "blue"]], merged=["B2:B3"])

    assert ["red", "red", "blue"] == texts_of(sheet, "Team")
    assert any("1 merged cell" in note for note in sheet.notes)
