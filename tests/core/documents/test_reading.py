"""Laws of reading and comparing documents, held against documents that Hypothesis makes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_sopbench._core.documents import comparing
from pytest_sopbench._core.documents.comparing import canonical, compare_documents
from pytest_sopbench._core.documents.reading import (
    Read,
    compared_paths,
    labelled_paths,
    read_document,
    wrong_paths,
)
from pytest_sopbench._core.documents.schema import DocumentRules, Role, path_of, path_text, value_at
from pytest_sopbench._core.fields.values import item_key

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


# Which paths of a document are counted, and which of them have values few enough for a table.

SCHEMA = {
    "$defs": {"kind": {"enum": ["a", "b"]}},
    "properties": {
        "kind": {"$ref": "#/$defs/kind"},
        "late": {"type": "boolean"},
        "name": {"type": "string"},
        "stay": {"anyOf": [{"properties": {"room": {"const": "1"}}}, {"type": "null"}]},
    },
}
RULES_OF_LEAVES = DocumentRules(schema=SCHEMA, ignored=("why",), roles={"step": Role.ROUTE})
EXPECTED = {
    "kind": "a",
    "late": True,
    "name": "x",
    "stay": {"room": "1", "why": "y", "bill": {}},
    "step": ["1"],
    "a.b": 1,
}
PATHS = ("kind", "late", "name", "stay.room", "stay.bill", "step", '["a.b"]')


def test_every_value_of_an_object_is_a_path_and_a_list_is_one() -> None:
    assert PATHS == compared_paths(RULES_OF_LEAVES, EXPECTED)


def test_values_are_few_by_the_schema_or_by_the_role() -> None:
    assert ("kind", "late", "stay.room", "step") == labelled_paths(RULES_OF_LEAVES, PATHS)


def test_a_mismatch_concerns_paths_at_it_below_it_and_above_it() -> None:
    assert {"stay.room", "stay.bill"} == wrong_paths(PATHS, ["stay"])
    assert {"step"} == wrong_paths(PATHS, ["step[2].name"])
    assert {"name"} == wrong_paths(PATHS, ["name"])


def test_a_mismatch_that_concerns_none_is_a_path_itself() -> None:
    assert {"names"} == wrong_paths(PATHS, ["names"])


# No document makes the judge work for ever: what multiplies is bounded, and nothing is lost.

STOP = {"type": "object", "properties": {"name": {"type": "string"}}}
DAYS = {"type": "array", "items": {"type": "array", "items": STOP}}
RULES_OF_BOUNDS = DocumentRules(schema={"type": "object", "properties": {"days": DAYS}})
OPEN = DocumentRules(schema={"type": "object", "properties": {"days": {}}})

OBJECT = DocumentRules(schema=STOP)
LISTED = DocumentRules(schema={"properties": {"items": {"type": "array", "items": STOP}}})

NAMES = st.text("abc", min_size=1, max_size=2)
PLANS = st.lists(st.lists(NAMES, max_size=4), max_size=4)


def days(names: list[list[str]], **extra: Any) -> dict[str, Any]:
    return {"days": [[{"name": name, **extra} for name in one] for one in names]}


@given(PLANS, st.randoms())
def test_stops_with_more_than_the_schema_asks_for_are_the_same_in_any_order(
    names: list[list[str]], random: Any
) -> None:
    other = [random.sample(one, len(one)) for one in random.sample(names, len(names))]

    assert () == compare_documents(RULES_OF_BOUNDS, days(names), days(other, note="x")).mismatches


@given(PLANS, PLANS)
def test_stops_are_the_same_only_where_sorting_says_so(
    names: list[list[str]], others: list[list[str]]
) -> None:
    found = compare_documents(RULES_OF_BOUNDS, days(names), days(others, note="x")).mismatches

    assert (sorted(map(sorted, names)) == sorted(map(sorted, others))) is (not found)


@pytest.mark.parametrize("rules", [RULES_OF_BOUNDS, OPEN], ids=["declared", "not declared"])
def test_lists_within_lists_do_not_multiply(
    rules: DocumentRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pair by pair these would be 12,960,000 objects."""
    walked = 0
    objects = comparing._Walk.objects

    def counted(self: Any, *given: Any) -> None:
        nonlocal walked
        walked += 1
        objects(self, *given)

    monkeypatch.setattr(comparing._Walk, "objects", counted)
    names = [[f"{day}.{stop}" for stop in range(60)] for day in range(60)]
    others = [[f"other {name}" for name in one] for one in names]

    found = compare_documents(rules, days(names), days(others))

    assert 1 == len(found.mismatches)
    assert walked <= comparing.PAIRS_LIMIT + 1


