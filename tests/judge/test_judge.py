"""One question, one price: judgements are kept, shared in flight, and never made up."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from model_judge import Asked, Says, judge_of, judgement_text, question, replied, yes

from pytest_sopbench._judge.asking import LONGEST, Judgement, Question
from pytest_sopbench._judge.calibrating import summary_lines
from pytest_sopbench._judge.judge import JudgeSetting, ModelJudge, fingerprint_of
from pytest_sopbench._judge.keeping import CHANGED, MISQUOTED, ConsumptionLog, read_log
from pytest_sopbench.agents import Reply
from pytest_sopbench.errors import NotJudgedError


def test_a_question_is_asked_once_and_never_again_by_a_later_session(folder: Path) -> None:
    first, second = Asked(), Asked()

    before = judge_of(folder, first).judge(question())
    after = judge_of(folder, second).judge(question())

    assert (1, 0) == (len(first.questions), len(second.questions))
    assert before == after


class Gate:
    """A model that says nothing until somebody lets it, and then what it is told."""

    def __init__(self, says: Says = yes) -> None:
        self.says = says
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, asked: Question) -> Reply:
        self.begun.set()
        assert self.goes_on.wait(60)
        return self.says(asked)


def in_flight(judge: ModelJudge, gate: Gate, number: int) -> list[object]:
    """Ask the same so many times, all of them before the first one has its reply."""

    def one(_: int) -> object:
        try:
            return judge.judge(question())
        except Exception as error:  # noqa: BLE001 - what it raises is what is looked at
            return error

    with ThreadPoolExecutor(number) as pool:
        asked = [pool.submit(one, n) for n in range(number)]
        assert gate.begun.wait(60)
        gate.goes_on.set()
        return [one.result(60) for one in asked]


def test_sixty_four_equal_questions_in_flight_are_one(folder: Path) -> None:
    gate = Gate()
    asked = Asked(gate)

    found = in_flight(judge_of(folder, asked), gate, 64)

    assert 1 == len(asked.questions)
    assert [Judgement(held=True, reason="because", quote="We refund it.")] * 64 == found


def test_a_failed_judgement_is_no_pass_for_any_of_them_and_asked_again_later(folder: Path) -> None:
    gate = Gate(lambda _: replied("I would say yes."))
    asked = Asked(gate)
    judge = judge_of(folder, asked)

    found = in_flight(judge, gate, 4)

    assert {NotJudgedError} == {type(one) for one in found}
    asked.says = yes
    assert judge.judge(question()).held


def test_one_that_is_interrupted_takes_nothing_from_those_that_wait(folder: Path) -> None:
    def interrupted(_: Question) -> Reply:
        asked.says = yes
        raise KeyboardInterrupt

    gate = Gate(interrupted)
    asked = Asked(gate)
    judge = judge_of(folder, asked)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(judge.judge, question())
        assert gate.begun.wait(60)
        second = pool.submit(judge.judge, question())
        gate.goes_on.set()

        assert second.result(60).held
        assert isinstance(first.exception(60), KeyboardInterrupt)
    assert 2 == len(asked.questions)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"rubric": "It is short."}, id="rubric"),
        pytest.param({"field": "reason"}, id="field"),
        pytest.param({"expected": "Refused"}, id="expected"),
        pytest.param({"actual": "We refuse it."}, id="actual"),
    ],
)
def test_another_question_has_a_judgement_of_its_own(folder: Path, other: dict[str, str]) -> None:
    asked = Asked()
    judge = judge_of(folder, asked)

    judge.judge(question())
    judge.judge(question(**other))

    assert 2 == len(asked.questions)


def test_another_model_setting_or_rubric_is_another_judge() -> None:
    one = JudgeSetting(model="openai/m", parameters={"temperature": "0"})
    others = [
        (JudgeSetting(model="openai/n", parameters={"temperature": "0"}), "r"),
        (JudgeSetting(model="openai/m", parameters={"temperature": "1"}), "r"),
        (JudgeSetting(model="openai/m", parameters={"temperature": "0"}, server="http://x"), "r"),
        (one, "another"),
    ]

    prints = {fingerprint_of(setting, rubric) for setting, rubric in [(one, "r"), *others]}

    assert 5 == len(prints)
    assert fingerprint_of(one, "r") == fingerprint_of(one, "r")


@pytest.mark.parametrize(
    ("expected", "held"), [("Refunded", False), ("", True), ("n/a", True)], ids=str
)
def test_an_empty_answer_is_judged_without_a_model(folder: Path, expected: str, held: bool) -> None:
    asked = Asked()

    judgement = judge_of(folder, asked).judge(question("none", expected=expected))

    assert (held, []) == (judgement.held, asked.questions)


def torn(text: str) -> str:
    return text[: len(text) // 2]


def sealed(**changed: object) -> Callable[[str], str]:
    """Return what changes a judgement as somebody would who computes its checksum anew."""

    def change(text: str) -> str:
        data = {**json.loads(text), **changed}
        del data["crc"]
        written = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return json.dumps({**data, "crc": f"{crc32(written.encode()):08x}"})

    return change


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(torn, id="torn"),
        pytest.param(lambda _: "", id="empty"),
        pytest.param(lambda text: "\0" * len(text), id="zeros"),
        pytest.param(lambda _: "[]", id="a-list"),
        pytest.param(lambda _: "[" * 100_000, id="bottomless"),
        pytest.param(sealed(key="0" * 64), id="of-another-question"),
        pytest.param(lambda text: text.replace("true", '"true"'), id="held-as-text"),
        pytest.param(lambda text: text.replace('"schema": 1', '"schema": 9'), id="newer"),
    ],
)
def test_a_damaged_judgement_is_asked_for_again_and_mended(folder: Path, damage: Any) -> None:
    judge_of(folder, Asked()).judge(question())
    (path,) = folder.glob("??/*.json")
    whole = path.read_text()
    path.write_text(damage(whole))
    asked = Asked()

    judgement = judge_of(folder, asked).judge(question())

    assert judgement.held
    assert 1 == len(asked.questions)
    assert whole == path.read_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(lambda text: text.replace("false", "true"), CHANGED, id="held"),
        pytest.param(lambda text: text.replace("because", "of course"), CHANGED, id="reason"),
        pytest.param(lambda text: text.replace("refuse", "refund"), CHANGED, id="quote"),
        pytest.param(sealed(held=True, quote="We refund it."), MISQUOTED, id="sealed-quote"),
        pytest.param(sealed(held=True, quote=""), MISQUOTED, id="sealed-without-a-quote"),
    ],
)
def test_a_kept_judgement_that_was_changed_is_not_believed_and_said_to_be(
    folder: Path, change: Callable[[str], str], told: str
) -> None:
    no = Asked(lambda asked: replied(judgement_text(held=False, quote=asked.actual)))
    judge_of(folder, no).judge(question("We refuse it."))
    (path,) = folder.glob("??/*.json")
    path.write_text(change(path.read_text()))
    judge = judge_of(folder, no)

    judgement = judge.judge(question("We refuse it."))

    assert not judgement.held
    assert 2 == len(no.questions)
    assert (told,) == read_log(judge.log.path).notes


@pytest.mark.parametrize("answer", ["We refund it, hunter2.", "\ud800 we refund it"])
def test_a_quote_that_is_written_otherwise_than_it_was_is_found_again(
    folder: Path, answer: str
) -> None:
    def mask(text: str) -> str:
        return text.replace("hunter2", "***")

    asked = Asked()

    judge_of(folder, asked, mask).judge(question(answer))
    again = judge_of(folder, asked, mask).judge(question(answer))

    assert again.held
    assert 1 == len(asked.questions)


def test_a_kept_judgement_of_any_length_is_printed_in_a_few_lines(folder: Path) -> None:
    judge = judge_of(folder, Asked())
    judge.judge(question())
    (path,) = folder.glob("*/*.json")
    path.write_text(sealed(reason="x" * 1_000_000)(path.read_text()))

    judgement = judge_of(folder, Asked()).judge(question())

    assert judgement.held
    assert len(judgement.reason) < LONGEST + 40


def test_a_disk_that_takes_nothing_costs_money_and_no_judgement(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file, and no folder")
    judge = judge_of(taken, Asked())
    judge.log = ConsumptionLog(tmp_path / "one.jsonl")

    judgement = judge.judge(question())

    assert judgement.held
    assert (f"judgements could not be kept in {taken}",) == read_log(judge.log.path).notes


def test_only_what_was_there_before_is_kept_from_before(folder: Path) -> None:
    """Also where another process of the session has asked it, so that it lies on disk."""
    earlier, asking, finding = (judge_of(folder, Asked()) for _ in range(3))
    earlier.judge(question())
    earlier.log.path.unlink()

    asking.judge(question())
    asking.judge(question("We refund half."))
    finding.judge(question("We refund half."))

    found = read_log(asking.log.path)
    assert (1, 1, 1) == (found.asked, found.kept, found.repeated)
    assert 3 == found.questions
    assert asking.log.path == finding.log.path


def test_what_a_model_refused_to_take_is_said_once(folder: Path) -> None:
    asked = Asked()
    asked.left_out = frozenset({"temperature"})
    judge = judge_of(folder, asked)

    judge.judge(question())
    judge.judge(question("We refuse it."))

    found = read_log(judge.log.path)
    assert ("asked without temperature, which the model refuses",) == found.notes
    assert "       asked without temperature, which the model refuses" in summary_lines({}, found)


def test_secrets_are_masked_in_what_is_written_and_nothing_else_of_the_texts_is(
    folder: Path,
) -> None:
    judge = judge_of(folder, Asked(), mask=lambda text: text.replace("hunter2", "***"))

    judge.judge(question("We refund it, hunter2.", expected="hunter2 refunded"))

    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).decode()
    assert "We refund it, ***." in written
    assert "hunter2" not in written
    assert "refunded" not in written


def test_what_was_asked_is_counted_with_what_it_consumed(folder: Path) -> None:
    def quotes_something_else(_: Question) -> Reply:
        return replied(judgement_text(held=True, quote="elsewhere"))

    asked = Asked()
    judge = judge_of(folder, asked)
    judge.judge(question())
    judge.judge(question())
    asked.says = quotes_something_else
    with pytest.raises(NotJudgedError):
        judge.judge(question("We refuse it."))
    with judge.log.path.open("ab") as log:
        log.write(b'{"what": "ask')

    found = read_log(judge.log.path)

    assert (2, 1, 0, 1) == (found.asked, found.failed, found.kept, found.repeated)
    assert (200, 40, 2) == (
        found.usage.input_tokens,
        found.usage.output_tokens,
        found.usage.model_calls,
    )


def test_the_order_of_the_two_texts_is_drawn_by_their_content() -> None:
    first = [question(f"We refund {n}.").expected_first for n in range(200)]

    assert 60 < sum(first) < 140
    assert first == [question(f"We refund {n}.").expected_first for n in range(200)]
