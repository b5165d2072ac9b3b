"""The program of the child process: call each tool of a published folder on every row.

A line is written after each row, so that what was seen stays when the process is ended.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task, ToolSpec
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.tools.domain_code import ManagerFactory, load_manager_factory, process
from pytest_sopbench.errors import SopbenchError

PROBED: Final = 40
"""Rows on which other arguments are tried as well."""

NOWHERE: Final = "no record has this"


def main(folder: str, lines: str, cells: str) -> None:
    """Call every tool, and write down what came of it; never returns."""
    rows: Sequence[Mapping[str, str]] = json.loads(Path(cells).read_text("utf-8"))
    with Path(lines).open("w", encoding="utf-8") as stream:

        def say(**line: Any) -> None:
            stream.write(f"{json.dumps(line)}\n")
            stream.flush()

        try:
            domain = load_domain(Path(folder))
            factory = load_manager_factory(domain)
        except SopbenchError as fault:
            say(refused=" ".join(str(fault).split()))
        else:
            for spec in domain.tool_specs:
                for position, task in enumerate(domain.tasks):
                    say(**_row(domain, factory, spec, (position, task), rows))
        say(done=True)
    # Whatever threads the code has left running are not waited for.
    sys.stdout.flush()
    os._exit(0)


def _row(
    domain: Domain,
    factory: ManagerFactory,
    spec: ToolSpec,
    place: tuple[int, Task],
    rows: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """Call a tool with the arguments of a row, and with each of them changed."""
    position, task = place
    own = arguments_of(spec, task, rows[position])
    if isinstance(own, str):
        return {"tool": spec.name, "row": position, "lacks": own}

    def called(name: str = "", value: Any = None) -> dict[str, Any]:
        return _called(factory, task, spec.name, {**own, name: value} if name else own)

    line: dict[str, Any] = {"tool": spec.name, "row": position, "arguments": own}
    line |= {"answer": called(), "again": called(), "changed": {}, "spaced": {}, "absent": {}}
    if position < PROBED:
        next_one = (position + 1) % len(rows)
        other = arguments_of(spec, domain.tasks[next_one], rows[next_one])
        for name, value in own.items():
            line["absent"][name] = called(name, NOWHERE if isinstance(value, str) else -98_765_431)
            if isinstance(other, dict) and other.get(name, value) != value:
                line["changed"][name] = called(name, other[name])
            if isinstance(value, str) and value:
                line["spaced"][name] = called(name, f" {value}  ")
    return line


def arguments_of(spec: ToolSpec, task: Task, cells: Mapping[str, str]) -> dict[str, Any] | str:
    """Return the arguments that a row has for a tool, or the required one that it lacks.

    If the spec asks for text it is the cell as it is written; else the value of its column.
    """
    values = {**task.results, **task.inputs}
    properties = spec.parameters.get("properties")
    required = spec.parameters.get("required")
    arguments: dict[str, Any] = {}
    for name, shape in properties.items() if isinstance(properties, Mapping) else ():
        if name in values:
            is_text = isinstance(shape, Mapping) and shape.get("type") == "string"
            arguments[name] = cells[name] if is_text else values[name]
        elif isinstance(required, list) and name in required:
            return name
    return arguments


def _called(
    factory: ManagerFactory, task: Task, name: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `result` or `error`, and `foreign` if JSON has no word for the result."""
    try:
        # An object of its own: what one call leaves in it must not reach the next.
        value = process(factory(task), name, json.loads(json.dumps(arguments)))
        text = json.dumps(value, allow_nan=False)
    except SopbenchError as fault:
        return {"error": str(fault)}
    except (TypeError, ValueError, RecursionError) as fault:
        return {"foreign": str(fault)}
    read = json.loads(text)
    return {"result": read} if read == value else {"foreign": "JSON reads it otherwise"}
