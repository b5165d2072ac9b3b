"""Every outcome, from values: how a trace becomes a verdict."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench import Outcome, OutputField, Task, ToolCall, Trace, Verdict
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.answers.published import NOT_FOUND
from pytest_sopbench._core.availability import is_unavailable
from pytest_sopbench._core.contract import (
    AllOf,
    AnyOf,
    Contract,
    Operator,
    Rule,
    Severity,
    Source,
    ValueCondition,
)
from pytest_sopbench._core.demands import AtMost, Forbids
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import JudgingRules, rules_fingerprint
from pytest_sopbench._core.fields.values import infer_field, value_key
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Compare, FieldType, Scoring
from pytest_sopbench._core.model.trace import Ending, Problem
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import Unavailable

BERTH = OutputField(name="berth", type=FieldType.ENUM, values=("Berth A", "Berth D"))
FEE = OutputField(name="fee", type=FieldType.NUMBER)
RULES = JudgingRules(fields=(BERTH, FEE))
PUBLISHED = JudgingRules(fields=(BERTH, FEE), scoring=Scoring.PUBLISHED)


def task(
    expected: Mapping[str, JsonValue] | None = None,
    acceptable: tuple[Mapping[str, JsonValue], ...] = (),
) -> Task:
    return Task(
        domain="harbour",
        id="H1",
        line=2,
        inputs={},
        expected=expected or {"berth": "Berth D", "fee": "12.50"},
        results={},
        acceptable=acceptable,
        hash="h",
    )


def returned(value: object) -> Trace:
    return Trace(ending=Ending.RETURNED, returned=read_returned(value))


@pytest.mark.parametrize(
    ("trace", "outcome", "reason"),
    [
        pytest.param(None, Outcome.NOT_RUN, "it was never started", id="no-trace"),
        pytest.param(
            Trace(ending=Ending.PROCESS_DIED),
            Outcome.CRASH,
            "the process that ran it died",
            id="died",
        ),
        pytest.param(
            Trace(ending=Ending.TIMED_OUT, duration=600.0),
            Outcome.TIMEOUT,
            "still running after 600 s",
            id="timed-out",
        ),
        pytest.param(
            Trace(ending=Ending.OVER_LIMIT, calls=(ToolCall(name="t", arguments={}),)),
            Outcome.CALL_LIMIT,
            "passed its limit of tool calls, after 1",
            id="over-limit",
        ),
        pytest.param(
            Trace(ending=Ending.RAISED, problem=Problem(type="ValueError", message="bad\nthing")),
            Outcome.ERROR,
            "ValueError: bad thing",
            id="raised",
        ),
        pytest.param(Trace(ending=Ending.RAISED), Outcome.ERROR, "the agent raised", id="unsaid"),
        pytest.param(
            Trace(ending=Ending.UNAVAILABLE, problem=Problem(type="x.Busy", message="m" * 999)),
            Outcome.UNAVAILABLE,
            f"x.Busy: {'m' * 149}...",
            id="unavailable",
        ),
        pytest.param(
            returned({"output": None, "success": False}),
            Outcome.ERROR,
            "the agent said that it failed: success is False",
            id="said-that-it-failed",
        ),
        pytest.param(
            Trace(ending=Ending.RETURNED), Outcome.NO_ANSWER, "the agent returned None", id="lost"
        ),
        pytest.param(returned(None), Outcome.NO_ANSWER, "the agent returned None", id="none"),
        pytest.param(returned(""), Outcome.NO_ANSWER, "the text is empty", id="empty-text"),
        pytest.param(
            returned({"berth": "Berth D"}),
            Outcome.NO_ANSWER,
            "the mapping that was returned gave no fee",
            id="field-missing",
        ),
        pytest.param(
            returned({"berth": "A", "fee": 12.05}),
            Outcome.WRONG,
            "berth: not a known label; fee: number off by 0.45",
            id="wrong",
        ),
        pytest.param(
            returned({"berth": "berth_d", "fee": 12.5}), Outcome.CORRECT, "", id="correct"
        ),
    ],
)
def test_a_run_ends_in_one_outcome(trace: Trace | None, outcome: Outcome, reason: str) -> None:
    verdict = judge(RULES, task(), trace)

    assert (outcome, reason) == (verdict.outcome, verdict.reason)
    assert verdict.completed == (outcome in {Outcome.CORRECT, Outcome.WRONG})
    assert bool(verdict.mismatches) == (outcome is Outcome.WRONG)


@pytest.mark.parametrize("ending", [one for one in Ending if one is not Ending.RETURNED])
def test_an_answer_of_a_run_that_did_not_return_never_counts(ending: Ending) -> None:
    trace = Trace(ending=ending, returned=read_returned({"berth": "Berth D", "fee": 12.5}))

    assert not judge(RULES, task(), trace).completed


def test_a_further_acceptable_answer_is_correct() -> None:
    both = task(acceptable=({"berth": "Berth A"}, {"berth": "Berth A", "fee": 1}))

    assert judge(RULES, both, returned({"berth": "Berth A", "fee": 12.5})).correct
    assert judge(RULES, both, returned({"berth": "Berth A", "fee": 1})).correct
    wrong = judge(RULES, both, returned({"berth": "Berth D", "fee": 1}))
    assert ["fee"] == [mismatch.field for mismatch in wrong.mismatches]


def test_a_field_may_ask_for_any_value_or_for_none() -> None:
    rules = JudgingRules(
        fields=(
            OutputField(name="berth", type=FieldType.TEXT, compare=Compare.PRESENT),
            OutputField(name="fee", type=FieldType.NUMBER, compare=Compare.IGNORE),
        )
    )

    assert judge(rules, task(), returned({"berth": "somewhere"})).correct
    assert Outcome.WRONG is judge(rules, task(), returned({"berth": ""})).outcome
    assert Outcome.NO_ANSWER is judge(rules, task(), returned({"fee": 3})).outcome


def test_a_field_that_nobody_compared_is_neither_right_nor_wrong() -> None:
    rules = JudgingRules(fields=(BERTH, replace(FEE, compare=Compare.CALL, comparer="lab:fee")))

    verdict = judge(rules, task(), returned({"berth": "Berth D", "fee": 12.5}))

    assert (Outcome.UNAVAILABLE, "not judged: fee: nobody was asked") == (
        verdict.outcome,
        verdict.reason,
    )


def test_an_empty_expected_value_asks_for_an_explicit_empty() -> None:
    expected = {"berth": "", "fee": 1}

    assert judge(RULES, task(expected), returned({"berth": None, "fee": 1})).correct
    assert judge(RULES, task(expected), returned("Berth: n/a\nFee: 1")).correct
    assert Outcome.NO_ANSWER is judge(RULES, task(expected), returned({"fee": 1})).outcome


def test_a_field_called_success_is_an_answer() -> None:
    rules = JudgingRules(fields=(OutputField(name="success", type=FieldType.BOOLEAN),))

    assert judge(rules, task({"success": "False"}), returned({"success": False})).correct


SOP = "Say where the ship goes.\r\nExample: \r\n<berth>Berth D</berth> <fee>12.50</fee>\r\n"
SAID = "<berth>Berth A</berth> <fee>1</fee>"


@pytest.mark.parametrize(
    "sop", [pytest.param(SOP, id="windows"), pytest.param(SOP.replace("\r\n", "\n"), id="unix")]
)
def test_the_example_of_a_pasted_sop_is_no_answer(sop: str) -> None:
    rules = JudgingRules(fields=(BERTH, FEE), sop=SOP)

    pasted = judge(rules, task(), returned(f"I was told: {sop}"))
    answered = judge(rules, task({"berth": "Berth A", "fee": 1}), returned(f"{SAID}\n{sop}"))

    assert pasted.reason.startswith("no answer was found in the text; mark it: <berth>")
    assert answered.correct
    told = sop.replace("Example", "Answer")
    assert judge(JudgingRules(fields=(BERTH, FEE)), task(), returned(told)).correct


def test_a_sop_of_few_words_that_is_pasted_whole_is_no_answer() -> None:
    short = "Say <berth>Berth D</berth> <fee>12.50</fee>"
    rules = JudgingRules(fields=(BERTH, FEE), sop=short)

    pasted = judge(rules, task(), returned(f"I was told: {short}"))

    assert pasted.reason.startswith("no answer was found in the text; mark it: <berth>")


def test_a_line_of_the_sop_is_an_answer() -> None:
    rules = JudgingRules(fields=(BERTH, FEE), sop=SOP)

    assert judge(rules, task(), returned("<berth>Berth D</berth> <fee>12.50</fee>")).correct


def test_the_reason_names_a_private_field_and_not_its_value() -> None:
    rules = JudgingRules(fields=(OutputField(name="fee", type=FieldType.NUMBER, private=True),))

    assert "fee: different" == judge(rules, task({"fee": 12345}), returned({"fee": 678})).reason


@pytest.mark.parametrize(
    ("value", "outcome", "only_published"),
    [
        pytest.param({"berth": "D", "fee": 12.5}, Outcome.CORRECT, True, id="part-of-the-label"),
        pytest.param(
            {"berth": "Berth D", "fee": "12.50"}, Outcome.CORRECT, False, id="the-label-itself"
        ),
        pytest.param({"berth": "A", "fee": "12.50"}, Outcome.WRONG, False, id="other-label"),
        pytest.param("no answer", Outcome.WRONG, False, id="unknown"),
        pytest.param(None, Outcome.WRONG, False, id="none"),
        pytest.param({"output": None, "error": "x"}, Outcome.ERROR, False, id="said-it-failed"),
    ],
)
def test_by_the_published_rules_a_run_that_returned_is_complete(
    value: Any, outcome: Outcome, only_published: bool
) -> None:
    verdict = judge(PUBLISHED, task(), returned(value))

    assert (outcome, only_published) == (verdict.outcome, verdict.only_published)
    assert bool(verdict.reason) == (outcome is not Outcome.CORRECT or only_published)


def test_by_the_published_rules_a_field_that_is_not_there_is_no_empty_one() -> None:
    nothing_due = task({"berth": "Berth D", "fee": ""})

    said = judge(PUBLISHED, nothing_due, returned({"berth": "Berth D", "fee": None}))
    left_out = judge(PUBLISHED, nothing_due, returned({"berth": "Berth D"}))

    assert said.correct
    assert [("fee", NOT_FOUND)] == [(one.field, one.why) for one in left_out.mismatches]


def test_an_unknown_label_is_matched_by_an_answer_that_is_not_found() -> None:
    """As in the published scorer, which this measures."""
    rules = JudgingRules(fields=(BERTH,), scoring=Scoring.PUBLISHED)

    assert judge(rules, task({"berth": "unknown"}), returned("so " * 40)).only_published


# Never fooled: labels against one another, and against what agents say instead of an answer.
#
# Labels are those of the domains under `SOPBENCH_DATA`, and of a small one of our own, which is
# there without it. `SOPBENCH_FUZZ` sets the number of texts of the fuzz run.

FUZZ = int(os.environ.get("SOPBENCH_FUZZ", "1000"))
DATA = os.environ.get("SOPBENCH_DATA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One output field with the cells of its column, and the SOP that it belongs to."""

    name: str
    field: OutputField
    cells: tuple[str, ...]
    sop: str

    @property
    def labels(self) -> list[str]:
        return sorted(set(self.cells))


