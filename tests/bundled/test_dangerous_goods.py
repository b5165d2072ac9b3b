"""The bundled domain says what its SOP says: clause by clause, on both sides of each cut-off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

A, B, C, D = (f"Hazard Class {letter}" for letter in "ABCD")
UNDECIDED = "Unable to Decide"
COLUMNS = ("sds_label_score", "handling_score", "transport_score", "disposal_score")
SECTIONS = (
    "sds_label_text",
    "handling_guidelines",
    "transport_requirements",
    "disposal_guidelines",
)
TOOLS = tuple(f"calculate_{column}" for column in COLUMNS)


def dossier(
    scores: Sequence[float | None], *, kg: float = 5.0, un: str | None = "UN1263"
) -> dict[str, Any]:
    texts = {section: f"text of {section}" for section in SECTIONS}
    found = dict(zip(COLUMNS, scores, strict=True))
    given = {"product_id": "P_12345", "product_name": "Paint", "un_number": un}
    return {**given, "net_quantity_kg": kg, **texts, **found}


def scores_of(row: dict[str, Any]) -> list[Any]:
    return [row[column] for column in COLUMNS]


def valid(row: dict[str, Any]) -> list[int]:
    return [score for score in scores_of(row) if score in {1, 2, 3, 4, 5}]


def passes_intake(row: dict[str, Any]) -> bool:
    return "bad-un-number" not in row["tags"].split(",") if row["tags"] else True


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(dossier([1, 1, 1, 1]), A, id="6.1-lowest-total"),
        pytest.param(dossier([1, 2, 2, 2]), A, id="6.1-total-7"),
        pytest.param(dossier([2, 2, 2, 2]), B, id="6.1-total-8"),
        pytest.param(dossier([2, 3, 3, 3]), B, id="6.1-total-11"),
        pytest.param(dossier([3, 3, 3, 3]), C, id="6.1-total-12"),
        pytest.param(dossier([3, 4, 4, 4]), C, id="6.1-total-15"),
        pytest.param(dossier([4, 4, 4, 4]), D, id="6.1-total-16"),
        pytest.param(dossier([5, 5, 5, 5]), D, id="6.1-highest-total"),
        pytest.param(dossier([1, 1, 1, 5]), C, id="6.2-a-5-lifts-total-8"),
        pytest.param(dossier([1, 2, 4, 1]), B, id="6.2-a-4-lifts-nothing"),
        pytest.param(dossier([5, 5, 5, 1]), D, id="6.2-a-5-never-lowers"),
        pytest.param(dossier([5, 1, 1, 1], kg=0.5), C, id="6.4-no-relief-with-a-5"),
        pytest.param(dossier([3, 3, 3, 3], kg=0.9), B, id="6.3-below-1-kg"),
        pytest.param(dossier([3, 3, 3, 3], kg=1.0), B, id="6.3-at-1-kg"),
        pytest.param(dossier([3, 3, 3, 3], kg=1.1), C, id="6.3-above-1-kg"),
        pytest.param(dossier([2, 2, 2, 2], kg=1.0), A, id="6.3-b-becomes-a"),
        pytest.param(dossier([1, 1, 1, 1], kg=1.0), A, id="6.3-a-stays"),
        pytest.param(dossier([4, 4, 4, 4], kg=1.0), D, id="6.3-d-stays"),
        pytest.param(dossier([3, 3, 3, None], kg=0.5), C, id="6.4-no-relief-where-imputed"),
        pytest.param(dossier([1, 2, 4, None]), B, id="5.2-highest-is-imputed"),
        pytest.param(dossier([None, 1, 2, 2]), A, id="5.2-sds-alone-is-imputed"),
        pytest.param(dossier([2, 4, None, None]), C, id="5.2-two-imputed"),
        pytest.param(dossier([5, None, None, 5]), D, id="5.2-two-imputed-with-5"),
        pytest.param(dossier([None, 5, 5, None]), UNDECIDED, id="5.4-two-with-sds"),
        pytest.param(dossier([5, None, None, None]), UNDECIDED, id="5.3-three-missing"),
        pytest.param(dossier([None] * 4), UNDECIDED, id="5.3-four-missing"),
        pytest.param(dossier([2, 2, 2, 0]), B, id="2.4-zero-is-missing"),
        pytest.param(dossier([4, 4, 3, 6]), C, id="2.4-six-is-missing"),
        pytest.param(dossier([1, 1, 1, 9]), A, id="2.4-nine-is-missing"),
        pytest.param(dossier([2, 2, 2, 2.5]), B, id="2.2-half-a-score-is-missing"),
        pytest.param(dossier([0, 9, 3, 3]), UNDECIDED, id="2.4-invalid-sds-and-another"),
        pytest.param(dossier([3] * 4, un="UN126"), UNDECIDED, id="4.1-three-digits"),
        pytest.param(dossier([3] * 4, un="UN12633"), UNDECIDED, id="4.1-five-digits"),
        pytest.param(dossier([3] * 4, un="un1263"), UNDECIDED, id="4.1-small-letters"),
        pytest.param(dossier([3] * 4, un="UN 1263"), UNDECIDED, id="4.1-a-space"),
        pytest.param(dossier([3] * 4, un="1263"), UNDECIDED, id="4.1-no-letters"),
        pytest.param(dossier([3] * 4, un="UN1263\n"), UNDECIDED, id="4.1-something-after"),
        pytest.param(dossier([3] * 4, un=None), UNDECIDED, id="4.1-empty"),
    ],
)
def test_policy_follows_the_clause(
    dangerous_goods: Any, tools_of: Any, row: dict[str, Any], expected: str
) -> None:
    """The class of each case was worked out by hand from the text of the SOP."""
    tools = tools_of(dangerous_goods, row)

    decision = dangerous_goods.decide(dangerous_goods.inputs(row), tools.call)

    assert {"hazard_class": expected} == decision


def test_policy_works_in_the_order_of_the_sop(dangerous_goods: Any, tools_of: Any) -> None:
    """Clauses 4.2, 5.1, 7.1 and 7.2, on every row."""
    for row in dangerous_goods.rows:
        tools = tools_of(dangerous_goods, row)

        dangerous_goods.decide(dangerous_goods.inputs(row), tools.call)

        names = tuple(name for name, _ in tools.calls)
        if not passes_intake(row):
            assert () == names
        elif row["hazard_class"] == UNDECIDED:
            assert names == TOOLS
        else:
            assert (*TOOLS, "record_class") == names


def test_policy_records_the_class_and_the_total_after_imputation(
    dangerous_goods: Any, tools_of: Any
) -> None:
    row = dossier([2, 4, None, 0])
    tools = tools_of(dangerous_goods, row)

    dangerous_goods.decide(dangerous_goods.inputs(row), tools.call)

    entry = {"product_id": "P_12345", "hazard_class": "C", "total_score": 14}
    assert ("record_class", entry) == tools.calls[-1]


def test_there_are_327_rows_five_tools_and_five_labels(dangerous_goods: Any) -> None:
    counts = Counter(row["hazard_class"] for row in dangerous_goods.rows)

    assert 327 == len(dangerous_goods.rows)
    assert 5 == len(dangerous_goods.specs)
    assert {A, B, C, D, UNDECIDED} == set(counts)
    assert min(counts.values()) >= 40


def plain(row: dict[str, Any]) -> bool:
    """Only clause 6.1 speaks: all four valid, none of them a 5, and no small quantity."""
    return passes_intake(row) and len(valid(row)) == 4 and 5 not in valid(row)


@pytest.mark.parametrize(
    "meets",
    [
        *(
            pytest.param(
                lambda row, total=total: (
                    plain(row) and row["net_quantity_kg"] > 1 and sum(scores_of(row)) == total
                ),
                id=f"6.1-total-{total}",
            )
            for total in (4, 7, 8, 11, 12, 15, 16)
        ),
        *(
            pytest.param(
                lambda row, total=total: sum(valid(row)) == total and len(valid(row)) == 4,
                id=f"any-total-{total}",
            )
            for total in range(4, 21)
        ),
        *(
            pytest.param(
                lambda row, total=total: (
                    len(valid(row)) == 4 and 5 in valid(row) and sum(valid(row)) == total
                ),
                id=f"6.2-a-5-with-total-{total}",
            )
            for total in range(8, 13)
        ),
        *(
            pytest.param(
                lambda row, kg=kg, total=total: (
                    plain(row) and row["net_quantity_kg"] == kg and sum(scores_of(row)) == total
                ),
                id=f"6.3-{kg}-kg-with-total-{total}",
            )
            for kg in (0.9, 1.0, 1.1)
            for total in (8, 11, 12, 15)
        ),
        pytest.param(
            lambda row: plain(row) and row["net_quantity_kg"] <= 1 and row["hazard_class"] == D,
            id="6.3-d-stays",
        ),
        pytest.param(
            lambda row: row["net_quantity_kg"] <= 1 and len(valid(row)) == 3,
            id="6.4-small-and-imputed",
        ),
        pytest.param(
            lambda row: row["net_quantity_kg"] <= 1 and 5 in valid(row) and passes_intake(row),
            id="6.4-small-with-a-5",
        ),
        *(
            pytest.param(
                lambda row, column=column, value=value: row[column] == value,
                id=f"2.4-{column}-{value}",
            )
            for column in COLUMNS
            for value in (None, 0, 1, 5, 6)
        ),
        *(
            pytest.param(
                lambda row, count=count, sds=sds: (
                    passes_intake(row)
                    and len(valid(row)) == 4 - count
                    and (row["sds_label_score"] not in {1, 2, 3, 4, 5}) is sds
                ),
                id=f"5-{count}-missing-{'with' if sds else 'without'}-sds",
            )
            for count, sds in [(1, True), (1, False), (2, True), (2, False), (3, True), (3, False)]
        ),
        pytest.param(lambda row: not valid(row), id="5.3-four-missing"),
        pytest.param(lambda row: row["un_number"] is None, id="4.1-empty"),
        pytest.param(lambda row: len(row["un_number"] or "") == 5, id="4.1-three-digits"),
        pytest.param(
            lambda row: (row["un_number"] or "").startswith("UN") and len(row["un_number"]) == 7,
            id="4.1-five-digits-or-more",
        ),
        pytest.param(lambda row: "misleading-text" in row["tags"], id="5.5-misleading-text"),
    ],
)
def test_every_branch_and_both_sides_of_every_cut_off_have_rows(
    dangerous_goods: Any, meets: Callable[[dict[str, Any]], bool]
) -> None:
    rows = [row | {"tags": row["tags"] or ""} for row in dangerous_goods.rows]

    assert any(meets(row) for row in rows)


def total_as_if(row: dict[str, Any], stand_in: int) -> int:
    return sum(score if score in {1, 2, 3, 4, 5} else stand_in for score in scores_of(row))


def by_total(total: int) -> str:
    return next(name for lowest, name in ((16, D), (12, C), (8, B), (0, A)) if total >= lowest)


@pytest.mark.parametrize(
    ("shortcut", "fewest"),
    [
        pytest.param(lambda row: by_total(total_as_if(row, 0)), 130, id="missing-counts-as-zero"),
        pytest.param(
            lambda row: by_total(total_as_if(row, max(valid(row), default=0))),
            90,
            id="only-the-table",
        ),
        pytest.param(
            lambda row: by_total(4 * row["sds_label_score"]) if row["sds_label_score"] else C,
            130,
            id="only-the-sds-label",
        ),
        pytest.param(lambda _: C, 150, id="always-the-same"),
    ],
)
def test_a_shortcut_gets_a_visible_number_of_rows_wrong(
    dangerous_goods: Any, shortcut: Callable[[dict[str, Any]], str], fewest: int
) -> None:
    wrong = sum(shortcut(row) != row["hazard_class"] for row in dangerous_goods.rows)

    assert wrong >= fewest


def test_treating_missing_scores_as_zero_is_visible(dangerous_goods: Any) -> None:
    """On rows that are decided, with each other clause applied as it should be."""
    wrong = 0
    for row in dangerous_goods.rows:
        if 2 <= len(valid(row)) < 4 and passes_intake(row) and row["hazard_class"] != UNDECIDED:
            floor = C if 5 in valid(row) else A
            wrong += max(by_total(total_as_if(row, 0)), floor) != row["hazard_class"]

    assert wrong >= 40


def test_skipping_the_intake_check_is_visible(dangerous_goods: Any, tools_of: Any) -> None:
    wrong = 0
    for row in dangerous_goods.rows:
        passed = row | {"un_number": "UN1263"}
        tools = tools_of(dangerous_goods, passed)
        decision = dangerous_goods.decide(dangerous_goods.inputs(passed), tools.call)
        wrong += decision["hazard_class"] != row["hazard_class"]

    assert 20 == wrong


@pytest.mark.parametrize("column", range(4), ids=COLUMNS)
def test_leaving_out_one_score_is_visible(dangerous_goods: Any, tools_of: Any, column: int) -> None:
    """An agent that never asks one of the tools, and imputes, is wrong on many rows."""
    wrong = 0
    for row in dangerous_goods.rows:
        known = row | {COLUMNS[column]: None}
        tools = tools_of(dangerous_goods, known)
        decision = dangerous_goods.decide(dangerous_goods.inputs(known), tools.call)
        wrong += decision["hazard_class"] != row["hazard_class"]

    assert wrong >= 60


@pytest.mark.parametrize(
    ("section", "score"), list(zip(SECTIONS, COLUMNS, strict=True)), ids=COLUMNS
)
def test_a_text_has_one_score_and_there_are_many_texts(
    dangerous_goods: Any, section: str, score: str
) -> None:
    """Two products with the same words get the same answer from the service."""
    scored: dict[str, set[Any]] = {}
    for row in dangerous_goods.rows:
        scored.setdefault(row[section], set()).add(row[score])

    assert len(scored) >= 200
    assert all(len(scores) == 1 for scores in scored.values())
