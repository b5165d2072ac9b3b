"""What is said of a judge: its agreement with people, the disputed cases, and what it consumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_sopbench._core.gates.calibration import OTHER_JUDGE, Calibration, doubt_of, shown
from pytest_sopbench._judge.keeping.consumption import Consumption
from pytest_sopbench._reports.text.judge import agreement_words, consumed_words
from pytest_sopbench._reports.text.layout import packed

from .check import FieldCheck, JudgedCase

_INDENT = len("judge  ")
_LINES = 20
"""Disputed cases that are listed."""


def agreement_text(calibration: Calibration) -> str:
    """Say how far a judge agrees: `94% of 120 labels, kappa 0.86`."""
    table = calibration.agreement
    return agreement_words(table.rate, table.cases, table.kappa)


def check_lines(check: FieldCheck) -> Iterator[str]:
    """Say what came of one field."""
    found = check.calibration
    table = found.agreement
    yield f"{check.domain.name}, {check.field}: judged by {check.model}"
    interval = table.interval
    bounds = f" [{shown(interval[0])}, {shown(interval[1])}]" if interval else ""
    yield f"  agreement   {agreement_text(found)}{bounds}"
    yield f"  confusion   {'people yes':>20}{'people no':>12}"
    yield f"    judge yes {table.both_yes:>20}{table.only_first:>12}"
    yield f"    judge no  {table.only_second:>20}{table.both_no:>12}"
    if check.unlabelled:
        yield f"  {check.unlabelled} rows have no label, and are left out"
    yield from _listed("disputed", [_disputed(one) for one in check.disputed])
    yield from _listed("not judged", [f"{one.case.name}: {one.why}" for one in check.not_judged])
    why = doubt_of(found, found.fingerprint)
    yield f"  gates on it are inconclusive: {why}" if why else "  gates may rest on it"


def _disputed(one: JudgedCase) -> str:
    judgement = one.judgement
    held = judgement is not None and judgement.held
    said = f"judge {'yes' if held else 'no'}, people {'no' if held else 'yes'}"
    return f"{one.case.name}: {said}: {judgement.reason if judgement is not None else ''}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"  {title}    {len(lines)}"
    yield from (f"    {line}" for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"    and {len(lines) - _LINES} more"


def summary_lines(
    judges: Mapping[str, tuple[Calibration | None, str]], consumption: Consumption
) -> Iterator[str]:
    """Say in a summary how far judges can be relied on, and what they consumed.

    Args:
        judges: by `DOMAIN, FIELD` the calibration, and why it does not hold.
        consumption: of the session.
    """
    for name, (calibration, why) in judges.items():
        # The agreement of another judge says nothing of this one.
        said = agreement_text(calibration) if calibration and why != OTHER_JUDGE else ""
        first, *more = filter(None, (said, why))
        yield from packed(f"judge  {name}: {first}", more, gap="; ", indent=_INDENT)
    if consumption.questions:
        first, *more = _consumed(consumption)
        yield from packed(f"judge  {first}", more, gap=", ", indent=_INDENT)
    yield from (f"       {note}" for note in consumption.notes)


def consumption_text(one: Consumption) -> str:
    """Say what was asked and what that consumed, apart from the agent's consumption."""
    return "; ".join((", ".join(_consumed(one)), *one.notes))


def _consumed(one: Consumption) -> Iterator[str]:
    return consumed_words(
        asked=one.asked,
        failed=one.failed,
        kept=one.kept,
        repeated=one.repeated,
        usage=one.usage,
    )
