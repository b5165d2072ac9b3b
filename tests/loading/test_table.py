from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_sopbench._loading.files.table import read_table, rename
from pytest_sopbench.errors import LoadingError, RowError

HEADER = "id,text,route\n"

cell_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
rows_of_three = st.lists(st.tuples(cell_texts, cell_texts, cell_texts), min_size=1, max_size=8)


def written(tmp_path: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_csv(rows: Sequence[Sequence[str]], line_end: str) -> str:
    stream = io.StringIO(newline="")
    # Older Pythons do not quote a lone carriage return of their own accord.
    csv.writer(stream, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(rows)
    return stream.getvalue()


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_of_three, line_end=st.sampled_from(["\n", "\r\n"]))
def test_what_was_written_as_csv_is_read_back_cell_for_cell(
    tmp_path: Path, rows: list[tuple[str, str, str]], line_end: str
) -> None:
    path = written(tmp_path, as_csv([("id", "text", "route"), *rows], line_end))

    table = read_table(path)

    assert rows == list(table.rows)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(alphabet='ab,"\n\r '), min_size=1, max_size=6))
def test_each_row_starts_on_the_line_an_editor_shows(tmp_path: Path, texts: list[str]) -> None:
    rows = [(f"mark{place}", text, "x") for place, text in enumerate(texts)]
    content = as_csv([("id", "text", "route"), *rows], "\n")
    path = written(tmp_path, content)

    table = read_table(path)

    shown = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for place, line in enumerate(table.lines):
        assert shown[line - 1].startswith(f'"mark{place}",')


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(HEADER + "1,a,b\n", id="plain"),
        pytest.param(b"\xef\xbb\xbf" + HEADER.encode() + b"1,a,b\n", id="byte-order-mark"),
        pytest.param("\n" + HEADER + "\n1,a,b\n\n\n", id="blank-lines"),
        pytest.param(HEADER + "1,a,b", id="no-line-end-at-the-end"),
        pytest.param(",id,text,route\n0,1,a,b\n", id="unnamed-index-column"),
        pytest.param('"id","text","route"\r\n"1","a","b"\r\n', id="quoted"),
    ],
)
def test_csv_in_any_habit_gives_the_same_cells(tmp_path: Path, content: str | bytes) -> None:
    table = read_table(written(tmp_path, content))

    assert ("id", "text", "route") == table.columns
    assert [("1", "a", "b")] == list(table.rows)
    assert ["a"] == table.cells("text")
    assert not table.typed


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("", ": the file is empty", id="empty"),
        pytest.param(b"\xef\xbb\xbf", ": the file is empty", id="only-a-byte-order-mark"),
        pytest.param(HEADER, ", row 1: a header, and no row under it", id="only-a-header"),
        pytest.param(
            "id,text,text\n1,a,b\n",
            ", row 1, column 'text': stands twice in the header",
            id="header-twice",
        ),
        pytest.param(
            "id,,text\n1,a,b\n",
            ", row 1: the header has no name for column 2",
            id="header-without-name",
        ),
        pytest.param(
            HEADER + '1,"a\nb",c\n2,d\n',
            ", row 4: 2 cells, but the header names 3",
            id="too-few-cells",
        ),
        pytest.param(HEADER + "1\n", ", row 2: 1 cell, but the header names 3", id="a-single-cell"),
        pytest.param(
            HEADER + "1,a,b,c\n", ", row 2: 4 cells, but the header names 3", id="too-many-cells"
        ),
        pytest.param(
            ",id,text\n0,1\n", ", row 2: 2 cells, but the header names 3", id="with-index-column"
        ),
        pytest.param(
            HEADER.encode() + b"1,a,b\r\n2,caf\xe9,b\n",
            ", row 3: byte 0xE9 is not UTF-8",
            id="latin-1",
        ),
        pytest.param(
            (HEADER + "1,a,b\n").encode("utf-16"),
            ", row 1: byte 0xFF is not UTF-8",
            id="utf-16",
        ),
        pytest.param(
            HEADER + "1,a,b\n2,\0,b\n", ", row 3: holds a NUL character", id="a-nul-character"
        ),
        pytest.param(
            HEADER + '1,a,b\n2,"a,b\n3,c,d\n',
            ", row 3: a double quote is opened here and never closed",
            id="an-open-quote",
        ),
        pytest.param(
            HEADER + '1,"a"b,c\n', ", row 2: not CSV: ',' expected after '\"'", id="a-stray-quote"
        ),
        pytest.param(
            HEADER + f"1,{'a' * 140_000},b\n",
            ", row 2: a cell has more than 131,072 characters",
            id="a-huge-cell",
        ),
    ],
)
def test_a_csv_file_that_cannot_be_used_says_where_and_why(
    tmp_path: Path, content: str | bytes, expected: str
) -> None:
    path = written(tmp_path, content)

    with pytest.raises(LoadingError) as caught:
        read_table(path)

    assert f"{path}{expected}" == caught.value.message


