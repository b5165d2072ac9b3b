"""Agents that misbehave, each in four modes: others are judged, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from random import Random
from zlib import crc32

from campaign.agents import (
    awaiting,
    deadly,
    hanging,
    meddling,
    objects,
    patching,
    raising,
    returning,
)
from campaign.agents.kind import Harm, Kind
from campaign.agents.modes import MODES, Mode
from campaign.agents.session import survives
from campaign.forked import warm
from campaign.kit import Batch, Case, Part

ROOMS = (raising, returning, objects, meddling, awaiting, hanging, patching, deadly)

KINDS: dict[str, Kind] = {kind.name: kind for room in ROOMS for kind in room.KINDS}
BY_NAME: dict[str, Mode] = {mode.name: mode for mode in MODES}

TOGETHER = {
    Harm.NONE: 20,
    Harm.HANGS: 5,
    Harm.LASTS: 4,
    Harm.BREAKS: 1,
    Harm.ANYWHERE: 1,
    Harm.SABOTAGES: 1,
    Harm.KILLS: 1,
}
"""Culprits of one session; of those that do other harm, one."""

HARMS = list(Harm)

DEADLY_TOGETHER = 3
"""Culprits of one session where each ends a worker, and the session goes on."""


def cases(seed: int) -> Sequence[Case]:
    """One case for each kind in each mode, in an order that the seed decides."""
    warm()
    found = [
        Case(f"{kind.name}/{mode.name}", partial(survives, [kind], mode, seed))
        for mode in MODES
        for kind in KINDS.values()
    ]
    Random(seed).shuffle(found)  # noqa: S311 - a choice to repeat, not a secret
    return found


def seed_of(some: Sequence[Case]) -> int:
    """A number that places the culprits, another for each company that they keep."""
    return crc32("\n".join(case.name for case in some).encode())


def together(chosen: Sequence[Case]) -> Iterator[Batch]:
    """Kinds that do the same harm share a session, where they leave the process as it was."""

    def room(case: Case) -> tuple[int, str]:
        return HARMS.index(KINDS[case.kind].harm), case.name.partition("/")[2]

    for (place, mode_name), group in groupby(sorted(chosen, key=room), key=room):
        mode, harm = BY_NAME[mode_name], HARMS[place]
        size = DEADLY_TOGETHER if harm is Harm.KILLS and mode.workers else TOGETHER.get(harm, 1)
        members = list(group)
        for start in range(0, len(members), size):
            some = tuple(members[start : start + size])
            kinds = [KINDS[case.kind] for case in some]
            run = partial(survives, kinds, mode, seed_of(some))
            yield Batch(some, run, conclusive=harm is not Harm.LASTS)


PART = Part("agents", cases, together)
