"""Write `data.csv` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

Each group of cases below stands for a clause of the SOP or for one side of a cut-off. The texts
come from `phrases.json`; labels and expected calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bundled_domains.generator import Dice, Generator, bundled

FOLDER = bundled("dangerous_goods")
HERE = Path(__file__).parent
SEED = 14
ROWS = 327
HIGHEST = 5
SECTIONS = {
    "sds_label_text": "sds_label_score",
    "handling_guidelines": "handling_score",
    "transport_requirements": "transport_score",
    "disposal_guidelines": "disposal_score",
}
# None is an error of the service; the others are answers that are no valid score.
MISSING = (None, None, 0, None, 6, None, 0, 9)
LARGE = ("1.1", "1.5", "2.0", "2.5", "4.0", "5.0", "8.0", "10.0", "12.5", "20.0", "25.0")
SMALL = ("0.1", "0.2", "0.25", "0.5", "0.9", "1.0")
BAD_UN_NUMBERS: tuple[Callable[[str], str], ...] = (
    lambda un: un[:-1],
    lambda un: un + "0",
    lambda un: un.removeprefix("UN"),
    lambda un: un.replace("UN", "UN "),
    lambda un: un.lower(),
    lambda un: un.replace("UN", "NA"),
    lambda un: un[:-1] + "O",
    lambda un: un.replace("UN", "UN-"),
    lambda un: un[:0],
    lambda un: un[:0],
)

Scores = tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a row is about, before it has a product, texts and a label."""

    scores: Scores
    quantity: str
    tags: tuple[str, ...]
    spoil: Callable[[str], str] = str


def cases(dice: Dice) -> Iterator[Case]:
    """Every case, clause by clause."""
    yield from _totals(dice)
    yield from _extreme_scores(dice)
    yield from _small_quantities(dice)
    yield from _missing_scores(dice)
    for number in range(20):
        spoil = BAD_UN_NUMBERS[number % len(BAD_UN_NUMBERS)]
        tags = ("bad-un-number", "undecided")
        yield Case(scores=_any(dice), quantity=dice.pick(LARGE + SMALL), tags=tags, spoil=spoil)
    for _ in range(50):
        yield Case(scores=_any(dice), quantity=dice.pick(LARGE), tags=("misleading-text",))


def _totals(dice: Dice) -> Iterator[Case]:
    for total in (4, 7, 8, 11, 12, 15, 16, 20):
        for _ in range(4):
            yield Case(scores=_of(dice, total), quantity=dice.pick(LARGE), tags=("boundary",))
    for total in (5, 6, 9, 10, 13, 14, 17, 18, 19):
        for _ in range(6):
            yield Case(scores=_of(dice, total), quantity=dice.pick(LARGE), tags=())


def _extreme_scores(dice: Dice) -> Iterator[Case]:
    """Clause 6.2: totals that would give B without the 5, and 12, where the 5 changes nothing."""
    for total in (8, 9, 10, 11, 12):
        for quantity in (*(dice.pick(LARGE) for _ in range(4)), "0.5", "1.0"):
            scores = _of(dice, total, extreme=True)
            yield Case(scores=scores, quantity=quantity, tags=("extreme-score",))


def _small_quantities(dice: Dice) -> Iterator[Case]:
    """Clauses 6.3 and 6.4: around 1.0 kg for each total at which a class begins or ends."""
    for total in (8, 11, 12, 15):
        for quantity in ("0.9", "1.0", "1.1") * 2:
            tags = ("small-quantity", "boundary")
            yield Case(scores=_of(dice, total), quantity=quantity, tags=tags)
    for total in (4, 7, 16):
        for quantity in ("0.5", "1.0"):
            yield Case(scores=_of(dice, total), quantity=quantity, tags=("small-quantity",))
    for column in range(4):
        for total in (9, 13):
            scores = _without(dice, _of(dice, total), (column,), turn=0)
            tags = ("small-quantity", "imputed")
            yield Case(scores=scores, quantity=dice.pick(SMALL), tags=tags)


