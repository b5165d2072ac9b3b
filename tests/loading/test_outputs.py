""""""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain, OutputField
from pytest_sopbench.errors import LoadingError, RowError
from tests.builders.domains import load_domain
from tests.builders.judged import Compare, FieldType, JudgingRules, compare, rules_fingerprint

MakeDomain = Callable[..., Path]

# Enough rows of few labels for an enum to be inferred.
MANY = "parcel_id,label,weight,route\n" + "".join(
    f"P{n},red,{n},{'north' if n % 3 else 'south'}\n" for n in range(30)
)


def field_of(make_domain: MakeDomain, content: str = MANY, **route: Any) -> OutputField:
    (field,) = load_domain(make_domain({"data.csv": content}, outputs={"route": route})).fields
    return field


def test_what_is_not_declared_is_inferred(make_domain: MakeDomain) -> None:
    field = field_of(make_domain, aliases={"n": "north"})

    assert FieldType.ENUM is field.type
    assert {"north", "south"} == set(field.values)
    assert {"n": "north"} == field.aliases
    assert not field.declared


def test_what_is_declared_is_taken(make_domain: MakeDomain) -> None:
    content = MANY.replace("north", "1.5").replace("south", "2")

    field = field_of(
        make_domain, content, type="number", tolerance=0.5, ordered=True, compare="present"
    )

    assert (
        OutputField(
            name="route",
            type=FieldType.NUMBER,
            tolerance=0.5,
            ordered=True,
            compare=Compare.PRESENT,
            declared=True,
        )
        == field
    )


def test_values_alone_make_an_enum(make_domain: MakeDomain) -> None:
    field = field_of(make_domain, values=["north", "south", "sea"])

    assert FieldType.ENUM is field.type
    assert ("north", "south", "sea") == field.values
    assert field.declared


def test_an_enum_without_values_has_those_of_its_column(make_domain: MakeDomain) -> None:
    content = "parcel_id,label,weight,route\nP1,red,1,north\nP2,red,1,\n"

    field = field_of(make_domain, content, type="enum", may_be_empty=True)

    assert ("north",) == field.values


def test_an_alias_in_the_column_is_no_value_of_its_own(make_domain: MakeDomain) -> None:
    content = MANY.replace("P1,red,1,north", "P1,red,1,n")

    field = field_of(make_domain, content, aliases={"n": "north"})

    assert {"north", "south"} == set(field.values)


def test_a_private_output_field_says_so(make_domain: MakeDomain) -> None:
    (field,) = load_domain(make_domain(private_columns=["route"])).fields

    assert field.private


def test_an_alias_of_what_no_row_expects_is_told_of_a_text_too(make_domain: MakeDomain) -> None:
    with pytest.raises(LoadingError, match="'n' stands for 'nort', which is no known value"):
        load_domain(make_domain(outputs={"route": {"aliases": {"n": "nort"}}}))


@pytest.mark.parametrize(
    ("outputs", "problem", "hint"),
    [
        pytest.param(
            {"rout": {}},
            "key 'outputs.rout': no output column has this name",
            "did you mean 'route'?",
            id="no-output",
        ),
        pytest.param(
            {"route": {"type": "text", "values": ["north", "south"]}},
            "key 'outputs.route.values': values are for the type 'enum', and the type is 'text'",
            "remove one of them",
            id="values-of-a-text",
        ),
        pytest.param(
            {"route": {"tolerance": 1}},
            "key 'outputs.route.tolerance': a tolerance is for numbers, and the type is 'enum'",
            "remove it, or declare the type 'number'",
            id="tolerance-of-labels",
        ),
        pytest.param(
            {"route": {"aliases": {"n": "nort"}}},
            "key 'outputs.route.aliases': 'n' stands for 'nort', which is no known value",
            "did you mean 'north'?",
            id="alias-of-nothing",
        ),
        pytest.param(
            {"route": {"values": ["north", "south"], "aliases": {"south": "north"}}},
            "key 'outputs.route.aliases': 'south' is a value of its own",
            "take it off 'values' or off 'aliases'",
            id="alias-that-is-a-value",
        ),
        pytest.param(
            {"route": {"values": ["north", "south"], "aliases": {"South": "north"}}},
            "key 'outputs.route.aliases': 'South' is a value of its own, 'south'",
            "take it off 'values' or off 'aliases'",
            id="alias-that-is-read-as-a-value",
        ),
        pytest.param(
            {"route": {"aliases": {"go-up": "north", "Go Up": "south"}}},
            "key 'outputs.route.aliases': 'go-up' and 'Go Up' are the same text, and stand for "
            "'north' and for 'south'",
            "take one of them off",
            id="alias-of-two-values",
        ),
    ],
)
def test_a_declaration_that_contradicts_itself_is_told(
    make_domain: MakeDomain, outputs: dict[str, Any], problem: str, hint: str
) -> None:
    with pytest.raises(LoadingError) as caught:
        load_domain(make_domain({"data.csv": MANY}, outputs=outputs))

    assert problem == caught.value.problem
    assert hint == caught.value.hint


