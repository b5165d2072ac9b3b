"""Count trials task by task as runs arrive, at next to no cost where a task has only one."""

from __future__ import annotations

from array import array
from collections import Counter

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome


class TrialTally:
    """Counts the trials of each task.

    Whether a task will have a second trial is not known when its first arrives. Of a first trial
    eight bytes are kept, the hash of its task with the outcome in the lowest bit; only a task
    that has a second is kept by name. Two of 100,000 tasks share a hash of 63 bits with a chance
    of one in a thousand million.
    """

    def __init__(self) -> None:
        self._first = array("q")
        self._later: dict[tuple[str, str, str], list[int]] = {}

    def add(self, record: RunRecord) -> None:
        """Count one run; each key must come once."""
        correct = record.outcome is Outcome.CORRECT
        key = record.domain, record.task, record.agent
        if record.trial == 1:
            self._first.append(hash(key) & ~1 | correct)
            return
        counts = self._later.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += correct

    @property
    def tasks(self) -> int:
        """Tasks with a run, whichever of their trials it is."""
        if not self._later:
            return len(self._first)
        later = {hash(key) & ~1 for key in self._later}
        return len(later.union(first & ~1 for first in self._first))

    def counts(self) -> dict[tuple[int, int], int]:
        """Return (trials, correct) to tasks, sorted; empty where no task has several trials."""
        trials = {hash(key) & ~1: list(counts) for key, counts in self._later.items()}
        once: Counter[tuple[int, int]] = Counter()
        for first in self._first if trials else ():
            found = trials.get(first & ~1)
            if found is None:
                once[1, first & 1] += 1
            else:
                found[0] += 1
                found[1] += first & 1
        once.update((number, correct) for number, correct in trials.values())
        if all(number == 1 for number, _ in once):
            return {}
        return dict(sorted(once.items()))
