"""Read the tasks file, `sop_tasks.toml`: what the project says of single tasks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from pytest_sopbench._core.gates.quarantine import TaskEntries, TaskPolicy
from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._loading.files.document import read_text, read_toml
from pytest_sopbench._loading.files.names import NAME_RULE, is_domain_name
from pytest_sopbench._loading.files.suggestions import did_you_mean, shown
from pytest_sopbench.errors import LoadingError

KEYS: Final = ("must_pass", "may_fail", "until", "issue")
"""What an entry may say."""

_EXAMPLE = (
    '["DOMAIN/TASK"] with must_pass = true, or with may_fail = "reason" and until = 2030-01-31'
)
_HEAD = re.compile(r"[ \t]*\[")
_KEY = re.compile(r"[ \t]*([A-Za-z0-9_-]+)[ \t]*=")


def read_tasks_file(path: Path) -> TaskEntries:
    """Read the entries of a tasks file.

    Raises:
        LoadingError: it cannot be read or is no TOML; an entry is not named DOMAIN/TASK, has a key
            that is not known or of a wrong type, says nothing, or says that a task must pass and
            may fail; `may_fail` stands without `until`. Carries the line.
    """
    file = _TasksFile(path, read_text(path))
    return TaskEntries(entries=dict(file.entry(*one) for one in file.tables().items()))


def check_tasks(path: Path, entries: TaskEntries, tasks: Mapping[str, Collection[str]]) -> None:
    """Stop at an entry of a task that its domain does not have.

    Args:
        path: the tasks file, which names the place.
        entries: as read from it.
        tasks: the ids of all tasks of each domain that is loaded, selected or not; an entry of
            another domain is passed over.

    Raises:
        LoadingError: with the line, and the nearest task.
    """
    for name in entries.entries:
        known = tasks.get(name.domain)
        if known is None or name.task in known:
            continue
        near = did_you_mean(name.task, known)
        hint = near or f"sopbench list {name.domain} counts its tasks"
        _TasksFile(path, read_text(path)).refuse(
            str(name), "", f"domain {name.domain} has no task {name.task!r}", hint
        )


class _TasksFile:
    """The text of a tasks file, which knows on which line an entry stands."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def tables(self) -> Mapping[str, object]:
        try:
            return read_toml(self._path)
        except LoadingError as fault:
            # A name with a slash needs quotes, which is what is forgotten first.
            raise LoadingError(self._path, fault.problem, hint=f"write {_EXAMPLE}") from fault

    def entry(self, name: str, table: object) -> tuple[TaskName, TaskPolicy]:
        domain, sign, task = name.partition("/")
        if not sign or not task or not isinstance(table, Mapping):
            self.refuse(name, "", "no name of a task", f"write {_EXAMPLE}")
        if not is_domain_name(domain):
            self.refuse(name, "", f"{domain!r} is no name of a domain", NAME_RULE)
        said = cast("Mapping[str, object]", table)
        for key in said:
            if key not in KEYS:
                known = f"an entry may say {', '.join(KEYS)}"
                self.refuse(name, key, "unknown key", did_you_mean(key, KEYS) or known)
        task_name = TaskName(domain, task)
        entry = TaskPolicy(
            name=task_name,
            must_pass=self._must_pass(name, said),
            may_fail=self._text_of(name, said, "may_fail"),
            until=self._until(name, said),
            issue=self._text_of(name, said, "issue"),
        )
        self._check(name, entry)
        return task_name, entry

    def refuse(self, name: str, key: str, problem: str, hint: str = "") -> NoReturn:
        what = f"[{name!r}]{f' {key}' if key else ''}: {problem}"
        raise LoadingError(self._path, what, row=self._line(name, key), hint=hint)

    def _must_pass(self, name: str, said: Mapping[str, object]) -> bool:
        value = said.get("must_pass", False)
        if "must_pass" in said and value is not True:
            hint = "write must_pass = true, or leave it out"
            self.refuse(name, "must_pass", f"true expected, got {shown(value)}", hint)
        return value is True

    def _text_of(self, name: str, said: Mapping[str, object], key: str) -> str:
        value = said.get(key, "")
        if not isinstance(value, str) or (key in said and not value.strip()):
            self.refuse(name, key, f"a text expected, got {shown(value)}")
        return value.strip()

    def _until(self, name: str, said: Mapping[str, object]) -> date | None:
        value = said.get("until")
        # An instant is a date to Python, and would mean another day in another zone.
        if value is not None and (not isinstance(value, date) or isinstance(value, datetime)):
            hint = "write until = 2030-01-31, without quotes"
            self.refuse(name, "until", f"a date expected, got {shown(value)}", hint)
        return value

    def _check(self, name: str, entry: TaskPolicy) -> None:
        if entry.must_pass and (entry.may_fail or entry.until):
            key = "may_fail" if entry.may_fail else "until"
            self.refuse(name, key, "a task that must pass may not fail", "keep one of the two")
        if entry.must_pass:
            return
        if not entry.may_fail:
            self.refuse(
                name, "", "it says neither must_pass nor may_fail", 'add may_fail = "reason"'
            )
        if entry.until is None:
            hint = "add until = YYYY-MM-DD: the last day on which it may fail"
            self.refuse(name, "", "may_fail has no until", hint)

    def _line(self, name: str, key: str) -> int | None:
        """Return the line of an entry, or of a key in it; `None` where nothing is found."""
        place = None
        for number, line in enumerate(self._text.split("\n"), start=1):
            if _HEAD.match(line):
                if place is not None:
                    return place
                place = number if _name_of(line) == name else None
            elif place is not None and key and (found := _KEY.match(line)) and found[1] == key:
                return number
        return place


def _name_of(line: str) -> str:
    """Return what a line such as `["lab/T_01"]` names, or nothing."""
    try:
        table: dict[str, Any] = tomllib.loads(line)
    except ValueError:
        return ""
    return next(iter(table), "")