def test_labels_that_count_as_one_are_warned_of(make_domain: MakeDomain) -> None:
    warnings = load_domain(
        make_domain({"data.csv": MANY.replace("P1,red,1,north", "P1,red,1,North")})
    ).warnings

    (text,) = [text for text in warnings if text.startswith("data.csv, column 'route': ")]
    assert text.endswith("'North' and 'north' count as the same answer")


TYPES = "parcel_id,label,weight,route\n" + "P1,red,1,{good}\nP2,red,1,{empty}\nP3,red,1,{bad}\n"


@pytest.mark.parametrize(
    ("declared", "good", "bad", "expected"),
    [
        pytest.param({"type": "number"}, "1.50", "much", "'much' is not a number", id="number"),
        pytest.param({"type": "integer"}, "3.0", "3.5", "'3.5' is not a whole number", id="whole"),
        pytest.param({"type": "boolean"}, "Yes", "2", "'2' is not true or false", id="boolean"),
        pytest.param(
            {"type": "date"}, "2025-01-31", "31.1.25", "'31.1.25' is not an ISO date", id="date"
        ),
        pytest.param(
            {"type": "integer", "aliases": {"many": "9"}},
            "many",
            "a few",
            "'a few' is not a whole number",
            id="whole-by-alias",
        ),
        pytest.param(
            {"values": ["North Sea"], "aliases": {"n": "north-sea"}},
            "north_sea",
            "nroth sea",
            "'nroth sea' is not one of the values",
            id="labels",
        ),
    ],
)
def test_an_expected_answer_against_its_declaration_is_told_with_its_row(
    make_domain: MakeDomain, declared: dict[str, Any], good: str, bad: str, expected: str
) -> None:
    declared = declared | {"may_be_empty": True}
    sound = TYPES.format(good=good, bad=good, empty="n/a")
    broken = TYPES.format(good=good, bad=bad, empty="")

    load_domain(make_domain({"data.csv": sound}, folder="sound", outputs={"route": declared}))
    with pytest.raises(RowError) as caught:
        load_domain(make_domain({"data.csv": broken}, outputs={"route": declared}))

    assert f"{expected}, as 'outputs' declares" == caught.value.problem
    assert (4, "route") == (caught.value.row, caught.value.column)


def test_any_text_fits_a_text_and_what_is_not_compared_need_not_fit(
    make_domain: MakeDomain,
) -> None:
    text = load_domain(make_domain(folder="text", outputs={"route": {"type": "text"}}))
    present = {"type": "number", "compare": "present"}
    loose = load_domain(make_domain(folder="loose", outputs={"route": present}))

    assert FieldType.TEXT is text.fields[0].type
    assert FieldType.NUMBER is loose.fields[0].type


def test_labels_that_differ_a_hundred_times_are_warned_of_five_times(
    make_domain: MakeDomain,
) -> None:
    words = [word for n in range(9) for word in (f"w{n}", f"W{n}")]
    rows = "".join(f"P{n},a,1,{word}\n" for n, word in enumerate(words))

    warnings = load_domain(
        make_domain({"data.csv": "parcel_id,label,weight,route\n" + rows})
    ).warnings

    assert 6 == len(warnings)
    assert "data.csv, column 'route': and so do 4 more pairs" == warnings[-1]


def test_a_declared_boolean_has_the_words_of_its_column(make_domain: MakeDomain) -> None:
    content = MANY.replace("north", "Yes").replace("south", "0")

    field = field_of(make_domain, content, type="boolean", aliases={"agreed": "true"})

    assert ("0", "Yes") == field.values


