"""What the runs of variants tell, held against the runs of the tasks themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.verdict import Outcome

from .variant import NOISE, NOSOP

Told: TypeAlias = dict[str, dict[str, dict[str, dict[str, str]]]]
"""Outcomes as they are saved: by domain, agent, variant and task."""

SILENT = frozenset({Outcome.UNAVAILABLE, Outcome.NOT_RUN})
"""Outcomes that tell nothing of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFinding:
    """One variant of a domain, run by one agent.

    `tried` runs told something, `untold` ones did not, and `correct` of those tried were correct.
    Of them `asked` are of tasks that are correct in every trial without the variant, and `fallen`
    of these are not correct with it.
    """

    domain: str
    agent: str
    name: str
    tried: int
    correct: int
    asked: int
    fallen: int
    untold: int = 0


def findings(told: object, runs: Iterable[tuple[RunKey, Outcome]]) -> Iterator[VariantFinding]:
    """Yield what each variant tells, the automatic ones first.

    Args:
        told: the outcomes of variants, as they are saved; what is no such thing is passed over.
        runs: the runs of the tasks themselves, with how each ended.
    """
    places = dict(_variants(told))
    right: dict[tuple[str, str], dict[str, bool]] = {}
    for key, outcome in runs if places else ():
        tasks = right.setdefault((key.domain, key.agent), {})
        tasks[key.task] = tasks.get(key.task, True) and outcome is Outcome.CORRECT
    for place in sorted(places, key=_order):
        domain, agent, name = place
        sure = {task for task, is_right in right.get((domain, agent), {}).items() if is_right}
        yield _finding(domain, agent, name, places[place], sure)


def _order(place: tuple[str, str, str]) -> tuple[str, str, bool, bool, str]:
    domain, agent, name = place
    return domain, agent, name != NOSOP, name != NOISE, name


def _finding(
    domain: str, agent: str, name: str, every: Mapping[str, object], sure: set[str]
) -> VariantFinding:
    silent = {one.value for one in SILENT}
    tried = {task: one for task, one in every.items() if one not in silent}
    correct = {task for task, one in tried.items() if one == Outcome.CORRECT.value}
    asked = sure & tried.keys()
    return VariantFinding(
        domain=domain,
        agent=agent,
        name=name,
        tried=len(tried),
        correct=len(correct),
        asked=len(asked),
        fallen=len(asked - correct),
        untold=len(every) - len(tried),
    )


def joined(parts: Iterable[object]) -> Told:
    """Return what the variants of several sessions came to together, in one order."""
    found: dict[tuple[str, str, str, str], str] = {}
    for part in parts:
        for place, outcomes in _variants(part):
            for task, outcome in outcomes.items():
                found.setdefault((*place, task), str(outcome))
    every: Told = {}
    for whole, outcome in sorted(found.items()):
        add(every, whole, outcome)
    return every


def add(told: Told, place: tuple[str, str, str, str], outcome: str) -> None:
    """Enter what a run of a variant came to; the first one of a task counts."""
    domain, agent, name, task = place
    told.setdefault(domain, {}).setdefault(agent, {}).setdefault(name, {}).setdefault(task, outcome)


def _variants(
    told: object,
) -> Iterator[tuple[tuple[str, str, str], Mapping[str, object]]]:
    for domain, agents in _object(told).items():
        for agent, variants in _object(agents).items():
            for name, outcomes in _object(variants).items():
                yield (domain, agent, name), _object(outcomes)


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
