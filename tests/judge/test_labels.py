"""Tables that people label: what is written, what is read, and what is refused with its place."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._judge.calibrating import (
    COLUMNS,
    LabelledCase,
    as_it_was,
    defused,
    read_labels,
    write_cases,
)
from pytest_sopbench.errors import JudgeError, LoadingError

HEADER = "domain,field,expected,actual,label\n"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("cell", "label"),
    [(word, True) for word in ("yes", "Y", "TRUE", "1", " right ", "correct")]
    + [(word, False) for word in ("no", "N", "false", "0", "wrong", "not held")]
    + [(word, None) for word in ("", "  ")],
)
def test_people_may_write_a_label_in_several_words(
    tmp_path: Path, cell: str, label: bool | None
) -> None:
    path = table(tmp_path, f"{HEADER}claims,letter,a,b,yes\nclaims,letter,a,c,{cell}\n")

    assert label is read_labels(path)[1].label


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param(HEADER, "a header, and no row", id="no-row"),
        pytest.param(
            HEADER + "claims,letter,a,b,maybe\n",
            "row 2, column 'label': 'maybe' is no label\nwrite yes or no",
            id="no-label",
        ),
        pytest.param(
            HEADER + "claims,letter,a,b,yes\n\nclaims,letter,a,b,no\n",
            "row 4: the same field, expected value and answer as in row 2",
            id="twice",
        ),
        pytest.param(
            HEADER + 'claims,letter,"a\nb",b,yes\nclaims,,a,b,no\n',
            "row 4, column 'field': empty",
            id="no-field-behind-a-cell-of-two-lines",
        ),
        pytest.param(HEADER + ",letter,a,b,yes\n", "row 2, column 'domain': empty", id="no-domain"),
        pytest.param(
            HEADER + "claims,letter,a,b,\n", "column 'label': no row has a label", id="unlabelled"
        ),
        pytest.param(
            HEADER + "claims,letter,a,b\n", "row 2: 4 cells, but the header names 5", id="short"
        ),
        pytest.param(
            "domain,field,expected,answer,label\n1,2,3,4,yes\n",
            "row 1: the column 'actual' is missing",
            id="other-column",
        ),
        pytest.param(
            HEADER.replace(",", ";") + "claims;letter;a;b;yes\n",
            "parted by other signs; save it as CSV with commas",
            id="semicolons",
        ),
        pytest.param(HEADER + 'claims,letter,"a,b,yes\n', "row 2: a double quote is", id="open"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = table(tmp_path, text)

    with pytest.raises(LoadingError) as raised:
        read_labels(path)

    assert str(path) in str(raised.value)
    assert told in str(raised.value)


@given(st.text())
def test_a_defused_cell_begins_no_formula_and_comes_back(cell: str) -> None:
    assert not defused(cell).startswith(FORMULA)
    assert cell == as_it_was(defused(cell))


def test_a_table_is_written_with_an_empty_label_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    case = LabelledCase(
        domain="claims",
        field="letter",
        expected='=HYPERLINK("http://x")',
        actual='D\u00e4r Ms, "Ray"\nwe, too',
        run=("C_1", "2", "a:b"),
    )

    write_cases(path, [case])

    with path.open(encoding="utf-8-sig", newline="") as file:
        header, row = csv.reader(file)
    assert (list(COLUMNS), "") == (header, row[-1])
    assert row[5].startswith("'=")
    with path.open("a", newline="") as file:
        file.write("claims,C_2,1,,letter,x,y,yes\r\n")
    read = read_labels(path)[0]
    assert (case.expected, case.actual, case.run) == (read.expected, read.actual, read.run)
    assert "row 2, C_1/t2 (a:b)" == read.name


def test_a_table_with_labels_is_never_replaced(tmp_path: Path) -> None:
    path = table(tmp_path, "what people wrote")

    with pytest.raises(JudgeError, match="is there already, and may hold labels"):
        write_cases(path, [])

    assert "what people wrote" == path.read_text()
