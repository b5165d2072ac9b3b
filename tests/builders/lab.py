"""The domain `lab`, which grades samples by a reading that a tool looks up.

Above 70 is "pass", above 40 "retest", else "fail". Task `T_07` is the seventh row, on line 8.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GRADES = ("pass", "retest", "fail")
READINGS = {"pass": 90, "retest": 50, "fail": 10}


def lab_files(name: str = "lab", *, tasks: int = 6) -> dict[str, str]:
    """Return the text of each file of the domain, under a name and with a number of tasks."""
    spec = {
        "name": "measure",
        "description": "Measure a sample.",
        "parameters": {
            "type": "object",
            "properties": {"sample_id": {"type": "string"}},
            "required": ["sample_id"],
        },
    }
    rows = ["sample_id,reading,grade"]
    for number in range(1, tasks + 1):
        grade = GRADES[number % 3]
        rows.append(f"T_{number:02},{READINGS[grade]},{grade}")
    return {
        "sop.md": "Measure the sample, then grade it.\n",
        "metadata.json": json.dumps(lab_metadata(name)),
        "toolspecs.json": json.dumps([spec]),
        "data.csv": "\n".join(rows) + "\n",
    }


def lab_metadata(name: str = "lab") -> dict[str, Any]:
    """Return the metadata of the domain."""
    return {
        "name": name,
        "title": "Grading of samples",
        "output_columns": ["grade"],
        "input_columns": ["sample_id"],
        "outputs": {"grade": {"type": "enum", "values": list(GRADES)}},
        "tools": {"measure": {"key": ["sample_id"], "returns": ["reading"]}},
    }


def write_lab(folder: Path, name: str = "lab", *, tasks: int = 6) -> Path:
    """Write the domain into a folder of its name below the folder, and return that."""
    domain = folder / name
    domain.mkdir(parents=True)
    for file, text in lab_files(name, tasks=tasks).items():
        (domain / file).write_text(text, encoding="utf-8")
    return domain
