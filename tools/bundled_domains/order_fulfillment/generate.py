"""Write `data.csv` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

An order is drawn, changed as its case asks, and kept if the case is then met; else another is
drawn. Labels and expected calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import itertools
import sys

from bundled_domains.generator import Dice, Generator, first_kept
from bundled_domains.order_fulfillment.case import Case
from bundled_domains.order_fulfillment.customer_cases import customer_cases
from bundled_domains.order_fulfillment.orders import ANSWERS, FOLDER, Order, Row, draft, in_ledger
from bundled_domains.order_fulfillment.shipping_cases import ISLAND_ZIPS, shipping_cases

SEED = 11
SEED_OF_OTHER_DESKS = 12
ROWS = 120


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    dice = Dice(SEED)
    kinds = (*customer_cases(), *shipping_cases())
    every = dice.shuffled(itertools.chain.from_iterable([case] * case.rows for case in kinds))
    if len(every) != ROWS:
        msg = f"{len(every)} cases, {ROWS} wanted"
        raise SystemExit(msg)
    numbers = dice.shuffled(range(200_000, 209_000))
    articles = dice.shuffled(range(1_000, 9_000))
    drawn = [
        _row(dice, case, str(number), f"{article // 40:04}-{article % 40 + 1:03}")
        for case, number, article in zip(every, numbers, articles, strict=False)
    ]
    others = Dice(SEED_OF_OTHER_DESKS)
    return [in_ledger(row, others) for row in drawn]


def _row(dice: Dice, case: Case, number: str, article: str) -> Row:
    def kept(row: Row) -> bool:
        # A zip code with a clause of its own belongs to the cases of that clause.
        own = any(word in case.tags for word in ("island", "ferry"))
        special = row["ship_to_zip"] in {*ISLAND_ZIPS, "06390"} and not own
        return row["quantity"] > 0 and not special and case.wanted(Order(row))

    row = first_kept(lambda: case.change(dice, draft(dice, number, article)), kept, case.tags)
    return row | {"tags": case.tags}


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, answers=ANSWERS)
    sys.exit(generator.main(sys.argv[1:]))
