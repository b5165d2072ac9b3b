"""Never fooled: labels against one another, and against what agents say instead of an answer.

Labels are those of the domains under `SOPBENCH_DATA`, and of a small one of our own, which is
there without it. `SOPBENCH_FUZZ` sets the number of texts of the fuzz run.
"""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.values import infer_field, value_key
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.verdict import Verdict

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