def test_json_lines_fit_by_their_own_types(make_domain: MakeDomain) -> None:
    lines = '{"parcel_id": "P1", "label": "a", "weight": 1, "route": [1], "late": true}\n'
    outputs = {"route": {"type": "list"}, "late": {"type": "boolean"}}

    domain = load_domain(
        make_domain(
            {"data.csv": None, "tasks.jsonl": lines},
            output_columns=["route", "late"],
            outputs=outputs,
        )
    )

    assert {"route": [1], "late": True} == domain.tasks[0].expected


def test_a_column_written_in_aliases_has_the_labels_they_stand_for(
    make_domain: MakeDomain,
) -> None:
    content = MANY.replace("north", "n")

    field = field_of(make_domain, content, aliases={"N": "North Sea"})

    assert {"North Sea", "south"} == set(field.values)


def test_an_alias_that_is_only_another_spelling_leaves_its_label(make_domain: MakeDomain) -> None:
    field = field_of(make_domain, aliases={"NORTH": "north"})

    assert {"north", "south"} == set(field.values)


# How `outputs` may say that a field is compared, and what is refused.


def loaded(folder: Path, cell: str, **output: Any) -> Domain:
    metadata = {
        "name": "parcels",
        "id_column": "id",
        "input_columns": ["id"],
        "output_columns": ["answer"],
        "outputs": {"answer": output},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    (folder / "sop.md").write_text("Answer.", "utf-8")
    quoted = cell.replace('"', '""')
    (folder / "data.csv").write_text(f'id,answer\nA,"{quoted}"\nB,"{quoted}"\n', "utf-8")
    return load_domain(folder)


FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "a function": ("x", {"compare": "call", "comparer": "a:b", "at_least": 0.5}),
    "a pattern": (r"R-\d+", {"compare": "matches"}),
    "patterns": ('["a|b", "c"]', {"compare": "one_of"}),
    "phrases": ('["a b", "c"]', {"compare": "contains_all"}),
    "a text": ("Dear", {"compare": "similar", "at_least": 0.9}),
    "euros": ("1.234,50 €", {"type": "number", "units": ["€"], "grouping": "."}),
    "a day": ("1.5.2026", {"type": "date", "formats": ["%d.%m.%Y"]}),
    "a document": ('{"a": [1]}', {"compare": "json"}),
    "items": ('[{"id": 1}, {"id": 2}]', {"type": "list", "key": "id"}),
}


@pytest.mark.parametrize("case", FITS)
def test_a_comparison_is_declared_and_is_a_part_of_judging(tmp_path: Path, case: str) -> None:
    cell, output = FITS[case]

    domain = loaded(tmp_path, cell, **output)

    assert () == tuple(one for one in domain.warnings if "answer" in one)
    (field,) = domain.fields
    plain = loaded(tmp_path, cell).fields[0]
    hashes = {rules_fingerprint({"d": JudgingRules(fields=(one,))}) for one in (field, plain)}
    assert 2 == len(hashes)


@pytest.mark.parametrize("paths", [{"ignored_paths": ["a"]}, {"ordered_paths": ["a"]}])
def test_the_paths_of_a_document_are_a_part_of_judging(tmp_path: Path, paths: Any) -> None:
    (plain,) = loaded(tmp_path, '{"a": [1], "b": 2}', compare="json").fields

    (field,) = loaded(tmp_path, '{"a": [1], "b": 2}', compare="json", **paths).fields

    hashes = {rules_fingerprint({"d": JudgingRules(fields=(one,))}) for one in (field, plain)}
    assert 2 == len(hashes)


def test_a_test_is_given_the_document_and_not_its_text(tmp_path: Path) -> None:
    domain = loaded(tmp_path, '{"a": [1]}', compare="json")

    assert {"answer": {"a": [1]}} == domain.tasks[0].expected


