"""A comparer is asked with copies, within its time, and whatever it does becomes a value."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from pytest_sopbench import Match
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Task
from pytest_sopbench._core.model.trace import Compared, Ending, Returned, ReturnedKind, Trace
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._running.comparing import Comparer, Comparers

Says = Callable[[Any], object]

REASON = OutputField(name="reason", type=FieldType.TEXT, compare=Compare.CALL)
FEE = OutputField(name="fee", type=FieldType.NUMBER)
RULES = JudgingRules(fields=(FEE, REASON))
TASK = Task(
    domain="harbour",
    id="H1",
    line=2,
    inputs={"ship": {"name": "Vela"}},
    expected={"fee": 10, "reason": "too late"},
    expected_as_written={"fee": "10", "reason": "too late"},
    results={},
    hash="h",
)


def answered(**values: Any) -> Trace:
    returned = Returned(kind=ReturnedKind.MAPPING, mapping={"fee": 10, "reason": "late", **values})
    return Trace(ending=Ending.RETURNED, returned=returned)


def compared(says: Says, trace: Trace | None = None, task: Task = TASK, **more: Any) -> Trace:
    by_field = {"reason": Comparer("mine 1", says)}
    rules = more.pop("rules", RULES)
    return Comparers(by_field=by_field, **more).compare(rules, task, trace or answered())


def found(says: Says, **more: Any) -> Compared:
    (one,) = compared(says, **more).compared
    return one


def raises(error: BaseException) -> Says:
    def say(question: object) -> object:
        raise error

    return say


def scored(at_least: float | None) -> JudgingRules:
    field = OutputField(name="reason", type=FieldType.TEXT, compare=Compare.CALL, at_least=at_least)
    return JudgingRules(fields=(FEE, field))


@pytest.mark.parametrize(
    ("said", "held", "why", "score"),
    [
        pytest.param(True, True, "", None, id="yes"),
        pytest.param(False, False, "different", None, id="no"),
        pytest.param(Match(True, "never mind", 0.25), True, "", 0.25, id="held, with a score"),
        pytest.param(Match(False, "no date"), False, "no date", None, id="a reason"),
        pytest.param(Match(False, "a\n\tb " + chr(0xDC80)), False, "a b \\udc80", None, id="odd"),
    ],
)
def test_what_a_comparer_says_is_kept(
    said: object, held: bool, why: str, score: float | None
) -> None:
    one = found(lambda _: said)

    assert (held, why, score) == (one.held, one.why, one.score)


@pytest.mark.parametrize(
    ("score", "held", "why"),
    [(0.8, True, ""), (1, True, ""), (0.79, False, "0.79, where at least 0.8 is asked")],
)
def test_a_number_alone_holds_from_what_is_declared(score: float, held: bool, why: str) -> None:
    one = found(lambda _: score, rules=scored(0.8))

    assert (held, why, float(score)) == (one.held, one.why, one.score)


async def later(_: object) -> Match:
    await asyncio.sleep(0)
    return Match(False, "told later")


def test_an_async_comparer_is_awaited() -> None:
    assert "told later" == found(later).why


NO_PASS = {
    "a text": (lambda _: "yes", "it returned a text"),
    "nothing": (lambda _: None, "it returned nothing"),
    "a number without a threshold": (lambda _: 0.9, "no 'at_least' is declared"),
    "nan": (lambda _: float("nan"), "it returned nan"),
    "nan in a match": (lambda _: Match(True, score=float("nan")), "the score nan"),
    "a score above one": (lambda _: Match(True, score=1.5), "the score 1.5"),
    "a score that is text": (lambda _: Match(True, score="1"), "the score 1"),  # type: ignore[arg-type]
    "held that is text": (lambda _: Match("yes"), "a 'held' of type str"),  # type: ignore[arg-type]
    "a reason that is none": (lambda _: Match(False, 3), "a 'why' of type int"),  # type: ignore[arg-type]
    "it raises": (raises(KeyError("x")), "it raised KeyError: 'x'"),
    "it runs out of time": (raises(TimeoutError("db")), "it raised TimeoutError: db"),
    "it exits": (raises(SystemExit(3)), "it raised SystemExit: 3"),
    "it interrupts": (raises(KeyboardInterrupt()), "it raised KeyboardInterrupt"),
    "it fails": (raises(pytest.fail.Exception("no")), "it raised Failed: no"),
}


@pytest.mark.parametrize("case", NO_PASS)
def test_what_says_neither_yes_nor_no_is_no_pass(case: str) -> None:
    says, why = NO_PASS[case]

    trace = compared(says)

    verdict = judge(RULES, TASK, trace)
    assert Outcome.UNAVAILABLE is verdict.outcome
    assert verdict.reason.startswith("not judged: reason: ")
    assert why in verdict.reason


def change_expected(question: Any) -> bool:
    question.task.expected["reason"] = "late"
    return True


def change_inputs(question: Any) -> bool:
    question.task.inputs["ship"]["name"] = "Nave"
    return True


def change_answer(question: Any) -> bool:
    question.answer.values["fee"] = 10
    question.answer.values["more"] = object()
    return True


def change_aliases(question: Any) -> bool:
    question.field.aliases["late"] = "too late"
    return True


@pytest.mark.parametrize("change", [change_expected, change_inputs, change_answer, change_aliases])
def test_a_comparer_that_changes_what_it_is_given_is_not_believed(change: Says) -> None:
    trace = answered()

    one = found(change, trace=trace)

    assert (None, "it changed what it was given to compare") == (one.held, one.why)
    assert {"ship": {"name": "Vela"}} == TASK.inputs
    assert "too late" == TASK.expected["reason"]
    assert answered() == trace
    assert not REASON.aliases


def test_a_comparer_that_hangs_is_left_behind() -> None:
    released = Event()

    def hang(_: object) -> bool:
        released.wait()
        return True

    one = found(hang, seconds=0.01)

    released.set()
    assert (None, "it was still comparing after 0.01 s") == (one.held, one.why)


def test_an_async_comparer_that_hangs_is_cancelled() -> None:
    cancelled = Event()

    async def hang(_: object) -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return True

    one = found(hang, seconds=0.01)

    assert one.held is None
    assert cancelled.wait(60)


def test_a_private_field_keeps_nothing_that_may_tell_its_value() -> None:
    field = OutputField(name="reason", type=FieldType.TEXT, compare=Compare.CALL, private=True)
    rules = JudgingRules(fields=(FEE, field))

    no = found(lambda _: Match(False, "not 'too late'"), rules=rules)
    fault = found(raises(ValueError("too late")), rules=rules)

    assert "different" == no.why
    assert "it raised ValueError" == fault.why


def test_every_acceptable_answer_is_compared() -> None:
    task = Task(
        domain="harbour",
        id="H1",
        line=2,
        inputs={},
        expected={"fee": "10", "reason": "too late"},
        acceptable=({"fee": "12", "reason": "full"}, {"fee": "13"}),
        results={},
        hash="h",
    )
    asked: list[object] = []

    def says(question: Any) -> bool:
        asked.append(question.expected)
        return bool(question.expected == question.actual)

    verdicts = [
        judge(RULES, task, compared(says, answered(**values), task)).correct
        for values in (
            {"fee": 12, "reason": "full"},
            {"fee": 13, "reason": "too late"},
            {"fee": 13, "reason": "full"},
        )
    ]

    assert [True, True, False] == verdicts
    assert {"too late", "full"} == {*asked}


@pytest.mark.parametrize(
    "trace",
    [
        Trace(ending=Ending.RAISED),
        Trace(ending=Ending.TIMED_OUT),
        Trace(ending=Ending.RETURNED, returned=Returned(kind=ReturnedKind.TEXT, text="Hm.")),
    ],
    ids=["raised", "timed out", "no answer"],
)
def test_nobody_is_asked_where_there_is_no_answer(trace: Trace) -> None:
    assert not compared(raises(AssertionError()), trace).compared


def test_a_run_whose_comparer_was_never_asked_is_no_pass() -> None:
    verdict = judge(RULES, TASK, answered(reason="too late"))

    assert Outcome.UNAVAILABLE is verdict.outcome
    assert "not judged: reason: nobody was asked" == verdict.reason


def test_what_a_comparer_prints_deep_down_the_stack_harms_nobody() -> None:
    def deep(_: object) -> bool:
        return sys.getrecursionlimit() > 0 and deep(_)

    assert (found(deep).why).startswith("it raised RecursionError")


def test_what_a_comparer_prints_is_the_runs_own(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(_: object) -> bool:
        sys.stdout.write("compared late\n")
        return True

    trace = Comparers(by_field={"reason": Comparer("mine 1", talks)}).compare(
        RULES, TASK, answered(), capture="keep"
    )

    assert "compared late\n" == trace.output
    assert "" == capsys.readouterr().out
