"""Rules about files: a folder that loading refuses is looked at all the same."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._audit.audit import FOLDER_GROUPS
from pytest_sopbench._audit.model import Finding, Place, Rule, Severity
from tests.builders.domains import audit_domain


def test_a_sound_domain_has_no_finding(run_lab: Any) -> None:
    assert [] == run_lab.findings()


def test_every_file_that_is_missing_is_named_at_once(lab: Any) -> None:
    lab.write(sop_md=None, data_csv=None)

    found = lab.findings("missing-file")

    missing = [one.what for one in found if "sop" in one.what]
    assert ["has no sop.txt and no sop.md and no SKILL.md"] == missing
    assert any("data.csv" in one.what for one in found)
    assert [] == lab.findings("does-not-load")


def test_a_folder_that_is_not_there_is_a_finding(lab: Any) -> None:
    found = audit_domain(lab.folder / "nowhere")

    assert {"missing-file"} == {one.rule for one in found}


def test_tools_without_specs_are_named(lab: Any) -> None:
    lab.write(toolspecs_json=None)

    assert "toolspecs.json" in lab.only("missing-file").what


@pytest.mark.parametrize(
    ("file", "content", "line"),
    [
        pytest.param("metadata_json", '{\n"name": "parcels",\n', 3, id="JSON cut off"),
        pytest.param("toolspecs_json", "[\n{]\n", 2, id="JSON with a wrong bracket"),
        pytest.param("policy_py", "def decide(:\n", 1, id="Python"),
        pytest.param("sop_md", " \n", None, id="nothing in it"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_told_with_its_line(
    lab: Any, file: str, content: str, line: int | None
) -> None:
    lab.write(**{file: content})

    assert line == lab.only("unparsable").place.line
    assert [] == lab.findings("does-not-load")


def test_the_marks_of_a_merge_are_told_with_their_line(lab: Any) -> None:
    text = (lab.folder / "data.csv").read_text("utf-8")
    header, rest = text.split("\n", 1)
    lab.write(data_csv=f"{header}\n<<<<<<< HEAD\n{rest}=======\n{rest}>>>>>>> theirs\n")

    assert Place(file="data.csv", line=2) == lab.only("merge-conflict").place


def test_a_line_of_equals_signs_is_no_merge(lab: Any) -> None:
    sop = (lab.folder / "sop.md").read_text("utf-8")
    lab.write(sop_md=f"Parcels\n=======\n\n{sop}")

    assert [] == lab.findings()


def test_a_byte_that_is_not_utf_8_is_told_with_its_line(lab: Any) -> None:
    path = lab.folder / "sop.md"
    path.write_bytes(path.read_bytes().replace(b"scale", b"sc\xe4le"))

    found = lab.only("encoding")

    assert Place(file="sop.md", line=9) == found.place
    assert "0xE4" in found.what


def test_a_text_that_was_read_wrongly_is_told(lab: Any) -> None:
    sop = (lab.folder / "sop.md").read_text("utf-8")
    lab.write(sop_md=sop.replace("scale", "\u00c3\u00a9chelle"))

    assert 9 == lab.only("garbled-text").place.line


def test_what_loading_refuses_is_a_finding_with_its_place(lab: Any) -> None:
    lab.metadata(types={"weight_kg": "number"})
    lab.rows(lambda rows: rows[4].update(weight_kg="heavy"))

    found = lab.only("does-not-load")

    assert (Severity.ERROR, "data.csv", 6, "weight_kg") == (
        found.severity,
        found.place.file,
        found.place.line,
        found.place.column,
    )


@pytest.mark.parametrize(
    ("changes", "what", "do"),
    [
        pytest.param({"licens": "x"}, "key 'licens'", "'licence'", id="of the domain"),
        pytest.param(
            {"outputs": {"outcome": {"values": ["A"], "alias": {}}}},
            "'outputs.outcome.alias'",
            "'aliases'",
            id="of an output",
        ),
        pytest.param(
            {"tools": {"weigh": {"retruns": []}}}, "'tools.weigh.retruns'", "'returns'", id="tool"
        ),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest(
    lab: Any, changes: dict[str, Any], what: str, do: str
) -> None:
    lab.metadata(**changes)

    found = lab.only("unknown-key")

    assert what in found.what
    assert do in found.do


def test_a_column_that_is_not_there_is_told_with_the_nearest(lab: Any) -> None:
    lab.metadata(input_columns=["parcel_id", "destinaton", "declared_value"])

    found = lab.only("unknown-column")

    assert "input_columns" == found.place.column
    assert "'destination'" in found.do


def test_an_id_that_stands_twice_is_told_with_both_rows(lab: Any) -> None:
    lab.rows(lambda rows: rows[7].update(parcel_id=rows[2]["parcel_id"]))

    found = lab.only("duplicate-id")

    assert Place(file="data.csv", line=4, column="parcel_id") == found.place
    assert "2 rows (4, 9)" in found.what


def test_rows_without_an_id_are_told(lab: Any) -> None:
    lab.rows(lambda rows: rows[7].update(parcel_id=""))

    assert "no id stands on row 9" == lab.only("duplicate-id").what


def test_rows_that_are_equal_but_for_their_ids_are_told(lab: Any) -> None:
    lab.rows(lambda rows: rows[5].update({**rows[1], "parcel_id": "L006", "tags": "other"}))

    assert "2 rows (3, 7)" in lab.only("equal-rows").what


def test_an_empty_expected_value_is_told(lab: Any) -> None:
    lab.metadata(outputs=None)
    lab.rows(lambda rows: [row.update(outcome="") for row in rows[:7]])

    assert "7 rows (2, 3, 4, 5, 6 and 2 more)" in lab.only("empty-expected").what


def test_one_label_for_all_rows_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(outcome="SHIP") for row in rows])

    assert "'SHIP'" in lab.only("one-label").what


def test_a_field_that_is_not_compared_may_have_one_value(lab: Any) -> None:
    lab.metadata(outputs={"outcome": {"compare": "present"}})
    lab.rows(lambda rows: [row.update(outcome="SHIP") for row in rows])

    assert [] == lab.findings("one-label")


def test_a_column_of_tags_without_any_is_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(tags="") for row in rows])

    assert Severity.NOTE == lab.only("useless-column").severity


def test_a_row_with_a_cell_too_many_is_told(lab: Any) -> None:
    text = (lab.folder / "data.csv").read_text("utf-8").split("\n")
    text[3] += ",7"
    lab.write(data_csv="\n".join(text))

    assert 4 == lab.only("uneven-row").place.line


def test_a_rule_that_cannot_look_hides_no_other(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(seen: Any) -> list[Finding]:
        return [seen.nobody_thought_of_this]

    broken = Rule(name="broken", severity=Severity.NOTE, looks_for="", look=fails)
    first = next(iter(FOLDER_GROUPS))
    monkeypatch.setitem(FOLDER_GROUPS, first, (broken, *FOLDER_GROUPS[first]))  # type: ignore[arg-type]
    lab.metadata(licens="x")

    assert {"audit-fails", "unknown-key"} == {one.rule for one in lab.findings()}
    assert "'broken'" in lab.only("audit-fails").what
