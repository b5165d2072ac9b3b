"""Judging in a command: the model judge of the project, and the functions that compare fields."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_sopbench._cli.app import project, refuse, say
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import Mask
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, Scoring
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._judge.calibrating import consumption_text
from pytest_sopbench._judge.judging import Judging
from pytest_sopbench._judge.keeping import read_log
from pytest_sopbench._judge.setting import OPTION
from pytest_sopbench._loading.prices import NAME, LibraryPrices, has_library, read_price_file
from pytest_sopbench._running.comparing import (
    SOURCES,
    Comparers,
    Place,
    check_scoring,
    find_comparers,
)
from pytest_sopbench._sessions.header import DomainHeader
from pytest_sopbench._settings.readers import read_seconds
from pytest_sopbench._settings.table import JUDGEMENTS
from pytest_sopbench.errors import ComparerError


def project_judging(mask: Mask) -> Judging:
    """Return the judge that the project sets; it is made where it is asked for."""
    known = project()
    return Judging(
        words=known.words(OPTION),
        folder=known.below("sop_dir", JUDGEMENTS),
        mask=mask,
        log_name=secrets.token_hex(8),
    )


def comparer_seconds() -> float | None:
    """Return how long one comparison may take, `None` for no limit."""
    try:
        return read_seconds(project().words("sop_comparer_timeout")[0])
    except ValueError as fault:
        refuse(f"sop_comparer_timeout: {fault}")


def say_consumption(judging: Judging) -> None:
    """Say what the judge was asked in this command, if anything."""
    if not judging.log.exists():
        return
    found = read_log(judging.log, project_prices())
    judging.log.unlink(missing_ok=True)
    say(consumption_text(found))


def project_prices() -> Prices | None:
    """Return the prices of the configuration.

    Raises:
        LoadingError: its file cannot be used.
    """
    asked = next(iter(project().words("sop_prices")), NAME)
    if asked == "none":
        return None
    if asked == NAME:
        return LibraryPrices() if has_library() else None
    return read_price_file(project().folder / asked)


# The functions that compare fields, for commands that judge again.


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
    sources = {**SOURCES, Compare.JUDGE: judging.comparer}
    found: dict[str, Comparers] = {}
    for name, domain in domains.items():
        check_scoring(name, domain.fields, scoring)
        place = Place(
            domain=name,
            folder=domain.folder,
            trusted=is_trusted(domain.folder, places),
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
    named = {
        one.name: one.comparer or one.compare.value
        for one in domain.fields
        if one.compare in ASKED_OF_OTHERS
    }
    return named == {field: identity.partition(" ")[0] for field, identity in ran.items()}


def is_trusted(folder: Path, places: Sequence[str]) -> bool:
    """Whether code of a domain may be run."""
    known, real = project(), folder.resolve()
    trusted = (*(Path(place) for place in places), *known.folders("sop_trust"))
    if any(real.is_relative_to(one.resolve()) for one in trusted):
        return True
    installed = real.is_relative_to(Path(sys.prefix).resolve())
    return not installed and real.is_relative_to(known.folder.resolve())
