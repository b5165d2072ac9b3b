"""`sopbench rescore`: judge what was recorded again, by other rules."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from pytest_sopbench._cli.app import FAILS, path_of, project_redaction, refuse, saved_session, say
from pytest_sopbench._cli.found_domains import domain_option, domains_of
from pytest_sopbench._cli.judging import comparers_of, is_trusted, project_judging, say_consumption
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._loading.finding import BUNDLED
from pytest_sopbench._reports.notices import refused_lines, rescored_lines
from pytest_sopbench._running.tools.policy_states import with_policy
from pytest_sopbench._sessions.commands.rescore import rescore_session, scoring_of
from pytest_sopbench._sessions.file.writer import store_session
from pytest_sopbench._sessions.header import DomainHeader
from pytest_sopbench._sessions.reading.saved import summaries_of


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
        name: replace(domain, state=with_policy(domain, trusted=_may_run(domain, places)))
        for name, domain in _all_domains(saved.header.domains, places).items()
    }
    given = [f"{name}={value}" for name, value in saved.header.agent_args.items()]
    redaction = project_redaction(given)
    judging = project_judging(redaction.text)
    asking = comparers_of(domains, saved.header.domains, Scoring(scoring), places, judging)
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
    for line in rescored_lines(before, (summaries, Scoring(scoring)), done.changed):
        say(line)
    if path is not None:
        store_session(path, done.header, done.records, summaries, logs=[saved.path])
        say(f"kept in {path}")


def _may_run(domain: Domain, places: Sequence[str]) -> bool:
    return domain.folder.parent == BUNDLED or is_trusted(domain.folder, places)


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
