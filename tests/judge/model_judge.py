"""A judge whose model says what a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pytest_sopbench._judge.asking import Question
from pytest_sopbench._judge.judge import JudgeSetting, ModelJudge
from pytest_sopbench._judge.keeping import ConsumptionLog, Judgements
from pytest_sopbench.agents import Message, Reply, StopReason
from pytest_sopbench.agents.conversation import ModelUsage

Says = Callable[[Question], Reply]


def replied(text: str, stop: StopReason = StopReason.END, refusal: str = "") -> Reply:
    usage = ModelUsage(input_tokens=100, output_tokens=20, model="openai/m")
    message = Message(role="assistant", text=text)
    return Reply(message=message, stop=stop, usage=usage, refusal=refusal)


def judgement_text(*, held: bool, quote: str, reason: str = "because") -> str:
    return json.dumps({"reason": reason, "quote": quote, "held": held})


def yes(question: Question) -> Reply:
    return replied(judgement_text(held=True, quote=question.actual))


class Asked:
    """An asker that counts, and says what it was made with."""

    left_out: frozenset[str] = frozenset()

    def __init__(self, says: Says = yes) -> None:
        self.says = says
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Reply:
        self.questions.append(question)
        return self.says(question)


def judge_of(folder: Path, asked: Asked, mask: Callable[[str], str] = str) -> ModelJudge:
    return ModelJudge(
        setting=JudgeSetting(model="openai/m", parameters={"temperature": "0"}),
        asker=asked,
        judgements=Judgements(folder, mask),
        log=ConsumptionLog(folder / "asked" / "one.jsonl"),
    )


def question(actual: str = "We refund it.", **other: str) -> Question:
    given = {"rubric": "It grants it.", "field": "letter", "expected": "Refunded", **other}
    return Question(actual=actual, **given)
