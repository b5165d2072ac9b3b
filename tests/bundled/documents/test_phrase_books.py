"""Each phrase of a phrase book has one meaning, wherever it stands; the texts are varied."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.bundled._phrases import SLOT, PhraseBook, Template, capital

SAMPLES = {
    "day": "Friday the 13th",
    "date": "13 March",
    "phone": "07700 900123",
    "reference": "QH-1234",
    "any": "so and so",
}


@cache
def book_of(folder: Path) -> PhraseBook:
    return PhraseBook(folder / "phrases.json")


@pytest.fixture
def book(domain_of_documents: Any) -> PhraseBook:
    return book_of(domain_of_documents.folder)


def sample(book: PhraseBook, template: Template) -> str:
    def word(kind: str) -> str:
        known = book.kinds[kind]
        return SAMPLES[kind] if isinstance(known, str) else next(iter(known))

    return capital(SLOT.sub(lambda slot: word(slot[2]), template.text))


def texts_of(domain: Any) -> list[str]:
    """What was said, turn by turn or letter by letter."""
    if "dialogue" not in domain.rows[0]:
        return [row["letter"] for row in domain.rows]
    return [turn["says"] for row in domain.rows for turn in row["dialogue"]]


def test_a_phrase_is_read_as_what_it_means(book: PhraseBook) -> None:
    for template in book.templates:
        (said,) = book.read(sample(book, template))

        assert template.meaning == said.meaning


def test_no_phrase_goes_on_where_another_ends(book: PhraseBook) -> None:
    """Else two phrases could be read as one that means something else."""
    samples = [sample(book, template) for template in book.templates]

    begun = [
        (template.text, text)
        for template in book.templates
        for text in samples
        if (found := template.pattern.match(text)) and found.end() < len(text)
    ]

    assert [] == begun


def test_what_no_phrase_stands_for_is_an_error(book: PhraseBook) -> None:
    with pytest.raises(ValueError, match="no phrase for 'Xyzzy"):
        book.read("Xyzzy, please.")


def test_most_of_what_is_said_is_said_once(domain_of_documents: Any) -> None:
    """Guests have words of their own; the lines of the desk are the card's, and come again."""
    rows = domain_of_documents.rows
    desk = "dialogue" in rows[0]
    said = Counter(
        " / ".join(turn["says"] for turn in row["dialogue"] if turn["who"] == "guest")
        if desk
        else row["letter"]
        for row in rows
    )

    assert 0.9 * len(rows) <= sum(count == 1 for count in said.values())


def test_few_phrases_are_said_by_nobody(book: PhraseBook, domain_of_documents: Any) -> None:
    texts = texts_of(domain_of_documents)
    spoken = [one for one in book.templates if not one.meaning.startswith("line ")]

    silent = [one for one in spoken if not any(one.pattern.search(text) for text in texts)]

    assert len(silent) <= 0.2 * len(spoken)


def test_the_card_has_every_line_that_the_desk_says() -> None:
    folder = Path(__file__).parents[3] / "src/pytest_sopbench/bundled/reservation_desk"
    sop = (folder / "sop.md").read_text(encoding="utf-8")
    lines = [one for one in book_of(folder).templates if one.meaning.startswith("line ")]

    assert len(lines) > 30
    assert [] == [one.text for one in lines if SLOT.sub(r"(\1)", one.text) not in sop]