def _missing_scores(dice: Dice) -> Iterator[Case]:
    """Clauses 5.2 to 5.4: each pattern of missing scores, with each way of being missing."""
    rows = {1: 12, 2: 8, 3: 3, 4: 4}
    for count, wanted in rows.items():
        for columns in itertools.combinations(range(4), count):
            undecided = count > 2 or (count == 2 and 0 in columns)  # noqa: PLR2004 - clauses 5.3, 5.4
            for turn in range(5 if count == 2 and undecided else wanted):  # noqa: PLR2004 - clause 5.4
                scores = _without(dice, _any(dice), columns, turn=turn)
                tags = ("undecided" if undecided else "imputed",)
                yield Case(scores=scores, quantity=dice.pick(LARGE), tags=tags)


def _any(dice: Dice) -> Scores:
    return tuple(1 + dice.below(5) for _ in range(4))


def _of(dice: Dice, total: int, *, extreme: bool = False) -> Scores:
    """Four scores of this total, with a 5 where asked for, and else only where none can do."""
    found = [four for four in itertools.product(range(1, 6), repeat=4) if sum(four) == total]
    fitting = [four for four in found if (max(four) == HIGHEST) is extreme]
    return dice.pick(fitting or found)


def _without(dice: Dice, scores: Scores, columns: Sequence[int], *, turn: int) -> Scores:
    # Every other row has only errors, so that each pattern is met without a number in the way.
    gone = {column: None if turn % 2 == 0 else dice.pick(MISSING) for column in columns}
    return tuple(gone.get(column, score) for column, score in enumerate(scores))


class Writer:
    """Makes rows of cases; the same text never stands for two different scores."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._phrases: dict[str, Any] = json.loads(
            (HERE / "phrases.json").read_text(encoding="utf-8")
        )
        families: dict[str, list[list[str]]] = self._phrases["products"]
        self._products = [(one, *of) for one, list_ in families.items() for of in list_]
        self._scored: dict[tuple[str, str], int | None] = {}

    def row(self, case: Case, number: int) -> dict[str, Any]:
        family, product, un_number = self._dice.pick(self._products)
        row: dict[str, Any] = {
            "product_id": f"P_{number:05}",
            "product_name": product,
            "un_number": case.spoil(un_number),
            "net_quantity_kg": float(case.quantity),
        }
        misleading = "misleading-text" in case.tags
        for (section, name), score in zip(SECTIONS.items(), case.scores, strict=True):
            row[section] = self._text(section, family, product, score, misleading=misleading)
            row[name] = score
        tags = case.tags
        if any(score is not None and score not in range(1, 6) for score in case.scores):
            tags = (*tags, "out-of-range")
        row["tags"] = ",".join(tags)
        return row

    def _text(
        self, section: str, family: str, product: str, score: int | None, *, misleading: bool
    ) -> str:
        level = score if score and score <= HIGHEST else 1 + self._dice.below(5)
        sounds = self._misleading_level(level) if misleading else level
        while True:
            text = self._draft(section, family, product, sounds)
            if misleading:
                grade = "weaker_grade" if sounds > level else "stronger_grade"
                text = f"{text} {self._dice.pick(self._phrases[grade])}"
            if self._scored.setdefault((section, text), score) == score:
                return text

    def _misleading_level(self, level: int) -> int:
        # The middle is as far from both ends, so its text goes either way.
        sounds_severe = level < 3 or (level == 3 and self._dice.below(2))  # noqa: PLR2004 - the middle of 1 to 5
        return HIGHEST if sounds_severe else 1

    def _draft(self, section: str, family: str, product: str, level: int) -> str:
        note = self._dice.pick(self._phrases["notes"][section])
        if section != "sds_label_text":
            return f"{self._dice.pick(self._phrases[section][level - 1])}. {note}"
        phrase = self._dice.pick(self._phrases[section][family][level - 1])
        # Slight statements hold for slight grades of a product only.
        grades = self._phrases["grades"][family]
        grade = f", {grades[level - 1]}" if level <= len(grades) else ""
        return f"{product}{grade}: {phrase}. {note}"


def rows() -> list[dict[str, Any]]:
    """Every row without its label, in the order of the file."""
    dice = Dice(SEED)
    all_cases = dice.shuffled(cases(dice))
    numbers = dice.shuffled(range(10_000, 100_000))[: len(all_cases)]
    if len(all_cases) != ROWS:
        msg = f"{len(all_cases)} cases, {ROWS} wanted"
        raise SystemExit(msg)
    writer = Writer(dice)
    return [writer.row(case, number) for case, number in zip(all_cases, numbers, strict=True)]


if __name__ == "__main__":
    sys.exit(Generator(folder=FOLDER, rows=rows).main(sys.argv[1:]))
