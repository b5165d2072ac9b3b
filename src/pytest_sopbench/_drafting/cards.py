"""Cards: what two readers of one text see differently, for a person to decide."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.observing.mutating import cited_clauses
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.running import Ran
from pytest_sopbench._drafting.shape import ID, Row
from pytest_sopbench._judge.asking import digest
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench.errors import LoadingError

FILE: Final = "cards.json"
POLICIES: Final = "policies"
SOLVER: Final = "solver"
TEXT_IS_WRONG: Final = "text"

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    POLICIES: ("a", "b", TEXT_IS_WRONG),
    SOLVER: ("policy", "solver", TEXT_IS_WRONG),
}
"""Who can be right, by what a card is about; `text` says that the procedure leaves it open."""

SETTLED: Final = frozenset({"a", "b", "policy"})
"""Decisions that need no change of a text; `b` makes the second policy the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One question about the text.

    Attributes:
        about: whether two policies differ, or the solver and the labels.
        clause: the clauses that the readings follow from, as comments of the policies name them.
        inputs: a case on which they differ, with what tools return.
        readings: what each of the two says.
        cases: how many of the generated cases differ so.
        decision: one of `CHOICES`; empty while nobody has decided.
        by: who decided.
    """

    about: str
    clause: str
    inputs: Mapping[str, JsonValue]
    readings: Mapping[str, str]
    cases: int = 1
    decision: str = ""
    by: str = ""

    @property
    def key(self) -> str:
        """What names the question: another text of a reading is another question."""
        return digest([self.about, self.clause, dict(self.readings)])

    @property
    def is_open(self) -> bool:
        return self.decision not in SETTLED


def policy_cards(
    rows: Sequence[Row], one: Sequence[Ran], other: Sequence[Ran], sources: tuple[str, str]
) -> list[Card]:
    """Return a card for each way in which two policies differ, with the first such case."""
    found: dict[str, Card] = {}
    for row, a, b in zip(rows, one, other, strict=True):
        readings = a.against(b)
        if readings[0] == readings[1] and not a.error:
            continue
        names = dict.fromkeys((*_clauses(a, sources[0]), *_clauses(b, sources[1])))
        card = Card(
            about=POLICIES,
            clause=", ".join(names),
            inputs={**{name: row[name] for name in row if name != ID}, **_written(a, b)},
            readings={"a": readings[0], "b": readings[1]},
        )
        before = found.get(card.key)
        found[card.key] = replace(before, cases=before.cases + 1) if before else card
    return sorted(found.values(), key=lambda card: -card.cases)


def _written(a: Ran, b: Ran) -> Mapping[str, JsonValue]:
    """What both policies write, if that is not the same."""
    if a.writes == b.writes:
        return {}
    told = {"a writes": a.writes, "b writes": b.writes}
    return {name: [[tool, dict(given)] for tool, given in calls] for name, calls in told.items()}


def _clauses(ran: Ran, source: str) -> tuple[str, ...]:
    """The clauses named on the last line with a comment that a run came to."""
    cited = {line: names for line, names in cited_clauses(source).items() if line in ran.lines}
    return cited[max(cited)] if cited else ()


def chosen(cards: Iterable[Card]) -> str:
    """Return which policy people's decisions make the reference; the first unless all say not."""
    decided = {one.decision for one in cards if one.about == POLICIES and one.decision}
    return "b" if decided == {"b"} else "a"


def contradicted(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return the cards whose decision says that the reference policy is wrong."""
    every = [*cards]
    wrong = "a" if chosen(every) == "b" else "b"
    return tuple(one for one in every if one.decision in {wrong, "solver"})


def settled_pairs(cards: Iterable[Card], which: str) -> frozenset[tuple[str, str]]:
    """Return the readings of two policies that differ, where people hold the reference to be right.

    Args:
        cards: all cards.
        which: the reference: `a` or `b`.
    """
    every = [*cards]
    against = {one.key for one in contradicted(every)}
    return frozenset(
        (one.readings["a"], one.readings["b"])
        for one in every
        if one.about == POLICIES and one.decision == which and one.key not in against
    )


def unsettled(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return the cards that keep a draft from being reviewed."""
    every = [*cards]
    against = {one.key for one in contradicted(every)}
    return tuple(one for one in every if one.is_open or one.key in against)


def read_cards(folder: Path) -> list[Card]:
    """Read the cards of `drafting/`; none where there is no file.

    Raises:
        LoadingError: the file does not hold cards.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    try:
        return [Card(**one) for one in json.loads(path.read_text("utf-8"))]
    except (OSError, ValueError, TypeError) as fault:
        hint = "remove it; decisions are asked again"
        raise LoadingError(path, f"it holds no cards: {fault}", hint=hint) from fault


def keep_cards(folder: Path, about: str, found: Iterable[Card]) -> list[Card]:
    """Write the cards of one kind, with what was decided of them before; return all cards."""
    before = read_cards(folder)
    decided = {one.key: one for one in before if one.decision}
    new = [
        replace(one, decision=decided[one.key].decision, by=decided[one.key].by)
        if one.key in decided
        else one
        for one in found
    ]
    every = [*new, *(one for one in before if one.about != about)]
    write_cards(folder, sorted(every, key=lambda one: one.about))
    return every


def add_cards(folder: Path, found: Iterable[Card]) -> list[Card]:
    """Write cards beside those that there are already; return those that are new."""
    before = read_cards(folder)
    known = {one.key for one in before}
    new = [one for one in found if one.key not in known]
    if new:
        write_cards(folder, [*before, *new])
    return new


def write_cards(folder: Path, cards: Iterable[Card]) -> None:
    """Write all cards, in one step."""
    text = json.dumps([asdict(one) for one in cards], indent=1, ensure_ascii=False)
    with replace_file(folder / FILE) as file:
        file.write(f"{text}\n".encode())
