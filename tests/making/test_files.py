"""Files of tables: whatever encoding, separator or kind; or one clear error."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from pytest_sopbench.errors import LoadingError
from tests.builders.made import read_grid, table_of

from .conftest import Read, names_of, texts_of

TABLE = "No;Größe;Betrag\n007;groß;1.234,50\n008;klein;7,00\n"


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        pytest.param("utf-8", "", id="utf-8"),
        pytest.param("utf-8-sig", "", id="utf-8 with a mark"),
        pytest.param("cp1252", "is read as cp1252", id="cp1252"),
        pytest.param("utf-16", "is read as utf-16", id="utf-16 with a mark"),
        pytest.param("utf-16-le", "is read as utf-16-le", id="utf-16 without a mark"),
        pytest.param("utf-16-be", "is read as utf-16-be", id="utf-16, the other order"),
    ],
)
def test_an_encoding_is_found_and_told(read_text: Read, encoding: str, note: str) -> None:
    sheet = read_text(TABLE.encode(encoding))

    assert ["No", "Größe", "Betrag"] == names_of(sheet)
    assert ["groß", "klein"] == texts_of(sheet, "Größe")
    assert any(note in one for one in sheet.notes)
    assert bool(note) == any("is read as" in one for one in sheet.notes)


def test_semicolons_and_decimal_commas_are_told(read_text: Read) -> None:
    sheet = read_text(TABLE)

    assert ["1234.50", "7.00"] == texts_of(sheet, "Betrag")
    assert ["007", "008"] == texts_of(sheet, "No")
    assert "its cells have semicolons between them" in sheet.notes
    assert "Betrag: decimal commas became points" in sheet.notes


@pytest.mark.parametrize("sign", [pytest.param("\t", id="tabs"), pytest.param("|", id="bars")])
def test_other_separators_are_found(read_text: Read, sign: str) -> None:
    sheet = read_text(TABLE.replace(";", sign))

    assert 3 == len(sheet.columns)


def test_commas_in_a_text_with_semicolons_are_no_separators(read_text: Read) -> None:
    sheet = read_text("No;Note\n1;a, b, c\n2;d, e, f\n3;g\n")

    assert ["a, b, c", "d, e, f", "g"] == texts_of(sheet, "Note")


def test_the_line_of_excel_that_names_the_separator_is_read(read_text: Read) -> None:
    sheet = read_text("sep=;\nNo;Decision\n1;pay\n")

    assert ["No", "Decision"] == names_of(sheet)
    assert [3] == list(sheet.numbers)


def test_a_row_is_numbered_by_the_line_on_which_it_starts(read_text: Read) -> None:
    sheet = read_text('No,Note\n1,"a\nb"\n2,c\n')

    assert [2, 4] == list(sheet.numbers)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"No,D\n1,a,b\n2,c\n3,d\n", "row 2: 3 cells", id="a cell too many"),
        pytest.param(b'No,D\n1,"a\n2,c\n', "row 2: not readable", id="an open quote"),
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0", "is not text", id="a picture"),
    ],
)
def test_a_text_that_is_no_table_gets_one_clear_line(
    read_text: Read, content: bytes, problem: str
) -> None:
    with pytest.raises(LoadingError, match=problem):
        read_text(content)


def test_the_names_of_the_sheets_are_listed_where_one_is_not_there(tmp_path: Path) -> None:
    path = workbook(tmp_path, {"Q2": 2, "Q3": 5})

    with pytest.raises(LoadingError, match=r"no sheet 'Q4'\n.*'Q2', 'Q3'"):
        read_grid(path, "Q4")


@pytest.mark.parametrize("name", ["Q2", "q2", " Q2 "])
def test_a_sheet_is_found_whatever_its_case(tmp_path: Path, name: str) -> None:
    assert "Q2" == read_grid(workbook(tmp_path, {"Q2": 2, "Q3": 5}), name).title


def test_without_a_name_the_largest_sheet_is_read_and_told(tmp_path: Path) -> None:
    grid = read_grid(workbook(tmp_path, {"Q2": 2, "Q3": 5}), None)

    assert "Q3" == grid.title
    assert ("sheet 'Q3' is read, the largest; there are also Q2",) == grid.notes


def test_a_sheet_that_is_coloured_to_its_end_is_read_to_its_last_case(tmp_path: Path) -> None:
    path = workbook(tmp_path, {"Q3": 5})
    book = openpyxl.load_workbook(path)
    book["Q3"]["A1048576"].number_format = "0%"
    book.save(path)

    grid = read_grid(path, None)

    assert 2005 == len(grid.rows)
    assert ("nothing is read below row 2005, after 2,000 empty rows",) == grid.notes


def workbook(folder: Path, sheets: dict[str, int]) -> Path:
    book = openpyxl.Workbook()
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in range(rows):
            sheet.append([f"No {row}", row])
    del book["Sheet"]
    path = folder / "cases.xlsx"
    book.save(path)
    return path


def test_a_parquet_file_keeps_its_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "No": ["001", "002"],
            "Day": [date(2025, 1, 2), None],
            "Sum": [1.0, 2.5],
            "__index_level_0__": [0, 1],
        }
    )
    parquet.write_table(table, tmp_path / "cases.parquet")

    sheet = table_of(read_grid(tmp_path / "cases.parquet", None))

    assert ["No", "Day", "Sum"] == names_of(sheet)
    assert ["2025-01-02", ""] == texts_of(sheet, "Day")
    assert ["1", "2.5"] == texts_of(sheet, "Sum")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        pytest.param("a.xlsx", b"text", "is no Excel workbook", id="text called xlsx"),
        pytest.param("a.xlsx", b"PK\5\6" + bytes(18), "openpyxl cannot read it", id="empty zip"),
        pytest.param("a.parquet", b"text", "pyarrow cannot read it", id="text called parquet"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_gets_one_clear_line(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(LoadingError, match=problem):
        read_grid(tmp_path / name, None)


def test_a_csv_has_no_sheets(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("a,b\n1,2\n", "utf-8")

    with pytest.raises(LoadingError, match="has no sheets"):
        read_grid(tmp_path / "cases.csv", "Q3")


@pytest.mark.parametrize(
    ("name", "package"),
    [("cases.xlsx", "openpyxl"), ("cases.parquet", "pyarrow")],
    ids=["workbook", "parquet"],
)
def test_a_missing_library_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    (tmp_path / name).touch()
    for module in ("openpyxl", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(__import__("sys").modules, module, None)

    with pytest.raises(LoadingError, match=rf"{package} is needed.*\npip install {package}"):
        read_grid(tmp_path / name, None)
