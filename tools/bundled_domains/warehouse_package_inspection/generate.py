"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

A row is drawn until it is of its case, and has every tag that is true of it. Cases draw only the
rows that earlier ones have not brought. Labels and expected
calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import sys

from bundled_domains.generator import Dice, Generator, bundled, first_kept
from bundled_domains.warehouse_package_inspection.cases import Case, cases, tags_of
from bundled_domains.warehouse_package_inspection.receipts import Receipt, Row, draft

SEED = 40
ROWS = 200


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    dice = Dice(SEED)
    numbers = dice.shuffled(range(10_000, 99_999))
    found: list[Receipt] = []
    for case in cases():
        # Rows of earlier cases may be of this one as well.
        missing = case.rows - sum(map(case.keeps, found))
        found += [_drawn(dice, case, 7 * numbers.pop()) for _ in range(missing)]
    if len(found) != ROWS:
        msg = f"{len(found)} rows, {ROWS} wanted"
        raise SystemExit(msg)
    return [one.row | {"tags": ",".join(sorted(tags_of(one)))} for one in dice.shuffled(found)]


def _drawn(dice: Dice, case: Case, number: int) -> Receipt:
    return first_kept(
        lambda: Receipt(case.change(dice, draft(dice, number))), case.keeps, case.name
    )


if __name__ == "__main__":
    generator = Generator(
        folder=bundled("warehouse_package_inspection"), rows=rows, data="tasks.jsonl"
    )
    sys.exit(generator.main(sys.argv[1:]))
