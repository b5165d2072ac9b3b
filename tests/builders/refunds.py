"""The domain `refunds`, which has no tool: each task has an identifier and an expected refund."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_refunds(folder: Path, expected: Mapping[str, str], **metadata: Any) -> Path:
    """Write the domain into a folder, named as that, with what is expected of each task."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {
        "name": folder.name,
        "input_columns": ["id"],
        "output_columns": ["refund"],
        **metadata,
    }
    rows = "".join(f"{task},{refund}\n" for task, refund in expected.items())
    (folder / "metadata.json").write_text(json.dumps(described), "utf-8")
    (folder / "sop.txt").write_text("Refund what is small.", "utf-8")
    (folder / "toolspecs.json").write_text("[]", "utf-8")
    (folder / "data.csv").write_text(f"id,refund\n{rows}", "utf-8")
    return folder
