"""Rules about tool specs."""

from __future__ import annotations

import json
from typing import Any


def spec(name: str, *required: str, **properties: Any) -> dict[str, Any]:
    asked = {"parcel_id": {"type": "string"}, **properties}
    schema = {"type": "object", "properties": asked, "required": ["parcel_id", *required]}
    return {"name": name, "description": name, "parameters": schema}


def test_rows_that_break_a_spec_are_counted_and_named_once_for_all_tools(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(parcel_id=f"X{row['parcel_id']}") for row in rows[:7]])

    found = lab.only("row-breaks-spec")

    assert "7 rows (2, 3, 4, 5, 6 and 2 more) break the spec of weigh, screen" in found.what
    assert "'XL001'" in found.what


def test_numbers_of_accounts_that_a_spec_wants_as_text_are_told(lab: Any) -> None:
    lab.rows(lambda rows: [row.update(account=4000 + at) for at, row in enumerate(rows)])
    weigh = {"key": ["parcel_id"], "returns": ["weight_kg", "account"]}
    lab.metadata(tools={"weigh": weigh, "screen": {"key": {"no": "account"}, "returns": ["risk"]}})
    screen = spec("screen", "no", no={"type": "string"})
    screen["parameters"]["required"] = ["no"]
    lab.write(policy_py=None).specs(spec("weigh"), screen)

    place = lab.only("row-breaks-spec").place

    assert ("account", "screen") == (place.column, place.tool)


def test_a_row_on_which_the_tool_is_not_called_breaks_nothing(run_lab: Any) -> None:
    """Ids that are wrong on purpose are what a procedure looks at first."""
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    head, rest = policy.split("    weight =", 1)
    guard = '    if inputs["parcel_id"][0] != "L":\n        return {"outcome": "REFUSE"}\n'
    run_lab.write(policy_py=f"{head}{guard}    weight ={rest}")
    run_lab.rows(lambda rows: rows[5].update(parcel_id="X006", outcome="REFUSE"))

    assert [] == run_lab.findings("row-breaks-spec")


def test_a_spec_that_nothing_serves_is_told(lab: Any) -> None:
    lab.specs(spec("weigh"), spec("screen"), spec("measure"))

    assert "nothing serves measure" in lab.only("spec-without-tool").what


def test_a_key_that_the_spec_does_not_require_is_told(lab: Any) -> None:
    loose = spec("weigh")
    loose["parameters"]["required"] = []
    lab.specs(loose, spec("screen"))

    assert ("weigh", "parcel_id") == (
        lab.only("optional-key").place.tool,
        lab.only("optional-key").place.column,
    )


def test_an_argument_that_a_column_tells_and_nobody_looks_at_is_told(lab: Any) -> None:
    asked = spec("weigh", "destination", destination={"type": "string"})
    lab.specs(asked, spec("screen"))

    assert "'destination'" in lab.only("unread-argument").what


def test_a_tool_that_records_need_not_look_at_its_arguments(lab: Any) -> None:
    metadata = json.loads((lab.folder / "metadata.json").read_text("utf-8"))
    lab.metadata(tools={**metadata["tools"], "record": {"result": {"status": "recorded"}}})
    asked = spec("record", "destination", destination={"type": "string"})
    lab.specs(spec("weigh"), spec("screen"), asked)

    assert [] == lab.findings("unread-argument")