def test_json_lines_keep_the_types_they_were_written_with(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"id": "007", "score": 1.0, "tags": ["a"]}\n\n{"tags": null, "id": "", "score": false}\n',
        "tasks.jsonl",
    )

    table = read_table(path)

    assert ("id", "score", "tags") == table.columns
    assert [("007", 1.0, ["a"]), ("", False, None)] == list(table.rows)
    assert [1, 3] == list(table.lines)
    assert table.typed


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("\n\n", ": the file is empty", id="empty"),
        pytest.param("[1]\n", ", row 1: not a JSON object with keys", id="a-list"),
        pytest.param("{}\n", ", row 1: not a JSON object with keys", id="no-keys"),
        pytest.param(
            # The standard library words other faults differently from version to version.
            '{"id": 1}\n{"id" 2}\n',
            ", row 2: not JSON: expecting ':' delimiter at character 7",
            id="a-colon-missing",
        ),
        pytest.param(
            '{"id": 1, "a": 2}\n{"id": 1}\n',
            ", row 2, column 'a': missing, and the first line has it",
            id="a-key-missing",
        ),
        pytest.param(
            '{"id": 1}\n{"id": 1, "b": 2}\n',
            ", row 2, column 'b': the first line has no such key",
            id="a-key-too-many",
        ),
        pytest.param(b'{"id": "\xe9"}\n', ", row 1: byte 0xE9 is not UTF-8", id="latin-1"),
    ],
)
def test_a_jsonl_file_that_cannot_be_used_says_where_and_why(
    tmp_path: Path, content: str | bytes, expected: str
) -> None:
    path = written(tmp_path, content, "tasks.jsonl")

    with pytest.raises(LoadingError) as caught:
        read_table(path)

    assert f"{path}{expected}" == caught.value.message


def test_a_row_at_fault_is_a_row_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(RowError) as caught:
        read_table(written(tmp_path, HEADER + "1,a\n"))

    assert 2 == caught.value.row


def test_a_file_that_cannot_be_opened_is_a_loading_error(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="cannot be read: No such file or directory"):
        read_table(tmp_path / "data.csv")


def test_columns_are_renamed_and_the_rows_are_kept(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "id,final status\n1,ok\n"))

    renamed = rename(table, {"status": "final status", "id": "id"}, source=tmp_path)

    assert ("id", "status") == renamed.columns
    assert ["ok"] == renamed.cells("status")


@pytest.mark.parametrize(
    ("headers", "expected", "hint"),
    [
        pytest.param(
            {"status": "final state"},
            "key 'columns': 'status' stands for the header 'final state', which data.csv does"
            " not have",
            "did you mean 'final status'?",
            id="no-such-header",
        ),
        pytest.param(
            {"id": "final status"},
            "key 'columns': two columns would be called 'id'",
            "",
            id="a-name-twice",
        ),
        pytest.param(
            {"a": "id", "b": "id"},
            "key 'columns': one header has two names",
            "",
            id="a-header-twice",
        ),
    ],
)
def test_a_renaming_that_cannot_be_done_says_why(
    tmp_path: Path, headers: dict[str, str], expected: str, hint: str
) -> None:
    table = read_table(written(tmp_path, "id,final status\n1,ok\n"))

    with pytest.raises(LoadingError) as caught:
        rename(table, headers, source=tmp_path / "metadata.json")

    assert expected == caught.value.problem
    assert hint == caught.value.hint
