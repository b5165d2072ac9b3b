"""Laws of cells: nothing is lost or changed unless the whole column says what it is."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import (
    DEPTH_LIMIT,
    canonical,
    did_you_mean,
    digest,
    listed,
    parse_json,
    read_json,
    read_text,
    read_toml,
    shown,
    text_digest,
    unordered_digest,
)
from pytest_sopbench._loading.tables import (
    CellError,
    ColumnType,
    convert,
    infer_type,
    parse_literal,
    read_table,
    rename,
)
from pytest_sopbench.errors import LoadingError, RowError

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
containers = st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4)


@settings(max_examples=60)
@given(st.lists(st.text(min_size=1), max_size=6))
def test_a_column_with_one_word_in_it_keeps_every_cell_as_written(cells: list[str]) -> None:
    column = [*cells, "a word"]

    inferred = infer_type(column)

    assert ColumnType.TEXT is inferred
    assert column == [convert(cell, inferred) for cell in column]


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=6))
def test_a_column_of_json_numbers_is_read_back_exactly(column: list[float]) -> None:
    cells = [json.dumps(number) for number in column]

    inferred = infer_type(cells)

    assert ColumnType.NUMBER is inferred
    assert column == [convert(cell, inferred) for cell in cells]


@settings(max_examples=60)
@given(st.lists(containers, min_size=1, max_size=4))
def test_a_column_of_json_containers_is_read_back_exactly(column: list[JsonValue]) -> None:
    cells = [json.dumps(value) for value in column]

    inferred = infer_type(cells)

    assert ColumnType.LIST is inferred
    assert column == [convert(cell, inferred) for cell in cells]


@settings(max_examples=60)
@given(st.lists(containers, min_size=1, max_size=4))
def test_a_column_of_python_containers_is_read_back_exactly(column: list[JsonValue]) -> None:
    cells = [repr(value) for value in column]

    inferred = infer_type(cells)

    assert ColumnType.LIST is inferred
    assert column == [convert(cell, inferred) for cell in cells]


@settings(max_examples=100)
@given(st.lists(st.text(alphabet="0123456789.-+eE[]{}'\":, TrueFalsnN"), min_size=1, max_size=3))
def test_an_inferred_type_fits_each_cell_and_gives_what_json_can_say(cells: list[str]) -> None:
    inferred = infer_type(cells)

    converted = [convert(cell, inferred) for cell in cells]

    assert converted == json.loads(json.dumps(converted, allow_nan=False))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(["1", "2.50", "-3e2", ""], ColumnType.NUMBER, id="numbers-and-an-empty-cell"),
        pytest.param(["007", "12"], ColumnType.TEXT, id="a-leading-zero"),
        pytest.param([" 5"], ColumnType.TEXT, id="a-space-before-the-number"),
        pytest.param(["+5"], ColumnType.TEXT, id="a-plus-sign"),
        pytest.param(["1_000"], ColumnType.TEXT, id="an-underscore"),
        pytest.param(["١٢"], ColumnType.TEXT, id="digits-of-another-script"),
        pytest.param(["1e999"], ColumnType.TEXT, id="a-number-too-large"),
        pytest.param(["9" * 400], ColumnType.TEXT, id="four-hundred-digits"),
        pytest.param(["NaN", "1"], ColumnType.TEXT, id="not-a-number"),
        pytest.param(["1", "NA"], ColumnType.TEXT, id="not-available"),
        pytest.param(["True", "False", ""], ColumnType.BOOLEAN, id="as-python-writes-it"),
        pytest.param(["TRUE", "false"], ColumnType.BOOLEAN, id="as-excel-and-json-write-it"),
        pytest.param(["yes", "no"], ColumnType.TEXT, id="yes-and-no"),
        pytest.param(["True", "1"], ColumnType.TEXT, id="a-truth-value-and-a-number"),
        pytest.param(["None", ""], ColumnType.TEXT, id="the-word-none"),
        pytest.param(["2025-01-31"], ColumnType.TEXT, id="a-date"),
        pytest.param(["[true,false]", "['a']", "{'a': 1}"], ColumnType.LIST, id="both-notations"),
        pytest.param(["[1, 2", "[3]"], ColumnType.TEXT, id="a-list-that-never-ends"),
        pytest.param(["[nan]"], ColumnType.TEXT, id="a-name-in-a-list"),
        pytest.param(["[NaN]"], ColumnType.TEXT, id="not-a-number-in-a-list"),
        pytest.param(["[1e999]"], ColumnType.TEXT, id="an-infinite-number-in-a-list"),
        pytest.param([f"[{'9' * 400}.0]"], ColumnType.TEXT, id="an-infinite-list-of-digits"),
        pytest.param(["{1, 2}"], ColumnType.TEXT, id="a-set"),
        pytest.param(["{1: 2}"], ColumnType.TEXT, id="an-object-with-a-number-as-key"),
        pytest.param(["[(1, 2)]"], ColumnType.TEXT, id="a-tuple-in-a-list"),
        pytest.param(["[b'a']"], ColumnType.TEXT, id="bytes-in-a-list"),
        pytest.param([r"['\ud800']"], ColumnType.TEXT, id="half-a-surrogate-pair"),
        pytest.param([r'["\ud800"]'], ColumnType.TEXT, id="half-a-surrogate-pair-in-json"),
        pytest.param([r'["\u00e9", "NaN", "1e5"]'], ColumnType.LIST, id="texts-that-only-look-odd"),
        pytest.param(["[" * 500 + "]" * 500], ColumnType.TEXT, id="nested-too-deeply"),
        pytest.param(["[" * 99999 + "]" * 99999], ColumnType.TEXT, id="nested-beyond-the-stack"),
        pytest.param(["__import__('os').abort()"], ColumnType.TEXT, id="code"),
        pytest.param(["[__import__('os').abort()]"], ColumnType.TEXT, id="code-in-a-list"),
        pytest.param(["", ""], ColumnType.TEXT, id="nothing-but-empty-cells"),
        pytest.param([], ColumnType.TEXT, id="no-cells"),
    ],
)
def test_a_column_has_the_type_that_every_cell_has(
    cells: list[JsonValue], expected: ColumnType
) -> None:
    assert expected is infer_type(cells)


@pytest.mark.parametrize("column_type", [t for t in ColumnType if t is not ColumnType.WRITTEN])
def test_an_empty_cell_is_null_in_each_type(column_type: ColumnType) -> None:
    assert convert("", column_type) is None


def test_what_json_wrote_stays_as_it_is() -> None:
    assert "" == convert("", ColumnType.WRITTEN)
    assert [1] == convert([1], ColumnType.NUMBER)


@pytest.mark.parametrize(
    ("cell", "column_type", "expected"),
    [
        pytest.param("007", ColumnType.NUMBER, 7, id="leading-zeros"),
        pytest.param(" +1.50 ", ColumnType.NUMBER, 1.5, id="sign-and-spaces"),
        pytest.param("12", ColumnType.TEXT, "12", id="a-number-that-is-a-name"),
        pytest.param("Yes", ColumnType.BOOLEAN, True, id="yes"),
        pytest.param("0", ColumnType.BOOLEAN, False, id="zero"),
    ],
)
def test_a_declared_type_reads_more_than_an_inferred_one(
    cell: str, column_type: ColumnType, expected: JsonValue
) -> None:
    converted = convert(cell, column_type)

    assert expected == converted
    assert type(expected) is type(converted)


@pytest.mark.parametrize(
    ("cell", "column_type", "expected"),
    [
        pytest.param("red", ColumnType.NUMBER, "'red' is not a number", id="a-word"),
        pytest.param("1e999", ColumnType.NUMBER, "'1e999' is too large a number", id="too-large"),
        pytest.param("maybe", ColumnType.BOOLEAN, "'maybe' is neither true nor false", id="maybe"),
        pytest.param("a, b", ColumnType.LIST, "'a, b' is neither a list nor an object", id="bare"),
        pytest.param(
            '{"a": 1, "a": 2}',
            ColumnType.LIST,
            """'{"a": 1, "a": 2}': key 'a' stands twice in one object""",
            id="a-key-twice",
        ),
        pytest.param(
            "{'a': 1, 'a': 2}",
            ColumnType.LIST,
            """"{'a': 1, 'a': 2}": key 'a' stands twice in one object""",
            id="a-key-twice-as-python-writes-it",
        ),
    ],
)
def test_a_cell_against_its_declared_type_is_told_in_words(
    cell: str, column_type: ColumnType, expected: str
) -> None:
    with pytest.raises(CellError) as caught:
        convert(cell, column_type)

    assert expected == str(caught.value)


def test_a_backslash_in_a_literal_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        value = parse_literal(r"['\d']")

    assert [r"\d"] == value


def test_a_number_of_many_digits_keeps_them_all() -> None:
    assert 12345678901234567890123 == convert("12345678901234567890123", ColumnType.NUMBER)
    assert math.isclose(0.1, float(str(convert("0.1", ColumnType.NUMBER))))


def test_the_nearest_name_is_suggested_and_a_far_one_is_not() -> None:
    assert "did you mean 'weight'?" == did_you_mean("wieght", ["label", "weight"])
    assert "" == did_you_mean("zzz", ["label", "weight"])
    assert "did you mean 'd '?" == did_you_mean("d", ["id", "d "])


def test_a_long_list_says_how_much_it_leaves_out() -> None:
    assert "a, b" == listed(["a", "b"])
    assert listed(str(n) for n in range(20)).endswith("11 and 8 more")


def test_a_long_value_is_cut() -> None:
    assert "'ab'" == shown("ab")
    assert 60 == len(shown("x" * 100))


HERE = Path("metadata.json")

values_of_document = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@settings(max_examples=80)
@given(values_of_document)
def test_what_json_wrote_is_read_back(value: JsonValue) -> None:
    assert value == parse_json(json.dumps(value), HERE)
    assert value == parse_json(json.dumps(value, ensure_ascii=False), HERE)


@pytest.mark.parametrize(
    ("text", "row", "problem"),
    [
        pytest.param(
            '{\n "a": 1\n}\n}',
            4,
            "not JSON: the document has ended before character 1 of this line",
            id="a-brace-too-many",
        ),
        pytest.param(
            '{\n "a": 1\n "b": 2}',
            3,
            "not JSON: expecting ',' delimiter at character 2",
            id="a-comma-missing",
        ),
        pytest.param('{"a": 1, "a": 2}', None, "key 'a' stands twice in one object", id="twice"),
        pytest.param(
            '["a\nb"]',
            1,
            "not JSON: invalid control character at character 4",
            id="a-line-end-in-a-text",
        ),
        pytest.param("[NaN]", None, "NaN is not a JSON value", id="nan"),
        pytest.param("[-Infinity]", None, "-Infinity is not a JSON value", id="inf"),
        pytest.param("[1e999]", None, "the number 1e999 is too large", id="large"),
        pytest.param(
            '["\\uD800"]',
            None,
            "holds half of a surrogate pair (\\ud800 to \\udfff), which is no character",
            id="half-a-surrogate-pair",
        ),
        pytest.param(
            nested(DEPTH_LIMIT + 1),
            None,
            "not readable: more than 100 lists or objects inside one another",
            id="too-deep",
        ),
        pytest.param(
            nested(100_000),
            None,
            "not readable: more than 100 lists or objects inside one another",
            id="beyond-the-stack",
        ),
    ],
)
def test_a_text_that_is_not_one_json_document_says_where_and_why(
    text: str, row: int | None, problem: str
) -> None:
    with pytest.raises(LoadingError) as caught:
        parse_json(text, HERE)

    assert problem == caught.value.problem
    assert row == caught.value.row


def test_an_integer_of_too_many_digits_is_told() -> None:
    with pytest.raises(LoadingError, match="not readable: Exceeds the limit"):
        parse_json("9" * 5000, HERE)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(nested(DEPTH_LIMIT), id="as-deep-as-may-be"),
        pytest.param(json.dumps([{}] * 200), id="wide-and-not-deep"),
        pytest.param('["\\ud83d\\ude00"]', id="a-whole-surrogate-pair"),
    ],
)
def test_a_value_at_the_edge_of_what_is_taken_is_taken(text: str) -> None:
    assert json.loads(text) == parse_json(text, HERE)


def test_a_line_of_json_is_at_fault_as_a_row() -> None:
    with pytest.raises(RowError) as caught:
        parse_json("[1] 2", HERE, line=14)

    assert 14 == caught.value.row
    assert "remove what follows: '2'" == caught.value.hint


def test_line_ends_and_byte_order_marks_are_no_part_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "sop.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")

    assert "one\ntwo\nthree\n" == read_text(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"a\r\nb\r\xff", ", row 3: byte 0xFF is not UTF-8", id="not-utf-8"),
        pytest.param(b" \n", ": the file is empty", id="empty"),
    ],
)
def test_a_json_file_that_is_no_text_says_so(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "toolspecs.json"
    path.write_bytes(content)

    with pytest.raises(LoadingError) as caught:
        read_json(path)

    assert f"{path}{message}" == caught.value.message


def test_a_folder_in_the_place_of_a_file_is_a_loading_error(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="cannot be read"):
        read_text(tmp_path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("a = " + nested(100_000), "100 lists or objects inside", id="too-deep"),
        pytest.param("a = " + "9" * 5000, "not TOML: Exceeds the limit", id="too-many-digits"),
    ],
)
def test_toml_that_python_cannot_hold_is_told(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(content)

    with pytest.raises(LoadingError, match=expected):
        read_toml(path)


def test_toml_at_fault_says_where(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text('name = "x"\ntitle = y\n')

    with pytest.raises(LoadingError, match=r"not TOML: .*line 2"):
        read_toml(path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("metadata.json", 'it needs "name", "input_columns" and "output_columns"'),
        ("toolspecs.json", "write [] if the agent has no tools, or remove the file"),
        ("other.json", ""),
    ],
)
def test_an_empty_file_says_what_belongs_into_it(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).touch()

    with pytest.raises(LoadingError) as caught:
        read_json(tmp_path / name)

    assert hint == caught.value.hint


def test_a_digest_is_known_and_short() -> None:
    assert '{"a":[1,"\\u00e9"],"b":null}' == canonical({"b": None, "a": [1, "é"]})
    assert "44136fa355b3678a" == digest({})


def test_what_json_has_no_word_for_has_no_digest() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


@settings(max_examples=40)
@given(st.lists(st.text(), max_size=5).flatmap(lambda v: st.tuples(st.just(v), st.permutations(v))))
def test_order_does_not_count_where_it_means_nothing(pair: tuple[list[str], list[str]]) -> None:
    values, shuffled = pair

    assert unordered_digest(values) == unordered_digest(shuffled)


def test_a_value_more_counts() -> None:
    assert unordered_digest(["a"]) != unordered_digest(["a", "a"])


def test_white_space_at_line_ends_does_not_count() -> None:
    assert text_digest("a\nb") == text_digest("a  \r\nb\n\n")
    assert text_digest("a\nb") != text_digest("a\n b")


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
