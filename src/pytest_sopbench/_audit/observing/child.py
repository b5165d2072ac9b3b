"""The program of the child process: run policy and tools, and write down what they did.

Each thing that is done is announced by a line before, so that whoever reads the file knows what
the process was about when it ended.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final

from pytest_sopbench._audit.observing.covering import cover
from pytest_sopbench._audit.observing.mutating import mutate
from pytest_sopbench._audit.observing.probing import LARGEST, Book, Loaded, probe_tools
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.trace import ToolCall
from pytest_sopbench._core.values.json import to_json_value
from pytest_sopbench._loading.load import DATA_FILES, FILES, load_domain
from pytest_sopbench._running.tools.domain_code import (
    ManagerFactory,
    load_manager_factory,
    load_policy,
)
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import SopbenchError

MEMORY: Final = 2 << 30
"""Bytes of address space that a process of a domain's code may take; it cannot ask for more."""

MOST_CALLS: Final = 200
"""Tool calls of one run of a policy."""


def main(job_file: str) -> None:
    """Do the job that a file describes; never returns."""
    _limit_memory()
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    book = Book(job["lines"])
    book.say(ready=True)
    try:
        _work(job, book)
    except SopbenchError as fault:
        book.say(refused=str(fault))
    book.say(done=True)
    with suppress(Exception):
        sys.stdout.flush()
    # Whatever threads the code has left running are not waited for.
    os._exit(0)


def _work(job: Mapping[str, Any], book: Book) -> None:
    domain = load_domain(Path(job["folder"]), name=job["name"])
    factory: ManagerFactory | None = None
    if job.get("work"):
        if domain.tools_file is not None:
            book.doing(step="import", tool="tools.py")
            factory = load_manager_factory(domain)
        domain = _without_answers(domain, job)
        if job["work"] == "coverage":
            cover(domain, factory, book)
        else:
            mutate(domain, factory, book, job["skip"])
        return
    if domain.tools_file is not None:
        book.doing(step="import", tool="tools.py")
        opened = _opened(domain)
        factory = load_manager_factory(domain)
        own = Loaded(domain=domain, factory=factory)
        probe_tools(own, _exchanged(job), book, skip=frozenset(job["skip"]))
        book.say(opened=sorted(opened))
    # Not with a tool that ends the process.
    if domain.policy_file is not None and not job["skip"]:
        _run_policy(_without_answers(domain, job), factory, book)


def _without_answers(domain: Domain, job: Mapping[str, Any]) -> Domain:
    """The same tasks and tools, with the policy in a folder in which no row has its answer."""
    if domain.policy_file is None:
        return domain
    folder = Path(job["unanswered"])
    os.chdir(folder)
    return replace(domain, folder=folder, policy_file=folder / domain.policy_file.name)


def _opened(domain: Domain) -> set[str]:
    """Note from here on what is opened in the folder that no exchange of rows has changed."""
    found: set[str] = set()
    folder = os.path.realpath(domain.folder)
    usual = {*FILES}.difference(DATA_FILES) | {domain.data_file.name}

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in {"open", "sqlite3.connect"} or not isinstance(arguments[0], str | bytes):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        name = os.path.relpath(path, folder)
        # Whoever imports a module looks for its bytecode first.
        if path.startswith(f"{folder}{os.sep}") and name not in usual and Path(path).is_file():
            found.add(name)

    sys.addaudithook(note)
    return found


def _exchanged(job: Mapping[str, Any]) -> Loaded | None:
    if not job["others"]:
        return None
    try:
        domain = load_domain(Path(job["others"]), name=job["name"])
    except SopbenchError:
        # Rows that only fit their own ids: nothing can be exchanged.
        return None
    return Loaded(domain=domain, factory=load_manager_factory(domain))


def _run_policy(domain: Domain, factory: ManagerFactory | None, book: Book) -> None:
    book.doing(step="import", tool="policy.py")
    decide = load_policy(domain)
    boxes = ToolboxFactory(domain, factory)
    for position, task in enumerate(domain.tasks):
        book.doing(step="policy", row=position)
        box = boxes.open(task, max_calls=MOST_CALLS, clock=monotonic)
        inputs: Any = to_json_value(task.inputs)
        try:
            answer, error = to_json_value(decide(inputs, box.tools.call)), ""
        except BaseException as fault:  # noqa: BLE001 - a policy may raise anything
            answer, error = None, f"{type(fault).__name__}: {fault}"
        calls = [_call(one) for one in box.log.calls]
        state = None if box.state is None else [asdict(one) for one in box.state]
        book.say(policy=position, answer=answer, error=error, calls=calls, state=state)
        box.close()


def _call(call: ToolCall) -> Mapping[str, Any]:
    is_short = len(str(call.result)) <= LARGEST
    return {
        "name": call.name,
        "arguments": call.arguments,
        "result": call.result if is_short else "a result of megabytes",
        "error": call.error,
        "bad": [one.message for one in call.findings],
    }


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - Windows has none

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
