"""What a domain asks of the way to an answer: its contract, and the calls it expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_sopbench._core.contract.rules import Contract, choosy_comparisons, unreadable_rules
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._loading.domain.layout import Layout
from pytest_sopbench._loading.domain.task_rows import TaskRows
from pytest_sopbench._loading.files.document import is_a_file
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench.errors import RowError

EXPECTED_CALLS: Final = "expected_calls.jsonl"


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
    from .read import read_contract  # noqa: PLC0415 - only where there is a contract

    contract = read_contract(
        described.metadata.contract,
        path=described.path,
        tools=[spec.name for spec in specs],
        columns=layout,
    )
    _check_rows(contract, tasks)
    return contract


def domain_expected_calls(
    described: Described, specs: Sequence[ToolSpec], ids: Sequence[str]
) -> Mapping[str, tuple[ExpectedCall, ...]]:
    """Read `expected_calls.jsonl`, where there is one.

    Raises:
        LoadingError: a line of it cannot be used.
    """
    path = described.path.parent / EXPECTED_CALLS
    if not is_a_file(path):
        return {}
    from pytest_sopbench._loading.domain.expected_calls import read_expected_calls  # noqa: PLC0415 - only where calls are compared

    return read_expected_calls(path, tasks=ids, tools=[spec.name for spec in specs])


def _check_rows(contract: Contract, tasks: TaskRows) -> None:
    """Refuse the first row that a condition cannot read; no other task is built."""
    from pytest_sopbench._core.contract.conditions import misread  # noqa: PLC0415 - only where there is a contract

    doubtful = [
        position
        for comparison in choosy_comparisons(contract)
        for position, value in tasks.distinct_values(comparison.name)
        if any(misread(comparison, value))
    ]
    if doubtful:
        task = tasks[min(doubtful)]
        raise RowError(
            tasks.path,
            unreadable_rules(contract, task)[0],
            row=task.line,
            hint="change the cell, the type of its column (key 'types'), or the rule",
        )
