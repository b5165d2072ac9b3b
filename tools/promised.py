"""What a release promises, read from the code: names, signatures, options, statuses, formats.

    python tools/promised.py            print it
    python tools/promised.py --write    write it into `docs/files/promised.json`

`tests/test_promised.py` compares the file with the code. A change of the file is a change of the
promise, which `docs/reference/compatibility.md` allows or forbids.
"""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

import pytest_sopbench
from pytest_sopbench import errors, hookspecs, plugin
from pytest_sopbench._core.model.trajectory import Trajectory
from pytest_sopbench._core.records import event_log
from pytest_sopbench._core.trajectory.snapshot import Snapshot, snapshot_text
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._loading.metadata import DocumentMetadata
from pytest_sopbench._replay.cassettes import lines as cassette_lines
from pytest_sopbench._reports.pages import json_document
from pytest_sopbench._sessions import header
from pytest_sopbench._settings.table import TABLE
from pytest_sopbench.cli import main as sopbench

ONE = Trajectory(calls=())
PATH = Path(__file__).parents[1] / "docs" / "files" / "promised.json"


def promised() -> dict[str, Any]:
    """Return what is promised, as JSON."""
    return {
        "names": {name: shape(getattr(pytest_sopbench, name)) for name in pytest_sopbench.__all__},
        "errors": sorted(name for name, one in vars(errors).items() if inspect.isclass(one)),
        "hooks": {
            name: [*inspect.signature(hook).parameters]
            for name, hook in sorted(vars(hookspecs).items())
            if name.startswith("pytest_sop_")
        },
        "fixtures": sorted(name for name in vars(plugin) if name.startswith("sop_")),
        "outcomes": sorted(one.value for one in Outcome),
        "options": sorted(spec.option for spec in TABLE if spec.is_option),
        "configuration": sorted(spec.name for spec in TABLE if spec.is_ini),
        "commands": commands(),
        "entry points": sorted(
            f"{one.group}: {one.name}"
            for group in ("pytest11", "console_scripts")
            for one in entry_points(group=group)
            if one.value.startswith("pytest_sopbench")
        ),
        "formats": {
            "saved session": header.SCHEMA,
            "event log": event_log.SCHEMA,
            "recording": cassette_lines.VERSION,
            "JSON report": json_document.SCHEMA,
        },
        # They are written and read by people. Their keys are version 1.
        "formats without a number": {
            "domain folder": sorted(
                one.alias or name for name, one in DocumentMetadata.model_fields.items()
            ),
            "snapshot": [*json.loads(snapshot_text(Snapshot(task="", approved=(ONE, ONE))))],
        },
    }


def shape(thing: Any) -> Any:
    """Return what a user relies on: parameters, or fields and public methods with theirs."""
    if not inspect.isclass(thing):
        return [*inspect.signature(thing).parameters]
    own = {
        name: shape(value) if inspect.isfunction(value) else "attribute"
        for one in reversed(thing.__mro__)
        if one.__module__.startswith("pytest_sopbench")
        for name, value in vars(one).items()
        if not name.startswith("_")
    }
    if is_dataclass(thing):
        own |= {one.name: "attribute" for one in fields(thing) if not one.name.startswith("_")}
    return dict(sorted(own.items()))


def commands() -> dict[str, list[str]]:
    """Return each command with its arguments and options."""
    context = click.Context(sopbench)
    found = {name: sopbench.get_command(context, name) for name in sopbench.list_commands(context)}
    return {
        name: sorted(text for one in command.params for text in one.opts)
        for name, command in found.items()
        if command is not None
    }


def text() -> str:
    """Return the manifest as it is written."""
    return json.dumps(promised(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PATH.write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())
