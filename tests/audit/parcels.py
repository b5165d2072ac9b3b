"""A small sound domain, which each test makes unsound in one way."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from textwrap import indent
from typing import Any

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.model import Finding

SOP = """# PD-3 Parcels at the counter

## 1. Purpose

1.1 Every parcel that is handed in gets one of four outcomes.

## 2. Weighing and screening

2.1 Ask the scale for the weight, in kilograms, and then the screening office for the risk.

## 3. Outcome

3.1 A parcel to an island that weighs 20 kg or more is refused: `REFUSE`.

3.2 Otherwise a parcel with a risk of at least 7 is inspected: `INSPECT`.

3.3 Otherwise a parcel of 20 kg or more, or of a declared value above 500, is insured: `INSURE`.

3.4 Any other parcel is shipped: `SHIP`.

3.5 The answer has one field, `outcome`.
"""

POLICY = '''"""PD-3 as a function."""

HEAVY_KG = 20  # clauses 3.1, 3.3
RISKY = 7  # clause 3.2
VALUABLE = 500  # clause 3.3


def decide(inputs, call):
    weight = call("weigh", parcel_id=inputs["parcel_id"])["weight_kg"]
    risk = call("screen", parcel_id=inputs["parcel_id"])["risk"]
    if inputs["destination"] == "island" and weight >= HEAVY_KG:
        return {"outcome": "REFUSE"}
    if risk >= RISKY:
        return {"outcome": "INSPECT"}
    if weight >= HEAVY_KG or inputs["declared_value"] > VALUABLE:
        return {"outcome": "INSURE"}
    return {"outcome": "SHIP"}
'''

COLUMNS = ("parcel_id", "destination", "declared_value", "weight_kg", "risk", "outcome", "tags")

METADATA: dict[str, Any] = {
    "name": "parcels",
    "title": "Parcels",
    "id_column": "parcel_id",
    "input_columns": ["parcel_id", "destination", "declared_value"],
    "output_columns": ["outcome"],
    "tags_column": "tags",
    "outputs": {"outcome": {"type": "enum", "values": ["INSPECT", "INSURE", "REFUSE", "SHIP"]}},
    "tools": {
        "weigh": {"key": ["parcel_id"], "returns": ["weight_kg"]},
        "screen": {"key": ["parcel_id"], "returns": ["risk"]},
    },
    "contract": {
        "rules": [
            {"id": "weigh-first", "clause": "2.1", "before": ["weigh", "screen"]},
            {"id": "screened", "clause": "2.1", "requires": {"all_of": ["weigh", "screen"]}},
        ]
    },
}


def spec(name: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    """A tool that asks for the id of the parcel, and for what else is given."""
    asked = {"parcel_id": {"type": "string", "pattern": "^L[0-9]{3}$"}, **properties}
    schema = {
        "type": "object",
        "properties": asked,
        "required": list(asked),
        "additionalProperties": False,
    }
    return {"name": name, "description": f"Ask the {name} office.", "parameters": schema}


def outcome(destination: str, value: int, weight: int, risk: int) -> str:
    if destination == "island" and weight >= 20:
        return "REFUSE"
    if risk >= 7:
        return "INSPECT"
    return "INSURE" if weight >= 20 or value > 500 else "SHIP"


def sound_rows() -> list[dict[str, Any]]:
    cases = product(("mainland", "island"), (100, 500, 501, 900), (5, 19, 20, 32), (2, 6, 7, 9))
    # In an order that no id, and no half of the file, tells anything by.
    mixed = sorted(enumerate(cases), key=lambda case: case[0] * 77 % 128)
    return [
        {
            "parcel_id": f"L{number:03}",
            "destination": destination,
            "declared_value": value,
            "weight_kg": weight,
            "risk": risk,
            "outcome": outcome(destination, value, weight, risk),
            "tags": "heavy" if weight >= 20 else "light",
        }
        for number, (_, (destination, value, weight, risk)) in enumerate(mixed, 1)
    ]


def as_csv(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = COLUMNS) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """The folder of the small domain, and ways to change it.

    A process for code takes most of a second, so that it is asked for by name.
    """

    folder: Path
    run_code: bool = False

    def write(self, **files: str | None) -> Lab:
        """Write files; `metadata_json` is `metadata.json`, and `None` removes one."""
        for key, content in files.items():
            stem, _, suffix = key.rpartition("_")
            path = self.folder / f"{stem}.{suffix}"
            if content is None:
                path.unlink()
            else:
                path.write_text(content, encoding="utf-8")
        return self

    def metadata(self, **changes: Any) -> Lab:
        """Change keys of the metadata; `None` removes one."""
        path = self.folder / "metadata.json"
        kept = {**json.loads(path.read_text("utf-8")), **changes}
        written = {key: value for key, value in kept.items() if value is not None}
        return self.write(metadata_json=json.dumps(written, indent=1))

    def rows(self, change: Callable[[list[dict[str, Any]]], None]) -> Lab:
        """Change the rows in place; new keys become columns."""
        rows = sound_rows()
        change(rows)
        extra = [key for key in rows[0] if key not in COLUMNS]
        return self.write(data_csv=as_csv(rows, [*COLUMNS, *extra]))

    def specs(self, *specs: Mapping[str, Any]) -> Lab:
        return self.write(toolspecs_json=json.dumps(specs, indent=1))

    def expected_calls(self, *changed: list[dict[str, Any]]) -> Lab:
        """Write the calls that the policy makes; of the first rows those that are given."""
        lines: list[str] = []
        for number, row in enumerate(sound_rows()):
            asked = {"parcel_id": row["parcel_id"]}
            calls = [{"name": name, "arguments": asked} for name in ("weigh", "screen")]
            calls = changed[number] if number < len(changed) else calls
            lines.append(json.dumps({"task": row["parcel_id"], "calls": calls}))
        return self.write(expected_calls_jsonl="\n".join(lines) + "\n")

    def findings(self, rule: str | None = None) -> list[Finding]:
        """What the audit finds, of one rule or of all."""
        found = audit(self.folder, run_code=self.run_code).findings
        return [one for one in found if rule is None or one.rule == rule]

    def only(self, rule: str) -> Finding:
        """The one finding of a rule."""
        found = self.findings(rule)
        assert 1 == len(found), [(one.rule, one.what) for one in self.findings()]
        return found[0]


def write_lab(folder: Path) -> Lab:
    """Write the small domain into a folder that is made."""
    folder.mkdir()
    lab = Lab(folder=folder)
    lab.write(sop_md=SOP, policy_py=POLICY, metadata_json=json.dumps(METADATA, indent=1))
    lab.write(data_csv=as_csv(sound_rows()))
    return lab.specs(spec("weigh"), spec("screen"))


MANAGER = """
import csv, json, os, sys, time
from pathlib import Path

ROWS = {{
    row["parcel_id"]: row
    for row in csv.DictReader((Path(__file__).parent / "data.csv").open(encoding="utf-8"))
}}
{top}

class ParcelManager:
    def process_tool_call(self, name, arguments):
        if name == "weigh":
            return self.weigh(**arguments)
        if name == "screen":
            return self.screen(**arguments)
        raise ValueError(f"unknown tool {{name}}")

    def weigh(self, parcel_id{more}):
{weigh}

    def screen(self, parcel_id):
        return {{"risk": int(ROWS[parcel_id]["risk"])}}
{rest}
"""
SOUND = 'return {"weight_kg": int(ROWS[parcel_id]["weight_kg"])}'


def with_code(
    lab: Lab, weigh: str = SOUND, *, top: str = "", rest: str = "", more: str = ""
) -> Lab:
    """Give the small domain tools of its own; `weigh` is the body of one of them."""
    code = MANAGER.format(
        top=top, weigh=indent(weigh, " " * 8), rest=indent(rest, " " * 4), more=more
    )
    return lab.metadata(tools=None).write(tools_py=code)
