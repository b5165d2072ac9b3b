from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.document import (
    DEPTH_LIMIT,
    parse_json,
    read_json,
    read_text,
    read_toml,
)
from pytest_sopbench.errors import LoadingError, RowError

HERE = Path("metadata.json")

values = st.recursive(
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
@given(values)
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
        ("toolspecs.json", "write [] where the agent has no tools, or remove the file"),
        ("other.json", ""),
    ],
)
def test_an_empty_file_says_what_belongs_into_it(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).touch()

    with pytest.raises(LoadingError) as caught:
        read_json(tmp_path / name)

    assert hint == caught.value.hint
