"""`sopbench judge`: a table for people to label, and the judge held against their labels.

The judge that the project sets, its prices and what it consumed are here as well, for the commands
that judge again or ask a model.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import click

from pytest_sopbench._cli.app import (
    FAILS,
    INCONCLUSIVE,
    full_session,
    project,
    project_redaction,
    refuse,
    say,
    say_lines,
)
from pytest_sopbench._cli.found_domains import domain_option, domains_of
from pytest_sopbench._core.gates.calibration import doubt_of
from pytest_sopbench._core.hiding import Mask, masking
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._judge.calibrating import (
    check_labels,
    check_lines,
    consumption_text,
    drawn,
    judged_cases,
    read_labels,
    write_cases,
)
from pytest_sopbench._judge.judge import OPTION
from pytest_sopbench._judge.judging import Judging, write_calibrations
from pytest_sopbench._judge.keeping import read_log
from pytest_sopbench._loading.prices import NAME, LibraryPrices, has_library, read_price_file
from pytest_sopbench._sessions.saved import planned_records
from pytest_sopbench._settings.readers import read_seconds
from pytest_sopbench._settings.table import JUDGEMENTS


@click.group()
def judge() -> None:
    """Hold a model judge against people."""


@judge.command()
@click.argument("session", default="last")
@click.option("-n", "size", type=click.IntRange(min=1), default=50, help="How many answers (50).")
@click.option("--seed", type=int, default=0, help="Another number draws others (0).")
@click.option(
    "--out",
    metavar="PATH",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("labels.csv"),
    help="The table (labels.csv); one that is there is never replaced.",
)
@domain_option
def sample(session: str, size: int, seed: int, out: Path, places: tuple[str, ...]) -> None:
    """Write answers of a session into a table for people to label.

    They are drawn evenly over the fields that a judge compares and over its verdicts, which the
    table does not show. Write yes or no into the column label: is the answer right by the rubric?
    """
    saved = full_session(session)
    domains = domains_of(saved.header.domains, places, saved.header.domains)
    cases = judged_cases(planned_records(saved), domains)
    if not cases:
        named = ", ".join(domains) or "none of its domains, which are not found"
        refuse(
            f"{saved.path}: no judge has judged an answer in it (looked into: {named})",
            'a field is judged if its domain says "compare": "judge"; is --domain PATH missing?',
        )
    chosen = drawn(cases, size, seed)
    write_cases(out, chosen)
    fewer = f"; the session has no more of {size}" if len(chosen) < size else ""
    say(f"{len(chosen)} answers in {out}{fewer}")
    say(f"fill in the column label (yes or no), then: sopbench judge check {out}")


@judge.command()
@click.argument("labels", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=8,
    metavar="N",
    help="Questions that are put to the judge at the same time (8).",
)
@domain_option
def check(labels: Path, concurrency: int, places: tuple[str, ...]) -> None:
    """Hold the judge of the project against labels.

    LABELS is a CSV file with the columns domain, field, expected, actual and label. What comes of
    it is kept in judge_calibration.json beside the domain. The status is 0 if gates may rest on
    the judge of every field, 1 if they may not, and 3 if the judge gave no judgement of a
    row: nothing is kept of that field then. What was judged before is not asked again.
    """
    cases = read_labels(labels)
    domains = domains_of(sorted({one.domain for one in cases}), places)
    mask = project_redaction().text
    judging = project_judging(mask)
    with masking(mask):
        checks = check_labels(
            cases, domains, judging.judge, in_flight=concurrency, seconds=comparer_seconds()
        )
    for one in checks:
        say_lines(map(mask, check_lines(one)))
        if not one.not_judged and one.cases:
            path = write_calibrations(one.domain.folder, {one.field: one.calibration})
            say(f"  kept in {path}")
    say_consumption(judging)
    if any(one.not_judged for one in checks):
        sys.exit(INCONCLUSIVE)
    if any(doubt_of(one.calibration, one.fingerprint) for one in checks):
        sys.exit(FAILS)


# The judge of the project, and what asking it consumes.


def project_judging(mask: Mask) -> Judging:
    """Return the judge that the project sets; it is made when it is asked for."""
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
