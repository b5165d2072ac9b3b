"""What is said of a model judge: how far it agrees with people, and what it consumed."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.gates.calibration import shown
from pytest_sopbench._core.gates.conditions.summary_gates import percent
from pytest_sopbench._core.gates.judge_report import JudgedField, JudgeReport
from pytest_sopbench._core.model.trace import Usage

from .numbers import money


def agreement_words(rate: float | None, labels: int, kappa: float | None) -> str:
    """Say how far a judge agrees: `94% of 120 labels, kappa 0.86`."""
    if rate is None:
        return "no labels"
    beyond_chance = "unknown" if kappa is None else shown(kappa)
    return f"{percent(rate)} of {labels} labels, kappa {beyond_chance}"


def standing_words(one: JudgedField) -> str:
    """Say how far the judge of a field can be relied on."""
    said = agreement_words(one.agreement, one.labels, one.kappa) if one.labels else ""
    return "; ".join(filter(None, (said, one.doubt)))


def consumed_words(
    *, asked: int, failed: int, kept: int, repeated: int, usage: Usage
) -> Iterator[str]:
    """Say piece by piece what was asked, and what that consumed apart from the agents."""
    yield f"{asked + kept + repeated} judgements: {asked} asked"
    yield f"{kept} kept from before"
    if repeated:
        yield f"{repeated} of questions asked already"
    if failed:
        yield f"{failed} gave none"
    tokens = [usage.input_tokens, usage.output_tokens]
    if any(count is not None for count in tokens):
        yield f"{sum(count or 0 for count in tokens):,} tokens"
    if asked:
        yield "cost unknown" if usage.cost_usd is None else f"cost {money(usage.cost_usd)}"


def report_lines(report: JudgeReport | None) -> Iterator[str]:
    """Say on a page what came of the judge of a session; nothing where it has none."""
    if report is None:
        return
    for one in report.fields:
        yield f"{one.domain}, {one.field}: {standing_words(one) or 'no labels'}"
    if report.asked + report.kept + report.repeated:
        yield ", ".join(
            consumed_words(
                asked=report.asked,
                failed=report.failed,
                kept=report.kept,
                repeated=report.repeated,
                usage=report.usage,
            )
        )
