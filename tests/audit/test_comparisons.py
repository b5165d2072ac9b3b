"""Rules about fields that are compared otherwise than by equal values."""

from __future__ import annotations

from typing import Any

import pytest


def written(lab: Any, cells: list[str], **output: Any) -> Any:
    """Give the domain an output field `note` with these cells in turn."""

    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["note"] = cells[number % len(cells)]

    lab.metadata(output_columns=["outcome", "note"], outputs={"note": output})
    return lab.rows(change)


@pytest.mark.parametrize(
    ("kind", "cell"), [("matches", ".*"), ("one_of", '["no", "(?s).+"]'), ("matches", ".{1,99}")]
)
def test_a_pattern_that_takes_anything_is_told(lab: Any, kind: str, cell: str) -> None:
    written(lab, [cell], compare=kind)

    found = lab.findings("takes-anything")

    assert found
    assert f"{kind!r} takes any answer there: 'I cannot say.'" == found[0].what


@pytest.mark.parametrize(
    ("kind", "cell"), [("matches", "R-[0-9]+"), ("contains_all", "late, by two days")]
)
def test_a_pattern_that_asks_for_something_is_fine(lab: Any, kind: str, cell: str) -> None:
    written(lab, [cell], compare=kind)

    assert [] == lab.findings("takes-anything")


def test_texts_that_are_right_for_one_another_are_told(lab: Any) -> None:
    written(
        lab,
        ["We grant a refund of 10 euros.", "We grant a refund of 90 euros."],
        compare="similar",
        at_least=0.8,
    )

    assert "is right for row 2 as well" in lab.only("takes-another").what


def test_texts_that_are_told_apart_are_fine(lab: Any) -> None:
    written(lab, ["We pay.", "No claim is left."], compare="similar", at_least=0.9)

    assert [] == lab.findings("takes-another")
