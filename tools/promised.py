"""What a release promises, read from the code: names, signatures, options, statuses, formats.

    python tools/promised.py            print it
    python tools/promised.py --write    write it into `docs/files/promised.json`, and the keys of
                                        new metrics into the schema of the JSON report

`tests/test_promised.py` compares the file with the code. A change of the file is a change of the
promise, which `docs/reference/compatibility.md` allows or forbids.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

import pytest_sopbench
from pytest_sopbench import errors, hookspecs, plugin
from pytest_sopbench._cli import app
from pytest_sopbench._core.gates import conditions
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.records import event_log
from pytest_sopbench._core.trajectory.calls import Trajectory
from pytest_sopbench._core.trajectory.snapshot import Snapshot, snapshot_text
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.settings import marks
from pytest_sopbench._loading import quarantine_file
from pytest_sopbench._loading.finding import ENTRY_POINTS as DOMAINS
from pytest_sopbench._loading.metadata import DocumentMetadata
from pytest_sopbench._replay import cassette_lines
from pytest_sopbench._reports.formats import FORMATS
from pytest_sopbench._reports.formats import SCHEMA as JSON_REPORT
from pytest_sopbench._running.agents.spec import GROUP as AGENTS
from pytest_sopbench._running.comparing import GROUP as COMPARERS
from pytest_sopbench._sessions import header
from pytest_sopbench._settings import extensions
from pytest_sopbench._settings.readers import ANNOTATIONS
from pytest_sopbench._settings.table import TABLE
from pytest_sopbench.cli import main as sopbench

ONE = Trajectory(calls=())
FILES = Path(__file__).parents[1] / "docs" / "files"
PATH = FILES / "promised.json"
SCHEMA = FILES / "session-report.schema.json"

MADE_BY_USERS = frozenset(
    {"ApprovalDecision", "Call", "ExpectedCall", "Match", "Metric", "ToolError", "Trajectory"}
)
"""Classes that users call, so that their parameters are promised; the others are given to them.

`Unavailable` takes what any exception takes.
"""


def promised() -> dict[str, Any]:
    """Return what is promised, as JSON."""
    return {
        "names": {name: shape(getattr(pytest_sopbench, name)) for name in pytest_sopbench.__all__},
        "errors": sorted(
            name
            for name, one in vars(errors).items()
            if inspect.isclass(one) and one.__module__ == errors.__name__
        ),
        "hooks": {
            name: parameters(hook)
            for name, hook in sorted(vars(hookspecs).items())
            if name.startswith("pytest_sop_")
        },
        "fixtures": sorted(name for name in vars(plugin) if name.startswith("sop_")),
        "outcomes": sorted(one.value for one in Outcome),
        "mark": sorted(marks.KNOWN),
        "options": sorted(
            text for spec in TABLE if spec.is_option for text in (spec.option, *spec.aliases)
        ),
        "configuration": sorted(spec.name for spec in TABLE if spec.is_ini),
        "gates": sorted(conditions.names()),
        "report formats": sorted((*FORMATS, ANNOTATIONS)),
        "tasks file": sorted(quarantine_file.KEYS),
        "commands": dict(commands(sopbench, click.Context(sopbench))),
        "exit statuses of sopbench": {
            "holds": app.HOLDS,
            "fails": app.FAILS,
            "wrong usage": app.WRONG_USAGE,
            "inconclusive": app.INCONCLUSIVE,
        },
        "entry points": sorted(
            f"{one.group}: {one.name}"
            for group in ("pytest11", "console_scripts")
            for one in entry_points(group=group)
            if one.value.startswith("pytest_sopbench")
        ),
        "entry points of other packages": sorted(
            (AGENTS, COMPARERS, DOMAINS, extensions.METRIC_GROUP, extensions.FORMAT_GROUP)
        ),
        "formats": {
            "saved session": header.SCHEMA,
            "event log": event_log.SCHEMA,
            "recording": cassette_lines.VERSION,
            "JSON report": JSON_REPORT,
        },
        # What is sent is held against the schema by `tests/reports/test_pages.py`.
        "keys of the JSON report": sorted(set(keys_of(json.loads(SCHEMA.read_text("utf-8"))))),
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
        return parameters(thing)
    own = {
        name: member(value)
        for one in reversed(thing.__mro__)
        if one.__module__.startswith("pytest_sopbench")
        for name, value in vars(one).items()
        if not name.startswith("_")
    }
    if is_dataclass(thing):
        own |= {one.name: "attribute" for one in fields(thing) if not one.name.startswith("_")}
    if thing.__name__ in MADE_BY_USERS:
        own["()"] = parameters(thing)
    return dict(sorted(own.items()))


def member(value: Any) -> Any:
    """Return the parameters of a method, of a class as well; anything else is an attribute."""
    method = getattr(value, "__func__", value)
    return parameters(method) if inspect.isfunction(method) else "attribute"


def parameters(thing: Any) -> list[str]:
    """Return parameters as a signature has them: `*` before keywords, `=` where one may be left."""
    told = list[str]()
    for one in inspect.signature(thing).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            told.append(f"*{one.name}")
        elif one.kind is one.VAR_KEYWORD:
            told.append(f"**{one.name}")
        else:
            if one.kind is one.KEYWORD_ONLY and not any(text.startswith("*") for text in told):
                told.append("*")
            told.append(one.name if one.default is one.empty else f"{one.name}=")
    return told


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with its arguments and options, those of a group by both names."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        yield name, sorted(text for one in command.params for text in one.opts)
        if isinstance(command, click.Group):
            within = click.Context(command, parent=context)
            yield from ((f"{name} {below}", opts) for below, opts in commands(command, within))


def keys_of(schema: Any, of: str = "") -> Iterator[str]:
    """Yield the keys that a schema has, each below the key or the definition that holds it."""
    if isinstance(schema, bool):
        return
    for name, below in schema.get("$defs", {}).items():
        yield from keys_of(below, f"{name}: ")
    for name, below in schema.get("properties", {}).items():
        yield f"{of}{name}"
        yield from keys_of(below, f"{of}{name}.")
    for word in ("items", "additionalProperties"):
        yield from keys_of(schema.get(word, False), of)
    for word in ("anyOf", "oneOf", "allOf"):
        for below in schema.get(word, ()):
            yield from keys_of(below, of)


def text() -> str:
    """Return the manifest as it is written."""
    return json.dumps(promised(), indent=1, ensure_ascii=False) + "\n"


def schema_text() -> str:
    """Return the schema of the JSON report, with the key of every metric where rates stand."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    for place in ("summary", "pooled"):
        keys = schema["$defs"][place]["properties"]
        for metric in METRICS.values():
            keys.setdefault(metric.name, {"$ref": f"#/$defs/{'value' if metric.unit else 'rate'}"})
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        SCHEMA.write_text(schema_text(), encoding="utf-8")
        PATH.write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())
