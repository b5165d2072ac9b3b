"""Writes the projects that benchmarks run pytest in: a domain, an agent, and tests."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Project:
    """What is written: `rows` under `columns`, with the id first and the answer last.

    `tools` is the key of that name in `metadata.json`; each tool takes the arguments that
    `parameters` names. `files` are texts that lie beside the domains, by name.
    """

    domain: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    inputs: Sequence[str] = ()
    tools: Mapping[str, Any] = field(default_factory=dict[str, Any])
    parameters: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    def write(self, folder: Path) -> None:
        """Write the domain below `folder`, and the files into it."""
        domain = folder / "domains" / self.domain
        domain.mkdir(parents=True)
        (domain / "sop.md").write_text("Do what the row says.\n", "utf-8")
        (domain / "toolspecs.json").write_text(json.dumps(self._tool_specs()), "utf-8")
        metadata = {
            "name": self.domain,
            "input_columns": list(self.inputs or self.columns[:1]),
            "output_columns": [self.columns[-1]],
            "tools": self.tools,
        }
        (domain / "metadata.json").write_text(json.dumps(metadata), "utf-8")
        with (domain / "data.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([self.columns, *self.rows])
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8")

    @contextmanager
    def written(self) -> Iterator[Path]:
        """Give a folder that lasts as long as the measurement."""
        with TemporaryDirectory() as name:
            self.write(Path(name))
            yield Path(name)

    def _tool_specs(self) -> list[dict[str, Any]]:
        properties = {name: {"type": "string", "minLength": 1} for name in self.parameters}
        schema = {"type": "object", "properties": properties, "required": [*self.parameters]}
        return [
            {"name": name, "description": f"Tool {name}.", "parameters": schema}
            for name in self.tools
        ]


GRADES = ("pass", "retest", "fail")


def lab(rows: int, **files: str) -> Project:
    """A domain without tools, whose answer follows from the id; `files` are Python modules."""
    return Project(
        domain="lab",
        columns=("sample_id", "grade"),
        rows=[(f"T_{number}", GRADES[number % 3]) for number in range(1, rows + 1)],
        files={f"{name}.py": text for name, text in files.items()},
    )


LATE = """
import asyncio
import os
import time

LOG = os.open("times.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(what, task):
    os.write(LOG, f"{what} {task} {time.monotonic()}\\n".encode())


def sync_agent(inputs):
    note("start", inputs["parcel_id"])
    time.sleep(inputs["latency"])
    note("end", inputs["parcel_id"])
    return {"shelf": "A"}


async def async_agent(inputs):
    note("start", inputs["parcel_id"])
    await asyncio.sleep(inputs["latency"])
    note("end", inputs["parcel_id"])
    return {"shelf": "A"}
"""
"""Agents that wait as for a model, and append when they start and end to `times.log`."""


def parcels(latencies: Sequence[float], agents: str = LATE, **files: str) -> Project:
    """One task for each latency in seconds, for the agents of `agents`, a module of that name."""
    return Project(
        domain="parcels",
        columns=("parcel_id", "latency", "shelf"),
        rows=[(f"PX{number}", latency, "A") for number, latency in enumerate(latencies)],
        inputs=("parcel_id", "latency"),
        files={"agents.py": agents} | {f"{name}.py": text for name, text in files.items()},
    )
