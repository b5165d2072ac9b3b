"""Take the values of private columns out of findings, which are printed and uploaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pytest_sopbench._core.model.task import MASK
from pytest_sopbench._core.values.json import JsonValue

from .model import Finding
from .reading import Subject

LONG = 4
"""Characters from which on a value is masked wherever it stands; a shorter one is in any text."""

_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])-?[0-9]+(?:\.[0-9]+)?(?![\w.]*\w)")


def masked(findings: Iterable[Finding], subject: Subject | None) -> Iterator[Finding]:
    """Yield the findings without what stands in private columns, inputs and outputs alike."""
    values = _private_values(subject)
    every = {text for texts in values.values() for text in texts if len(text) >= LONG}
    for finding in findings:
        yield _masked(finding, values, every) if values else finding


def _masked(finding: Finding, values: Mapping[str, set[str]], every: set[str]) -> Finding:
    what = finding.what
    column = finding.place.column.removeprefix("outputs.").split(".")[0]
    about = {name for name in values if name == column or repr(name) in what}
    near = {text for name in about for text in values[name]}
    what = _TOKEN.sub(lambda token: MASK if token[0].strip("'\"") in near else token[0], what)
    for text in sorted((one for one in every if one in what), key=len, reverse=True):
        what = what.replace(text, MASK)
    return replace(finding, what=what)


def _private_values(subject: Subject | None) -> Mapping[str, set[str]]:
    if subject is None:
        return {}
    found: dict[str, set[str]] = {name: set() for name in subject.domain.private_columns}
    for task in subject.tasks if found else ():
        row = {**task.results, **task.inputs, **task.expected_as_written}
        for name, texts in found.items():
            texts.update(_texts(row.get(name)))
    return found


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif value is not None and not isinstance(value, bool):
        for one in value:
            yield from _texts(one)