def test_items_beyond_the_schema_are_told_apart_before_they_are_counted() -> None:
    """Pair by pair these would be 30,000, which is more than is looked at."""
    names = ("first", "second", "third")
    plain = {name: [{"id": number} for number in range(100)] for name in names}
    noted = {name: [{**one, "note": "x"} for one in plain[name][::-1]] for name in names}

    found = compare_documents(DocumentRules(schema={"type": "object"}), plain, noted)

    assert () == found.mismatches


def test_days_in_another_order_and_with_more_than_is_declared_are_the_same() -> None:
    names = [[f"{day}.{stop}" for stop in range(60)] for day in range(60)]
    others = [one[::-1] for one in names[::-1]]

    found = compare_documents(OPEN, days(names), days(others, note="x"))

    assert () == found.mismatches


def test_what_is_looked_at_before_it_is_compared_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any two stops of two days may be equal, but for the last one of each day."""
    looks = 0
    may_be = comparing._Spelled.may_be

    def counted(self: Any, actual: Any) -> bool:
        nonlocal looks
        looks += 1
        return may_be(self, actual)

    monkeypatch.setattr(comparing, "LOOKS_LIMIT", 5_000)
    monkeypatch.setattr(comparing._Spelled, "may_be", counted)
    wanted = {"days": [[{"a": [day]}] * 9 + [{"b": [day]}] for day in range(20)]}
    given_days = {"days": [[{"a": [day], "n": 1}] * 9 + [{"c": 1}] for day in range(20)]}

    found = compare_documents(OPEN, wanted, given_days)

    assert found.mismatches
    assert looks == 5_000


ITEMS = st.lists(
    st.dictionaries(st.sampled_from(["name", "id", "more"]), st.sampled_from([None, 1, "a", [1]])),
    max_size=4,
)


@given(ITEMS, ITEMS)
def test_what_is_told_apart_beforehand_is_never_equal(
    items: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    """Each document alone holds what a list holds many of, and is compared without lists."""
    for one in items:
        for other in others:
            alone = compare_documents(OBJECT, one, other).mismatches
            listed = compare_documents(LISTED, {"items": [one]}, {"items": [other]}).mismatches

            assert (not alone) is (not listed)


def test_a_pattern_that_explodes_tells_a_key_in_no_time() -> None:
    """The validator gives up; with `re` this key would take longer than a session."""
    properties: Mapping[str, Any] = {"^(a+)+$": {"type": "number"}}
    rules = DocumentRules(schema={"type": "object", "patternProperties": properties})

    found = compare_documents(rules, {}, {f"{'a' * 60}!": 1, "aaa": 2})

    assert ["aaa"] == [one.field for one in found.mismatches]


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_numbers_of_a_list_are_the_same_where_they_are_equal(one: int, other: int) -> None:
    keys = item_key(one, ordered=False), item_key(other, ordered=False)

    assert (one == other) is (keys[0] == keys[1])
    assert keys[0] == item_key(str(one), ordered=False)


def test_numbers_that_python_hashes_alike_are_counted_apart() -> None:
    """A list of 20,000 of them would be held against itself, number by number."""
    keys = [item_key((2**61 - 1) * number, ordered=False) for number in range(1, 1_001)]

    assert 1_000 == len({hash(key) for key in keys})


A, B = {"a": {"type": "string"}}, {"b": {"type": "string"}}
NEW = "https://json-schema.org/draft/2020-12/schema"
OLD = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    "place",
    [
        pytest.param({"$ref": "#whole"}, id="an anchor"),
        pytest.param({"$dynamicRef": "#open"}, id="a dynamic anchor"),
        pytest.param({"$ref": "#old"}, id="an id of draft 7"),
        pytest.param({"$ref": "#/$defs/several/allOf/1"}, id="a place in a list"),
        pytest.param(
            {"properties": A, "dependencies": {"a": {"properties": B}}}, id="dependencies"
        ),
        pytest.param({"$ref": "apart.json"}, id="the id of a subschema"),
        pytest.param({"$ref": "https://a.test/all.json#/$defs/whole"}, id="the id of the root"),
        pytest.param({"$ref": "apart.json#deep"}, id="an anchor in another document"),
        pytest.param({"$ref": "within.json"}, id="a pointer from a document in the document"),
        pytest.param({"$ref": "urn:a:b#/$defs/o"}, id="a pointer into a URN"),
        pytest.param({"unevaluatedProperties": {"properties": A}}, id="what is left over"),
    ],
)
def test_a_key_is_declared_wherever_the_schema_speaks_of_it(place: dict[str, Any]) -> None:
    draft = OLD if place == {"$ref": "#old"} else NEW
    defs: dict[str, Any] = {
        "whole": {"$anchor": "whole", "properties": A | B},
        "open": {"$dynamicAnchor": "open", "properties": A | B},
        "several": {"allOf": [{}, {"properties": A | B}]},
        "apart": {
            "$id": "apart.json",
            "properties": A | B,
            "$defs": {"deep": {"$anchor": "deep", "properties": A | B}},
        },
        "within": {
            "$id": "within.json",
            "$ref": "#/$defs/o",
            "$defs": {"o": {"properties": A | B}},
        },
        "urn": {"$id": "urn:a:b", "$defs": {"o": {"properties": A | B}}},
    }
    whole: dict[str, Any] = {"$schema": draft, "$id": "https://a.test/all.json"}
    whole |= {"properties": {"o": place}, "$defs": defs}
    if draft == OLD:
        whole["definitions"] = {"old": {"$id": "#old", "properties": A | B}}
    rules = DocumentRules(schema=whole)

    rules.validator.check()

    assert rules.declared.inside("o").declares("b")
    is_open = "unevaluatedProperties" in place
    assert is_open is rules.declared.inside("o").declares("c")


def test_a_reference_that_is_no_uri_leads_nowhere() -> None:
    rules = DocumentRules(schema={"$id": "http://[", "properties": A | {"o": {"$ref": "http://["}}})

    assert rules.declared.declares("a")


def test_a_schema_that_refers_to_the_outermost_one_declares_its_keys() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": True,
        "properties": A | {"o": {"$recursiveRef": "#"}},
    }
    rules = DocumentRules(schema=schema)

    rules.validator.check()

    assert rules.declared.inside("o").inside("o").declares("a")


def test_an_id_is_a_keyword_only_in_old_drafts() -> None:
    part = {"id": "other.json", "$ref": "#/$defs/p", "definitions": {"p": {}}}
    new: dict[str, Any] = {"properties": {"o": part}, "$defs": {"p": {"properties": A}}}
    old: dict[str, Any] = {"$schema": "http://json-schema.org/draft-04/schema#"}
    old |= {"id": "http://a.test/s.json"}
    old |= {"definitions": {"p": {"id": "p.json", "properties": A}}}
    old |= {"properties": {"o": {"$ref": "p.json"}}}

    for schema in (new, old):
        rules = DocumentRules(schema=schema)
        rules.validator.check()

        assert rules.declared.inside("o").declares("a")