def test_the_mark_before_a_fraction_follows_that_between_thousands(tmp_path: Path) -> None:
    (field,) = loaded(tmp_path, "1.234,50", type="number", grouping=".").fields

    assert (FieldType.NUMBER, ".", ",") == (field.type, field.grouping, field.decimal)
    assert Compare.EXACT is field.compare


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "call without a function": ("x", {"compare": "call"}, "comparer': nothing says which"),
    "a function without call": ("x", {"comparer": "a:b"}, "comparer': nothing calls it"),
    "similar without a number": ("x", {"compare": "similar"}, "at_least': nothing says how"),
    "a number without a score": ("x", {"at_least": 0.9}, "at_least': nothing gives a score"),
    "a number above one": ("x", {"compare": "similar", "at_least": 9}, "at_least'"),
    "a score that every text has": (
        "x",
        {"compare": "similar", "at_least": 0},
        "at_least': every score is 0 or more, so that any answer would be right",
    ),
    "a score that every answer has": (
        "x",
        {"compare": "call", "comparer": "a:b", "at_least": 0.0},
        "at_least': every score is 0 or more",
    ),
    "units of a text": ("x", {"units": ["€"]}, "units': it is for numbers"),
    "a point as a unit": ("5", {"type": "number", "units": ["."]}, "units': '.' beside a number"),
    "a power as a unit": (
        "5",
        {"type": "number", "units": ["e3"]},
        "'e3' beside a number",
    ),
    "a sign as a unit": ("5", {"type": "number", "units": ["EUR", "-"]}, "units': '-' beside"),
    "an empty unit": ("5", {"type": "number", "units": [""]}, "units': '' beside a number"),
    "one mark for both": (
        "1",
        {"type": "number", "grouping": ",", "decimal": ","},
        "grouping': ',' cannot stand between thousands and before a fraction",
    ),
    "formats of a text": ("x", {"formats": ["%Y"]}, "formats': they are for dates"),
    "a format without a day": (
        "2026-05-01",
        {"type": "date", "formats": ["%Y-%m"]},
        "formats': '%Y-%m' says no day",
    ),
    "a key of a text": ("x", {"key": "id"}, "key': it is for lists"),
    "a pattern that is none": ("(", {"compare": "matches"}, "row 2, column 'answer': the pattern"),
    "a pattern that refers back": (r"(a)\1", {"compare": "one_of"}, "cannot be read"),
    "no pattern": ("", {"compare": "matches"}, "'matches' needs a pattern"),
    "no phrase": ("[]", {"compare": "contains_all"}, "needs at least one phrase"),
    "a phrase that nobody sees": (
        '["\u200b"]',
        {"compare": "contains_all"},
        "needs at least one phrase",
    ),
    "no text": ("", {"compare": "similar", "at_least": 0.9}, "'similar' needs a text"),
    "one key twice": (
        '[{"id": 1}, {"id": 1}]',
        {"type": "list", "key": "id"},
        "has no 'id' of its own",
    ),
    "an item without a key": ('[{"x": 1}]', {"type": "list", "key": "id"}, "has no 'id'"),
    "no document": ("", {"compare": "json"}, "'json' needs an object or a list"),
    "a broken document": ('{"a": 1', {"compare": "json"}, "row 2, column 'answer': it is not JSON"),
    "a document in other quotes": ("{'a': 1}", {"compare": "json"}, "it is not JSON"),
    "a number as a document": ("7", {"compare": "json"}, "it is a number, and neither"),
    "a document that is a number": ("7", {"compare": "json", "type": "number"}, "type': 'json'"),
    "a document of which all is ignored": (
        '{"a": {"b": 1}, "c": ["x"]}',
        {"compare": "json", "ignored_paths": ["a.b", "c"]},
        "'ignored_paths' pass over every value in it, so that any values would be right",
    ),
    "a list of which all is ignored": (
        '[{"a": 1}, {"a": 2}]',
        {"compare": "json", "ignored_paths": ["a"]},
        "'ignored_paths' pass over every value in it",
    ),
    "paths of a text": ("x", {"ignored_paths": ["a"]}, "ignored_paths': they are for documents"),
    "lists of a text": ("x", {"ordered_paths": ["a"]}, "ordered_paths': they are for documents"),
    "a number in other marks": ("1,5", {"type": "number", "units": ["€"]}, "is not a number"),
}


@pytest.mark.parametrize("cell", ['{"a": 1, "b": 2}', "{}", "[]", '{"b": []}'])
def test_a_document_may_have_little_to_compare(tmp_path: Path, cell: str) -> None:
    (field,) = loaded(tmp_path, cell, compare="json", ignored_paths=["a"]).fields

    assert ("a",) == field.ignored_paths


