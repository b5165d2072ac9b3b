"""The table of runs as data: short rows whose words stand in lists beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.fields.comparison import number_kind
from pytest_sopbench._core.gates.page_sources import TaskFacts
from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.metrics.labels import LABEL_LIMIT, FieldLabels
from pytest_sopbench._core.model.keys import TaskKey, domain_of
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.quantities import read_as_json_writes
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench._reports.failure.task import value_line
from pytest_sopbench._reports.text.layout import cut

from .names import agent_labels

REASON: Final = 160
"""Characters of the reason in a row; the details have all of it."""

LOST, GAINED, ASIDE = "lost", "gained", "not compared"


class Words:
    """A list of words that rows name by their places."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._places = {word: place for place, word in enumerate(words)}

    @property
    def all(self) -> list[str]:
        return [*self._places]

    def has(self, word: str) -> bool:
        return word in self._places

    def place(self, word: str) -> int:
        return self._places.setdefault(word, len(self._places))


class Rows:
    """Writes each run as a short list, and the words beside."""

    def __init__(self, page: SessionPage) -> None:
        self._page = page
        self._labels = agent_labels(page)
        self.masked = page.sources.masked if page.sources else str
        self._changes = changes_of(page)
        self._by_agent = bool(page.comparison and page.comparison.has_agents)
        self._words = {name: Words() for name in ("domains", "fields", "rules", "tags", "labels")}
        self._agents = Words([self.masked(one) for one in self._labels.values()])
        self._outcomes = Words([one.value for one in Outcome])
        self._any_label = FieldLabels()
        self.numbers = number_fields(page)
        self.confused = confused_fields(page, self.numbers)
        self._tables = Words([f"{domain}\0{field}" for domain, field in self.confused])

    def row(self, record: RunRecord, facts: TaskFacts) -> list[object]:
        words = self._words
        return [
            words["domains"].place(self.masked(record.domain)),
            self.masked(record.task),
            record.trial,
            self._agents.place(self.masked(self._labels[record.agent])) if self._labels else 0,
            self._outcomes.place(record.outcome.value),
            self.why(record),
            self.change(record),
            [words["fields"].place(one.field) for one in record.mismatches],
            [words["rules"].place(one.id) for one in record.rules if one.broken],
            [words["tags"].place(one) for one in facts.tags],
            _rounded(record.duration_s),
            _tokens(record.usage),
            record.usage.cost_usd,
            len(record.calls),
            self._answers(record),
        ]

    def why(self, record: RunRecord) -> str:
        """Return the reason in a few words; nothing where all is well."""
        if record.outcome is Outcome.CORRECT and not any(one.broken for one in record.rules):
            return ""
        # The outcome stands beside it.
        line = value_line(record)
        line = line.removeprefix(record.outcome.value).removeprefix(": ").removeprefix(", ")
        return cut(self.masked(line), REASON)

    def change(self, record: RunRecord) -> str:
        key = TaskKey(record.domain, record.task, record.agent if self._by_agent else "")
        return self._changes.get(key, "")

    def words(self) -> dict[str, object]:
        """Return the words of all rows that were written."""
        return {
            **{name: one.all for name, one in self._words.items()},
            "agents": self._agents.all,
            "outcomes": self._outcomes.all,
            "tables": [one.replace("\0", "/") for one in self._tables.all],
        }

    def table(self, domain: str, field: str) -> int:
        """Return the place of a confusion table."""
        return self._tables.place(f"{domain}\0{field}")

    def rule(self, name: str) -> int:
        return self._words["rules"].place(name)

    def label(self, text: str) -> int:
        return self._words["labels"].place(text)

    def _answers(self, record: RunRecord) -> list[list[int]]:
        """Return which label was given where which was expected, as the tables count it."""
        if record.outcome not in COMPLETED:
            return []
        wrong = {one.field: one for one in record.mismatches}
        found: list[list[int]] = []
        for field, expected in record.expected.items():
            name = f"{record.domain}\0{field}"
            if not self._tables.has(name):
                continue
            label = self._any_label.of(wrong[field].expected if field in wrong else expected)
            given = self._any_label.of(wrong[field].actual) if field in wrong else label
            found.append(
                [self._tables.place(name), self.label(label), self.label(given[: LABEL_LIMIT + 1])]
            )
        return found


def confused_fields(
    page: SessionPage, numbers: Collection[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Return the domain and field of each confusion table; numbers are off, and not confused."""
    found = (
        (domain_of(title), table.field)
        for title, summary in page.summaries.items()
        for table in summary.confusions
        # Where all are right no reason tells that they are numbers, but their labels do.
        if not all(one == other and _is_number(one) for one, other in table.pairs)
    )
    return [one for one in dict.fromkeys(found) if one not in numbers]


def number_fields(page: SessionPage) -> frozenset[tuple[str, str]]:
    """Return the domain and field of all whose reasons tell that a number was asked for."""
    return frozenset(
        (one.domain, miss.field)
        for one in page.records
        for miss in one.mismatches
        if number_kind(miss)
    )


def _is_number(label: str) -> bool:
    return read_as_json_writes(label) is not None


def changes_of(page: SessionPage) -> Mapping[TaskKey, str]:
    """Return what became of each task since the baseline, where there is anything to say."""
    compared = page.comparison
    if compared is None:
        return {}
    pooled = compared.pooled
    return {
        **dict.fromkeys(pooled.aside, ASIDE),
        **dict.fromkeys(pooled.lost, LOST),
        **dict.fromkeys(pooled.gained, GAINED),
    }


def _rounded(duration: float | None) -> float | None:
    return None if duration is None else round(duration, 4)


def _tokens(usage: Usage) -> int | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens
