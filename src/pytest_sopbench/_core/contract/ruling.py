"""What came of one rule in one run, and the words in which it is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_sopbench._core.model.trace import ToolCall


class RuleState(StrEnum):
    """What a run has shown of a rule; what it never came to is neither held nor broken."""

    HELD = "held"
    BROKEN = "broken"
    NOT_EXERCISED = "not_exercised"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """A state with its reason: one sentence that names the call and its step.

    `unfinished` tells of a rule that is broken because the run was stopped before it could hold.
    """

    state: RuleState
    why: str
    unfinished: bool = False


def held(why: str) -> RuleCheck:
    return RuleCheck(state=RuleState.HELD, why=why)


def broken(why: str, *, unfinished: bool = False) -> RuleCheck:
    return RuleCheck(state=RuleState.BROKEN, why=why, unfinished=unfinished)


def not_exercised(why: str) -> RuleCheck:
    return RuleCheck(state=RuleState.NOT_EXERCISED, why=why)


def not_called(tools: Iterable[str], calls: Sequence[ToolCall], verb: str = "called") -> str:
    """Say that none of the tools was called, and aloud where no tool was called at all."""
    if not calls:
        return "no tool was called"
    names = list(tools)
    return f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} never {verb}"
