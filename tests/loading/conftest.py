from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SPECS: list[dict[str, Any]] = [
    {
        "name": "weigh_parcel",
        "description": "Put a parcel on the scale.",
        "parameters": {
            "type": "object",
            "properties": {"parcel_id": {"type": "string"}, "label": {"type": "string"}},
            "required": ["parcel_id"],
        },
    }
]

METADATA: dict[str, Any] = {
    "name": "parcels",
    "output_columns": ["route"],
    "input_columns": ["parcel_id", "label"],
    "tools": {"weigh_parcel": {"key": ["parcel_id"], "returns": ["weight"]}},
}

ROWS = "parcel_id,label,weight,route\nP1,red,12.50,north\nP2,blue,3,south\nP3,red,,north\n"

MakeDomain = Callable[..., Path]


@pytest.fixture
def make_domain(tmp_path: Path) -> MakeDomain:
    """A sound domain folder; `files` replaces whole files (`None`: none), keywords metadata."""

    def make(
        files: Mapping[str, str | bytes | None] | None = None,
        *,
        folder: str = "parcels",
        **metadata: Any,
    ) -> Path:
        keys = {key: value for key, value in (METADATA | metadata).items() if value is not None}
        contents: dict[str, str | bytes | None] = {
            "sop.txt": "1. Weigh the parcel.\n2. Choose the route.\n",
            "metadata.json": json.dumps(keys),
            "toolspecs.json": json.dumps(SPECS),
            "data.csv": ROWS,
        }
        path = tmp_path / folder
        path.mkdir(parents=True)
        for name, content in (contents | dict(files or {})).items():
            if content is not None:
                (path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


@pytest.fixture
def public_data() -> Path:
    """The folder with the three public domains."""
    place = os.environ.get("SOPBENCH_DATA")
    if not place:
        pytest.skip("SOPBENCH_DATA does not say where the public domains lie")
    return Path(place) / "sop_bench"
