"""What variants of tasks tell, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.variants.findings import VariantFinding
from pytest_sopbench._core.variants.variant import NOSOP
from pytest_sopbench._reports.text.layout import one_line
from pytest_sopbench._reports.text.numbers import counted


def variant_lines(found: Sequence[VariantFinding]) -> Iterator[str]:
    """Yield a line for each variant; the agent is named where there are several."""
    several = len({one.agent for one in found}) > 1
    for one in found:
        by = f", agent {one.agent}" if several else ""
        yield one_line(f"variant {one.domain}/{one.name}{by}: {variant_text(one)}")


def variant_text(one: VariantFinding) -> str:
    """Say what a variant tells of the tasks."""
    if one.name == NOSOP:
        does = "does" if one.tried == 1 else "do"
        told = f"{one.correct} of {counted(one.tried, 'task')} {does} not depend on the SOP"
    else:
        verbs = "is correct falls" if one.asked == 1 else "are correct fall"
        told = f"{one.fallen} of {counted(one.asked, 'task')} that {verbs} under {one.name}"
        told += f"; {one.correct} of {one.tried} correct"
    silent = f"; {counted(one.untold, 'run')} told nothing" if one.untold else ""
    return f"{told}{silent}"
