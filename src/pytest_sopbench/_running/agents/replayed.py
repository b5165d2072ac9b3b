"""An agent that returns recorded outputs, task by task: how people come from another benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from pytest_sopbench._core.agent_source import AgentContext
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import AgentSpecError

from .task_lines import as_object, of_task, read_task_file, refuse_line, refuse_task

PREFIX: Final = "replayed:"
OUTPUTS: Final = ("output", "model_response")
"""The keys under which a line may have what the agent returned; exactly one of them."""

_EXAMPLE: Final = 'write {"id": "T1", "output": "..."} on each line, or "model_response" for output'


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What was recorded of one task; `domain` is empty where the line says nothing of it."""

    task: str
    line: int
    output: object
    domain: str = ""


class ReplayedAgent:
    """Returns what was recorded of a task."""

    def __init__(self, path: Path, outputs: Mapping[tuple[str, str], Recorded]) -> None:
        self._path = path
        self._outputs = outputs

    def __call__(self, task_id: str, domain: str) -> object:
        found = of_task(self._outputs, domain, task_id)
        if found is None:
            msg = f"{self._path}: it has no output of task {task_id!r} of {domain}"
            raise LookupError(msg)
        return found.output


class ReplayedSource:
    """`replayed:FILE`."""

    form = f"{PREFIX}FILE"

    def claims(self, spec: str) -> bool:
        return spec.startswith(PREFIX)

    def resolve(self, spec: str, context: AgentContext) -> object:
        path = context.path / from_home(spec.removeprefix(PREFIX))
        outputs: dict[tuple[str, str], Recorded] = {}
        for one in _read(path):
            key = (one.domain, one.task)
            if key in outputs:
                first = outputs[key].line
                _refuse(path, one.line, f"the id {one.task!r} stands in line {first} already")
            outputs[key] = one
        _check(path, outputs, context.domains)
        return ReplayedAgent(path, outputs)


def _check(
    path: Path, outputs: Mapping[tuple[str, str], Recorded], domains: Mapping[str, Domain]
) -> None:
    """Refuse ids of no task, and tasks without an output: either would spoil a rate unsaid."""
    every = [task for one in domains.values() for task in one.task_ids]
    for one in outputs.values():
        asked = domains.get(one.domain) if one.domain else None
        known = every if not one.domain else list(asked.task_ids) if asked else [one.task]
        if one.task not in known:
            refuse_task(path, one.line, one.task, known, "its ids are those of the tasks")
    for name, domain in domains.items():
        missing = [
            task
            for task in domain.task_ids
            if (name, task) not in outputs and ("", task) not in outputs
        ]
        if missing:
            shown = ", ".join(missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""  # noqa: PLR2004
            msg = f"{path}: no output of {shown}{more}, of {len(domain.task_ids)} tasks of {name}"
            raise AgentSpecError(msg, hint="record them, or write null where there was none")


def _read(path: Path) -> Iterator[Recorded]:
    text = read_task_file(path, PREFIX)
    found = False
    # Not at the other line ends of Unicode, which may stand inside an output.
    for line, one in enumerate(text.split("\n"), 1):
        if one.strip():
            found = True
            yield _recorded(path, line, one)
    if not found:
        _refuse(path, 1, "it is empty")


def _recorded(path: Path, line: int, text: str) -> Recorded:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as fault:
        _refuse(path, line, f"no JSON: {fault}")
    held = as_object(path, line, value, _EXAMPLE)
    task, domain = held.get("id"), held.get("domain", "")
    if isinstance(task, int) and not isinstance(task, bool):
        task = str(task)
    if not isinstance(task, str) or not task:
        _refuse(path, line, "'id' is missing, or is no text")
    if not isinstance(domain, str):
        _refuse(path, line, "'domain' is no text")
    given = [key for key in OUTPUTS if key in held]
    if len(given) != 1:
        what = "both 'output' and" if given else "neither 'output' nor"
        _refuse(path, line, f"{what} 'model_response' stands there")
    return Recorded(task=task, line=line, output=held[given[0]], domain=domain)


def _refuse(path: Path, line: int, problem: str) -> NoReturn:
    refuse_line(path, line, problem, _EXAMPLE)
