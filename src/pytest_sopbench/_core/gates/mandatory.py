"""The gates that nobody has to ask for: rules that must hold, and tasks that must pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_sopbench._core.gates.conditions.summary_gates import GateState, GateVerdict
from pytest_sopbench._core.records.record import RunRecord

from .quarantine import NOTHING_FORGIVEN, Forgiven, PolicyReport, RunsOfEntry

_SHOWN = 3


def contract_verdicts(
    records: Iterable[RunRecord], forgiven: Forgiven = NOTHING_FORGIVEN, *, enforce: bool = False
) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold where a run broke a rule; no gate forgives that.

    Args:
        records: the runs.
        forgiven: which rules which tasks may break.
        enforce: whether every rule must hold, and not only those of severity `must`.
    """
    broken = [
        (record, found)
        for record in records
        if (found := forgiven.unforgiven(record, enforce=enforce))
    ]
    if not broken:
        return ()
    asked = f"runs that break a {'' if enforce else 'must '}rule <= 0"
    names = [f"{one.domain}/{one.task} {found[0].id}" for one, found in broken]
    return (_verdict(asked, names, GateState.FAILS),)


def failure_verdicts(failures: int | None) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold where tests failed that no gate forgives.

    Args:
        failures: how many; `None` where the session was cut short, so that others might have.
    """
    asked = "tests that failed, which no gate forgives <= 0"
    if failures is None:
        why = "the session was cut short"
        return (GateVerdict(asked=asked, got="n/a", state=GateState.INCONCLUSIVE, why=why),)
    if not failures:
        return ()
    got = str(failures)
    return (GateVerdict(asked=asked, got=got, state=GateState.FAILS, value=failures),)


def quarantine_verdicts(report: PolicyReport) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold where a task that must pass did not, or an entry expired.

    Where a task that must pass was unavailable or never started, or rests on a model judge that
    must not decide, it is inconclusive.
    """
    broken, unsure = "tasks that must pass and did not <= 0", "tasks that must pass, unknown <= 0"
    expired = "tasks whose entry is expired <= 0"
    said = (
        (broken, [str(one.entry.name) for one in report.broken], GateState.FAILS),
        (expired, [str(one.name) for one in report.expired], GateState.FAILS),
        (unsure, [_unsure(one) for one in report.unsure], GateState.INCONCLUSIVE),
    )
    return tuple(_verdict(*one) for one in said if one[1])


def _unsure(one: RunsOfEntry) -> str:
    return f"{one.entry.name} ({one.doubt})" if one.doubt else str(one.entry.name)


def _verdict(asked: str, names: Sequence[str], state: GateState) -> GateVerdict:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    why = f"{', '.join(names[:_SHOWN])}{more}"
    return GateVerdict(asked=asked, got=str(len(names)), state=state, why=why, value=len(names))
