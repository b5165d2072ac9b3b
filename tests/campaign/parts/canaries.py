"""Secrets in every place, looked for in every file and stream of sessions of three modes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from campaign.kit import Batch, Case, Part
from campaign.secrets_out import MODES, PLACES, try_places, try_without_mask

UNMASKED = "nothing masked"


def cases(seed: int) -> Sequence[Case]:
    return [
        Case(name=f"{mode}/{place}, {seed}", run=_run(mode, [place], seed))
        for mode in (*MODES, UNMASKED)
        for place in PLACES
    ]


def _run(mode: str, places: Sequence[str], seed: int) -> functools.partial[str | None]:
    if mode == UNMASKED:
        return functools.partial(try_without_mask, places, seed)
    return functools.partial(try_places, mode, places, seed)


def together(chosen: Sequence[Case]) -> Iterator[Batch]:
    """One session plants all secrets of a mode."""
    for mode in (*MODES, UNMASKED):
        own = [case for case in chosen if case.kind == mode]
        if own:
            seed = int(own[0].name.rpartition(", ")[2])
            places = [case.name.partition("/")[2].rpartition(", ")[0] for case in own]
            yield Batch(tuple(own), _run(mode, places, seed))


PART = Part(name="canaries", cases=cases, together=together)
