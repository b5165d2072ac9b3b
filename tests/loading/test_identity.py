from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import RowError

MakeDomain = Callable[..., Path]

NO_TOOLS: dict[str, Any] = {"tools": None}


def ids_of(make_domain: MakeDomain, content: str, folder: str = "a", **keys: Any) -> list[str]:
    header = content.split("\n", 1)[0].split(",")
    inputs = [name for name in header if name not in {"", "route"}]
    folder_path = make_domain(
        {"data.csv": content}, folder=folder, **({"input_columns": inputs} | NO_TOOLS | keys)
    )
    return list(load_domain(folder_path).task_ids)


@pytest.mark.parametrize(
    ("content", "keys", "expected"),
    [
        pytest.param("a,b_id,route\n1,x,n\n2,y,n\n", {}, ["x", "y"], id="first-unique-id"),
        pytest.param("a_id,b_id,route\nz,x,n\nz,y,n\n", {}, ["x", "y"], id="not-one-that-repeats"),
        pytest.param("a_id,ID,route\n,x,n\nz,y,n\n", {}, ["x", "y"], id="not-one-with-gaps"),
        pytest.param(",id,route\n0,x,n\n1,y,n\n", {}, ["x", "y"], id="not-the-index"),
        pytest.param("id,a,route\nx,p,n\ny,q,n\n", {"id_column": "a"}, ["p", "q"], id="declared"),
        pytest.param("id,route\n007, n\n7,n\n", {}, ["007", "7"], id="as-written"),
        pytest.param("id,route\na/b::c,n\n../d,n\n", {}, ["a/b::c", "../d"], id="odd-characters"),
    ],
)
def test_an_id_is_the_cell_of_the_id_column(
    make_domain: MakeDomain, content: str, keys: dict[str, Any], expected: list[str]
) -> None:
    assert expected == ids_of(make_domain, content, **keys)


def test_an_output_that_is_called_an_id_is_no_task_id(make_domain: MakeDomain) -> None:
    content = "name,order_id\nx,1\ny,2\n"

    ids = ids_of(
        make_domain, content, input_columns=["name"], output_columns=["order_id"], outputs=None
    )

    assert not {"1", "2"} & set(ids)


def test_ids_without_a_column_do_not_depend_on_order_nor_on_other_rows(
    make_domain: MakeDomain,
) -> None:
    rows = [f"text {n},{n},north" for n in range(10)]
    shuffled = [*rows[5:], *rows[4::-1]]

    ids = ids_of(make_domain, "text,size,route\n" + "\n".join(rows))
    mixed = ids_of(make_domain, "text,size,route\n" + "\n".join(shuffled), "b")
    longer = ids_of(make_domain, "text,size,route\n" + "\n".join([*rows, "x,large,south"]), "c")

    assert dict(zip(rows, ids, strict=True)) == dict(zip(shuffled, mixed, strict=True))
    assert ids == longer[:10]
    assert all(len(task_id) == 16 for task_id in ids)


def test_ids_without_a_column_come_with_a_warning(make_domain: MakeDomain) -> None:
    folder = make_domain({"data.csv": "text,route\na,n\nb,n\n"}, input_columns=["text"], **NO_TOOLS)

    warnings = load_domain(folder).warnings

    assert any("tasks are called by a hash of their inputs" in text for text in warnings)


@pytest.mark.parametrize(
    ("content", "keys", "expected"),
    [
        pytest.param(
            "id,route\nx,n\ny,n\nx,n\n",
            {"id_column": "id"},
            "row 4, column 'id': the id 'x' stands in row 2 already",
            id="an-id-twice",
        ),
        pytest.param(
            "id,route\nx,n\n,n\n",
            {"id_column": "id"},
            "row 3, column 'id': empty; every task needs an id",
            id="no-id",
        ),
        pytest.param(
            "claim_id,route\nx,n\ny,n\nz,n\nx,s\n",
            {},
            "row 5, column 'claim_id': the id 'x' stands in row 2 already",
            id="an-id-twice-in-a-column-that-is-not-declared",
        ),
        pytest.param(
            "claim_id,route\nx,n\ny,n\n,n\n",
            {},
            "row 4, column 'claim_id': empty; every task needs an id",
            id="no-id-in-a-column-that-is-not-declared",
        ),
        pytest.param(
            "id,text,route\nx,a,n\nx,b,n\n",
            {},
            "row 3, column 'id': the id 'x' stands in row 2 already",
            id="a-column-called-id-whatever-it-holds",
        ),
        pytest.param(
            "id,route\nx,n\n  ,n\n",
            {"id_column": "id"},
            "row 3, column 'id': no usable id",
            id="a-blank-id",
        ),
        pytest.param(
            'text,route\n"a\nb",n\n"a\nb",s\n',
            {},
            "row 4: the same inputs as in row 2, so nothing tells the two tasks apart",
            id="equal-inputs-without-ids",
        ),
    ],
)
def test_rows_that_cannot_be_told_apart_are_refused(
    make_domain: MakeDomain, content: str, keys: dict[str, Any], expected: str
) -> None:
    with pytest.raises(RowError) as caught:
        ids_of(make_domain, content, **keys)

    assert caught.value.message.endswith(f"data.csv, {expected}")


def test_a_column_that_names_customers_and_not_tasks_is_no_id(make_domain: MakeDomain) -> None:
    """Most of its values stand in several rows, so that it was never meant to tell them apart."""
    rows = [f"C-{number % 3},text {number},n" for number in range(9)]

    ids = ids_of(make_domain, "customer_id,text,route\n" + "\n".join(rows))

    assert all(len(task_id) == 16 for task_id in ids)


def test_numbers_are_ids_in_json_lines_and_truth_values_are_not(make_domain: MakeDomain) -> None:
    lines = '{"id": 7, "text": "a", "route": "n"}\n{"id": "8", "text": "b", "route": "n"}\n'
    files = {"data.csv": None, "tasks.jsonl": lines}
    bad = {"data.csv": None, "tasks.jsonl": lines.replace("7", "true")}
    keys: dict[str, Any] = {"input_columns": ["text"], "id_column": "id", **NO_TOOLS}

    domain = load_domain(make_domain(files, **keys))

    assert ("7", "8") == domain.task_ids
    with pytest.raises(RowError, match="row 1, column 'id': no usable id"):
        load_domain(make_domain(bad, folder="bad", **keys))
