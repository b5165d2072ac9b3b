"""A float that an agent returns is compared as a float, and nothing else is forgiven by that."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, OutputField, Task, Trace, Verdict
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._core.records.reconstruct import Judges, rescore
from pytest_sopbench._core.records.record import record_of
from pytest_sopbench._core.values.json import JsonValue

NUMBER = OutputField(name="sum", type=FieldType.NUMBER)
WHOLE = OutputField(name="sum", type=FieldType.INTEGER)
WORDS = OutputField(name="sum", type=FieldType.TEXT)
ITEMS = OutputField(name="sum", type=FieldType.LIST)
IN_ORDER = OutputField(name="sum", type=FieldType.LIST, ordered=True)
KEYED = OutputField(name="sum", type=FieldType.LIST, key="id")
JSON = OutputField(name="sum", type=FieldType.TEXT, compare=Compare.JSON)

NOISE = 0.1 + 0.2


def task(expected: JsonValue) -> Task:
    return Task(
        domain="till", id="1", line=2, hash="h", inputs={}, expected={"sum": expected}, results={}
    )


def returned_trace(value: object) -> Trace:
    return Trace(ending=Ending.RETURNED, returned=read_returned(value))


def verdict_on(
    returned: object, expected: JsonValue, field: OutputField = NUMBER, **rules: Any
) -> Verdict:
    return judge(JudgingRules(fields=(field,), **rules), task(expected), returned_trace(returned))


def is_right(value: object, expected: JsonValue, field: OutputField = NUMBER) -> bool:
    return verdict_on({"sum": value}, expected, field).correct


@pytest.mark.parametrize(
    ("value", "expected", "field"),
    [
        pytest.param(0.1 + 0.2 - 0.3, "0", NUMBER, id="nothing is left"),
        pytest.param(NOISE, "0.3", NUMBER, id="a sum"),
        pytest.param(NOISE, "0.30", NUMBER, id="written with a zero"),
        pytest.param(NOISE, 0.3, NUMBER, id="expected as a number"),
        pytest.param(-NOISE, "-0.3", NUMBER, id="below zero"),
        pytest.param(1.1 * 1.1 * 1e8, "121000000", NUMBER, id="a large product"),
        pytest.param(0.1 * 3 * 10, "3", WHOLE, id="an integer that was computed"),
        pytest.param(np.float64(NOISE), "0.3", NUMBER, id="of numpy"),
        pytest.param(Decimal("0.1") + Decimal("0.2"), "0.3", NUMBER, id="a decimal"),
        pytest.param([NOISE, 1], "[0.3, 1]", ITEMS, id="in a list"),
        pytest.param([1, NOISE], "0.3, 1", ITEMS, id="in a list in any order"),
        pytest.param([NOISE, NOISE], "[0.3, 0.3]", ITEMS, id="twice in a list"),
        pytest.param([[NOISE]], "[[0.3]]", IN_ORDER, id="in a list of lists"),
        pytest.param([{"id": 1, "n": NOISE}], '[{"id": 1, "n": 0.3}]', KEYED, id="by a key"),
        pytest.param({"n": NOISE}, '{"n": 0.3}', WORDS, id="in an object"),
        pytest.param({"n": [NOISE]}, '{"n": [0.3]}', JSON, id="in a document"),
        pytest.param(123456789012.0, "123456789012", NUMBER, id="an identifier of a table"),
    ],
)
def test_the_last_digits_of_a_float_do_not_decide(
    value: object, expected: JsonValue, field: OutputField
) -> None:
    assert is_right(value, expected, field)


@pytest.mark.parametrize(
    ("value", "expected", "field"),
    [
        pytest.param("0.30000000000000004", "0.3", NUMBER, id="a text"),
        pytest.param(["0.30000000000000004"], "[0.3]", ITEMS, id="a text in a list"),
        pytest.param(123456789013, "123456789012", NUMBER, id="an integer"),
        pytest.param(123456789013.0, "123456789012", NUMBER, id="an identifier as a float"),
        pytest.param(123456789012.5, "123456789012", NUMBER, id="half an identifier"),
        pytest.param([123456789013.0], "[123456789012]", ITEMS, id="an identifier in a list"),
        pytest.param(3.0, "3.0000000001", NUMBER, id="a float without decimals"),
        pytest.param([3.0, 0.5], "[3.0000000001, 0.5]", ITEMS, id="one of them beside another"),
        pytest.param(2**53 + 1, str(2**53), NUMBER, id="integers beyond floats"),
        pytest.param(120000000.1, "120000000", NUMBER, id="ten cents of many dollars"),
        pytest.param(1.0000001, "1", NUMBER, id="a tenth of a millionth"),
        pytest.param(1.5e-9, "1e-9", NUMBER, id="a small amount, half as much again"),
        pytest.param(0.0, "1e-9", NUMBER, id="zero for a small amount"),
        pytest.param(True, "1", NUMBER, id="true"),
        pytest.param(1, "true", OutputField(name="sum", type=FieldType.LIST), id="one for true"),
        pytest.param(float("nan"), "0", NUMBER, id="nan"),
        pytest.param(float("inf"), "1e300", NUMBER, id="infinity"),
        pytest.param(float("nan"), "0.3", ITEMS, id="nan in a list"),
        pytest.param([NOISE, NOISE], "[0.3]", ITEMS, id="an item too many"),
        pytest.param([NOISE, 1], "[1, 0.3]", IN_ORDER, id="another order"),
        pytest.param(NOISE, "0.3", WORDS, id="where a text is expected"),
        pytest.param(NOISE, "a third of it", NUMBER, id="where no number is expected"),
        pytest.param(np.float32(0.1), "0.1", NUMBER, id="half the digits"),
    ],
)
def test_what_is_more_than_noise_decides(
    value: object, expected: JsonValue, field: OutputField
) -> None:
    assert not is_right(value, expected, field)


@pytest.mark.parametrize(
    "text",
    ['{"sum": 0.30000000000000004}', "<sum>0.30000000000000004</sum>", "sum: 0.30000000000000004"],
)
def test_what_stands_in_a_text_is_exact(text: str) -> None:
    assert not verdict_on(text, "0.3").correct
    assert verdict_on(text, "0.30000000000000004").correct


def test_a_mismatch_tells_what_was_returned() -> None:
    verdict = verdict_on({"sum": [NOISE, 5]}, "[0.3, 6]", ITEMS)

    assert [[NOISE, 5]] == [one.actual for one in verdict.mismatches]
    assert "sum: list lacks 1, has 1 too many" == verdict.reason


def test_the_answer_is_kept_as_it_was_returned() -> None:
    answer = verdict_on({"sum": NOISE}, "0.3").answer

    assert answer is not None
    assert NOISE == answer["sum"]


@pytest.mark.parametrize("returned", [{"sum": NOISE}, '{"sum": 0.30000000000000004}'])
def test_a_session_that_is_judged_again_comes_to_the_same(returned: object) -> None:
    """A record keeps an answer alike, whether it was returned or stood in a text."""
    rules, trace = JudgingRules(fields=(NUMBER,)), returned_trace(returned)
    verdict = judge(rules, task("0.3"), trace)
    record = record_of(rules, task("0.3"), trace, verdict)

    again = rescore(Judges(before=rules, after=rules), task("0.3"), record, None)

    assert (verdict.outcome, "") == (again.record.outcome, again.why)


@pytest.mark.parametrize(
    ("returned", "outcome"),
    [
        pytest.param({"sum": [NOISE]}, Outcome.CORRECT, id="returned"),
        pytest.param('{"sum": [0.30000000000000004]}', Outcome.WRONG, id="in a text"),
        pytest.param({"sum": [0.3001]}, Outcome.WRONG, id="another number"),
    ],
)
def test_documents_are_compared_alike(returned: object, outcome: Outcome) -> None:
    rules = DocumentRules(schema={"type": "object", "properties": {"sum": {"type": "array"}}})

    assert outcome is verdict_on(returned, [0.3], document=rules).outcome


FINITE = st.floats(-1e12, 1e12)


@given(FINITE, st.floats(-1e-3, 1e-3))
def test_never_is_a_millionth_forgiven(number: float, off: float) -> None:
    value = number + off
    apart = abs(Decimal(repr(value)) - Decimal(repr(number)))
    allowed = min(Decimal("1e-6"), Decimal("1e-6") * abs(Decimal(repr(number))) or Decimal("1e-9"))

    if is_right(value, repr(number)):
        assert apart <= allowed


@given(st.floats(1e-3, 1e6), st.integers(-3, 3))
def test_the_nearest_floats_of_a_number_stand_for_it(number: float, steps: int) -> None:
    value = number
    for _ in range(abs(steps)):
        value = float(np.nextafter(value, value * 2 if steps > 0 else 0))

    assert value.is_integer() or is_right(value, repr(number))


@given(st.integers(), st.integers())
def test_integers_are_exact(one: int, other: int) -> None:
    assert is_right(one, str(other)) == (one == other)


# Numbers that differ by less than noise could stand for one another.
@given(st.lists(st.floats(-1e6, 1e6).map(lambda one: round(one, 6)), max_size=6), st.randoms())
def test_a_list_of_sums_is_the_list_that_was_meant(numbers: list[float], random: Any) -> None:
    noisy = [float(np.nextafter(one, 2e6)) if abs(one) > 1e-3 else one for one in numbers]
    meant = [one for one, value in zip(numbers, noisy, strict=True) if not value.is_integer()]
    given_values = [one for one in noisy if not one.is_integer()]
    random.shuffle(given_values)

    assert is_right(given_values, list(meant), ITEMS)
