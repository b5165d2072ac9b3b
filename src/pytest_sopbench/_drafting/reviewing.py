"""What a person has to look at before a draft counts as reviewed, and what is kept of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
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
from pytest_sopbench._drafting.stages import BRIEF, is_solved
from pytest_sopbench._judge.asking import digest
from pytest_sopbench._loading.evidence import (
    DRAFTING,
    REVIEW,
    Review,
    files_hash,
    read_review,
    review_text,
)
from pytest_sopbench._sessions.atomic import replace_file

_OF_ROWS: Final = ("data.csv", "expected_calls.jsonl")
"""The files that grow with the rows."""

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
        before = read_review(self.folder)
        self.review = _begun(self.domain, self.name)
        if before is not None and before.name == self.name:
            if before.hash == self.review.hash:
                self.review = before
            elif (earlier := _grown_from(before, self.review)) is not None:
                rows = {name: one for name, one in before.rows.items() if name in earlier}
                self.review = replace(self.review, earlier=earlier, rows=rows)

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
    def has_grown(self) -> bool:
        """Whether everything but new rows was reviewed before, so that they alone are read."""
        return bool(self.review.earlier)

    @property
    def is_solved(self) -> bool:
        """Whether no answer of a solver is missing; a domain that was not drafted has none."""
        return not (self.folder / BRIEF).is_file() or is_solved(self.folder)

    @property
    def rows(self) -> Sequence[Task]:
        """The tasks that are still to be read."""
        drawn = rows_to_read(self.domain, but=self.review.earlier)
        return [one for one in drawn if one.id not in self.review.rows]

    def begin(self) -> None:
        """Keep that the reader holds the procedure to be right, before anything else is asked."""
        self._keep(self.review)

    def decide(self, card: Card, decision: str) -> None:
        """Keep what a person decided of a card."""
        decided = replace(card, decision=decision, by=self.name)
        cards = [decided if one.key == card.key else one for one in self.cards]
        write_cards(self.folder / DRAFTING, cards)

    def read(self, task: Task, said: Mapping[str, JsonValue], who: Callable[[], str]) -> bool:
        """Keep what a person said of a row; true if it is the label.

        Args:
            task: the row.
            said: the reader's answer, before the label was shown.
            who: asked if they differ, after the label was shown: `label` or `me`.
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
        """Say what keeps the domain from being reviewed; nothing if nothing does."""
        cards = unsettled(self.cards)
        found = [f"{len(cards)} cards are open, or were decided against a text"] if cards else []
        if wrong := self.wrong_rows():
            found.append(f"the reader holds the labels of {', '.join(wrong)} to be wrong")
        if left := self.rows:
            found.append(f"{len(left)} rows are not read")
        if not (self.has_grown or self.is_solved):
            found.append("the solver has not answered the rows as they are: draft again, --model")
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


def _begun(domain: Domain, name: str) -> Review:
    """Return a review in which nothing was said yet."""
    return Review(
        name=name,
        hash=files_hash(domain.folder),
        rest=files_hash(domain.folder, but=_OF_ROWS),
        tasks={
            one.id: digest([dict(one.inputs), dict(one.results), dict(one.expected)])
            for one in domain.tasks
        },
    )


def _grown_from(before: Review, now: Review) -> Mapping[str, str] | None:
    """Return the rows that a finished review was about, if others have come and that is all."""
    earlier = before.tasks if before.time else before.earlier
    is_there = bool(earlier) and earlier.items() <= now.tasks.items()
    return earlier if is_there and before.rest == now.rest else None


def rows_to_read(domain: Domain, but: Collection[str] = ()) -> Sequence[Task]:
    """Draw rows over labels in turn, the same of the same domain; nothing tells their label."""
    groups: dict[str, list[Task]] = defaultdict(list)
    tasks = (one for one in domain.tasks if one.id not in but)
    for task in sorted(tasks, key=lambda one: digest([domain.name, one.id])):
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
