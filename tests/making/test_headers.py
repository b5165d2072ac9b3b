"""Which rows name the columns, and what each is called."""

from __future__ import annotations

import pytest

from pytest_sopbench.errors import LoadingError

from .conftest import Read, names_of


def test_a_title_above_the_names_is_left_out_and_told(read_book: Read) -> None:
    sheet = read_book(
        [["Cases of Q3"], [], ["No", "Decision"], ["a", "pay"], ["b", "no"]], merged=["A1:B1"]
    )

    assert ["No", "Decision"] == names_of(sheet)
    assert [4, 5] == list(sheet.numbers)
    assert any("row 1 stands above the names" in note for note in sheet.notes)


def test_a_merged_group_is_the_first_word_of_its_columns(read_book: Read) -> None:
    sheet = read_book(
        [
            ["Case", None, "Customer", None, "Decision"],
            ["No", "date", "name", "tier", None],
            ["a", 1, "x", "plus", "pay"],
        ],
        merged=["A1:B1", "C1:D1", "E1:E2"],
    )

    assert ["Case No", "Case date", "Customer name", "Customer tier", "Decision"] == names_of(sheet)
    assert "rows 1 and 2 name the columns together" in sheet.notes


def test_groups_with_gaps_are_found_without_merged_cells(read_text: Read) -> None:
    sheet = read_text("Case,,Customer,\nNo,date,name,tier\na,1,x,plus\nb,2,y,plus\n")

    assert ["Case No", "Case date", "Customer name", "Customer tier"] == names_of(sheet)


def test_one_row_of_names_over_rows_of_text_is_one_row(read_text: Read) -> None:
    sheet = read_text("No,Reason,Decision\na,late,pay\nb,early,no\n")

    assert ["No", "Reason", "Decision"] == names_of(sheet)
    assert 2 == len(sheet.numbers)


def test_the_rows_that_are_asked_for_win(read_book: Read) -> None:
    sheet = read_book([["x", "y"], ["No", "Decision"], ["a", "pay"]], header=(2, 2))

    assert ["No", "Decision"] == names_of(sheet)


def test_a_row_that_is_not_there_is_an_error(read_book: Read) -> None:
    with pytest.raises(LoadingError, match="has no row 9 for the header"):
        read_book([["No", "Decision"], ["a", "pay"]], header=(9, 9))


def test_names_that_are_twice_there_are_told_apart(read_text: Read) -> None:
    sheet = read_text("No,Date,Date\na,1,2\n")

    assert ["No", "Date", "Date (2)"] == names_of(sheet)
    assert any("column C has the name of one before it" in note for note in sheet.notes)


def test_names_that_differ_in_case_or_blanks_are_both_there_and_told(read_text: Read) -> None:
    sheet = read_text("No,Case Date,case  date\na,1,2\n")

    assert ["No", "Case Date", "case date"] == names_of(sheet)
    assert any("differ only in case or blanks" in note for note in sheet.notes)


def test_a_column_without_a_name_is_called_by_its_letter(read_text: Read) -> None:
    sheet = read_text("No,,Decision\na,7,pay\n")

    assert ["No", "Column B", "Decision"] == names_of(sheet)
    assert any("column B has cells and no name" in note for note in sheet.notes)


def test_empty_rows_and_columns_are_left_out(read_text: Read) -> None:
    sheet = read_text("No,Note,,Decision\n\na,,,pay\n,,,\nb,,,no\n")

    assert ["No", "Decision"] == names_of(sheet)
    assert [3, 5] == list(sheet.numbers)
    assert "Note: empty in every row, and left out" in sheet.notes


def test_a_header_that_is_repeated_below_is_no_case(read_text: Read) -> None:
    sheet = read_text("No,Decision\na,pay\nNo,Decision\nb,no\n")

    assert [2, 4] == list(sheet.numbers)
    assert any("repeat the names of the columns" in note and "3" in note for note in sheet.notes)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("No,Decision\n", "no row under them", id="names alone"),
        pytest.param(",,\n,,\n", "no cell with anything in it", id="separators alone"),
        pytest.param("   \n", "the file is empty", id="blanks alone"),
    ],
)
def test_a_table_without_rows_is_an_error(read_text: Read, content: str, problem: str) -> None:
    with pytest.raises(LoadingError, match=problem):
        read_text(content)
