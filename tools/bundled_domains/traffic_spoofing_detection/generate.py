"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

A row is drawn until it is of its case, and has every tag that is true of it. Cases draw only the
rows that earlier ones have not brought. Labels and expected calls come from `policy.py` and from
nowhere else.
"""

from __future__ import annotations

import sys
from collections import Counter

from bundled_domains.generator import Dice, Generator, first_kept
from bundled_domains.traffic_spoofing_detection.cases import (
    Case,
    cases,
    holds_together,
    tags_of,
)
from bundled_domains.traffic_spoofing_detection.traffic import FOLDER, Row, Traffic, draft

SEED = 41
ROWS = 200


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    dice = Dice(SEED)
    numbers = iter(dice.shuffled(range(1_000)))
    found: list[Traffic] = []
    for case in cases():
        # Rows of earlier cases may be of this one as well.
        missing = case.rows - sum(map(case.keeps, found))
        found += [_drawn(dice, case, 997 * next(numbers) + 1_409) for _ in range(missing)]
    while len(found) < ROWS:
        others = _case_of(_rarest(found))
        found.append(_drawn(dice, others, 997 * next(numbers) + 1_409))
    if len(found) > ROWS:
        msg = f"{len(found)} rows, {ROWS} wanted"
        raise SystemExit(msg)
    return [one.row | {"tags": ",".join(sorted(tags_of(one)))} for one in dice.shuffled(found)]


def _label(traffic: Traffic) -> tuple[str, str]:
    return traffic.risk, traffic.action


def _rarest(found: list[Traffic]) -> tuple[str, str]:
    """The answer that the fewest rows have."""
    counts = Counter(map(_label, found))
    return min(counts, key=lambda label: (counts[label], label))


def _case_of(label: tuple[str, str]) -> Case:
    return Case(name=" and ".join(label), rows=1, wanted=lambda one: _label(one) == label)


def _drawn(dice: Dice, case: Case, number: int) -> Traffic:
    def draw() -> Traffic:
        row = draft(dice, number, dice.pick(case.partners))
        return Traffic(case.change(dice, row))

    return first_kept(draw, lambda one: holds_together(one.row) and case.keeps(one), case.name)


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, data="tasks.jsonl")
    sys.exit(generator.main(sys.argv[1:]))
