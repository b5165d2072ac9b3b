"""`sopbench gate`: does a saved session pass?

`report` and `compare` check gates as well. So they share its options, what is printed of gates, and
the exit status that they mean.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from pytest_sopbench._cli.app import (
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    counted_session,
    echo_json,
    load_extensions,
    path_of,
    refuse,
    say,
    say_lines,
)
from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import (
    COMPARISON_GATES,
    GateSpec,
    GateState,
    has_gate,
    read_fail_under,
    read_gate,
    verdict_to_json,
)
from pytest_sopbench._core.gates.decide import Decision
from pytest_sopbench._reports.terminal.gate import gate_lines, not_evaluated_lines
from pytest_sopbench._sessions.commands.gate import compare_saved, decide_gates
from pytest_sopbench._sessions.folder import not_ended, with_time
from pytest_sopbench._sessions.saved import SavedSession, recorded_gates

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


# The command.


@click.command()
@click.argument("session")
@gate_option
@fail_under_option
@click.option("--compare", "baseline", metavar="NAME|PATH", help="For the gates lost, drop and p.")
@click.option("--json", "as_json", is_flag=True, help="For programs: one object.")
def gate(
    session: str,
    gates: tuple[str, ...],
    fail_under: str | None,
    baseline: str | None,
    as_json: bool,
) -> None:
    """Check the gates of a saved session, without running anything.

    Without --gate and --fail-under it checks the gates of the session itself. The status is 0
    if every gate holds, 1 if one does not or if the session did not end, 3 if it is
    inconclusive, 2 for wrong usage. SESSION last also means a later one that was killed.
    Rules of severity must are always checked.
    """
    _refuse_unended(session, as_json=as_json)
    saved = counted_session(session)
    asked = given_gates(gates, fail_under) or recorded_gates(saved)
    gated = decide_gates(saved, asked, comparison=_comparison(saved, asked, baseline))
    # A rule or a task that no gate forgives fails a session without one as well.
    if not has_gate(asked) and gated.state is not GateState.FAILS:
        refuse(f"{saved.path}: it has no gate", "say which: --gate NAME=VALUE, --fail-under")
    if as_json:
        echo_json(
            {"session": str(saved.path), "started": saved.header.started, **gated_json(gated)}
        )
    else:
        if saved.name != saved.path.stem:
            # So that a name such as `last` never means another one than was thought.
            say(f"session {with_time(saved.path.stem)}")
        say_lines(gated_lines(gated))
    sys.exit(status_of(gated))


def _refuse_unended(session: str, *, as_json: bool) -> None:
    """End with a failure if no gate need be checked: whatever ended the session is the news."""
    path = path_of(session)
    why = not_ended(path)
    if not why:
        return
    if as_json:
        echo_json({"session": str(path), "state": "fails", "not_evaluated": why, "gates": []})
    else:
        say(f"gate   {why}")
    sys.exit(FAILS)


def _comparison(
    saved: SavedSession, gates: Sequence[GateSpec], baseline: str | None
) -> SessionComparison | None:
    """Compare with the baseline that is named, else with that of the session, if a gate asks."""
    name = baseline or saved.header.options.compare
    if not name or not any(one.name in COMPARISON_GATES for one in gates):
        return None
    return compare_saved(counted_session(str(name)), saved)
