"""The steps of an SOP, as `sopbench steps` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.steps.procedure import Procedure, Step
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line
from pytest_sopbench._reports.text.numbers import counted

SHOWN_LINES = 2
"""First lines of each step's text."""


def step_lines(name: str, procedure: Procedure) -> Iterator[str]:
    """Yield what a reader needs to see whether these are the steps."""
    if not procedure.steps:
        yield f"{name}: no steps: {procedure.why_not}"
        return
    general = [line for line in procedure.general.split("\n") if line.strip()]
    steps = counted(len(procedure.steps), "step")
    rest = f"; {counted(len(general), 'line holds', 'lines hold')} for all of them"
    yield f"{name}: {steps}, from {procedure.source}{rest if general else ''}"
    width = max(len(step.number) for step in procedure.steps)
    for step in procedure.steps:
        yield from _step(step, width)
    for warning in procedure.warnings:
        yield f"warning: {one_line(warning)}"


def _step(step: Step, width: int) -> Iterator[str]:
    marks = [f"approval {moment}" for moment in step.approvals]
    marks += [f"jumps to {', '.join(step.jumps)}"] if step.jumps else []
    told = f"   [{'; '.join(marks)}]" if marks else ""
    yield f"  {one_line(step.number):>{width}}  {one_line(step.title)}{told}"
    lines = [line.strip() for line in step.text.split("\n") if line.strip()]
    # The first line is the heading, unless it is all there is.
    for line in lines[1 : SHOWN_LINES + 1]:
        yield cut(f"  {'':{width}}    {one_line(line)}", WIDTH)
