"""Which cases are tried: parts are found by listing a folder, samples are drawn by a seed."""

from __future__ import annotations

import importlib.util
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from campaign.kit import Case, Part


def parts_in(folder: Path, names: Sequence[str] | None) -> list[Part]:
    """The parts whose modules lie in a folder; those of the names, where there are names.

    Raises:
        LookupError: no part, or none of a name.
    """
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    parts = [_part(path) for path in files]
    known = [part.name for part in parts]
    unknown = [name for name in names or known if name not in known]
    if unknown or not parts:
        msg = f"no part {', '.join(unknown)} in {folder}; there are: {', '.join(known) or 'none'}"
        raise LookupError(msg)
    return [part for part in parts if not names or part.name in names]


def _part(path: Path) -> Part:
    spec = importlib.util.spec_from_file_location(f"campaign_part_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise LookupError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    part: Part = module.PART
    return part


def chosen(part: Part, cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """The cases of these names.

    Raises:
        LookupError: there is none of a name.
    """
    by_name = {case.name: case for case in cases}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        msg = f"part {part.name} has no case {unknown[0]!r}"
        raise LookupError(msg)
    return [by_name[name] for name in names]


def drawn(cases: Sequence[Case], size: int, seed: int) -> list[Case]:
    """As many cases, drawn by the seed: one of each kind before any second of a kind."""
    shuffled = list(cases)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - a choice to repeat, not a secret
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, Case]] = []
    for case in shuffled:
        ranked.append((seen[case.kind], case))
        seen[case.kind] += 1
    ranked.sort(key=lambda pair: pair[0])
    return [case for _, case in ranked[:size]]
