"""The strong sample of each bundled domain is fresh, and fails what the whole domain fails.

`make samples` writes them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench.bundled
from pytest_sopbench._audit.observing.mutants import mutation_of
from pytest_sopbench._audit.observing.mutating import mutate
from pytest_sopbench._audit.observing.suite import Suite
from pytest_sopbench._loading.evidence import read_strong_sample
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.tools.domain_code import load_manager_factory

BUNDLED = Path(pytest_sopbench.bundled.__path__[0])


@dataclass(kw_only=True)
class Lines:
    """What the audit writes down while it runs mutants."""

    lines: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def doing(self, **what: Any) -> None:
        """Nobody watches."""

    def beat(self) -> None:
        """Nobody waits."""

    def say(self, **line: Any) -> None:
        self.lines.append(line)


@pytest.mark.usefixtures("one_phrase_book")
@pytest.mark.parametrize("name", ["dangerous_goods", "order_fulfillment", "reservation_desk"])
def test_the_sample_fails_every_mutant_that_the_domain_fails(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a domain with look-ups, one with a world, and one of documents; all are made alike."""
    domain = load_domain(BUNDLED / name)
    factory = load_manager_factory(domain) if domain.tools_file else None
    sample = read_strong_sample(domain)
    rows = frozenset(domain.task_ids.index(one) for one in sample.tasks)
    book, enter = Lines(), Suite.enter
    monkeypatch.setattr(
        Suite, "enter", lambda suite, row, *run: row in rows and enter(suite, row, *run)
    )

    mutate(domain, factory, book)

    failing = sum(bool(one.fails) for one in mutation_of(domain, book.lines).mutants)
    assert failing == sample.noticed[-1] == sample.mutants - sample.unseen


def test_the_sample_is_fresh_holds_every_tag_and_is_smaller_than_the_domain(
    every_domain: Any,
) -> None:
    domain = load_domain(every_domain.folder)
    tags = {task.id: {*task.tags} for task in domain.tasks}

    chosen = read_strong_sample(domain).tasks

    assert set.union(*(tags[one] for one in chosen)) == set.union(*tags.values())
    assert len(chosen) < len(tags)
