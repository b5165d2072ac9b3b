"""Hostile texts, from wherever a text comes, before everything that shows one."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from campaign.hostile import SURFACES, TEXTS, try_texts
from campaign.kit import Batch, Case, Part

MIXED = 6
"""Texts that are put together of others, by the seed."""


def cases(seed: int) -> Sequence[Case]:
    lot = random.Random(seed)  # noqa: S311 - no secret
    texts = {**TEXTS}
    for number in range(MIXED):
        parts = lot.sample([one for one in TEXTS.values() if len(one) < 99], 3)
        texts[f"mixed {number}"] = lot.choice(["", " ", "\n"]).join(parts)
    return [
        Case(name=f"{surface.name}/{name}", run=functools.partial(try_texts, surface, [text]))
        for surface in SURFACES
        for name, text in texts.items()
    ]


def together(chosen: Sequence[Case]) -> Iterator[Batch]:
    """One session shows all texts of a surface."""
    for surface in SURFACES:
        own = [case for case in chosen if case.kind == surface.name]
        texts = [text for case in own for text in _texts(case)]
        if own:
            yield Batch(tuple(own), functools.partial(_try, surface.name, texts))


def _texts(case: Case) -> list[str]:
    run = case.run
    if not isinstance(run, functools.partial):
        raise TypeError(case.name)
    found: list[str] = run.args[1]
    return found


def _try(name: str, texts: Sequence[str], folder: Path) -> str | None:
    surface = next(one for one in SURFACES if one.name == name)
    return try_texts(surface, texts, folder)


PART = Part(name="texts", cases=cases, together=together)
