"""`sopbench gate`: does a saved session pass?"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from pytest_sopbench._cli.app import FAILS, counted_session, echo_json, path_of, refuse, say
from pytest_sopbench._cli.gate_options import (
    fail_under_option,
    gate_option,
    gated_json,
    gated_lines,
    given_gates,
    status_of,
)
from pytest_sopbench._core.comparing.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, GateSpec, has_gate
from pytest_sopbench._sessions.commands.compare import compare_saved
from pytest_sopbench._sessions.commands.gate import ask_gates
from pytest_sopbench._sessions.folder.paths import with_time
from pytest_sopbench._sessions.folder.pointer import not_ended
from pytest_sopbench._sessions.reading.saved import SavedSession, recorded_gates


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
    if not has_gate(asked):
        refuse(f"{saved.path}: it has no gate", "say which: --gate NAME=VALUE, --fail-under")
    gated = ask_gates(saved, asked, comparison=_comparison(saved, asked, baseline))
    if as_json:
        echo_json(
            {"session": str(saved.path), "started": saved.header.started, **gated_json(gated)}
        )
    else:
        if saved.name != saved.path.stem:
            # So that a name such as `last` never means another one than was thought.
            say(f"session {with_time(saved.path.stem)}")
        for line in gated_lines(gated):
            say(line)
    sys.exit(status_of(gated))


def _refuse_unended(session: str, *, as_json: bool) -> None:
    """End with a failure where no gate need be asked: whatever ended the session is the news."""
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
