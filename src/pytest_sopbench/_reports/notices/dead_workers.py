"""What is said of runs whose worker died, and which were not made again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._reports.text.layout import one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted

NAMED = 5
"""Runs that are named; of the rest the number is told."""


def death_lines(unmade: Sequence[RunKey], *, tests: int) -> Iterator[str]:
    """Yield why the session fails though no test has failed, 80 columns wide.

    Args:
        unmade: runs that a dead worker had begun, and nobody has made again.
        tests: how many tests were to be run again, and were not.
    """
    if unmade:
        yield from _named(f"{_in_flight(unmade)}, and not made again; counted as crash:", unmade)
    elif tests:
        waited = counted(tests, "test was", "tests were")
        yield f"alarm  {waited} running when a worker died, and not run again"


def untold_lines(unmade: Sequence[RunKey]) -> Iterator[str]:
    """Yield why a session fails of which no worker has told what was planned."""
    yield from _named(f"{_in_flight(unmade)}, and not made again:", unmade)
    yield "       no worker has told what was planned, so nothing is counted or saved"


def _in_flight(unmade: Sequence[RunKey]) -> str:
    return f"{counted(len(unmade), 'run was', 'runs were')} in flight when a worker died"


def _named(said: str, unmade: Sequence[RunKey]) -> Iterator[str]:
    names = [_name(key) for key in unmade[:NAMED]]
    more = len(unmade) - len(names)
    names += [f"{more} more"] if more else []
    yield from packed("alarm ", [*said.split(), *with_commas(names)], gap=" ", indent=7)


def _name(key: RunKey) -> str:
    trial = f"/t{key.trial}" if key.trial > 1 else ""
    return one_line(f"{key.domain}/{key.task}{trial}")
