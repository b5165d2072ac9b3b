"""The judge as what compares an output field, as a function of the user would."""

from __future__ import annotations

from functools import partial

from pytest_sopbench._core.fields.match import Match, as_text
from pytest_sopbench._core.judging.questions import Question as Comparison
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._running.comparing.comparer import Comparer

from .asking.question import Question
from .judge import ModelJudge, fingerprint_of


def judged_by(judge: ModelJudge, field: OutputField) -> Comparer:
    """Return what compares a field by its rubric; its identity changes with judge and rubric."""
    setting = judge.setting
    identity = f"judge {setting.model} {fingerprint_of(setting, field.rubric)}"
    return Comparer(identity, partial(_match, judge))


def _match(judge: ModelJudge, comparison: Comparison) -> Match:
    field = comparison.field
    judgement = judge.judge(
        Question(
            rubric=field.rubric,
            field=field.name,
            expected=as_text(comparison.expected),
            actual=as_text(comparison.actual),
        )
    )
    quote = f' ("{" ".join(judgement.quote.split())}")' if judgement.quote else ""
    return Match(judgement.held, f"{judgement.reason}{quote}", quote=judgement.quote)
