"""Rules about labels, and about answers that are given away."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders.domains import Severity


def relabelled(lab: Any, old: str, *new: str) -> Any:
    """Write a label in other ways, in turn."""

    def change(rows: list[dict[str, Any]]) -> None:
        found = [row for row in rows if row["outcome"] == old]
        for number, row in enumerate(found):
            row["outcome"] = new[number % len(new)]

    lab.metadata(outputs=None)
    return lab.rows(change)


def test_labels_that_differ_by_case_alone_are_told(lab: Any) -> None:
    relabelled(lab, "SHIP", "SHIP", "Ship")

    assert "'SHIP' and 'Ship'" in lab.only("equal-labels").what


def test_a_letter_of_another_script_is_told(lab: Any) -> None:
    relabelled(lab, "SHIP", "SH\u0406P")

    assert "CYRILLIC and LATIN" in lab.only("mixed-script-label").what


def test_a_label_in_another_script_is_fine(lab: Any) -> None:
    relabelled(lab, "SHIP", "\u043e\u0442\u043f\u0440\u0430\u0432\u0438\u0442\u044c")

    assert [] == lab.findings("mixed-script-label")


def test_a_label_inside_of_another_is_noted(lab: Any) -> None:
    relabelled(lab, "INSURE", "RESHIP")

    found = lab.only("contained-label")

    assert Severity.NOTE == found.severity
    assert "'ship' in 'reship'" in found.what


def test_an_answer_that_is_usually_right_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(outcome="SHIP") for row in rows[:90]])

    assert "'SHIP' is right for" in lab.only("chance").what


def test_an_answer_that_a_tolerance_makes_right_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(outcome=n % 5) for n, row in enumerate(rows)])
    lab.metadata(outputs={"outcome": {"type": "integer", "tolerance": 2}})

    # The 2 is no further than 2 from any of 0 to 4.
    assert re.match(r"'[0-9.]+' is right for 128 of 128 rows", lab.only("chance").what)


def test_a_tolerance_that_tells_the_rows_apart_is_fine(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(outcome=n % 5) for n, row in enumerate(rows)])
    lab.metadata(outputs={"outcome": {"type": "integer", "tolerance": 0.5}})

    assert [] == lab.findings("chance")


def test_a_further_answer_that_is_acceptable_everywhere_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(also='[{"outcome": "REFUSE"}]') for row in rows])
    lab.metadata(acceptable_column="also")

    assert lab.only("chance").what.startswith("'REFUSE' is right for 128 of 128 rows")


def test_an_answer_with_the_phrases_of_every_row_is_told(lab: Any) -> None:
    lab.metadata(outputs={"outcome": {"compare": "contains_all"}})

    assert "is right for 128 of 128 rows (100%)" in lab.only("chance").what


@pytest.mark.parametrize("kind", ["one_of", "matches"])
def test_a_word_that_fits_the_pattern_of_every_row_is_told(lab: Any, kind: str) -> None:
    patterns = {
        "one_of": ['["refund", "hold"]', '["decline", "refund"]'],
        "matches": ["refund|hold", "(?i)refund"],
    }
    lab.rows(lambda rows: [row.update(outcome=patterns[kind][n % 2]) for n, row in enumerate(rows)])
    lab.metadata(outputs={"outcome": {"compare": kind}})

    assert "'refund' is right for 128 of 128 rows (100%)" == lab.only("chance").what


def test_a_field_that_only_has_to_be_there_makes_no_answer_right(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(why=f"since {n}") for n, row in enumerate(rows)])
    lab.metadata(output_columns=["outcome", "why"], outputs={"why": {"compare": "present"}})

    assert [] == lab.findings("chance")


@pytest.mark.parametrize("kind", ["ignore", "present"])
def test_a_domain_that_compares_nothing_is_refused(lab: Any, kind: str) -> None:
    lab.metadata(outputs={"outcome": {"compare": kind}})

    found = lab.only("compares-nothing")

    assert Severity.ERROR == found.severity
    assert "any answer is right" in found.what


def test_of_a_domain_that_compares_nothing_no_answer_is_told(lab: Any) -> None:
    lab.metadata(outputs={"outcome": {"compare": "present"}})

    assert [] == lab.findings("chance")


@pytest.mark.parametrize("label", ["None", "n/a", "NULL"])
def test_a_label_that_reads_as_nothing_is_told(lab: Any, label: str) -> None:
    relabelled(lab, "SHIP", label)
    lab.metadata(outputs={"outcome": {"may_be_empty": True}})

    assert repr(label) in lab.only("null-label").what


def test_a_declared_label_may_read_as_nothing(lab: Any) -> None:
    relabelled(lab, "SHIP", "None")
    values = ["INSPECT", "INSURE", "REFUSE", "None"]
    lab.metadata(outputs={"outcome": {"type": "enum", "values": values}})

    assert [] == lab.findings("null-label")


def test_one_cell_that_makes_text_of_numbers_is_told(lab: Any) -> None:
    lab.rows(lambda rows: rows[3].update(weight_kg="20 kg"))

    assert "'20 kg'" in lab.only("mixed-column").what


def test_codes_with_leading_zeros_are_text(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["zip"] = f"{number * 997 + 2134:05}"

    lab.rows(change)

    assert [] == lab.findings("mixed-column")


def test_what_was_assumed_of_a_type_is_noted(lab: Any) -> None:
    lab.metadata(outputs=None)

    found = lab.only("inferred-type")

    assert "taken for enum: 'INSPECT'" in found.what


def test_an_input_that_is_the_answer_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(hint=row["outcome"].lower()) for row in rows])
    lab.metadata(input_columns=["parcel_id", "destination", "declared_value", "hint"])

    assert ("hint", "this input is equal to the output 'outcome'") == (
        lab.only("answer-in-input").place.column,
        lab.only("answer-in-input").what,
    )


CODES = {"INSPECT": 4, "INSURE": 2, "REFUSE": 9, "SHIP": 1}


def test_a_tool_that_serves_a_code_of_the_answer_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(code=CODES[row["outcome"]]) for row in rows])
    tools = {
        "weigh": {"key": ["parcel_id"], "returns": ["weight_kg", "code"]},
        "screen": {"key": ["parcel_id"], "returns": ["risk"]},
    }
    lab.metadata(tools=tools)

    found = lab.only("answer-from-tool")

    assert "weigh" == found.place.tool
    assert "one to one" in found.what


def test_a_column_that_nearly_tells_is_told(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["hint"] = "REFUSE" if number % 25 == 0 else row["outcome"]

    lab.rows(change)
    lab.metadata(input_columns=["parcel_id", "destination", "declared_value", "hint"])

    assert "hint" == lab.only("one-column-tells").place.column


def serving(lab: Any, column: str, value: Callable[[dict[str, Any]], Any]) -> Any:
    """Give a tool of the small domain one more column to serve."""
    lab.rows(lambda rows: [row.update({column: value(row)}) for row in rows])
    tools = {
        "weigh": {"key": ["parcel_id"], "returns": ["weight_kg", column]},
        "screen": {"key": ["parcel_id"], "returns": ["risk"]},
    }
    return lab.metadata(tools=tools)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param(
            "approved_by_manager",
            lambda row: "yes" if row["outcome"] in ("SHIP", "INSURE") else "no",
            id="in fewer words",
        ),
        pytest.param(
            "final_outcome",
            lambda row: "KEPT" if row["parcel_id"] == "L003" else row["outcome"],
            id="with one that was decided otherwise",
        ),
        pytest.param(
            "decision_text",
            lambda row: f"{row['outcome']} {row['destination']}",
            id="in more words",
        ),
    ],
)
def test_a_tool_that_serves_a_second_answer_is_told(lab: Any, column: str, value: Any) -> None:
    serving(lab, column, value)

    assert column == lab.only("answer-from-tool").place.column


CODED = {"INSPECT": "IN4", "INSURE": "IS2", "REFUSE": "RF9", "SHIP": "SH1"}


@pytest.mark.parametrize(
    ("value", "how"),
    [
        pytest.param(
            lambda row: f"case {row['parcel_id'][1:]} went to {row['outcome'].lower()} on day 8",
            "tells one to one the output 'outcome'",
            id="as a word beside an id",
        ),
        pytest.param(
            lambda row: f"case of {row['destination']}, {row['weight_kg']} kg: {row['outcome']}",
            "names, in 128 of 128 rows, the label of the output 'outcome'",
            id="as a word beside what a row is decided by",
        ),
        pytest.param(
            lambda row: (
                f"parcel {row['parcel_id']}"
                if int(row["parcel_id"][1:]) % 10 == 0
                else f"{row['outcome']} ({row['parcel_id']}, {row['destination']})"
            ),
            "names, in 116 of 128 rows, the label of the output 'outcome'",
            id="as a word in nine rows of ten",
        ),
        pytest.param(
            lambda row: f"{row['outcome']} {int(row['parcel_id'][1:])}",
            "tells one to one the output 'outcome'",
            id="with a counter",
        ),
        pytest.param(
            lambda row: f"{CODED[row['outcome']]}-{row['parcel_id'][1:]}",
            "tells one to one the output 'outcome'",
            id="as a code with an id",
        ),
    ],
)
def test_a_tool_that_serves_the_answer_beside_something_unique_is_told(
    lab: Any, value: Any, how: str
) -> None:
    serving(lab, "note", value)

    found = lab.only("answer-from-tool")

    assert ("note", f"what this tool serves {how}") == (found.place.column, found.what)


def test_a_label_of_several_words_is_found_however_they_are_joined(lab: Any) -> None:
    """`hold back` is told by `HOLD_BACK`, and `back` in it is no other label."""
    words = {"INSPECT": "hold back", "INSURE": "back", "REFUSE": "no", "SHIP": "go on"}
    relabelled = {label: word.upper().replace(" ", "_") for label, word in words.items()}
    serving(lab, "note", lambda row: f"{row['parcel_id']}: {relabelled[row['outcome']]}!")
    data = (lab.folder / "data.csv").read_text("utf-8")
    for label, word in words.items():
        data = data.replace(f",{label},", f",{word},")
    lab.write(data_csv=data).metadata(outputs={"outcome": {"values": list(words.values())}})

    assert "note" == lab.only("answer-from-tool").place.column


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(
            lambda row: f"ask whether to ship or to refuse {row['parcel_id']}", id="every label"
        ),
        pytest.param(lambda row: f"ship {row['parcel_id']}?", id="one label in every row"),
        pytest.param(
            lambda row: f"township {row['parcel_id']}, the {row['destination']} reshipped it",
            id="parts of words",
        ),
        pytest.param(
            lambda row: (
                f"{row['outcome'] if row['weight_kg'] < 20 else 'parcel'} {row['parcel_id']}"
            ),
            id="in half of the rows",
        ),
    ],
)
def test_a_text_that_names_labels_and_does_not_tell_which_is_fine(lab: Any, value: Any) -> None:
    serving(lab, "note", value)

    assert [] == lab.findings("answer-from-tool")


def test_an_input_whose_words_are_the_labels_is_a_warning(lab: Any) -> None:
    """A letter may name what it asks for: the agent has to read it, and little else."""

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["letter"] = f"I ask you to {row['outcome']} it to the {row['destination']}"
            row["letter"] += f", {row['weight_kg']} kg"

    lab.rows(change)
    lab.metadata(input_columns=["parcel_id", "destination", "declared_value", "letter"])

    assert [] == lab.findings("answer-in-input")
    assert "letter" == lab.only("one-column-tells").place.column


@pytest.mark.parametrize("column", ["prior_decision", "approval_limit", "final_outcome"])
def test_what_is_called_like_an_answer_and_says_something_else_is_fine(
    lab: Any, column: str
) -> None:
    serving(lab, column, lambda row: f"case {int(row['parcel_id'][1:]) % 5}")

    assert [] == lab.findings("answer-from-tool")


@pytest.mark.parametrize(
    ("column", "value", "held"),
    [
        pytest.param("sender", "ada@example.org", "mail addresses", id="a mail address"),
        pytest.param("reach", "+49 30 1234567", "phone numbers", id="a phone number"),
        pytest.param("customer_name", "Ada", "names", id="a name"),
        pytest.param("product_name", "Lamp", "", id="the name of a thing"),
        pytest.param("reference", "0123456789", "", id="digits"),
        pytest.param("day", "01.02.2026", "", id="a date"),
        pytest.param("email_verified", "yes", "", id="a fact about an address"),
    ],
)
def test_what_tells_of_persons_is_noted(lab: Any, column: str, value: str, held: str) -> None:
    serving(lab, column, lambda _: value)

    found = lab.findings("personal-data")

    assert [held] * bool(held) == [held for one in found if f"hold {held} of" in one.what]
    assert bool(held) == bool(found)


def test_ids_of_unique_texts_tell_nothing(lab: Any) -> None:
    """Each answer of its own is no leak: the id of a row determines everything of it."""

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["label_file"] = f"{row['parcel_id']}.pdf"
            row["note"] = f"seen at {row['parcel_id']}"

    lab.rows(change)
    lab.metadata(
        input_columns=["parcel_id", "destination", "declared_value", "note"],
        output_columns=["outcome", "label_file"],
    )

    assert [] == lab.findings("answer-in-input")
