"""What a domain asks of the way to an answer: its contract, and the calls it expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_sopbench._core.contract.rules import Contract, unreadable_rules
from pytest_sopbench._core.model.task import Task, ToolSpec
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._loading.domain.expected_calls import FILE_NAME, read_expected_calls
from pytest_sopbench._loading.domain.layout import Layout
from pytest_sopbench._loading.domain.task_rows import TaskRows
from pytest_sopbench._loading.files.document import is_a_file
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench.errors import RowError

from .read import read_contract


def domain_contract(
    described: Described, layout: Layout, specs: Sequence[ToolSpec], tasks: TaskRows
) -> Contract | None:
    """Read the key `contract`, and see that its conditions can read every row.

    Raises:
        LoadingError: a rule cannot be used.
        RowError: a condition cannot read a row, which would switch its rule off unsaid.
    """
    if described.metadata.contract is None:
        return None
    contract = read_contract(
        described.metadata.contract,
        path=described.path,
        tools=[spec.name for spec in specs],
        columns=layout,
    )
    if any(rule.when for rule in contract.rules):
        for task in tasks:
            _check_row(contract, task, tasks)
    return contract


def domain_expected_calls(
    described: Described, specs: Sequence[ToolSpec], ids: Sequence[str]
) -> Mapping[str, tuple[ExpectedCall, ...]]:
    """Read `expected_calls.jsonl`, where there is one.

    Raises:
        LoadingError: a line of it cannot be used.
    """
    path = described.path.parent / FILE_NAME
    if not is_a_file(path):
        return {}
    return read_expected_calls(path, tasks=ids, tools=[spec.name for spec in specs])


def _check_row(contract: Contract, task: Task, tasks: TaskRows) -> None:
    problems = unreadable_rules(contract, task)
    if problems:
        raise RowError(
            tasks.path,
            problems[0],
            row=task.line,
            hint="change the cell, the type of its column (key 'types'), or the rule",
        )
