"""An agent that does what a file says, task by task: for tutorials, and for tests of tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench._core.agent_source import AgentContext
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.strict_json import STRICT
from pytest_sopbench._running.tools.facade import Tools
from pytest_sopbench._settings.project_file import from_home

from .task_lines import as_object, of_task, read_task_file, refuse_line, refuse_task

PREFIX: Final = "scripted:"
KEYS: Final = ("task", "domain", "calls", "answer", "raises", "usage")
CALL_KEYS: Final = ("name", "arguments")

_EXAMPLE: Final = (
    'write {"task": "T1", "calls": [{"name": "TOOL", "arguments": {}}], "answer": {"FIELD": "..."}}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the agent does on one task; `domain` is empty where it says nothing of it."""

    task: str
    line: int
    domain: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    answer: object = None
    raises: str | None = None
    usage: object = None


class ScriptedAgent:
    """Makes the calls of a script, whatever comes of them, and returns its answer."""

    def __init__(self, path: Path, scripts: Mapping[tuple[str, str], Script]) -> None:
        self._path = path
        self._scripts = scripts

    def __call__(self, tools: Tools, task_id: str, domain: str) -> object:
        script = of_task(self._scripts, domain, task_id)
        if script is None:
            msg = f"{self._path}: it says nothing of task {task_id!r} of {domain}"
            raise LookupError(msg)
        for name, arguments in script.calls:
            tools.execute_tool(name, arguments)
        if script.usage is not None:
            tools.report(usage=script.usage)
        if script.raises is not None:
            raise RuntimeError(script.raises)
        return script.answer


class ScriptedSource:
    """`scripted:FILE`."""

    form = f"{PREFIX}FILE"

    def claims(self, spec: str) -> bool:
        return spec.startswith(PREFIX)

    def resolve(self, spec: str, context: AgentContext) -> object:
        path = context.path / from_home(spec.removeprefix(PREFIX))
        scripts: dict[tuple[str, str], Script] = {}
        for script in _read(path):
            key = (script.domain, script.task)
            if key in scripts:
                refuse_line(
                    path,
                    script.line,
                    f"task {script.task!r} stands in line {scripts[key].line} already",
                    "say once what is done on a task",
                )
            _check_task(path, script, context.domains)
            scripts[key] = script
        return ScriptedAgent(path, scripts)


def _check_task(path: Path, script: Script, domains: Mapping[str, Domain]) -> None:
    """Refuse a task that nobody has; domains that are not run in this session are passed over."""
    asked = (
        domains.values()
        if not script.domain
        else [one for name, one in domains.items() if name == script.domain]
    )
    known = [task for one in asked for task in one.task_ids]
    if not known or script.task in known:
        return
    hint = 'name its domain beside it: "domain": "NAME"'
    refuse_task(path, script.line, script.task, known, hint)


def _read(path: Path) -> Iterator[Script]:
    text = read_task_file(path, PREFIX)
    found = False
    for line, value in _values(path, text):
        found = True
        yield _script(path, line, value)
    if not found:
        refuse_line(path, 1, "it is empty", _EXAMPLE)


def _values(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """Yield the objects of a list, or those that stand one after another, with their lines."""
    place, is_list = _after(text, 0, " \t\r\n"), False
    if text.startswith("[", place):
        place, is_list = _after(text, place + 1, " \t\r\n"), True
    while place < len(text) and not (is_list and text[place] == "]"):
        line = text.count("\n", 0, place) + 1
        try:
            value, place = STRICT.raw_decode(text, place)
        except json.JSONDecodeError as fault:
            refuse_line(path, fault.lineno, f"no JSON: {fault.msg}", _EXAMPLE)
        except (ValueError, RecursionError) as fault:
            refuse_line(path, line, f"no JSON: {fault}", _EXAMPLE)
        yield line, value
        place = _after(text, place, " \t\r\n,")
    if is_list and text[place:].strip() != "]":
        refuse_line(path, text.count("\n") + 1, "the list does not end", "write ] behind the last")


def _after(text: str, place: int, passed: str) -> int:
    while place < len(text) and text[place] in passed:
        place += 1
    return place


def _script(path: Path, line: int, value: object) -> Script:
    held = as_object(path, line, value, _EXAMPLE)
    _check_keys(path, line, held, KEYS)
    for key in ("task", "domain", "raises"):
        if key in held and (not isinstance(held[key], str) or not held[key]):
            refuse_line(path, line, f"{key!r} is no text", _EXAMPLE)
    if "task" not in held:
        refuse_line(path, line, "'task' is missing", _EXAMPLE)
    if "answer" not in held and "raises" not in held:
        hint = '"answer" may be an object, a text or null; "raises" is the text of an error'
        refuse_line(path, line, "neither 'answer' nor 'raises' stands there", hint)
    calls = held.get("calls", [])
    if not isinstance(calls, list):
        refuse_line(path, line, "'calls' is no list", _EXAMPLE)
    made = tuple(_call(path, line, one) for one in cast("list[object]", calls))
    told: dict[str, Any] = {**held, "calls": made}
    return Script(line=line, **told)


def _call(path: Path, line: int, value: object) -> tuple[str, Any]:
    if not isinstance(value, dict):
        refuse_line(path, line, "a call is no object", _EXAMPLE)
    held = cast("dict[str, Any]", value)
    _check_keys(path, line, held, CALL_KEYS)
    name = held.get("name")
    if not isinstance(name, str) or not name:
        refuse_line(path, line, "a call has no 'name'", _EXAMPLE)
    return name, held.get("arguments", {})


def _check_keys(path: Path, line: int, held: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in held:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it may be {', '.join(known)}"
            refuse_line(path, line, f"unknown key {key!r}", hint)
