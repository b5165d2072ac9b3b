"""Gates on a comparison: at most so many tasks lost, so far a fall, no significant loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from pytest_sopbench._core.comparing.comparison import (
    OTHER_RULES,
    ComparisonResult,
    GroupComparison,
    SessionComparison,
)
from pytest_sopbench._core.comparing.pairs import PAIRED_SHARE, NotCompared
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.keys import agent_of
from pytest_sopbench._core.statistics.paired_tests import needed_for

from .comparison_names import DROP, LOST, P
from .places import NO_AGENTS, Agents, places_of
from .summary_gates import (
    GateBlockers,
    GateSpec,
    GateState,
    GateVerdict,
    blockers_of,
    no_runs,
    percent,
)

RESCORE: Final = "the baseline was judged by other rules (sopbench rescore)"


def evaluate_comparison(
    specs: Sequence[GateSpec],
    comparison: SessionComparison | None,
    doubts: GateBlockers | None = None,
    agents: Agents = NO_AGENTS,
) -> tuple[GateVerdict, ...]:
    """Ask every gate of the groups that it is meant for, and of all tasks of each agent.

    A gate `p` holds where no task fell. Where one did, and fewer tasks changed than p can tell from
    chance, it is inconclusive: the fall may be real.

    Args:
        specs: gates on a comparison and no others.
        comparison: `None` where there is no baseline; then every gate is inconclusive.
        doubts: of the current session; else those of the runs that were compared.
        agents: of each group, where its name does not tell.

    Raises:
        KeyError: a gate is none of `COMPARISON_GATES`.
        ValueError: the bound of a gate `p` is not in (0, 1].
    """
    groups = comparison.groups.items() if comparison is not None else ()
    found = doubts or blockers_of((), {name: _counted(one) for name, one in groups})
    return tuple(
        _verdict(spec, one, where=where, doubts=found)
        for spec in specs
        for where, one in _asked_of(spec, comparison, agents)
    )


def _asked_of(
    spec: GateSpec, comparison: SessionComparison | None, agents: Agents
) -> Sequence[tuple[str, GroupComparison | None]]:
    if comparison is None:
        return [(spec.domain, None)]
    return [
        (where, _together(comparison, groups))
        for where, groups in places_of(spec, comparison.groups, agents)
    ]


def _together(comparison: SessionComparison, groups: Sequence[str]) -> GroupComparison | None:
    """Return the comparison of one group, or of all domains of an agent."""
    if len(groups) == 1:
        return comparison.groups[groups[0]]
    return comparison.agents.get(agent_of(groups[0]), comparison.pooled) if groups else None


def _counted(comparison: GroupComparison) -> Summary:
    return Summary(runs=sum(comparison.outcomes.values()), outcomes=comparison.outcomes)


def _verdict(
    spec: GateSpec, comparison: GroupComparison | None, *, where: str, doubts: GateBlockers
) -> GateVerdict:
    asked = _ASKED[spec.name].format(bound=_bound(spec))
    if comparison is None:
        why = "there is nothing to compare with"
        return GateVerdict(
            asked=asked, got="n/a", state=GateState.INCONCLUSIVE, where=where, why=why
        )
    value, got, held, why = _FOUND[spec.name](comparison, spec.value)
    open_for = no_runs(_counted(comparison).runs) or doubts.of(where) or _doubt(comparison, spec)
    if open_for:
        state, why = GateState.INCONCLUSIVE, open_for
    elif held:
        state, why = GateState.HOLDS, ""
    else:
        state = GateState.FAILS
    return GateVerdict(
        asked=asked,
        got=got,
        state=state,
        where=where,
        why=why,
        value=value,
        part=_part(comparison),
    )


def _part(comparison: GroupComparison) -> str:
    """Say of how many tasks a gate speaks and what became of the others; nothing of all."""
    if not comparison.aside:
        return ""
    counts = Counter(comparison.aside.values())
    others = [
        f"{counts[reason]} {word}"
        for reason, word in _WORDS.items()
        if counts[reason] or reason in _ALWAYS
    ]
    return f"{comparison.paired} of {comparison.tasks} tasks; {', '.join(others)}"


_WORDS: Final = {
    NotCompared.CHANGED: "changed",
    NotCompared.ONLY_BASELINE: "gone",
    NotCompared.ONLY_CURRENT: "new",
    NotCompared.NO_EVIDENCE: "unavailable or never started",
}
_ALWAYS: Final = (NotCompared.CHANGED, NotCompared.ONLY_BASELINE)


def _bound(spec: GateSpec) -> str:
    return percent(spec.value) if spec.name == DROP else f"{spec.value:g}"


def _doubt(comparison: GroupComparison, spec: GateSpec) -> str:
    """Say why a gate cannot be decided by what was compared, or nothing."""
    if comparison.tier is ComparisonResult.NOT_COMPARABLE:
        other_rules = comparison.why.startswith(OTHER_RULES)
        return RESCORE if other_rules else f"the baseline cannot be compared: {comparison.why}"
    if comparison.doubt:
        return comparison.doubt
    paired, tasks = comparison.paired, comparison.tasks
    if not paired or paired + 1e-9 < PAIRED_SHARE * tasks:
        return f"only {paired} of {tasks} tasks can be compared"
    if not comparison.changes["tsr"].before:
        return "no task is right in the baseline, so that none can be lost: keep a better session"
    return _too_few(comparison, spec.value) if spec.name == P else ""


def _too_few(comparison: GroupComparison, bound: float) -> str:
    """Say that a loss cannot be told from chance, whatever it is, where anything was lost."""
    needed, changed = needed_for(bound), comparison.discordant
    if not comparison.worse or changed >= needed:
        return ""
    return (
        f"{comparison.worse} fell, {changed} of {comparison.paired} tasks changed, and "
        f"p < {bound:g} takes {needed} that change (lost=0 needs none)"
    )


_Got = tuple[float | None, str, bool, str]
"""What a gate got, as a number and in words, whether it holds, and why not."""


def _lost(comparison: GroupComparison, bound: float) -> _Got:
    lost = len(comparison.lost)
    return lost, f"{lost}", lost <= bound, f"{lost - int(bound)} too many"


def _drop(comparison: GroupComparison, bound: float) -> _Got:
    change = comparison.changes["tsr"]
    if change.before is None or change.after is None:
        return None, "n/a", False, ""
    drop = change.before - change.after
    got = percent(drop) if drop >= 0 else f"a rise of {percent(-drop)}"
    why = f"TSR {percent(change.before)} before, {percent(change.after)} now"
    # A fall of one task in ten is 0.1 whatever the fractions leave in the last digit.
    return drop, got, drop <= bound + 1e-9, why


def _p(comparison: GroupComparison, bound: float) -> _Got:
    p = comparison.test.p
    why = f"lost {len(comparison.lost)}, gained {len(comparison.gained)}"
    return p, f"p = {p:.2g}", not (comparison.fell and p < bound), why


_ASKED: Final = {
    LOST: "lost tasks <= {bound}",
    DROP: "drop of TSR <= {bound}",
    P: "no loss at p < {bound}",
}
_FOUND: Final = {LOST: _lost, DROP: _drop, P: _p}
