"""What `@pytest.mark.sop(...)` says of a test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import RunKey

KNOWN = ("domain", "agent", "answer", "trials")


def check_mark(mark: pytest.Mark, where: str) -> None:
    """Refuse a mark that would otherwise be ignored in silence.

    Raises:
        pytest.UsageError: it has positional arguments, an unknown keyword or a value that its
            keyword does not take.
    """
    unknown = [name for name in mark.kwargs if name not in KNOWN]
    if mark.args or unknown:
        what = f"unknown keyword {unknown[0]!r}" if unknown else "positional arguments"
        msg = f"{where}: @pytest.mark.sop: {what}; it takes {', '.join(KNOWN)}, by keyword"
        raise pytest.UsageError(msg)
    agent = mark.kwargs.get("agent")
    if not isinstance(agent, str | None):
        msg = (
            f"{where}: @pytest.mark.sop(agent={agent!r}): one agent expected, as text\n"
            "several are given by --agent or by @pytest.fixture(params=[...]) on sop_agent"
        )
        raise pytest.UsageError(msg)
    trials = mark.kwargs.get("trials", 1)
    if type(trials) is not int or trials < 1:
        msg = f"{where}: @pytest.mark.sop(trials={trials!r}): a whole number of at least 1 expected"
        raise pytest.UsageError(msg)
    if mark.kwargs.get("answer", "ignored") != "ignored":
        msg = f"{where}: @pytest.mark.sop(answer=...): only 'ignored' is known"
        raise pytest.UsageError(msg)


def marked(item: pytest.Item, keyword: str) -> Any:
    """Return what the closest mark of a test that has the keyword says, or `None`."""
    for mark in item.iter_markers("sop"):
        if keyword in mark.kwargs:
            return mark.kwargs[keyword]
    return None


def marked_domains(definition: pytest.Item) -> tuple[str, ...]:
    value = marked(definition, "domain")
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def marked_agent(item: pytest.Item) -> str | None:
    spec: str | None = marked(item, "agent")
    return spec


def answer_ignored(item: pytest.Item) -> bool:
    answer: str | None = marked(item, "answer")
    return answer == "ignored"


# How tasks are named in node ids, and never read back from them.

SAFE = "-._~+=,@"
"""Characters that stand for themselves beside letters and digits, in ids, shells and files."""

_IN_BRACKETS = f"{SAFE}/:"
"""Characters that stand for themselves in the label of an agent."""

_TASK_ID = re.compile(
    r"(?:\.\./)*(sop:)?([A-Za-z0-9][\w.-]*)(?:::(.*?)(?:/t([1-9][0-9]*))?)?", re.DOTALL
)


def encoded(task_id: str) -> str:
    """Percent-encode what has a meaning to pytest, to shells or to file systems."""
    return quote(task_id, safe=SAFE, errors="surrogatepass")


def item_name(key: RunKey, label: str | None = None) -> str:
    """Return what the built-in item of a run is called, below its domain.

    The first trial has the plain name of its task, so that it is called the same however many
    trials there are: `--lf`, an editor or a CI server finds it again.

    Args:
        key: of the run.
        label: of its agent, if the session has several. It stands where pytest has parameters,
            so that the name without it selects the items of all agents.
    """
    # A slash of the task's own id is encoded, so this one can only begin a trial.
    name = encoded(key.task) if key.trial == 1 else f"{encoded(key.task)}/t{key.trial}"
    return name if label is None else f"{name}[{encoded_label(label)}]"


def encoded_label(label: str) -> str:
    """Percent-encode what would mean something in the brackets of an id."""
    # Two colons part the names of an id.
    return quote(label, safe=_IN_BRACKETS, errors="surrogatepass").replace("::", "%3A%3A")


def split_label(text: str) -> tuple[str, str | None]:
    """Split an id into what it is without the label of an agent, and that label."""
    head, sign, label = text.partition("[")
    if not sign or not label.endswith("]"):
        return text, None
    return head, unquote(label[:-1])


def domain_id(domain: Domain, rootpath: Path, *, in_project: bool) -> str:
    """Return the node id of a domain: its data file, or `sop:NAME` if it is not the project's.

    A virtual environment may lie inside the project, so a path does not tell the one from the
    other.
    """
    if in_project and domain.data_file.is_relative_to(rootpath):
        return domain.data_file.relative_to(rootpath).as_posix()
    return f"sop:{domain.name}"


def parameter_id(key: RunKey) -> str:
    """Return what stands in the brackets of a user's parametrized test."""
    return f"{key.domain}/{item_name(key)}"


def may_be_row(nodeid: str) -> bool:
    """Tell whether an id looks like that of a row; a hint, since no run is identified by it."""
    head = nodeid.rpartition("::")[0]
    return head.startswith("sop:") or head.endswith((".csv", ".jsonl"))


class TaskId(NamedTuple):
    """What a user wrote for one run of a task, or for all tasks of a domain."""

    domain: str
    task: str
    trial: int = 1
    label: str | None = None

    @property
    def name(self) -> str:
        """What the item is called, below its domain."""
        return item_name(RunKey(self.domain, self.task, self.trial), self.label)


def read_task_id(text: str) -> TaskId | None:
    """Read `sop:lab::T_1`, `lab::T_1/t2` or `sop:lab` from the command line; else `None`.

    pytest prints ids relative to the current directory, so leading `../` are passed over.
    """
    text, label = split_label(text)
    found = _TASK_ID.fullmatch(text)
    if found is None or (found[1] is None and found[3] is None) or found[2].endswith(".py"):
        return None
    return TaskId(found[2], unquote(found[3] or ""), int(found[4] or 1), label)
