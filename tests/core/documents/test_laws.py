"""Laws of reading and comparing documents, held against documents that Hypothesis makes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_sopbench._core.documents.comparing import canonical, compare_documents
from pytest_sopbench._core.documents.reading import Read, compared_paths, read_document, wrong_paths
from pytest_sopbench._core.documents.schema import DocumentRules, path_of, path_text, value_at

RULES = DocumentRules(schema={"type": "object"})
ORDERED = DocumentRules(schema={"type": "object"}, ordered=("items",))

KEYS = st.text(min_size=1, max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)
OBJECTS = st.recursive(
    st.dictionaries(KEYS, SCALARS, min_size=1, max_size=4),
    lambda inner: st.dictionaries(KEYS, SCALARS | inner, min_size=1, max_size=4),
    max_leaves=8,
)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1, "\t"]), st.randoms())
def test_a_document_equals_itself_under_any_order_white_space_and_escapes(
    document: dict[str, Any], ascii_only: bool, indent: Any, random: Any
) -> None:
    text = json.dumps(shuffled(document, random), ensure_ascii=ascii_only, indent=indent)

    read = read_document(f" {text}\n")

    assert isinstance(read, Read)
    assert () == compare_documents(RULES, document, read.value).mismatches


@given(OBJECTS, st.data())
def test_one_changed_scalar_is_always_found_at_its_path(
    document: dict[str, Any], data: st.DataObject
) -> None:
    paths = [path for path in leaves(document) if value_at(document, path) is not None]
    assume(paths)
    path = data.draw(st.sampled_from(paths))
    changed = copy.deepcopy(document)
    put(changed, path, other_than(value_at(document, path)))

    found = compare_documents(RULES, document, changed).mismatches

    assert [path] == [one.field for one in found]


@given(st.lists(VALUES, max_size=6), st.randoms())
def test_a_permuted_multiset_is_equal(items: list[Any], random: Any) -> None:
    permuted = random.sample(items, len(items))

    assert () == compare_documents(RULES, {"items": items}, {"items": permuted}).mismatches


@given(st.lists(st.integers(), min_size=2, max_size=6, unique=True), st.data())
def test_a_permuted_ordered_list_is_not_equal(items: list[int], data: st.DataObject) -> None:
    permuted = data.draw(st.permutations(items))
    assume(permuted != items)

    found = compare_documents(ORDERED, {"items": items}, {"items": permuted}).mismatches

    assert found
    assert all(one.field.startswith("items[") for one in found)


@given(st.lists(SCALARS, max_size=6), st.lists(SCALARS, max_size=6))
def test_comparing_two_lists_does_not_depend_on_which_is_expected(
    one: list[Any], other: list[Any]
) -> None:
    there = compare_documents(RULES, {"items": one}, {"items": other}).mismatches
    back = compare_documents(RULES, {"items": other}, {"items": one}).mismatches

    assert bool(there) == bool(back)


@given(DOCUMENTS, DOCUMENTS)
def test_documents_of_one_canonical_spelling_are_equal(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assume(canonical(RULES, one) == canonical(RULES, other))

    assert () == compare_documents(RULES, one, other).mismatches


@given(st.lists(KEYS | st.integers(0, 99), min_size=1, max_size=5))
def test_a_path_is_read_as_it_was_written(parts: list[str | int]) -> None:
    path = tuple(parts)

    assert path == path_of(path_text(path))


@given(DOCUMENTS, DOCUMENTS)
def test_every_mismatch_makes_a_path_wrong_and_nothing_else_does(
    expected: dict[str, Any], actual: dict[str, Any]
) -> None:
    found = compare_documents(RULES, expected, actual).mismatches

    wrong = wrong_paths(compared_paths(RULES, expected), [one.field for one in found])

    assert bool(found) == bool(wrong)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    read = read_document(text)

    assert isinstance(read, Read) or read.reason


def shuffled(value: Any, random: Any) -> Any:
    if isinstance(value, dict):
        keys = random.sample(sorted(value), len(value))
        return {key: shuffled(value[key], random) for key in keys}
    return [shuffled(one, random) for one in value] if isinstance(value, list) else value


def leaves(document: dict[str, Any], above: tuple[str | int, ...] = ()) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from leaves(value, (*above, key))
        else:
            yield path_text((*above, key))


def put(document: Any, path: str, value: Any) -> None:
    *above, last = path_of(path)
    for part in above:
        document = document[part]
    document[last] = value


def other_than(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}x"
    return 1 if value == 0 else -value
