"""A comparer is asked with copies, within its time, and whatever it does becomes a value."""

from __future__ import annotations

import asyncio
import operator
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import pytest

from pytest_sopbench import Match, Outcome, OutputField, Task, Trace
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.model.trace import Compared, Ending, Returned, ReturnedKind
from pytest_sopbench._running import comparing as functions
from pytest_sopbench._running.comparing import (
    LATE,
    STEP,
    Allowance,
    Comparer,
    Comparers,
    Place,
    called,
)
from pytest_sopbench.errors import ComparerError

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
    [(0.8, True, ""), (1, True, ""), (0.79, False, "0.79, but at least 0.8 is asked")],
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

    # One that had not begun could not tell that it was cancelled.
    one = found(hang, seconds=0.5)

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


# Finding comparers: by module, by entry point, by what a project registers.

CODE = """
from functools import partial, wraps

def same(expected, actual, *, field, task, answer):
    return expected == actual

def loud(function):
    @wraps(function)
    def inner(*given, **named):
        return function(*given, **named)
    return inner

wrapped = loud(same)
bound = partial(same)

class Strict:
    def __call__(self, expected, actual, *, field, task, answer):
        return False

strict = Strict()
declared = partial(same)
declared.__version__ = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"comparers_of_{tmp_path.name.rstrip('0123456789')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    return name


def found_of_functions(spec: str, *, trusted: bool = True, **registered: Any) -> str:
    field = OutputField(name="f", type=FieldType.TEXT, compare=Compare.CALL, comparer=spec)
    place = Place(
        domain="d", folder=Path(), trusted=trusted, path=Path.cwd(), registered=registered
    )
    return called(field, place).identity


@pytest.mark.parametrize("name", ["same", "wrapped", "strict"])
def test_a_version_is_the_hash_of_the_file(module: str, name: str) -> None:
    source = found_of_functions(f"{module}:same").partition(" source ")[2]

    assert 12 == len(source)
    assert f"{module}:{name} source {source}" == found_of_functions(f"{module}:{name}")


def test_what_a_partial_was_given_is_a_part_of_its_version(module: str) -> None:
    own = __import__(module).same
    names = {
        one: found_of_functions("ours", ours=partial(own, **one_of))
        for one, one_of in {"bare": {}, "lax": {"answer": 1}, "strict": {"answer": 2}}.items()
    }

    assert 3 == len({*names.values()})


def test_a_comparer_may_say_its_version_itself(module: str) -> None:
    assert f"{module}:declared version 7" == found_of_functions(f"{module}:declared")


def test_what_has_no_source_has_to_say_its_version() -> None:
    code = compile("def made(e, a, *, field, task, answer): return True", "<string>", "exec")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - a function without a file

    with pytest.raises(ComparerError, match="its source cannot be read"):
        found_of_functions("made", made=names["made"])


def test_a_registered_comparer_may_be_named_by_a_domain_that_is_not_trusted(module: str) -> None:
    own = __import__(module).same

    assert found_of_functions("ours", trusted=False, ours=own).startswith("ours source ")
    with pytest.raises(ComparerError, match="lies outside the project"):
        found_of_functions(f"{module}:same", trusted=False)


def test_a_package_registers_a_comparer_by_an_entry_point(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint(name="theirs", value=f"{module}:same", group=functions.GROUP)
    monkeypatch.setattr(
        functions, "entry_points", lambda group: EntryPoints([point]).select(group=group)
    )

    assert found_of_functions("theirs", trusted=False).startswith("theirs source ")
    with pytest.raises(ComparerError, match=r"registered: theirs\)\ndid you mean theirs\?"):
        found_of_functions("thiers")


@pytest.mark.parametrize("function", [operator.eq, len, partial(print, "x"), Place])
def test_what_cannot_be_called_as_a_comparer_is_refused(function: Any) -> None:
    with pytest.raises(ComparerError, match="it cannot be called"):
        found_of_functions("odd", odd=function)


def test_code_that_raises_when_imported_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaking_comparers.py").write_text("x = 1\nraise SystemExit('no')\n")

    with pytest.raises(ComparerError, match=r"SystemExit: no, at .*breaking_comparers.py:2"):
        found_of_functions("breaking_comparers:x")


def test_nothing_but_a_module_is_no_comparer() -> None:
    assert isinstance(functions, ModuleType)
    with pytest.raises(ComparerError, match="it cannot be called"):
        found_of_functions("odd", odd=functions)


# A comparer's time, less that in which the process stood still.


def clock_of(*readings: float) -> Callable[[], float]:
    left = iter((0.0, *readings))
    return lambda: next(left)


def test_what_was_waited_for_is_spent() -> None:
    allowed = Allowance(0.6, clock_of(0.0, 0.5, 0.5, 0.6))

    assert STEP == allowed.step()
    allowed.waited()
    assert not allowed.is_spent
    assert 0.09 < allowed.step() < 0.11
    allowed.waited()
    assert allowed.is_spent


def test_a_step_that_is_a_little_late_counts_in_full() -> None:
    allowed = Allowance(STEP + LATE / 2, clock_of(0.0, STEP + LATE / 2))

    allowed.step()
    allowed.waited()

    assert allowed.is_spent


def test_time_in_which_the_process_stood_still_does_not_count() -> None:
    allowed = Allowance(2.0, clock_of(0.0, 60.0, 60.0))

    allowed.step()
    allowed.waited()

    assert not allowed.is_spent
    assert STEP == allowed.step()
