"""Tasks under another SOP or other inputs, and what these tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeAlias

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.values.json import JsonValue

from .verdict import NO_EVIDENCE, Outcome

# What a variant puts in the place of a task's own SOP or inputs.

NOSOP: Final = "nosop"
NOISE: Final = "noise"
AUTOMATIC: Final = (NOSOP, NOISE)
"""Variants that every domain has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The SOP or the inputs that a run is given instead; `None` leaves what the task has."""

    sop: str | None = None
    inputs: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant of a domain: the same for every task, or each task by its id."""

    name: str
    of_all: Replacement | None = None
    by_task: Mapping[str, Replacement] = field(default_factory=dict[str, Replacement])

    def of(self, task_id: str) -> Replacement | None:
        """Return what is replaced in a task; `None` if it has no such variant."""
        return self.of_all or self.by_task.get(task_id)


def variant_id(task_id: str, name: str) -> str:
    """Return what the run of a variant is called, so that no run of the task has its key."""
    return f"{task_id}{_VARIANT}{name}"


def task_of(run_id: str) -> str:
    """Return the task of a run that is called as a variant's is, else the id itself."""
    task, found, _ = run_id.rpartition(_VARIANT)
    return task if found else run_id


_VARIANT: Final = "/v-"


# What the runs of variants tell, held against the runs of the tasks themselves.

Told: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Mapping[str, str]]]]
"""Outcomes as they are saved: by domain, agent, variant and task."""

OpenTold: TypeAlias = dict[str, dict[str, dict[str, dict[str, str]]]]
"""The same, while runs are still entered."""


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


def findings(told: Told, runs: Iterable[tuple[RunKey, Outcome]]) -> Iterator[VariantFinding]:
    """Yield what each variant tells, the automatic ones first.

    Args:
        told: the outcomes of variants, as they are saved.
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
    domain: str, agent: str, name: str, every: Mapping[str, str], sure: set[str]
) -> VariantFinding:
    silent = {one.value for one in NO_EVIDENCE}
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


def joined(parts: Iterable[Told]) -> OpenTold:
    """Return what the variants of several sessions came to together, in one order."""
    found: dict[tuple[str, str, str, str], str] = {}
    for part in parts:
        for place, outcomes in _variants(part):
            for task, outcome in outcomes.items():
                found.setdefault((*place, task), outcome)
    every: OpenTold = {}
    for whole, outcome in sorted(found.items()):
        add(every, whole, outcome)
    return every


def add(told: OpenTold, place: tuple[str, str, str, str], outcome: str) -> None:
    """Enter what a run of a variant came to; the first one of a task counts."""
    domain, agent, name, task = place
    told.setdefault(domain, {}).setdefault(agent, {}).setdefault(name, {}).setdefault(task, outcome)


def _variants(told: Told) -> Iterator[tuple[tuple[str, str, str], Mapping[str, str]]]:
    for domain, agents in told.items():
        for agent, variants in agents.items():
            for name, outcomes in variants.items():
                yield (domain, agent, name), outcomes


# An SOP with paragraphs of other procedures between its own, which concern no task of it.

PARAGRAPHS: Final = 4
"""Paragraphs that are added."""

_BLANK: Final = re.compile(r"\n[ \t]*\n\s*")
_PROSE: Final = re.compile(r"[A-Z]")
_NUMBERED: Final = re.compile(r"(?:\*\*)?(?:[A-Z]{0,3}-?\d+(?:\.\d+)*[.)]?)(?:\*\*)?\s+")
_SHORTEST, _LONGEST = 80, 900


def with_noise(domain: str, sop: str, others: Sequence[str]) -> str:
    """Return the SOP with paragraphs of others spread over it; the same for the same texts.

    All tasks of a domain are given the same text, so that a provider may keep what it has read.
    """
    blocks = _BLANK.split(sop.strip())
    chosen = _chosen(domain, [one for text in others for one in prose(text)])
    places = _places(blocks)
    held: dict[int, list[str]] = {}
    for number, one in enumerate(chosen, 1):
        held.setdefault(places[number * len(places) // (len(chosen) + 1)], []).append(one)
    mixed: list[str] = []
    for place, block in enumerate(blocks, 1):
        mixed += (block, *held.get(place, ()))
    return "\n\n".join(mixed) + "\n"


def prose(sop: str) -> Iterator[str]:
    """Yield paragraphs that may stand anywhere: no headings, tables, lists, numbers of clauses."""
    for block in _BLANK.split(sop.strip()):
        text = _NUMBERED.sub("", block, count=1)
        if "\n" not in text and _SHORTEST <= len(text) <= _LONGEST and _PROSE.match(text):
            yield text


def _chosen(domain: str, paragraphs: Sequence[str]) -> Sequence[str]:
    def drawn(text: str) -> str:
        return sha256(f"{domain}\0{text}".encode()).hexdigest()

    return sorted(dict.fromkeys(paragraphs), key=drawn)[:PARAGRAPHS]


def _places(blocks: Sequence[str]) -> Sequence[int]:
    """Return after how many blocks something may stand: never inside a fence of code."""
    places: list[int] = []
    fences = 0
    for place, block in enumerate(blocks, 1):
        fences += sum(line.lstrip().startswith("```") for line in block.splitlines())
        if fences % 2 == 0:
            places.append(place)
    return places or [len(blocks)]
