"""Broken domain folders: each says why, and none stands in the way of another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain

from campaign.folders import calls, code, contracts, files, keys, rows, shapes, specs
from campaign.folders.breakage import Breakage
from campaign.folders.check import survives
from campaign.forked import warm
from campaign.kit import Case, Part

ROOMS = (files, shapes, keys, rows, specs, contracts, calls, code)


def cases(seed: int) -> Sequence[Case]:
    """One case for each way to break a folder."""
    warm()
    every: list[Breakage] = list(chain.from_iterable(room.BREAKAGES for room in ROOMS))
    return [Case(one.name, partial(survives, one, seed)) for one in every]


PART = Part("folders", cases)
