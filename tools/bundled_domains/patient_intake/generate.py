"""Write `data.csv` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

Insurance, lifestyle and chart do not meddle with one another, so that each row is of one case of
each. Labels and expected calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable

from bundled_domains.generator import Dice, Generator, first_kept
from bundled_domains.patient_intake.case import Case
from bundled_domains.patient_intake.health_cases import chart_cases, lifestyle_cases
from bundled_domains.patient_intake.insurance_cases import insurance_cases, risk_cases
from bundled_domains.patient_intake.patients import (
    ANSWERS,
    FOLDER,
    Patient,
    Row,
    draft,
    in_registry,
    with_plan,
)

SEED = 3
SEED_OF_THE_REGISTRY = 4
ROWS = 90


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    dice = Dice(SEED)
    alone = [(case,) for case in _each(risk_cases())]
    insurance = _each(insurance_cases())
    health = [
        dice.shuffled(_filled(_each(cases), len(insurance)))
        for cases in (chart_cases(), lifestyle_cases())
    ]
    every = dice.shuffled([*alone, *zip(insurance, *health, strict=True)])
    if len(every) != ROWS:
        msg = f"{len(every)} cases, {ROWS} wanted"
        raise SystemExit(msg)
    numbers = dice.shuffled(range(20_000, 29_000))
    drawn = [_row(dice, cases, number) for cases, number in zip(every, numbers, strict=False)]
    registry = Dice(SEED_OF_THE_REGISTRY)
    return [in_registry(row, registry) for row in drawn]


def _each(cases: Iterable[Case]) -> list[Case]:
    return list(itertools.chain.from_iterable([case] * case.rows for case in cases))


def _filled(cases: list[Case], rows: int) -> list[Case]:
    return [*cases, *([Case()] * (rows - len(cases)))]


def _row(dice: Dice, cases: Iterable[Case], number: int) -> Row:
    member = dice.between(0, 9_999_999)

    def drawn() -> Row:
        row = draft(dice, number, member)
        for case in reversed(list(cases)):
            row = case.change(dice, row)
        return with_plan(row)

    def kept(row: Row) -> bool:
        patient = Patient(row)
        return all(case.wanted(patient) for case in cases)

    tags = ",".join(case.tags for case in cases if case.tags)
    return first_kept(drawn, kept, tags) | {"tags": tags}


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, answers=ANSWERS)
    sys.exit(generator.main(sys.argv[1:]))
