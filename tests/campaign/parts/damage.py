"""Damaged sessions and journals, before every command that reads one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from campaign.damaged import SOURCES, Trial
from campaign.damages import ANYWHERE, ONCE, SEALED, Damage
from campaign.kit import Case, Part

TIMES = 2
"""Tries of what falls on another place each time, for each source."""

PROCESSES = (
    "a flipped bit", "cut anywhere", "doubled lines", "an outcome edited, no checksum",
    "a wrong type in a run", "CRLF", "noise", "empty", "a folder", "a link to nothing",
)  # fmt: skip
"""What is also tried as a user does, in processes."""


def cases(seed: int) -> Sequence[Case]:
    lot = random.Random(seed)  # noqa: S311 - no secret
    return [*_cases(lot), *_in_processes(lot)]


def _cases(lot: random.Random) -> Iterator[Case]:
    for times, damages in ((TIMES, ANYWHERE), (TIMES, SEALED), (1, ONCE)):
        for kind, damage in damages.items():
            for source in SOURCES:
                for number in range(times):
                    trial = Trial(
                        source=source,
                        damage=damage,
                        number=lot.randrange(1 << 32),
                        may_claim=damages is SEALED,
                    )
                    yield Case(name=f"{kind}/{source} {number}", run=trial.run)


def _in_processes(lot: random.Random) -> Iterator[Case]:
    known: Mapping[str, Damage] = {**ANYWHERE, **SEALED, **ONCE}
    for kind in PROCESSES:
        for source in ("whole", "left"):
            trial = Trial(
                source=source,
                damage=known[kind],
                number=lot.randrange(1 << 32),
                may_claim=kind in SEALED,
                in_processes=True,
            )
            yield Case(name=f"{kind}, in processes/{source}", run=trial.run)


PART = Part(name="damage", cases=cases)
