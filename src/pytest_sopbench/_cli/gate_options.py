"""Gates as options of a command, what they come to, and the exit status that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from pytest_sopbench._cli.app import FAILS, HOLDS, INCONCLUSIVE, load_extensions
from pytest_sopbench._core.gates.conditions import (
    GateSpec,
    GateState,
    read_fail_under,
    read_gate,
    verdict_to_json,
)
from pytest_sopbench._core.gates.decide import Decision
from pytest_sopbench._reports.terminal.gate import gate_lines, not_evaluated_lines

gate_option = click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="[DOMAIN:]NAME=VALUE[@AGENT]",
    help="A gate, written as for --sop-gate; repeatable.",
)
fail_under_option = click.option(
    "--fail-under", metavar="RATE", help="Short for --gate tsr=RATE (0.9 or 90%)."
)


def given_gates(gates: Sequence[str], fail_under: str | None) -> tuple[GateSpec, ...]:
    """Read the gates of a command line.

    Raises:
        click.BadParameter: a value is none that its option takes.
    """
    if gates:
        load_extensions()
    found: list[GateSpec] = []
    try:
        found += [read_fail_under(fail_under)] if fail_under is not None else []
    except ValueError as fault:
        raise click.BadParameter(str(fault), param_hint="--fail-under") from None
    try:
        found += [read_gate(one) for one in gates]
    except ValueError as fault:
        raise click.BadParameter(str(fault), param_hint="--gate") from None
    return tuple(found)


def gated_lines(gated: Decision) -> Iterator[str]:
    """Yield a line for each gate, or the one that says why none was asked."""
    if gated.not_evaluated:
        yield from not_evaluated_lines(gated.not_evaluated)
    for verdict in gated.verdicts:
        yield from gate_lines(verdict)
    yield from (f"       {remark}" for remark in gated.unasked)


def gated_json(gated: Decision) -> dict[str, Any]:
    """Return what came of the gates as JSON has it."""
    return {
        "state": gated.state.value,
        "not_evaluated": gated.not_evaluated,
        "gates": [verdict_to_json(one) for one in gated.verdicts],
    }


def status_of(gated: Decision) -> int:
    """Return the exit status: 0 holds, 1 does not, 3 inconclusive."""
    return {GateState.HOLDS: HOLDS, GateState.FAILS: FAILS}.get(gated.state, INCONCLUSIVE)
