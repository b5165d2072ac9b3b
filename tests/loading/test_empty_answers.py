"""An empty expected answer makes a stub right, so it is refused or said aloud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError, RowError

MakeDomain = Callable[..., Path]

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
            "write one of north, south; where an empty answer is right, add \"\" to 'values'",
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
            "write one of north, south; where an empty answer is right, add \"\" to 'values'; "
            "where 'n/a' is a label, add it to 'values'",
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
            "write true or false; where an empty answer is right, say 'may_be_empty': true",
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
            "write [] where an empty list is right",
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

    said = "data.csv: 2 expected cells of fee are empty: an empty answer is right there (rows 3, 5)"
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
        "test_set_with_outputs.csv: 1 expected cell of route is empty: "
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