def _column(domain: str, name: str, cells: Sequence[str], sop: str) -> Column:
    return Column(
        name=f"{domain}-{name}", field=infer_field(name, cells), cells=tuple(cells), sop=sop
    )


def _own() -> Iterator[Column]:
    sop = "Ships with livestock go to North Quay.\nEnd with <berth>North Quay</berth>\nfee: 125\n"
    labels = ["North Quay", "South Quay", "Quay", "Turn Away", "Not Turn Away", "D", "DD", ""]
    yield _column("harbour", "berth", labels * 8, sop)
    yield _column("harbour", "fee", ["12.50", "12.05", "125", "0", "-1"], sop)
    yield _column("harbour", "pilot", ["yes", "no"] * 4, sop)
    yield _column("harbour", "cargo", ["['a']", "['a', 'b']", "[]"] * 2, sop)
    yield _column("harbour", "due", ["2026-01-31", "2026-01-30T23:00:00Z"], sop)


def _public() -> Iterator[Column]:
    for folder in sorted(Path(DATA, "sop_bench").iterdir()) if DATA else ():
        names = json.loads((folder / "metadata.json").read_text("utf-8"))["output_columns"]
        sop = (folder / "sop.txt").read_text("utf-8")
        with (folder / "test_set_with_outputs.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for name in names:
            yield _column(folder.name, name, [row[name] for row in rows], sop)


COLUMNS = [pytest.param(column, id=column.name) for column in (*_own(), *_public())]
EVERY_COLUMN = pytest.mark.parametrize("column", COLUMNS)


def verdict_on(column: Column, expected: str, said: object) -> Verdict:
    task = Task(
        domain="d",
        id="1",
        line=2,
        inputs={},
        expected={column.field.name: expected},
        results={},
        hash="h",
    )
    trace = Trace(ending=Ending.RETURNED, returned=read_returned(said))
    return judge(JudgingRules(fields=(column.field,), sop=column.sop), task, trace)


def correct(column: Column, expected: str, said: object) -> bool:
    return verdict_on(column, expected, said).correct


def renderings(name: str, label: str) -> list[object]:
    return [
        {name: label},
        f"<{name}>{label}</{name}>",
        json.dumps({name: label}),
        repr({name: label}),
        f"<final_output>{json.dumps({name: label})}</final_output>",
        f"<final_decision>{label}</final_decision>",
        f"{name}: {label}",
        label,
    ]


@pytest.mark.skipif(not DATA, reason="SOPBENCH_DATA names no folder with the public domains")
def test_the_public_domains_are_among_the_columns() -> None:
    assert {"customer_service", "dangerous_goods", "patient_intake"} <= {
        column.name.partition("-")[0] for column in _public()
    }


@EVERY_COLUMN
def test_a_label_is_right_for_itself_and_wrong_for_every_other(column: Column) -> None:
    for expected in column.labels:
        wanted = value_key(column.field, expected)
        for given in column.labels:
            same = wanted == value_key(column.field, given)
            for said in renderings(column.field.name, given):
                assert same or not correct(column, expected, said), (expected, said)
        assert correct(column, expected, {column.field.name: expected})


@EVERY_COLUMN
def test_what_only_resembles_an_answer_is_never_correct(column: Column) -> None:
    name, labels = column.field.name, [label for label in column.labels if label]
    # A label of one letter, and a whole SOP that is a label, would be right.
    letters = [one for one in "abcdefghijklmnopqrstuvwxyz" if one not in map(str.lower, labels)]
    everything = ", ".join(labels)
    for expected in labels:
        negated = [f"not {expected}", f"un{expected}", f"not_{expected}"]
        cheats = [*letters, everything, column.sop, "unknown", *set(negated) - set(labels)]
        for cheat in cheats if len(labels) > 1 else ():
            if value_key(column.field, cheat) == value_key(column.field, expected):
                continue
            for said in renderings(name, cheat):
                assert not correct(column, expected, said), (expected, said)
        # No list and an empty list say the same where a list is asked for.
        silent = [] if expected == "[]" else [{name: None}, {name: ""}, f"<{name}></{name}>"]
        for nothing in (None, "", {}, *silent, [], 0):
            assert not correct(column, expected, nothing), (expected, nothing)


HOLE = "\0"
SKELETONS = [
    f"<@>{HOLE}</@>", f'{{"@": "{HOLE}"}}', f"{{'@': '{HOLE}'}}", f"@: {HOLE}", HOLE,
    f'<final_output>{{"@": "{HOLE}"}}</final_output>', f"<final_decision>{HOLE}</final_decision>",
    f"- **@:** {HOLE}", f'```json\n{{"why": "x", "@": "{HOLE}"}}\n```', f"<@>`{HOLE}`",
    f"<response>\n<@>\n{HOLE}\n</@></response>", f"<think>{HOLE}</think><@>{HOLE}</@>",
]  # fmt: skip
NOISE = ["{", "}", '"', "'", "<", ">", "</@>", "<@>", "\n", "`", "*", "&amp;", "\u200b", "\u00a0",
         "<think>", "</think>", ":", "<@/>", "@: ", "[", "]", "\\", "prose. ", ","]  # fmt: skip


def _mutated(text: str, chance: random.Random) -> str:
    """Change what stands around the holes; what stands in them is put there afterwards."""
    for _ in range(chance.randrange(6)):
        place = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text = text[:place] + chance.choice(NOISE) + text[place:]
            case 1:
                text = text[:place] + text[place + 1 :]
            case 2:
                text = f"{text}{chance.choice(['', chr(10), ' '])}{chance.choice(SKELETONS)}"
            case _:
                text = text[:place].swapcase() + text[place:]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_no_mutation_of_a_wrong_answer_is_correct(seed: int) -> None:
    """A seed fixes the texts, so that a failure can be seen again."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is secret
    columns = [column for column in (*_own(), *_public()) if column.field.values]
    completed = 0
    for _ in range(FUZZ // 4):
        column = chance.choice(columns)
        expected = chance.choice([label for label in column.labels if label])
        key = value_key(column.field, expected)
        others = [label for label in column.labels if value_key(column.field, label) != key]
        # Noise is never a part of a label, so only whole other labels are said.
        wrong = chance.choice([label for label in others if label] or ["elsewhere"])
        text = _mutated(chance.choice(SKELETONS), chance).replace("@", column.field.name)

        said = text.replace(HOLE, chance.choice([wrong, wrong.upper(), f" {wrong} "]))

        verdict = verdict_on(column, expected, said)
        completed += verdict.completed
        assert not verdict.correct, (expected, said)

    # Else the mutations would only hide the answers, and nothing would be shown.
    assert completed > FUZZ // 4 // 3


# Two sessions have the same judging hash exactly when answers are judged alike.

BUNDLED = Path(pytest_sopbench.__file__).parent / "bundled"

HAZARD = OutputField(name="hazard", type=FieldType.ENUM, values=("A", "D"), aliases={"d": "D"})
REFUND = OutputField(name="refund", type=FieldType.NUMBER, tolerance=0.01)
RULES_OF_JUDGING_HASH = JudgingRules(fields=(HAZARD, REFUND))


def hash_of(*fields: OutputField, scoring: Scoring = Scoring.EXACT) -> str:
    return rules_fingerprint({"domain": JudgingRules(fields=fields, scoring=scoring)})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(HAZARD, type=FieldType.TEXT), id="type"),
        pytest.param(replace(HAZARD, aliases={"d": "A"}), id="aliases"),
        pytest.param(replace(HAZARD, tolerance=0.5), id="tolerance"),
        pytest.param(replace(HAZARD, ordered=True), id="order"),
        pytest.param(replace(HAZARD, compare=Compare.PRESENT), id="compare"),
        pytest.param(replace(HAZARD, name="class"), id="name"),
    ],
)
def test_what_decides_a_match_changes_the_hash(other: OutputField) -> None:
    assert hash_of(HAZARD, REFUND) != hash_of(other, REFUND)


ASKED = replace(HAZARD, compare=Compare.CALL, comparer="lab:same", at_least=0.5)


def compared_hash(field: OutputField, version: str) -> str:
    rules = JudgingRules(fields=(field,), comparers={field.name: version})
    return rules_fingerprint({"domain": rules})


def test_another_version_of_a_comparer_changes_the_hash() -> None:
    assert compared_hash(ASKED, "version 1") == compared_hash(ASKED, "version 1")
    assert compared_hash(ASKED, "version 1") != compared_hash(ASKED, "version 2")


def test_the_score_from_which_on_a_value_is_right_changes_the_hash() -> None:
    stricter = replace(ASKED, at_least=0.9)

    assert compared_hash(ASKED, "version 1") != compared_hash(stricter, "version 1")


def test_scoring_changes_the_hash() -> None:
    assert hash_of(HAZARD) != hash_of(HAZARD, scoring=Scoring.PUBLISHED)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(HAZARD, values=("A", "B", "D")), id="labels seen in the rows"),
        pytest.param(replace(HAZARD, declared=True), id="declared"),
        pytest.param(replace(HAZARD, private=True), id="private"),
    ],
)
def test_what_decides_no_match_leaves_the_hash(other: OutputField) -> None:
    assert hash_of(HAZARD) == hash_of(other)


def test_another_reader_of_markdown_changes_the_hash_unless_the_answer_is_a_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = JudgingRules(fields=(), document=DocumentRules(schema={"type": "object"}))
    before = hash_of(HAZARD), rules_fingerprint({"domain": document})
    monkeypatch.setattr("pytest_sopbench._core.domain._markdown_version", lambda: "99")

    assert before[0] != hash_of(HAZARD)
    assert before[1] == rules_fingerprint({"domain": document})


def test_the_order_of_domains_and_fields_means_nothing() -> None:
    backwards = JudgingRules(fields=RULES_OF_JUDGING_HASH.fields[::-1])

    assert rules_fingerprint({"a": RULES_OF_JUDGING_HASH, "b": backwards}) == rules_fingerprint(
        {"b": RULES_OF_JUDGING_HASH, "a": RULES_OF_JUDGING_HASH}
    )


def test_the_hash_is_the_same_in_every_process() -> None:
    program = (
        "from pytest_sopbench._core.domain import rules_fingerprint as h\n"
        "from pytest_sopbench._core.domain import JudgingRules\n"
        "from pytest_sopbench._core.model.task import *\n"
        "field = OutputField(name='hazard', type=FieldType.ENUM, aliases={'d': 'D', 'a': 'A'})\n"
        "print(h({'domain': JudgingRules(fields=(field,))}))"
    )

    hashes = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(hashes) == 1
    assert len(hashes.pop().strip()) == 64


SMALL = ValueCondition(source=Source.INPUT, name="amount", bounds=((Operator.BELOW, 5),))
ONCE = Rule(id="once", clause="1", demand=AtMost(limits={"a": 1, "b": 2}))
NONE = Rule(id="none", demand=Forbids(tools=("c",)), when=AllOf(conditions=(SMALL,)))


def contract_hash(*rules: Rule) -> str:
    return rules_fingerprint({"d": replace(RULES_OF_JUDGING_HASH, contract=Contract(rules=rules))})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((ONCE,), id="one rule less"),
        pytest.param((replace(ONCE, severity=Severity.MUST), NONE), id="severity"),
        pytest.param((replace(ONCE, demand=AtMost(limits={"a": 2, "b": 2})), NONE), id="demand"),
        pytest.param((replace(ONCE, id="two"), NONE), id="id"),
        pytest.param((ONCE, replace(NONE, when=AnyOf(conditions=(SMALL,)))), id="any for all"),
        pytest.param((ONCE, replace(NONE, when=None)), id="no condition"),
    ],
)
def test_what_a_rule_asks_changes_the_hash(other: tuple[Rule, ...]) -> None:
    assert contract_hash(ONCE, NONE) != contract_hash(*other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((NONE, ONCE), id="the order of rules"),
        pytest.param((replace(ONCE, clause="9"), NONE), id="the clause it cites"),
        pytest.param((replace(ONCE, demand=AtMost(limits={"b": 2, "a": 1})), NONE), id="order"),
    ],
)
def test_what_a_rule_does_not_ask_leaves_the_hash(other: tuple[Rule, ...]) -> None:
    assert contract_hash(ONCE, NONE) == contract_hash(*other)


def test_a_contract_without_rules_is_judged_as_none_is() -> None:
    assert rules_fingerprint({"d": RULES_OF_JUDGING_HASH}) == contract_hash()


@pytest.mark.parametrize(
    ("name", "known"),
    [("dangerous_goods", "cff6622c79f28fe6"), ("patient_intake", "39737c0c100ae443")],
)
def test_a_domain_keeps_the_hash_by_which_older_baselines_know_it(
    name: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their rules have conditions. A change of the rules themselves makes another hash."""
    monkeypatch.setattr("pytest_sopbench._core.domain._markdown_version", lambda: "4.0.0")
    domain = load_domain(BUNDLED / name)
    rules = JudgingRules(fields=domain.fields, contract=domain.contract)

    assert known == rules_fingerprint({name: rules})[:16]


# Unavailability, told by the real exceptions of real packages, also as causes.


def _openai(name: str, status: int) -> BaseException:
    openai = pytest.importorskip("openai")
    httpx = _httpx()
    request = httpx.Request("POST", "https://example.invalid/v1")
    response = httpx.Response(status, request=request)
    error: BaseException = getattr(openai, name)("said", response=response, body=None)
    return error


def _openai_connection(name: str) -> BaseException:
    openai = pytest.importorskip("openai")
    request = _httpx().Request("POST", "https://example.invalid/v1")
    error: BaseException = getattr(openai, name)(request=request)
    return error


def _validation(package: str) -> BaseException:
    """What both SDKs raise where a reply is none, if they are asked to be strict."""
    module = pytest.importorskip(package)
    name = module.APIConnectionError.__init__.__annotations__["request"].partition(".")[0]
    http = pytest.importorskip(name)
    response = http.Response(200, request=http.Request("POST", "https://example.invalid/v1"))
    error: BaseException = module.APIResponseValidationError(response=response, body=None)
    return error


def _of_botocore_parsers() -> BaseException:
    error: BaseException = pytest.importorskip("botocore.parsers").ResponseParserError("no XML")
    return error


def _openai_in_a_stream(code: object) -> BaseException:
    openai = pytest.importorskip("openai")
    request = _httpx().Request("POST", "https://example.invalid/v1")
    error: BaseException = openai.APIError("said", request=request, body={"code": code})
    return error


def _httpx() -> Any:
    openai = pytest.importorskip("openai")
    name = openai.APIConnectionError.__init__.__annotations__["request"].partition(".")[0]
    return pytest.importorskip(name)


def _client_error(code: str, status: int = 400) -> BaseException:
    botocore = pytest.importorskip("botocore.exceptions")
    response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error: BaseException = botocore.ClientError(response, "Converse")
    return error


def _botocore(name: str) -> BaseException:
    botocore = pytest.importorskip("botocore.exceptions")
    error: BaseException = getattr(botocore, name)(
        endpoint_url="https://example.invalid", error="gone", request=None, proxy_url="p"
    )
    return error


def _of(package: str, name: str, *arguments: object, **options: object) -> BaseException:
    module = pytest.importorskip(package)
    error: BaseException = getattr(module, name)(*arguments, **options)
    return error


Make = Callable[[], BaseException]

UNAVAILABLE: list[tuple[str, Make]] = [
    ("our-own", lambda: Unavailable("overloaded")),
    ("openai-rate-limit", lambda: _openai("RateLimitError", 429)),
    ("openai-server-error", lambda: _openai("InternalServerError", 500)),
    ("openai-bad-gateway-status", lambda: _openai("APIStatusError", 502)),
    ("openai-request-timeout-status", lambda: _openai("APIStatusError", 408)),
    ("openai-connection", lambda: _openai_connection("APIConnectionError")),
    ("openai-timeout", lambda: _openai_connection("APITimeoutError")),
    ("openai-rate-limit-in-a-stream", lambda: _openai_in_a_stream("rate_limit_exceeded")),
    ("openai-no-reply-of-the-api", lambda: _validation("openai")),
    ("anthropic-no-reply-of-the-api", lambda: _validation("anthropic")),
    ("openai-bad-gateway-in-a-stream", lambda: _openai_in_a_stream("502")),
    ("openai-bad-gateway-in-a-stream-as-a-number", lambda: _openai_in_a_stream(502)),
    ("botocore-model-broke-off", lambda: _client_error("ModelErrorException", 424)),
    ("botocore-stream-broke-off", lambda: _client_error("modelStreamErrorException")),
    ("botocore-cut-off", _of_botocore_parsers),
    ("httpx2-decoding", lambda: _of("httpx2", "DecodingError", "garbled")),
    ("botocore-throttling", lambda: _client_error("ThrottlingException")),
    ("botocore-too-many-requests", lambda: _client_error("Whatever", 429)),
    ("botocore-server-error", lambda: _client_error("Whatever", 503)),
    ("botocore-model-not-ready", lambda: _client_error("ModelNotReadyException")),
    ("botocore-endpoint", lambda: _botocore("EndpointConnectionError")),
    ("botocore-connect-timeout", lambda: _botocore("ConnectTimeoutError")),
    ("botocore-read-timeout", lambda: _botocore("ReadTimeoutError")),
    ("botocore-connection-closed", lambda: _botocore("ConnectionClosedError")),
    ("botocore-proxy", lambda: _botocore("ProxyConnectionError")),
    ("botocore-client", lambda: _botocore("HTTPClientError")),
    ("httpx2-connect", lambda: _of("httpx2", "ConnectError", "gone")),
    ("httpx2-read-timeout", lambda: _of("httpx2", "ReadTimeout", "slow")),
    ("urllib3-protocol", lambda: _of("urllib3.exceptions", "ProtocolError", "broken")),
    ("urllib3-timeout", lambda: _of("urllib3.exceptions", "ReadTimeoutError", None, "u", "slow")),
    ("group-of-unavailable", lambda: ExceptionGroup("g", [Unavailable(), Unavailable()])),
]

AVAILABLE: list[tuple[str, Make]] = [
    ("value-error", lambda: ValueError("rate limit 429")),
    ("connection-error-of-python", ConnectionError),
    ("timeout-of-python", TimeoutError),
    ("openai-bad-request", lambda: _openai("BadRequestError", 400)),
    ("openai-authentication", lambda: _openai("AuthenticationError", 401)),
    ("openai-no-credit-in-a-stream", lambda: _openai_in_a_stream(402)),
    ("openai-odd-code-in-a-stream", lambda: _openai_in_a_stream("5020")),
    ("failed-dependency-of-nobody", lambda: _client_error("Whatever", 424)),
    ("json-of-anything", lambda: _of("json", "JSONDecodeError", "no JSON", "<html>", 0)),
    ("openai-other-code-in-a-stream", lambda: _openai_in_a_stream("invalid_prompt")),
    ("botocore-validation", lambda: _client_error("ValidationException")),
    ("botocore-access-denied", lambda: _client_error("AccessDeniedException", 403)),
    ("botocore-no-credentials", lambda: _of("botocore.exceptions", "NoCredentialsError")),
    ("group-with-a-bug", lambda: ExceptionGroup("g", [Unavailable(), KeyError("k")])),
]


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in UNAVAILABLE])
def test_a_provider_that_cannot_be_reached_is_unavailable(make: Make) -> None:
    assert is_unavailable(make())


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in UNAVAILABLE])
def test_it_is_known_where_the_agent_wraps_it(make: Make) -> None:
    error = RuntimeError("the agent gave up")
    error.__cause__ = make()

    assert is_unavailable(error)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in AVAILABLE])
