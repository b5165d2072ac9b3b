from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError, RowError

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
