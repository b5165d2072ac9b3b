"""Choose the drafts that a domain keeps: `python -m bundled_domains.choosing NAME`.

Every change of the policy is to lose tasks, every tag to be on rows, no label to be frequent, and
most rows are to hold more than one irregularity. It takes a minute, and generators do without.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bundled_domains.generator import Dice, bundled, decided, look_ups
from bundled_domains.referrals import Desk

from pytest_sopbench._audit.observing.changes import Change, changes_of
from pytest_sopbench._audit.observing.suite import decide_of

DRAFTS = 2_000
ROWS = 200
FEWEST_LOST, FEWEST_TAGGED = 3, 5
ENOUGH = 12
MOST_OF_A_LABEL = 0.3
RARE = 0.2
MOST_CALLS = 60


class Choice:
    """The drafts of a desk with what each of them would show."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.rows = [desk.row(number) for number in range(DRAFTS)]
        self.labels = [desk.outcome(row).answer["enforcement_action"] for row in self.rows]
        self.shown: list[set[str]] = [set() for _ in self.rows]
        self.messy: list[set[str]] = [set() for _ in self.rows]
        for number, row in enumerate(self.rows):
            self.shown[number] |= {f"tag {tag}" for tag in desk.tags_of(row)}
        self._see_changes()

    def _see_changes(self) -> None:
        path = bundled(self._desk.name) / "policy.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        right = [self._said(self._desk.policy["decide"], row) for row in self.rows]
        branches: dict[tuple[str, int], list[set[int]]] = defaultdict(list)
        for number, (change, decide) in enumerate(_changed(tree, path)):
            enough = RARE * DRAFTS if change.kind == "branch" else ENOUGH
            lost: set[int] = set()
            for place, row in enumerate(self.rows):
                if self._said(decide, row) != right[place]:
                    lost.add(place)
                    if len(lost) > enough:
                        break
            if len(lost) < FEWEST_LOST:
                _say(f"{len(lost)} of {DRAFTS} drafts: {change.function}: {change.text}")
            for place in lost:
                self.shown[place].add(f"change {number}")
            if change.kind == "branch":
                branches[change.function, change.line].append(lost)
        for (function, _), losses in branches.items():
            fewest = min(losses, key=len)
            for place in fewest if len(fewest) <= RARE * DRAFTS else ():
                self.messy[place].add(function)

    def _said(self, decide: Any, row: Any) -> str:
        answer = look_ups(self._desk.tools, row)
        made: list[str] = []

        def counted(name: str, arguments: Any) -> Any:
            made.append(name)
            if len(made) > MOST_CALLS:
                raise OverflowError
            return answer(name, arguments)

        try:
            found = decided(decide, row, counted)
        except Exception as error:  # noqa: BLE001 - a changed policy may fail anyhow
            return type(error).__name__
        return json.dumps([found.answer, found.calls], sort_keys=True, default=str)

    def kept(self) -> list[int]:
        """Numbers of drafts, in the order of the file."""
        rarity = Counter(what for shown in self.shown for what in shown)
        missing = {what: _wanted(what) for what in rarity}
        found: list[int] = []
        met: Counter[str] = Counter()
        left = set(range(DRAFTS))
        while len(found) < ROWS:
            best = max(left, key=lambda one: (self._worth(one, missing, rarity, met), -one))
            left.remove(best)
            found.append(best)
            met[self.labels[best]] += 1
            for what in self.shown[best]:
                missing[what] -= 1
        short = {what: some for what, some in missing.items() if 0 < some <= _wanted(what)}
        several = sum(len(self.messy[one]) > 1 for one in found)
        _say(f"{dict(met)}, {several} with several irregularities, missing: {short}")
        return Dice(len(found)).shuffled(found)

    def _worth(
        self, one: int, missing: dict[str, int], rarity: Counter[str], met: Counter[str]
    ) -> float:
        if met[self.labels[one]] >= MOST_OF_A_LABEL * ROWS:
            return -1.0
        new = sum(1 / rarity[what] for what in self.shown[one] if missing[what] > 0)
        # Equal rows are parted by how much matters in them, and by labels that are rare so far.
        return new + (len(self.messy[one]) > 1) * 1e-4 - met[self.labels[one]] * 1e-6


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _wanted(what: str) -> int:
    return FEWEST_TAGGED if what.startswith("tag ") else FEWEST_LOST


def _changed(tree: ast.Module, path: Any) -> Iterator[tuple[Change, Any]]:
    for change in changes_of(tree):
        undo = change.apply()
        try:
            decide = decide_of(tree, path)
        except Exception:  # noqa: BLE001, S112 - a policy that is not even read is lost everywhere
            continue
        finally:
            undo()
        yield change, decide


if __name__ == "__main__":
    desk: Desk = import_module(f"bundled_domains.{sys.argv[1]}.desk").DESK
    desk.kept.write_text(json.dumps(Choice(desk).kept()) + "\n", encoding="utf-8")
