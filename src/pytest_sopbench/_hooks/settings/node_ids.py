"""How tasks are named in node ids, and never read back from them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.keys import RunKey

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
        label: of its agent, where the session has several. It stands where pytest has parameters,
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
    """Return the node id of a domain: its data file, or `sop:NAME` where it is not the project's.

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
