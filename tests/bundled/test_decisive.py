"""Every condition of a bundled policy decides: whoever misreads one loses two tasks at least.

A condition that no row decides is a clause that may be misread with full marks. The changes are
those of `sopbench audit --mutants`.
"""

from __future__ import annotations

import ast
import json
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from bundled_domains.generator import decided, look_ups

from pytest_sopbench._audit.observing.mutating import _decide_of, changes_of
from pytest_sopbench.bundled import _phrases

FEWEST = 2
SECONDS = 5.0
"""Processor time of one task under a changed policy; right ones take a thousandth of it."""

RARE = 0.2
"""A branch is an irregularity where the habit would be right on at least four tasks of five."""

SAME = {
    # domain, function or constant, change: why nobody could tell the two apart
}


class EndlessError(BaseException):
    """A changed loop did not end."""


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Changed loops end, and a phrase book is read once for all changes."""

    def stop(*_: object) -> None:
        raise EndlessError

    books: dict[Any, Any] = {}
    real = _phrases.PhraseBook
    monkeypatch.setattr(_phrases, "PhraseBook", lambda path: books.setdefault(path, real(path)))
    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def outcome(domain: Any, decide: Callable[..., Any], row: Mapping[str, Any]) -> str:
    """The answer and the calls, or how it failed."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        answer = look_ups(domain.metadata["tools"], row)
        found = decided(decide, domain.inputs(row), answer)
        return json.dumps([found.answer, found.calls], sort_keys=True, default=str)
    except (Exception, EndlessError) as error:  # noqa: BLE001 - a changed policy may fail anyhow
        return type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def lost_by_change(
    domain: Any, *, enough: int, kinds: frozenset[str] = frozenset()
) -> Iterator[tuple[Any, set[int]]]:
    """Every change of the policy with the rows it loses, of which `enough` are found."""
    path = domain.folder / "policy.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    right = [outcome(domain, domain.decide, row) for row in domain.rows]
    order = list(range(len(right)))
    for change in changes_of(tree):
        if kinds and change.kind not in kinds:
            continue
        undo = change.apply()
        try:
            decide = _decide_of(tree, path)
        except Exception:  # noqa: BLE001, S112 - a policy that is not even read is lost everywhere
            continue
        finally:
            undo()
        lost: set[int] = set()
        for number in order:
            if outcome(domain, decide, domain.rows[number]) != right[number]:
                lost.add(number)
                if len(lost) == enough:
                    break
        # Rows that lose to one change lose to its neighbours, so that few are tried.
        order.sort(key=lambda number: number not in lost)
        yield change, lost


def test_every_condition_decides_two_tasks(every_domain: Any) -> None:
    weak = {
        (every_domain.folder.name, change.function, change.text)
        for change, lost in lost_by_change(every_domain, enough=FEWEST)
        if len(lost) < FEWEST
    }

    assert weak == {of for of in SAME if of[0] == every_domain.folder.name}


def test_every_tag_is_on_three_rows(every_domain: Any) -> None:
    column = every_domain.metadata["tags_column"]
    tags = Counter(tag for row in every_domain.rows for tag in (row[column] or "").split(","))

    assert {tag: rows for tag, rows in tags.items() if rows < 3} == {}


def test_three_rows_of_ten_have_two_irregularities_that_both_matter(every_domain: Any) -> None:
    """Two clauses in which the usual way would be wrong; `dangerous_goods` has its own measure."""
    if every_domain.folder.name == "dangerous_goods":
        pytest.skip("its scores are one sum, in which no clause stands alone")
    ways: dict[tuple[str, int], list[set[int]]] = defaultdict(list)
    everything = len(every_domain.rows) + 1

    for change, lost in lost_by_change(
        every_domain, enough=everything, kinds=frozenset({"branch"})
    ):
        ways[change.function, change.line].append(lost)

    clauses: dict[int, set[str]] = defaultdict(set)
    for (function, _), losses in ways.items():
        fewest = min(losses, key=len)
        for number in fewest if len(fewest) <= RARE * len(every_domain.rows) else ():
            clauses[number].add(function)
    messy = sum(len(functions) > 1 for functions in clauses.values())
    assert messy >= 0.3 * len(every_domain.rows)
