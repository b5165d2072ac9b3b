"""Whatever a comparer returns or raises, it passes nothing by it and reaches nobody else."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from pytest_sopbench import Match, Outcome, OutputField, Task, Trace, Verdict
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind
from pytest_sopbench._running.comparing import Comparer, Comparers

REASON = OutputField(name="reason", type=FieldType.TEXT, compare=Compare.CALL, at_least=0.5)
RULES = JudgingRules(fields=(REASON,))
TASK = Task(
    domain="harbour", id="H1", line=2, inputs={}, expected={"reason": "late"}, results={}, hash="h"
)


def verdict_by(says: Callable[[Any], object]) -> Verdict:
    returned = Returned(kind=ReturnedKind.MAPPING, mapping={"reason": "never"})
    comparers = Comparers(by_field={"reason": Comparer("mine 1", says)})
    trace = comparers.compare(RULES, TASK, Trace(ending=Ending.RETURNED, returned=returned))
    return judge(RULES, TASK, trace)


class Word(str):
    """A text with methods of its own."""

    __slots__ = ()

    def split(self, *_: Any) -> Any:
        raise SystemExit(3)

    def isascii(self) -> bool:
        raise SystemExit(3)


class Claims:
    """Says that it is a truth value."""

    @property
    def __class__(self) -> type:
        return bool


class Exits:
    """Leaves as soon as somebody asks what it is."""

    @property
    def __class__(self) -> type:
        raise SystemExit(3)


class NoTruth:
    def __bool__(self) -> bool:
        raise ValueError


class Truth:
    """As numpy's: true, and no bool."""

    def __bool__(self) -> bool:
        return True


class Share(float):
    def __float__(self) -> float:
        raise KeyboardInterrupt


class Lying(Match):
    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "held":
            raise RuntimeError
        return super().__getattribute__(name)


class Waits:
    def __await__(self) -> Any:
        raise SystemExit(4)


class Keeps(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit(5)


async def twice() -> Any:
    async def inner() -> bool:
        return True

    later = inner()
    later.close()
    return later


async def many() -> AsyncIterator[bool]:
    yield True


def each() -> Iterator[bool]:
    yield True


def raised(error: BaseException) -> Callable[[Any], object]:
    def says(_: Any) -> object:
        raise error

    return says


def puts(question: Any) -> bool:
    question.answer.values["more"] = Keeps()
    return True


NO_PASS: dict[str, Callable[[Any], object]] = {
    "a text of its own": lambda _: Word("yes"),
    "truth that is no bool": lambda _: Truth(),
    "what has no truth": lambda _: NoTruth(),
    "what claims to be a bool": lambda _: Claims(),
    "what exits when it is looked at": lambda _: Exits(),
    "a decimal": lambda _: Decimal(1),
    "a number that interrupts": lambda _: Share(1),
    "the class bool": lambda _: bool,
    "the class Match": lambda _: Match,
    "a match held by a text": lambda _: Match(held="yes"),  # type: ignore[arg-type]
    "a match held by one": lambda _: Match(held=1),  # type: ignore[arg-type]
    "a match held by a claim": lambda _: Match(held=Claims()),  # type: ignore[arg-type]
    "a match held by no truth": lambda _: Match(held=NoTruth()),  # type: ignore[arg-type]
    "a match with a number as why": lambda _: Match(True, why=5),  # type: ignore[arg-type]
    "a match with truth as score": lambda _: Match(True, score=True),
    "a match with an interrupt as score": lambda _: Match(True, score=Share(1)),
    "a match that lies": lambda _: Lying(True),
    "an awaitable that exits": lambda _: Waits(),
    "a coroutine of a coroutine": lambda _: twice(),
    "an async generator": lambda _: many(),
    "a generator": lambda _: each(),
    "a base exception": raised(BaseException("b")),
    "an exit": raised(SystemExit(0)),
    "an interrupt": raised(KeyboardInterrupt()),
    "the end of a generator": raised(GeneratorExit()),
    "a cancellation": raised(asyncio.CancelledError()),
    "the end of an iterator": raised(StopIteration(True)),
    "a trap in its copy": puts,
}


@pytest.mark.parametrize("case", NO_PASS)
def test_what_no_comparer_should_do_is_not_judged(case: str) -> None:
    verdict = verdict_by(NO_PASS[case])

    assert Outcome.UNAVAILABLE is verdict.outcome
    assert verdict.reason.startswith(("not judged: reason: it ", "not judged: reason: its "))


def test_a_comparer_that_exits_in_its_event_loop_prints_nothing_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    verdict_by(lambda _: Waits())

    gc.collect()

    assert not caplog.records


def test_a_coroutine_that_a_comparer_leaves_behind_is_closed() -> None:
    left: list[Any] = []

    async def inner() -> bool:
        return True

    async def outer() -> Any:
        left.append(inner())
        return left[0]

    verdict = verdict_by(lambda _: outer())

    assert Outcome.UNAVAILABLE is verdict.outcome
    assert left[0].cr_frame is None


class Told(Match):
    """A match with more to say."""

    __slots__ = ()


JUDGED: dict[str, tuple[object, Outcome, str]] = {
    "a match of a class of its own": (Told(True), Outcome.CORRECT, ""),
    "no, by a class of its own": (Told(False, "no"), Outcome.WRONG, "reason: no"),
    "a reason of its own class": (Match(False, Word("a b")), Outcome.WRONG, "reason: a b"),
    "a whole number": (0, Outcome.WRONG, "reason: 0, but at least 0.5 is asked"),
}


@pytest.mark.parametrize("case", JUDGED)
def test_what_says_yes_or_no_in_its_own_way_is_judged(case: str) -> None:
    said, outcome, why = JUDGED[case]

    verdict = verdict_by(lambda _: said)

    assert (outcome, why) == (verdict.outcome, verdict.reason)
