"""What a person has to look at before a draft counts as reviewed, and what is kept of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.model import Audit, Severity
from pytest_sopbench._audit.sop_text import SopText
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.cards import (
    POLICIES,
    Card,
    read_cards,
    unsettled,
    write_cards,
)
from pytest_sopbench._judge.asking import digest
from pytest_sopbench._loading.drafted import (
    DRAFTING,
    REVIEW,
    Review,
    files_hash,
    read_review,
    review_text,
)
from pytest_sopbench._sessions.file.atomic import replace_file

ROWS: Final = 30
"""Rows that are read blind; all of a domain that has fewer."""

LABEL, READER = "label", "me"


@dataclass(kw_only=True)
class Reviewing:
    """A review as it goes on: every answer is on the disk before the next question.

    Attributes:
        domain: what is reviewed.
        name: who reviews.
    """

    domain: Domain
    name: str
    review: Review = field(init=False)

    def __post_init__(self) -> None:
        now, before = files_hash(self.folder), read_review(self.folder)
        is_same = before is not None and before.hash == now and before.name == self.name
        self.review = before if before is not None and is_same else Review(name=self.name, hash=now)

    @property
    def folder(self) -> Path:
        return self.domain.folder

    @property
    def cards(self) -> list[Card]:
        return read_cards(self.folder / DRAFTING)

    @property
    def open_cards(self) -> Sequence[Card]:
        """The cards that nobody has decided."""
        return [one for one in self.cards if not one.decision]

    @property
    def rows(self) -> Sequence[Task]:
        """The tasks that are still to be read."""
        return [one for one in rows_to_read(self.domain) if one.id not in self.review.rows]

    def decide(self, card: Card, decision: str) -> None:
        """Keep what a person decided of a card."""
        decided = replace(card, decision=decision, by=self.name)
        cards = [decided if one.key == card.key else one for one in self.cards]
        write_cards(self.folder / DRAFTING, cards)

    def read(self, task: Task, said: Mapping[str, JsonValue], who: Callable[[], str]) -> bool:
        """Keep what a person said of a row; true where it is the label.

        Args:
            task: the row.
            said: the reader's answer, before the label was shown.
            who: asked where they differ, after the label was shown: `label` or `me`.
        """
        agrees = {**said} == {**task.expected}
        right = LABEL if agrees else who()
        row: dict[str, Any] = {"said": {**said}, "label": {**task.expected}, "right": right}
        self._keep(replace(self.review, rows={**self.review.rows, task.id: row}))
        return agrees

    def wrong_rows(self) -> Sequence[str]:
        """The tasks whose label the reader holds to be wrong."""
        return [name for name, one in self.review.rows.items() if one["right"] == READER]

    def open_points(self) -> Sequence[str]:
        """Say what keeps the domain from being reviewed; nothing where nothing does."""
        cards = unsettled(self.cards)
        found = [f"{len(cards)} cards are open, or were decided against a text"] if cards else []
        if wrong := self.wrong_rows():
            found.append(f"the reader holds the labels of {', '.join(wrong)} to be wrong")
        if left := self.rows:
            found.append(f"{len(left)} rows are not read")
        if files_hash(self.folder) != self.review.hash:
            found.append("a file has changed during the review")
        return found

    def finish(self) -> None:
        """Put the time to a review that has no open points; from then on gates may rest on it."""
        self._keep(replace(self.review, time=datetime.now(UTC).isoformat(timespec="seconds")))

    def _keep(self, review: Review) -> None:
        self.review = review
        with replace_file(self.folder / REVIEW) as file:
            file.write(review_text(review).encode())


def rows_to_read(domain: Domain) -> Sequence[Task]:
    """Draw rows over labels in turn, the same of the same domain; nothing tells their label."""
    groups: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(domain.tasks, key=lambda one: digest([domain.name, one.id])):
        groups[digest(dict(task.expected))].append(task)
    drawn = list[Task]()
    while len(drawn) < ROWS and any(groups.values()):
        drawn += [some.pop() for some in groups.values() if some]
    # In the order of the labels a reader would soon know the next one.
    return sorted(drawn[:ROWS], key=lambda one: digest(one.id))


def checked(folder: Path, *, has_policy: bool) -> tuple[Audit, Sequence[str], Sequence[str]]:
    """Audit a domain with broken policies; return it, its errors, and what no row decides."""
    found = audit(folder, mutants=has_policy)
    errors = [f"{one.rule}: {one.what}" for one in found.findings if one.severity is Severity.ERROR]
    survivors = [
        f"no row decides {one.place.change}: {one.what}"
        for one in found.findings
        if one.rule == "mutant-survives"
    ]
    return found, errors, survivors


def clause_text(sop: str, numbers: str) -> str:
    """Return the text of the clauses that a card names."""
    text = SopText(sop)
    found = ((one, " ".join(text.text_of(one).split())) for one in numbers.split(", ") if one)
    return "\n".join(f"{number} {told}" for number, told in found)


def follows_cards(cards: Sequence[Card], before: Sequence[Card]) -> bool:
    """Whether rows are to follow decisions on policies that were taken since."""
    decided = {one.key: one.decision for one in before if one.about == POLICIES}
    return any(one.about == POLICIES and decided.get(one.key, "") != one.decision for one in cards)