@pytest.mark.parametrize("unit", ["€", "%", "EUR", "m2", "kg/m3", "E", "pcs."])
def test_a_unit_is_what_no_number_has(tmp_path: Path, unit: str) -> None:
    (field,) = loaded(tmp_path, f"5 {unit}", type="number", units=[unit]).fields

    assert (unit,) == field.units


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compared_is_refused_when_it_is_loaded(tmp_path: Path, case: str) -> None:
    cell, output, said = REFUSED[case]

    with pytest.raises(LoadingError) as refused:
        loaded(tmp_path, cell, **output)

    assert said in str(refused.value)


# An empty expected answer makes a stub right, so it is refused or said aloud.

HEADER = "parcel_id,label,weight,route,fee\n"
LABELS = ["north", "south"]


def rows(*answers: str) -> str:
    return HEADER + "".join(f"P{n},red,{n},{one}\n" for n, one in enumerate(answers, 1))


def make(make_domain: MakeDomain, content: str, **keys: Any) -> Path:
    return make_domain(
        {"data.csv": content}, **({"output_columns": ["route", "fee"], "outputs": {}} | keys)
    )


@pytest.mark.parametrize(
    ("route", "cell", "problem", "hint"),
    [
        pytest.param(
            {"values": LABELS},
            "",
            "the expected answer is empty, and 'outputs' declares one of the values",
            "write one of north, south; if an empty answer is right, add \"\" to 'values'",
            id="labels",
        ),
        pytest.param(
            {"type": "enum"},
            "   ",
            "'   ' is empty, and 'outputs' declares one of the values",
            "",
            id="blanks",
        ),
        pytest.param(
            {"values": LABELS},
            "n/a",
            "'n/a' is empty, and 'outputs' declares one of the values",
            "write one of north, south; if an empty answer is right, add \"\" to 'values'; "
            "if 'n/a' is a label, add it to 'values'",
            id="a-word-for-empty",
        ),
        pytest.param(
            {"values": [*LABELS, "none"]},
            "",
            "the expected answer is empty, and 'outputs' declares one of the values",
            "",
            id="none-is-a-label-of-its-own",
        ),
        pytest.param(
            {"values": LABELS},
            "\u200b",
            "'\\u200b' is empty, and 'outputs' declares one of the values",
            "",
            id="what-nobody-sees",
        ),
        pytest.param(
            {"type": "boolean"},
            "",
            "the expected answer is empty, and 'outputs' declares true or false",
            "write true or false; if an empty answer is right, say 'may_be_empty': true",
            id="boolean",
        ),
        pytest.param(
            {"type": "number"},
            "None",
            "'None' is empty, and 'outputs' declares a number",
            "",
            id="number",
        ),
        pytest.param(
            {"type": "list"},
            "",
            "the expected answer is empty, and 'outputs' declares a list",
            "write [] if an empty list is right",
            id="list",
        ),
    ],
)
def test_an_empty_answer_against_a_declared_type_is_told_with_its_row(
    make_domain: MakeDomain, route: dict[str, Any], cell: str, problem: str, hint: str
) -> None:
    full = {"boolean": "true", "number": "1", "list": "[1]"}.get(route.get("type", ""), "north")
    folder = make(
        make_domain, rows(f"{full},1", f"{cell},2", f"{full},3"), outputs={"route": route}
    )

    with pytest.raises(RowError) as caught:
        load_domain(folder)

    assert problem == caught.value.problem
    assert (3, "route") == (caught.value.row, caught.value.column)
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("word", ["nan", "NaN", "-"])
def test_a_word_that_is_no_number_is_none(make_domain: MakeDomain, word: str) -> None:
    folder = make(
        make_domain, rows("north,1", f"north,{word}"), outputs={"fee": {"type": "number"}}
    )

    with pytest.raises(RowError, match=f"'{word}' is not a number, as 'outputs' declares"):
        load_domain(folder)


