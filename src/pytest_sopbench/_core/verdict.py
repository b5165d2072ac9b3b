"""What comes of a run: the answer that was found, the outcome, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pytest_sopbench._core.model.answer import Answer, Mismatch

if TYPE_CHECKING:
    from pytest_sopbench._core.contract.rules import RuleResult
    from pytest_sopbench._core.contract.ruling import RuleState


class Outcome(StrEnum):
    """How a run ended."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    ERROR = "error"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    CALL_LIMIT = "call_limit"
    CRASH = "crash"
    NOT_RUN = "not_run"


COMPLETED = frozenset({Outcome.CORRECT, Outcome.WRONG})
"""The outcomes in which the agent gave an answer for every field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a run with its reasons, and how the run stands to the procedure.

    `only_published` tells that the run is correct by the published scorer's rules alone, and
    would not be by ours. The fields after it say nothing of the outcome, nor it of them: `rules`
    has one result per rule of the contract, `contract` is what they come to (`None` where no
    rule applies), `grounded` whether every required tool succeeded (`None` where none is
    required). Where calls are expected of the task, `departure` says where the run departs from
    them (empty where it makes exactly these) and `unneeded` counts the calls of other tools.
    """

    outcome: Outcome
    reason: str = ""
    answer: Answer | None = None
    mismatches: tuple[Mismatch, ...] = ()
    only_published: bool = False
    rules: tuple[RuleResult, ...] = ()
    contract: RuleState | None = None
    grounded: bool | None = None
    departure: str | None = None
    unneeded: int | None = None

    @property
    def correct(self) -> bool:
        return self.outcome is Outcome.CORRECT

    @property
    def completed(self) -> bool:
        return self.outcome in COMPLETED
