"""`sopbench rescore`: judge what was recorded again, by other rules.

Comparers of the domains are found again as well. What one has found in the session counts if
the comparer itself cannot be found.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from pytest_sopbench._cli.app import (
    FAILS,
    path_of,
    project,
    project_redaction,
    refuse,
    saved_session,
    say,
    say_lines,
)
from pytest_sopbench._cli.found_domains import domain_option, domains_of, search_paths
from pytest_sopbench._cli.judge import comparer_seconds, project_judging, say_consumption
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, Scoring
from pytest_sopbench._judge.judging import Judging
from pytest_sopbench._loading.finding import BUNDLED, Origin, is_trusted
from pytest_sopbench._reports.notices import refused_lines, rescored_lines
from pytest_sopbench._running.comparing import (
    SOURCES,
    Comparers,
    Place,
    check_scoring,
    find_comparers,
)
from pytest_sopbench._running.tools.policy_states import with_policy
from pytest_sopbench._sessions.commands.rescore import rescore_session, scoring_of
from pytest_sopbench._sessions.header import DomainHeader
from pytest_sopbench._sessions.saved import summaries_of
from pytest_sopbench._sessions.writer import store_session
from pytest_sopbench.errors import ComparerError


@click.command()
@click.argument("session")
@click.option(
    "--scoring",
    type=click.Choice(["exact", "published"]),
    required=True,
    help="Whose rules decide: ours, or those of the published SOP-Bench scorer.",
)
@click.option("--out", metavar="NAME|PATH", help="Where the result is kept; else it is shown only.")
@domain_option
def rescore(session: str, scoring: str, out: str | None, places: tuple[str, ...]) -> None:
    """Judge a saved session again, without running it.

    The domains of the session are read as they are today, so this also brings a session up to
    date with types, aliases and tolerances that were declared since. If what was kept of a
    run does not suffice (the answer was cut or masked, or its event log is gone) nothing is
    guessed: the runs are named, nothing is written, and the status is 1.
    """
    saved = saved_session(session)
    path = path_of(out) if out is not None else None
    domains = {
        name: replace(
            domain,
            state=with_policy(
                domain,
                trusted=_is_trusted(domain.folder, places),
            ),
        )
        for name, domain in _all_domains(saved.header.domains, places).items()
    }
    given = [f"{name}={value}" for name, value in saved.header.agent_args.items()]
    redaction = project_redaction(given)
    judging = project_judging(redaction.text)
    asking = _comparers_of(domains, saved.header.domains, Scoring(scoring), places, judging)
    doubtful = judging.doubtful if judging.calibrations else None
    with masking(redaction.text):
        done = rescore_session(
            saved, domains, Scoring(scoring), asking, doubtful=doubtful, judged=judging.judged
        ).masked_by(redaction)
    say_consumption(judging)
    if done.refused:
        for line in refused_lines(done.refused):
            say(line, err=True)
        sys.exit(FAILS)
    summaries = done.summaries(domains)
    before = summaries_of(saved), scoring_of(saved.header)
    say_lines(rescored_lines(before, (summaries, Scoring(scoring)), done.changed))
    if path is not None:
        store_session(path, done.header, done.records, summaries, logs=[saved.path])
        say(f"kept in {path}")


def _all_domains(names: Mapping[str, DomainHeader], places: Sequence[str]) -> Mapping[str, Domain]:
    found = domains_of(names, places, names)
    missing = [name for name in names if name not in found]
    if missing or not names:
        refuse(
            f"the domain {', '.join(missing)} is not found, and answers are judged by it"
            if missing
            else "the session names no domain to judge by",
            "say where it is: --domain PATH",
        )
    return found


# What compares the fields, if answers are judged again.


def _comparers_of(
    domains: Mapping[str, Domain],
    ran: Mapping[str, DomainHeader],
    scoring: Scoring,
    places: Sequence[str],
    judging: Judging,
) -> Mapping[str, Comparers]:
    """Find what compares the fields of domains.

    What cannot be found here, such as what a `conftest.py` registers, has left in the session what
    it found. So that is judged by, if the session was judged by the function of that name.
    """
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
        find = partial(
            find_comparers,
            scoring=scoring,
            place=place,
            seconds=comparer_seconds(),
            sources=sources,
        )
        try:
            # Of a `module:function` that fails to load nobody knows whether it is still the same.
            find(tuple(one for one in domain.fields if ":" in one.comparer))
        except ComparerError as error:
            refuse(error.message, error.hint)
        try:
            found[name] = find(domain.fields)
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


def _is_trusted(folder: Path, places: Sequence[str]) -> bool:
    """Whether code of a domain may be run."""
    origin = Origin.BUNDLED if folder.parent == BUNDLED else Origin.INSTALLED
    named = (*(Path(place).absolute() for place in places), *project().folders("sop_trust"))
    return is_trusted(folder, origin, replace(search_paths(), trusted=named))
