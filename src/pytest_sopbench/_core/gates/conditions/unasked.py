"""Runs of which no gate is asked, though gates are asked of others.

A gate turns the failed tests of its runs into misses, which it then bounds. So a gate on one domain
must not forgive what the runs of another one came to: nobody would look at them. The same holds
of a session that becomes the baseline, which has nothing yet to be compared with. Who names one
agent of several in a gate has chosen to do without the others; they are named beside the gates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.verdict import Outcome

from .comparison_names import COMPARISON_GATES
from .places import NO_AGENTS, Agents, places_of
from .summary_gates import UNAVAILABLE, GateSpec, GateState, GateVerdict, gates_at


def unasked_verdicts(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary], agents: Agents = NO_AGENTS
) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold for each group of runs with misses but without a gate.

    Args:
        specs: the gates that are asked.
        summaries: of the runs that gates are asked of, by domain.
        agents: of each group, where its name does not tell.
    """
    of_all = [replace(spec, agent="") for spec in specs]
    missed = _missed(of_all, summaries, agents)
    return tuple(_verdict(name, count) for name, count in missed.items())


def unasked_agents(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary], agents: Agents = NO_AGENTS
) -> Iterator[str]:
    """Say of which agents no gate is asked, since the gates name others."""
    failing = {one.where for one in unasked_verdicts(specs, summaries, agents)}
    for name, count in _missed(specs, summaries, agents).items():
        if name not in failing:
            yield f"{name}: no gate is asked; {count} of {summaries[name].runs} are not correct"


def _missed(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary], agents: Agents
) -> Mapping[str, int]:
    """Return how many runs are not correct in each group of which no gate is asked, if any is."""
    asked = {one for spec in specs for one in _asked(spec, summaries, agents)}
    missed = {
        name: summary.runs - summary.outcomes.get(Outcome.CORRECT, 0)
        for name, summary in summaries.items()
        if name not in asked
    }
    return {name: count for name, count in missed.items() if count}


def _asked(spec: GateSpec, summaries: Mapping[str, Summary], agents: Agents) -> Iterator[str]:
    """Yield the groups of runs of which a gate is asked; what others tolerate asks nothing."""
    if spec.name == UNAVAILABLE:
        return
    for _, groups in places_of(spec, summaries, agents):
        if spec.name in COMPARISON_GATES or gates_at(spec, groups, summaries):
            yield from groups


def _verdict(name: str, count: int) -> GateVerdict:
    return GateVerdict(
        asked="runs that are not correct, where no gate is asked <= 0",
        got=str(count),
        state=GateState.FAILS,
        where=name,
        why="ask a gate of them too, such as tsr=0.9",
        value=count,
    )
