"""JSON is read as its standard has it, in a time that grows with the text."""

from __future__ import annotations

import json

import pytest

from pytest_sopbench._core.documents.reading import Read, Unreadable, read_document
from pytest_sopbench._core.values.json import STRICT, RefusedError

MANY = 200_000


class Counted(str):
    """A key that counts how often it is compared."""

    __slots__ = ()
    comparisons = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "b": {"c": 1, "d": 2, "d": 3, "c": 4}}', "key 'd' stands twice in one object"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        ("[1.5e999]", "the number 1.5e999 is too large"),
        (f"[1.{'0' * 1_000}e999]", f"the number 1.{'0' * 58}... is too large"),
    ],
)
def test_what_json_does_not_have_is_refused(text: str, problem: str) -> None:
    with pytest.raises(RefusedError) as refused:
        STRICT.decode(text)

    assert problem == str(refused.value)


def test_an_object_of_very_many_keys_is_read() -> None:
    document = {f"key {place}": place for place in range(MANY)}

    found = read_document(json.dumps(document))

    assert isinstance(found, Read)
    assert document == found.value


def test_the_last_of_very_many_keys_is_found_to_stand_twice() -> None:
    keys = [*(f"key {place}" for place in range(MANY)), f"key {MANY - 1}"]
    text = "{" + ", ".join(f'"{key}": 1' for key in keys) + "}"

    found = read_document(text)

    assert isinstance(found, Unreadable)
    assert f"key 'key {MANY - 1}' stands twice in one object" == found.problem
    assert text.rindex('"key') + 1 == found.position


def test_keys_are_compared_with_equal_ones_alone() -> None:
    pairs = [(Counted(f"key {place}"), 1) for place in range(1_000)]
    pairs.append((Counted("key 999"), 1))
    Counted.comparisons = 0

    with pytest.raises(RefusedError, match="'key 999' stands twice"):
        STRICT.object_pairs_hook(pairs)

    assert Counted.comparisons < 10


def test_strings_that_never_end_are_passed_once() -> None:
    text = '{"a": 1, "\\u0061": 2}"' + '\\"' * MANY

    found = read_document(text)

    assert isinstance(found, Unreadable)
    assert "key 'a' stands twice in one object" == found.problem


def test_an_integer_of_many_digits_is_no_number_that_is_too_large() -> None:
    text = f'{{"a": {"9" * 400}, "b": 1, "b": 2}}'

    found = read_document(text)

    assert isinstance(found, Unreadable)
    assert text.rindex('"b"') + 1 == found.position


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="lists in one another"),
        pytest.param('{"a":' * 100_000, id="objects in one another"),
        pytest.param(f"[{'9' * 1_000_000}]", id="digits of an integer"),
        pytest.param("<think>" * 100_000, id="tags that never close"),
        pytest.param("</think >" * 100_000, id="tags that never open"),
    ],
)
def test_a_text_that_is_no_document_is_refused_whatever_its_size(text: str) -> None:
    assert isinstance(read_document(text), Unreadable)
