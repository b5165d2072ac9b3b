"""The steps of an SOP if a domain says them itself: `steps.json`.

    {"steps": [{"number": "4", "title": "Intake check", "text": "...", "approval": "after"}],
     "general": "what applies to all steps"}

Only `number` is needed if the SOP has a section of that number. Without `general`, all that
stands in no step is general text, so that nothing of the SOP is lost. A script of approvals, which
decides about steps by their numbers, is read here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_sopbench._core.steps import (
    Decisions,
    Moment,
    Procedure,
    Scripted,
    Step,
    approvals_of,
    jumps_of,
    merged,
    sections_of,
)
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError

from .files import (
    did_you_mean,
    first_twice,
    is_a_file,
    listed,
    read_json,
    shown,
)

FILE_NAME: Final = "steps.json"
END: Final = "answer"
"""What an agent calls the place after the last step, so that no step may be called so."""

_KEYS: Final = ("steps", "general")
_STEP_KEYS: Final = ("number", "title", "text", "approval")
_APPROVALS: Final = (*Moment, "none")


def own_steps(folder: Path, sop: str) -> Procedure | None:
    """Read the steps of a domain; `None` if it has no `steps.json`.

    Raises:
        LoadingError: the file cannot be read, or says something that steps do not have.
    """
    path = folder / FILE_NAME
    return read_steps(read_json(path), path, sop) if is_a_file(path) else None


def read_steps(data: JsonValue, path: Path, sop: str) -> Procedure:
    """Read the value of a `steps.json`.

    Raises:
        LoadingError: as `own_steps`; carries the key.
    """
    keys = _object(data, path, "", _KEYS)
    raw = keys.get("steps")
    if not isinstance(raw, list) or not raw:
        hint = 'write {"steps": [{"number": "1", "title": ..., "text": ...}]}'
        raise LoadingError(path, "must be a list of steps", column="steps", hint=hint)
    reader = _Reader(path, sections_of(sop))
    steps = [reader.step(one, number) for number, one in enumerate(raw)]
    numbers = [step.number for step in steps]
    if (twice := first_twice(numbers)) is not None:
        raise LoadingError(
            path,
            f"step {shown(twice)} stands twice",
            column=f"steps[{numbers.index(twice, numbers.index(twice) + 1)}].number",
            hint="give every step a number of its own",
        )
    steps = [replace(step, jumps=jumps_of(step.text, step.number, numbers)) for step in steps]
    left, strange = _left_over(sop, steps)
    general = _text(keys.get("general", "\n".join(left)), path, "general")
    warnings = [f"{path.name}: step {one}: its text is no part of the SOP" for one in strange]
    if "general" in keys:
        warnings += _unsaid(path, left, general)
    return Procedure(parts=merged([general, *steps]), source=path.name, warnings=tuple(warnings))


def steps_as_json(sop: str, procedure: Procedure) -> JsonValue:
    """Return an SOP and its steps as JSON, in which whatever an agent is given has a place."""
    steps: list[JsonValue] = [
        {
            "number": step.number,
            "title": step.title,
            "text": step.text,
            "approval": [moment.value for moment in step.approvals],
        }
        for step in procedure.steps
    ]
    return {"sop": sop, "steps": steps, "general": procedure.general}


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    sections: Mapping[str, Step]

    def step(self, raw: JsonValue, place: int) -> Step:
        where = f"steps[{place}]"
        keys = _object(raw, self.path, where, _STEP_KEYS)
        number = self._number(keys.get("number"), f"{where}.number")
        section = self.sections.get(number)
        if "text" not in keys and section is None:
            problem = f"step {shown(number)} has no text, and the SOP no section of that number"
            known = listed(self.sections) or "none"
            hint = f"give its text, or one of the SOP's numbers: {known}"
            raise LoadingError(self.path, problem, column=where, hint=hint)
        text = section.text if section is not None else ""
        text = _text(keys.get("text", text), self.path, f"{where}.text")
        title = section.title if section is not None else text.lstrip().split("\n")[0][:80]
        return Step(
            number=number,
            title=_text(keys.get("title", title), self.path, f"{where}.title"),
            text=text,
            approvals=self._approvals(keys.get("approval"), text, f"{where}.approval"),
            line=section.line if section is not None and section.text == text else 0,
        )

    def _number(self, value: JsonValue, where: str) -> str:
        whole = isinstance(value, int) and not isinstance(value, bool)
        number = str(value).strip() if whole or isinstance(value, str) else ""
        if not number or number.casefold() == END:
            problem = f"{shown(value)} cannot be the number of a step"
            hint = f'write a text such as "4" or "5.2"; {END!r} stands for the end'
            raise LoadingError(self.path, problem, column=where, hint=hint)
        return number

    def _approvals(self, value: JsonValue, text: str, where: str) -> tuple[Moment, ...]:
        if value is None:
            return approvals_of(text)
        words = value if isinstance(value, list) else [value]
        for word in words:
            if word not in _APPROVALS:
                problem = f"{shown(word)} is no word for an approval"
                hint = f"write one of {', '.join(_APPROVALS)}, or a list of them"
                raise LoadingError(self.path, problem, column=where, hint=hint)
        return tuple(moment for moment in Moment if moment in words)


def _object(
    data: JsonValue, path: Path, where: str, known: Sequence[str]
) -> Mapping[str, JsonValue]:
    if not isinstance(data, Mapping):
        problem = f"must be an object with the keys {', '.join(known)}"
        raise LoadingError(path, problem, column=where or None)
    for key in data:
        if key not in known:
            hint = did_you_mean(key, known) or f"its keys are {', '.join(known)}"
            prefix = f"{where}." if where else ""
            raise LoadingError(path, f"key {prefix + key!r} is unknown", hint=hint)
    return data


def _text(value: JsonValue, path: Path, where: str) -> str:
    if not isinstance(value, str) or not (value.strip() or where == "general"):
        raise LoadingError(path, f"must be a text, and is {shown(value)}", column=where)
    return value.strip("\n")


def _left_over(sop: str, steps: Sequence[Step]) -> tuple[list[str], list[str]]:
    """Return the lines of the SOP that stand in no step, and the steps that are no part of it."""
    lines = sop.split("\n")
    folded = [" ".join(line.split()) for line in lines]
    free = [place for place, line in enumerate(folded) if line]
    taken: set[int] = set()
    strange: list[str] = []
    for step in steps:
        found = _found(step.text, folded, free)
        taken.update(found)
        if not found:
            strange.append(step.number)
    return [line for place, line in enumerate(lines) if place not in taken], strange


def _found(text: str, folded: Sequence[str], free: Sequence[int]) -> range:
    """Return where a text stands, line by line; blank lines and spaces do not count."""
    wanted = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    for start in range(len(free) - len(wanted) + 1):
        places = free[start : start + len(wanted)]
        if [folded[place] for place in places] == wanted:
            return range(places[0], places[-1] + 1)
    return range(0)


def _unsaid(path: Path, left: Sequence[str], general: str) -> Iterator[str]:
    said = {" ".join(line.split()) for line in general.split("\n")}
    missing = [line.strip() for line in left if line.strip() and " ".join(line.split()) not in said]
    if missing:
        what = "lines of the SOP that stand neither in a step nor in 'general'"
        yield f"{path.name}: {what}: {len(missing)}, the first {shown(missing[0])}"


# The file of `sop_approver = scripted:PATH`: who reads it decides like its author.


def read_script(path: Path) -> Scripted:
    """Read a script of decisions.

    Its keys are steps, `*` stands for all others, and decisions for one task stand below its name:
    `{"4": true, "7": "no signature", "*": false, "dangerous_goods/P_13041": {"7": true}}`.

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