def test_any_other_error_is_the_agents_own(make: Make) -> None:
    assert not is_unavailable(make())


def test_a_bug_in_the_handler_of_unavailability_is_a_bug() -> None:
    with pytest.raises(KeyError) as caught:
        _look_up_after_trying(Unavailable())

    assert isinstance(caught.value.__context__, Unavailable)
    assert not is_unavailable(caught.value)


def _look_up_after_trying(error: BaseException) -> None:
    try:
        raise error
    except Unavailable:
        {}["cached answer"]


def test_a_bug_behind_an_explicit_cause_is_a_bug() -> None:
    with pytest.raises(KeyError) as caught:
        _look_up_after_trying(Unavailable())
    error = RuntimeError("the agent gave up")
    error.__cause__ = caught.value

    assert not is_unavailable(error)


def test_every_explicit_cause_is_followed() -> None:
    error = RuntimeError("gave up")
    error.__cause__ = RuntimeError("retry")
    error.__cause__.__cause__ = Unavailable()

    assert is_unavailable(error)


def test_a_chain_that_is_a_ring_ends() -> None:
    one, other = RuntimeError(), RuntimeError()
    one.__cause__, other.__cause__ = other, one

    assert not is_unavailable(one)


class Overloaded(Exception):  # noqa: N818 - a user's own name
    pass


