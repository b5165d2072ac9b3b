"""What comes of a run: the answer that was found, the outcome, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pytest_sopbench._core.model.trace import Answer, Mismatch

from .contract import RuleResult
from .demands import RuleState


class Outcome(StrEnum):
    """How a run ended. Members are texts: `run.outcome == "correct"`.

    `correct` and `wrong` are completed: the agent gave an answer for every output field. The
    others are `no_answer`, `error`, `unavailable`, `timeout`, `call_limit`, `crash` and
    `not_run`.
    """

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

ANSWERED = frozenset({*COMPLETED, Outcome.NO_ANSWER})
"""The outcomes in which the agent returned, with an answer or without one: nothing stopped it."""

NO_EVIDENCE = frozenset({Outcome.UNAVAILABLE, Outcome.NOT_RUN})
"""The outcomes that say nothing of the agent: it was not asked, or its provider was away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a run with its reasons, and how the run stands to the procedure.

    The attributes from `rules` on are about the procedure. They never change the outcome.

    Attributes:
        outcome: how the run ended.
        reason: why, in one sentence.
        answer: the answer that was found; `None` if the agent did not return.
        mismatches: the output fields that differ.
        only_published: whether the run is correct by the published scorer's rules alone.
        rules: one result for each rule of the contract.
        contract: what these come to; `None` if no rule applies.
        grounded: whether every required tool succeeded; `None` if none is required.
        departure: where the run departs from the calls that are expected of its task; empty
            if it makes exactly these, `None` if none are declared.
        unneeded: how often each tool was called that no expected call names; `None` as above.
        unmade: the expected calls that were not made, whatever their order: each by its tool, or
            by the first argument that differs. `None` if no calls are declared.
        state_differs: where the end state of the world is not the right one; it makes a right
            answer wrong.
        notes: what is right and yet worth a note, such as a key that no schema declares.
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
    unneeded: Mapping[str, int] | None = None
    unmade: tuple[Mismatch, ...] | None = None
    state_differs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def correct(self) -> bool:
        """Whether the outcome is `correct`."""
        return self.outcome is Outcome.CORRECT

    @property
    def completed(self) -> bool:
        """Whether an answer was found for every output field, right or wrong."""
        return self.outcome in COMPLETED
