"""The file of `--sop-approver=scripted:PATH`: who reads it decides like its author.

{"4": true, "7": "no signature", "*": false,
 "dangerous_goods/P_13041": {"7": true}}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_sopbench._core.steps.approving import Decisions, Scripted
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.cells import shown
from pytest_sopbench._loading.files.document import read_json
from pytest_sopbench.errors import LoadingError


def read_script(path: Path) -> Scripted:
    """Read a script of decisions.

    Raises:
        LoadingError: the file cannot be read, or holds something else.
    """
    data = read_json(path)
    if not isinstance(data, Mapping):
        hint = 'write {"STEP": true, "STEP": "why it is denied", "*": false}'
        raise LoadingError(path, "must be an object with a decision for each step", hint=hint)
    tasks = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    steps = {key: value for key, value in data.items() if key not in tasks}
    for name in tasks:
        if "/" not in name:
            hint = "decisions for one task stand under DOMAIN/TASK"
            raise LoadingError(path, "no task is called so", column=name, hint=hint)
    return Scripted(
        decisions=_decisions(path, steps, ""),
        tasks={name: _decisions(path, one, f"{name}: ") for name, one in tasks.items()},
    )


def _decisions(path: Path, given: Mapping[str, JsonValue], place: str) -> Decisions:
    read: dict[str, bool | str] = {}
    for step, value in given.items():
        if not isinstance(value, bool | str) or value == "":
            hint = "write true, false, or a text that says why it is denied"
            problem = f"{shown(value)} is no decision"
            raise LoadingError(path, problem, column=f"{place}{step}", hint=hint)
        read[step] = value
    return read