class StillOverloaded(Overloaded):
    pass


def test_more_exceptions_are_named_by_their_qualified_name() -> None:
    name = f"{Overloaded.__module__}.{Overloaded.__qualname__}"

    assert is_unavailable(StillOverloaded(), frozenset({name}))
    assert is_unavailable(ExceptionGroup("g", [Overloaded()]), frozenset({name}))
    assert not is_unavailable(StillOverloaded())


def test_an_exception_of_python_is_unavailability_where_it_is_named() -> None:
    assert is_unavailable(ConnectionResetError(), frozenset({"ConnectionError"}))


def test_the_public_name_is_the_same_exception() -> None:
    assert pytest_sopbench.Unavailable is Unavailable


class BrokenResponseError(Exception):
    @property
    def response(self) -> Any:
        raise OSError


def test_a_response_that_explodes_decides_nothing() -> None:
    BrokenResponseError.__module__, BrokenResponseError.__qualname__ = "openai", "APIError"

    assert not is_unavailable(BrokenResponseError())


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise OSError(name)


class HostileError(Exception, metaclass=HostileMeta):
    def __getattribute__(self, name: str) -> Any:
        raise OSError(name)


def test_an_exception_that_cannot_be_looked_at_decides_nothing() -> None:
    assert not is_unavailable(HostileError())


def test_what_it_was_raised_from_is_seen_all_the_same() -> None:
    error = HostileError()
    BaseException.__setattr__(error, "__cause__", Unavailable())

    assert is_unavailable(error)
