"""The functions that compare fields, for commands that judge again."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_sopbench._cli.app import project, refuse, say
from pytest_sopbench.errors import ComparerError

from .judging import comparer_seconds

if TYPE_CHECKING:
    from pytest_sopbench._core.domain import Domain
    from pytest_sopbench._core.model.task import Scoring
    from pytest_sopbench._judge.judging import Judging
    from pytest_sopbench._running.comparing import Comparers
    from pytest_sopbench._sessions.header import DomainHeader


def comparers_of(
    domains: Mapping[str, Domain],
    ran: Mapping[str, DomainHeader],
    scoring: Scoring,
    places: Sequence[str],
    judging: Judging,
) -> Mapping[str, Comparers]:
    """Find what compares the fields of domains.

    What cannot be found here, such as what a `conftest.py` registers, has left in the session what
    it found. So that is judged by, where the session was judged by the function of that name.
    """
    from pytest_sopbench._core.model.task import Compare
    from pytest_sopbench._running.comparing import SOURCES, Place, check_scoring, find_comparers

    sources = {**SOURCES, Compare.JUDGE: judging.comparer}
    found: dict[str, Comparers] = {}
    for name, domain in domains.items():
        check_scoring(name, domain.fields, scoring)
        place = Place(
            domain=name,
            folder=domain.folder,
            trusted=_is_trusted(domain.folder, places),
            path=project().folder,
        )
        try:
            found[name] = find_comparers(
                domain.fields, scoring, place, seconds=comparer_seconds(), sources=sources
            )
        except ComparerError as error:
            if not _are_those(domain, ran[name].comparers):
                refuse(error.message, error.hint)
            say(f"note: {error.message}", err=True)
            say("note: what it found when the runs were made is judged by", err=True)
    return found


def _are_those(domain: Domain, ran: Mapping[str, str]) -> bool:
    """Whether a session has what the comparers found that a domain names today."""
    from pytest_sopbench._core.model.task import ASKED_OF_OTHERS

    named = {
        one.name: one.comparer or one.compare.value
        for one in domain.fields
        if one.compare in ASKED_OF_OTHERS
    }
    return named == {field: identity.partition(" ")[0] for field, identity in ran.items()}


def _is_trusted(folder: Path, places: Sequence[str]) -> bool:
    known, real = project(), folder.resolve()
    trusted = (*(Path(place) for place in places), *known.folders("sop_trust"))
    if any(real.is_relative_to(one.resolve()) for one in trusted):
        return True
    installed = real.is_relative_to(Path(sys.prefix).resolve())
    return not installed and real.is_relative_to(known.folder.resolve())
