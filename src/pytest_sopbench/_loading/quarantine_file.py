"""Read the tasks file, `sop_tasks.toml`: what the project says of single tasks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.quarantine import TaskEntries, TaskPolicy
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench.errors import LoadingError

from .files import did_you_mean, first_twice, listed, read_text, read_toml, shown
from .metadata import NAME_RULE, is_domain_name


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_list_of_texts(value: Any) -> bool:
    texts = cast("list[object]", value) if isinstance(value, list) else []
    return bool(texts) and all(map(_is_text, texts))


KEYS: Final[Mapping[str, tuple[Callable[[Any], bool], str, str]]] = {
    "must_pass": (
        lambda value: value is True,
        "true",
        "write must_pass = true, or leave it out",
    ),
    "may_fail": (_is_text, "a text", ""),
    "may_break": (
        _is_list_of_texts,
        "a list of rules",
        'write the ids of rules, such as may_break = ["confirm-first"]',
    ),
    # An instant is a date to Python, and would mean another day in another zone.
    "until": (
        lambda value: isinstance(value, date) and not isinstance(value, datetime),
        "a date",
        "write until = 2030-01-31, without quotes",
    ),
    "issue": (_is_text, "a text", ""),
}
"""What an entry may say: what fits, what that is called, and a hint."""

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
            may fail; `may_fail` or `may_break` stands without `until`. Carries the line.
    """
    file = _TasksFile(path, read_text(path))
    try:
        tables = read_toml(path)
    except LoadingError as fault:
        # A name with a slash needs quotes, which is what is forgotten first.
        raise LoadingError(path, fault.problem, hint=f"write {_EXAMPLE}") from fault
    return TaskEntries(entries=dict(file.entry(*one) for one in tables.items()))


def check_tasks(path: Path, entries: TaskEntries, domains: Mapping[str, Domain]) -> None:
    """Stop at an entry of a task, or of a rule, that its domain does not have.

    Args:
        path: the tasks file, which names the place.
        entries: as read from it.
        domains: those that are loaded, by their names, whatever is selected of them; an entry of
            another domain is passed over.

    Raises:
        LoadingError: with the line, and the nearest task or rule.
    """
    for name, entry in entries.entries.items():
        domain = domains.get(name.domain)
        if domain is None:
            continue
        if name.task not in domain.task_ids:
            near = did_you_mean(name.task, domain.task_ids)
            hint = near or f"sopbench list {name.domain} counts its tasks"
            _TasksFile(path, read_text(path)).refuse(
                str(name), "", f"domain {name.domain} has no task {name.task!r}", hint
            )
        rules = [rule.id for rule in domain.contract.rules] if domain.contract else []
        unknown = next((rule for rule in entry.may_break if rule not in rules), None)
        if unknown is not None:
            problem = f"the contract of domain {name.domain} has no rule {unknown!r}"
            hint = did_you_mean(unknown, rules) or f"its rules: {listed(rules) or 'none'}"
            _TasksFile(path, read_text(path)).refuse(str(name), "may_break", problem, hint)


@dataclass(frozen=True, slots=True)
class _TasksFile:
    """The text of a tasks file, which knows on which line an entry stands."""

    path: Path
    text: str

    def entry(self, name: str, table: object) -> tuple[TaskName, TaskPolicy]:
        domain, sign, task = name.partition("/")
        if not sign or not task or not isinstance(table, Mapping):
            self.refuse(name, "", "no name of a task", f"write {_EXAMPLE}")
        if not is_domain_name(domain):
            self.refuse(name, "", f"{domain!r} is no name of a domain", NAME_RULE)
        said = cast("Mapping[str, Any]", table)
        for key, value in said.items():
            if key not in KEYS:
                known = f"an entry may say {', '.join(KEYS)}"
                self.refuse(name, key, "unknown key", did_you_mean(key, KEYS) or known)
            fits, kind, hint = KEYS[key]
            if not fits(value):
                self.refuse(name, key, f"{kind} expected, got {shown(value)}", hint)
        rules = tuple(said.get("may_break", ()))
        if (twice := first_twice(rules)) is not None:
            self.refuse(name, "may_break", f"it names {twice!r} twice", "name each rule once")
        task_name = TaskName(domain, task)
        entry = TaskPolicy(
            name=task_name,
            must_pass="must_pass" in said,
            may_fail=said.get("may_fail", "").strip(),
            may_break=rules,
            until=said.get("until"),
            issue=said.get("issue", "").strip(),
        )
        self._check(name, entry)
        return task_name, entry

    def refuse(self, name: str, key: str, problem: str, hint: str = "") -> NoReturn:
        what = f"[{name!r}]{f' {key}' if key else ''}: {problem}"
        raise LoadingError(self.path, what, row=self._line(name, key), hint=hint)

    def _check(self, name: str, entry: TaskPolicy) -> None:
        if entry.must_pass and entry.may_break:
            self.refuse(
                name, "may_break", "a task that must pass may break no rule", "keep one of the two"
            )
        if entry.must_pass and (entry.may_fail or entry.until):
            key = "may_fail" if entry.may_fail else "until"
            self.refuse(name, key, "a task that must pass may not fail", "keep one of the two")
        if entry.must_pass:
            return
        if not (entry.may_fail or entry.may_break):
            what = "it says neither must_pass nor may_fail nor may_break"
            self.refuse(name, "", what, 'add may_fail = "reason"')
        if entry.until is None:
            key = "may_fail" if entry.may_fail else "may_break"
            verb = "fail" if entry.may_fail else "break these rules"
            hint = f"add until = YYYY-MM-DD: the last day on which it may {verb}"
            self.refuse(name, "", f"{key} has no until", hint)

    def _line(self, name: str, key: str) -> int | None:
        """Return the line of an entry, or of a key in it; `None` if nothing is found."""
        place = None
        for number, line in enumerate(self.text.split("\n"), start=1):
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
