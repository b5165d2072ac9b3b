"""The audit: what it names, what it does not, and that no folder breaks it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from campaign.folders import calls, code, contracts, files, keys, rows, shapes, specs
from campaign.folders.breakage import Breakage
from campaign.kit import Case, Part, write_lab
from campaign.mutations import Change, drawn, found_in, rewritten

from pytest_sopbench._audit.audit import FAILED, audit
from pytest_sopbench._audit.model import Severity
from pytest_sopbench._audit.observing.sandbox import Limits

MUTATIONS = 300
REWRITINGS = 50
ROOMS = (files, shapes, keys, rows, specs, contracts, calls, code)

UNTOLD = 0.1
"""Share of one group that may go unnamed; of all 300 mutations it is less than a twentieth."""

GROUP = 20


def cases(seed: int) -> Sequence[Case]:
    """Groups of mutations, rewritings one by one, and folders that are broken in one way."""
    return [*_mutations(seed), *_rewritings(seed), *_folders(seed)]


def _mutations(seed: int) -> Iterator[Case]:
    every = list(drawn(seed, MUTATIONS))
    for start in range(0, MUTATIONS, GROUP):
        yield Case(f"mutations/{start}", partial(_are_named, every[start : start + GROUP]))


def _are_named(group: Sequence[tuple[str, str, Change, random.Random]], room: Path) -> str | None:
    untold: list[str] = []
    for number, (name, domain, change, lot) in enumerate(group):
        folder = room / str(number)
        folder.mkdir()
        what, found = found_in(domain, change, lot, folder)
        if not found:
            untold.append(f"{name}: {what}")
    return "; ".join(untold) if len(untold) > UNTOLD * len(group) else None


def _rewritings(seed: int) -> Iterator[Case]:
    for name, domain, change, lot in rewritten(seed, REWRITINGS):
        yield Case(name, partial(_is_sound, domain, change, lot))


def _is_sound(domain: str, change: Change, lot: random.Random, folder: Path) -> str | None:
    what, found = found_in(domain, change, lot, folder)
    return f"{what}: {found}" if found else None


def _folders(seed: int) -> Iterator[Case]:
    for one in chain.from_iterable(room.BREAKAGES for room in ROOMS):
        if not one.unprivileged:
            yield Case(f"folder/{one.name}", partial(is_audited, one, seed))


def is_audited(breakage: Breakage, seed: int, folder: Path) -> str | None:
    """Whether a folder that loading refuses has an error, and none comes out as an exception."""
    broken = write_lab(folder)
    breakage.apply(broken, random.Random(f"{seed}/{breakage.name}"))  # noqa: S311 - repeated
    found = audit(broken, limits=Limits(stall=10, total=60)).findings
    failed = [one.what for one in found if one.rule == FAILED]
    if failed:
        return failed[0]
    errors = [one for one in found if one.severity is Severity.ERROR]
    if breakage.verdict == "refused" and breakage.listed == "broken" and not errors:
        return "loading refuses it, and the audit finds no error"
    return None


PART = Part("audits", cases)
