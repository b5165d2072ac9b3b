"""Rules about the text of the procedure."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from pytest_sopbench._audit.policy_source import policy_numbers
from pytest_sopbench._audit.sop_text import SopText, cut_offs, numbers_in


def sop_with(lab: Any, old: str, new: str) -> Any:
    sop = (lab.folder / "sop.md").read_text("utf-8")
    assert old in sop
    return lab.write(sop_md=sop.replace(old, new))


def test_a_cut_off_that_stands_nowhere_is_told_without_a_policy(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["points"] = number
            row["outcome"] = ("SHIP", "INSURE", "INSPECT", "REFUSE")[number // 32]

    lab.write(policy_py=None).rows(change)

    found = [one.what for one in lab.findings("unwritten-number")]

    assert 3 == len(found)
    assert "'SHIP' to 'INSURE' when 'points' passes from 31 to 32" in found[0]


def test_a_cut_off_that_is_written_is_fine(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["points"] = number
            row["outcome"] = ("SHIP", "INSURE", "INSPECT", "REFUSE")[number // 32]

    sop_with(lab, "3.5 The", "3.5 Points are cut at 32, 64 and 96. The").rows(change)

    assert [] == lab.findings("unwritten-number")


def test_a_label_that_the_procedure_never_names_is_told(lab: Any) -> None:
    sop_with(lab, "refused: `REFUSE`", "sent back")

    assert "'REFUSE'" in lab.only("label-not-in-sop").what


def test_a_label_may_be_named_by_its_alias(lab: Any) -> None:
    outputs = {"outcome": {"type": "enum", "values": ["INSPECT", "INSURE", "REFUSE", "SHIP"]}}
    outputs["outcome"]["aliases"] = {"sent back": "REFUSE"}
    sop_with(lab, "refused: `REFUSE`", "sent back").metadata(outputs=outputs)

    assert [] == lab.findings("label-not-in-sop")


def test_a_declared_label_without_a_row_is_told(lab: Any) -> None:
    values = ["INSPECT", "INSURE", "REFUSE", "SHIP", "STORE"]
    lab.metadata(outputs={"outcome": {"type": "enum", "values": values}})

    assert "'STORE' is a value of the field" in lab.only("label-without-row").what


def test_a_label_that_only_the_procedure_has_is_told(lab: Any) -> None:
    listed = "one of `INSPECT`, `INSURE`, `REFUSE`, `SHIP` or `STORE`"
    sop_with(lab, "one field, `outcome`.", f"one field, `outcome`: {listed}.")

    found = lab.only("label-without-row")

    assert "'STORE'" in found.what
    assert 21 == found.place.line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("weighs 20 kg or more", "weighs 25 kg or more", id="one of two places"),
        pytest.param("at least 7", "at least 8", id="a boundary"),
        pytest.param("above 500", "above 505", id="a value"),
    ],
)
def test_a_number_that_policy_and_procedure_do_not_share_is_told(
    lab: Any, old: str, new: str
) -> None:
    sop_with(lab, old, new)

    assert {one.rule for one in lab.findings()} & {"policy-number", "sop-number"}


def test_a_policy_that_has_none_of_the_numbers_keeps_them_elsewhere(lab: Any) -> None:
    lab.write(policy_py="from limits import decide\n")

    assert [] == lab.findings()


def test_a_rule_that_cites_no_clause_is_told_with_the_nearest(lab: Any) -> None:
    metadata = json.loads((lab.folder / "metadata.json").read_text("utf-8"))
    metadata["contract"]["rules"][0]["clause"] = "2.9"
    lab.metadata(contract=metadata["contract"])

    found = lab.only("unknown-clause")

    assert "clause 2.9" in found.what
    assert "2.1" in found.do


def test_a_number_on_whose_other_side_no_row_stands_is_noted(lab: Any) -> None:
    sop_with(lab, "value above 500", "value above 70")

    assert "'above 70'" in lab.only("unexercised-number").what


TABLE = "| Points | Class |\n|---|---|\n| {} | A |\n| {} | B |\n| {} | C |\n| {} | D |\n"


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        (("4 to 7", "8 to 11", "12 to 15", "16 to 20"), ()),
        (("4 to 7", "8 to 10", "12 to 15", "16 to 20"), ("leaves a gap after 8 to 10",)),
        (("4 to 7", "7 to 11", "12 to 15", "16 to 20"), ("overlaps 4 to 7",)),
        (("20-16", "12-15", "8-11", "4-7"), ("is empty",)),
        (("010 to 029", "030 to 054", "060 to 069", "100 to 120"), ()),
    ],
)
def test_ranges_of_a_table_follow_on_each_other(
    ranges: tuple[str, ...], said: tuple[str, ...]
) -> None:
    found = [what for _, what in SopText(TABLE.format(*ranges)).broken_ranges]

    assert [] == [one for one in said if not any(one in what for what in found)]
    assert bool(said) == bool(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("It lies between 4 and 20.", False),
        ("It lies between 4 and 21.", True),
        ("It lies between 3 and 20.", True),
        ("It lies between 4 and 90.", False),
        ("It lies between 1 and 5.", False),
    ],
)
def test_a_table_covers_what_the_text_says(words: str, said: bool) -> None:
    table = TABLE.format("4 to 7", "8 to 11", "12 to 15", "16 to 20")

    assert said == bool(SopText(f"1.1 {words}\n\n1.2 Classes:\n\n{table}").broken_ranges)


def test_a_broken_range_is_a_finding_with_its_line(lab: Any) -> None:
    table = TABLE.format("4 to 7", "8 to 10", "12 to 15", "16 to 20")
    sop_with(lab, "3.5 The answer", f"{table}\n3.5 The answer")

    assert 25 == lab.only("broken-range").place.line


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,000 kbit/s and 12.50 pounds", {"1000", "12.50"}),
        ("80 % of it, -28.0 dBm, 20kg, $75", {"80", "28.0", "20", "75"}),
        ("exactly four digits, half of it, twice", {"4", "0.5", "2"}),
        ("UN1978 and P_95473", {"1978", "95473"}),
        ("none", set()),
    ],
)
def test_numbers_are_read_in_digits_and_in_words(text: str, numbers: set[str]) -> None:
    assert {Decimal(one) for one in numbers} == set(numbers_in(text))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("Ab 3.000,00 EUR wird abgelehnt.", {"3000.00"}, id="german"),
        pytest.param("Ab 3.000 EUR wird das und dies abgelehnt.", {"3000"}, id="by its language"),
        pytest.param("Up to 3.000,00 EUR of the 1.500 EUR.", {"3000.00", "1500"}, id="in english"),
        pytest.param("Bis 2,5 % und 1.250 kg", {"2.5", "1250"}, id="by its other numbers"),
        pytest.param("Ab CHF 1'234.50 und 2.5 % der", {"1234.50", "2.5"}, id="swiss"),
        pytest.param("Dès 3 000,00 € et 12 500 € le", {"3000.00", "12500"}, id="french"),
        pytest.param("of the 1.250 kg, over $3,000", {"1.250", "3000"}, id="english"),
        pytest.param("the sizes 1,2 and 4 of the", {"1", "2", "4"}, id="a list is no decimal"),
        pytest.param("Am 01.02.2026 und der 12. Tag", {"12"}, id="dates are no numbers"),
    ],
)
def test_numbers_are_read_as_the_document_writes_them(text: str, numbers: set[str]) -> None:
    assert {Decimal(number) for number in numbers} <= SopText(f"1. {text}").stated
    assert Decimal(3) not in SopText(f"1. {text}").stated


@pytest.mark.parametrize("line", range(1, 4))
def test_a_german_limit_that_policy_and_rows_follow_is_no_finding(lab: Any, line: int) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["points"] = 1000 * number
            row["outcome"] = "SHIP" if row["points"] < 64000 else "REFUSE"

    limits = ("64.000", "64.000,00", "64 000,00 EUR")
    text = f"3.5 Ab {limits[line - 1]} wird das und die Sendung abgelehnt; 2,5 % der Sendungen. The"
    sop_with(lab, "3.5 The", text).rows(change)

    assert [] == [one.what for one in lab.findings("unwritten-number") if "'points'" in one.what]


def test_what_refers_to_a_clause_states_no_number() -> None:
    sop = SopText("1.1 See clauses 4.2 and 5.\n\n4.2 At least 30, but for 1.1.\n\n5.1 Nothing.")

    assert {Decimal(30)} == sop.stated
    assert [("At least 30", 3)] == [(one.words, one.line) for one in sop.thresholds]


def test_a_clause_is_found_with_the_clauses_inside_of_it() -> None:
    sop = SopText("## 4. Intake\n\n4.1 First.\n\n4.2 Second,\nof two lines.\n\n5. Other")

    assert "of two lines" in sop.text_of("4")
    assert "First" not in sop.text_of("4.2")
    assert "" == sop.text_of("7")
    assert {"4", "4.1", "4.2", "5"} == sop.numbering


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("LIMIT = 20  # clause 3.1", [("20", ("3.1",))]),
        ("A = {'x': 5,\n  'y': 6}", [("5", ()), ("6", ())]),
        ("x = Decimal('18.5')", [("18.5", ())]),
        ("x = parts[3] + 2 * y + 7", [("7", ())]),
        ("'12 is in a docstring'", []),
        ("x = 1 if y else 0", []),
        ("def f(:", []),
    ],
)
def test_the_numbers_of_a_policy_are_those_that_it_decides_by(
    source: str, values: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert [(Decimal(value), clauses) for value, clauses in values] == [
        (one.value, one.clauses) for one in policy_numbers(source)
    ]


def test_more_than_two_is_three_or_more() -> None:
    (number,) = policy_numbers("x = missing > 2")

    assert number.is_in({Decimal(3)})
    assert not number.is_in({Decimal(4)})


def test_few_rows_have_no_cut_offs() -> None:
    """Of many columns one separates some labels by accident."""
    assert [] == list(cut_offs(list(range(60)), list("ab" * 30)))
    assert [] == list(cut_offs(list(range(60)), ["a"] * 30 + ["b"] * 30))