@pytest.mark.parametrize(
    "route",
    [
        pytest.param({"values": [*LABELS, ""]}, id="among-the-values"),
        pytest.param({"values": LABELS, "may_be_empty": True}, id="said-of-the-field"),
    ],
)
def test_an_empty_answer_that_is_declared_is_right_however_it_is_spelled(
    make_domain: MakeDomain, route: dict[str, Any]
) -> None:
    domain = load_domain(
        make(make_domain, rows("north,1", ",2"), outputs={"route": route, "fee": {}})
    )

    field = domain.fields[0]
    assert tuple(LABELS) == field.values
    assert domain.notices == ()
    assert [None, None] == [compare(field, "", actual) for actual in ("", None)]
    assert compare(field, "", "north") is not None


def test_a_column_without_an_answer_is_refused_even_where_it_may_be_empty(
    make_domain: MakeDomain,
) -> None:
    folder = make(
        make_domain, rows("north, ", "south,n/a"), outputs={"fee": {"may_be_empty": True}}
    )

    with pytest.raises(LoadingError, match="column 'fee': every expected answer is empty"):
        load_domain(folder)


def test_a_row_that_expects_nothing_is_refused(make_domain: MakeDomain) -> None:
    folder = make(make_domain, rows("north,1", "south,", ","))

    with pytest.raises(RowError, match="no answer is expected, so an agent that answers") as caught:
        load_domain(folder)

    assert (4, "route") == (caught.value.row, caught.value.column)
    assert caught.value.hint.endswith("say 'may_be_empty': true in 'outputs.route'")


def test_null_in_json_lines_is_empty_too(make_domain: MakeDomain) -> None:
    line = '{"parcel_id": "P%d", "label": "a", "weight": 1, "route": %s}\n'
    folder = make_domain(
        {"data.csv": None, "tasks.jsonl": line % (1, "true") + line % (2, "null")},
        outputs={"route": {"type": "boolean"}},
    )

    with pytest.raises(RowError, match=r"row 2, column 'route': the expected answer is empty"):
        load_domain(folder)


def test_where_nothing_is_declared_the_empty_answers_are_counted_aloud(
    make_domain: MakeDomain,
) -> None:
    domain = load_domain(make(make_domain, rows("north,1", "south,", "north,3", "north,n/a")))

    said = (
        "data.csv: 2 of 4 expected cells of fee are empty: "
        "an empty answer is right there (row 3, 5)"
    )
    assert (said,) == domain.notices
    assert said in domain.warnings


def test_what_is_not_compared_may_be_empty(make_domain: MakeDomain) -> None:
    outputs = {"fee": {"compare": "ignore"}}

    domain = load_domain(make(make_domain, rows("north,", "south,"), outputs=outputs))

    assert () == domain.notices


def test_a_folder_of_the_published_layout_keeps_loading(make_domain: MakeDomain) -> None:
    content = rows("north", "", "south").replace(",fee", "")

    domain = load_domain(make_domain({"data.csv": None, "test_set_with_outputs.csv": content}))

    (said,) = domain.notices
    assert said == (
        "test_set_with_outputs.csv: 1 of 3 expected cells of route are empty: "
        "an empty answer is right there (row 3)"
    )


def test_an_alias_of_nothing_is_refused(make_domain: MakeDomain) -> None:
    outputs = {"route": {"values": LABELS, "aliases": {" ": "north"}}}

    with pytest.raises(LoadingError, match="an empty text would make an empty answer right"):
        load_domain(make(make_domain, rows("north,1"), outputs=outputs))


def test_the_one_cell_that_makes_text_of_numbers_is_named(make_domain: MakeDomain) -> None:
    content = rows("north,1", "north,2", "north,3", "north,4", "north,5")

    sound = load_domain(make(make_domain, content, folder="sound"))
    slip = load_domain(make(make_domain, content.replace("P4,red,4", "P4,red,four")))

    assert () == sound.notices
    (said,) = slip.notices
    assert said == (
        "data.csv, row 5, column 'weight': 'four' is the only one that is no number, so tools "
        "serve the whole column as text; correct it, or say so in 'types'"
    )


def test_a_column_that_is_declared_to_be_text_has_no_odd_cell(make_domain: MakeDomain) -> None:
    content = rows("north,1", "north,2", "north,3", "north,4").replace("P4,red,4", "P4,red,four")

    domain = load_domain(make(make_domain, content, types={"weight": "text"}))

    assert () == domain.notices
