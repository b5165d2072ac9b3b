"""Read of many runs what numbers are made of, so that a large session fits into little memory.

What an agent said, answered and passed to its tools is left out, as are the results of tools; what
many runs have in common is kept once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, make_dataclass, replace
from sys import intern
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.lines.run_line import record_from_json
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.values.json import JsonValue

from .shapes import read_run

Wanted: TypeAlias = Callable[..., bool]
"""Tells whether a run is wanted in full, given its `domain`, `task`, `outcome` and `rules`."""

# A frozen dataclass sets each field by a call, which takes longer than all else that is done here.
# So a run is made open, with the slots of a record, and becomes one when it is complete.
_OpenRun: Final[Any] = make_dataclass(
    "_OpenRun", [(one.name, Any) for one in fields(RunRecord)], slots=True
)
_KNOWN: Final = frozenset(one.name for one in fields(RunRecord))
_new: Final = object.__new__
_NOT_READ: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("answer", "problem", "trajectory")),
    **dict.fromkeys(("reason", "answer_form", "text", "trace"), ""),
    "notes": (),
}


class Skimmer:
    """Reads the line of a run in a few microseconds.

    Args:
        whole: tells which runs are read in full; not given, none is.
    """

    def __init__(self, whole: Wanted | None = None) -> None:
        self._whole = whole
        self._expected: dict[tuple[object, ...], Mapping[str, JsonValue]] = {}
        self._calls: dict[tuple[object, ...], tuple[CallRecord, ...]] = {}
        self._usage: dict[tuple[object, ...], Usage] = {}

    def __call__(self, data: dict[str, Any]) -> RunRecord:
        """Return a run with what `Tally`, gates and comparisons ask for.

        Raises:
            ValueError: a key is missing, or holds something else than it should.
        """
        # What another version tells of a run changes no number, and is no reason to refuse it.
        run = record_from_json({name: one for name, one in data.items() if name in _KNOWN})
        if self._is_whole(run.domain, run.task, run.outcome, run.rules):
            return record_from_json(data)
        return replace(
            run,
            expected=self._shared(run.expected),
            calls=self._named([(one.name, one.bad, one.error is not None) for one in run.calls]),
            **_NOT_READ,
        )

    def glance(self, line: bytes) -> RunRecord | None:
        """Return the run of a line that nothing is wrong with; it takes less than reading it.

        Returns:
            `None` where the line must be read: it is of no run, of one that is wanted in full, or
            not what it should be.
        """
        data = read_run(line)
        if data is None or data.get("compared"):
            # What others found is looked at beside the answer, which is not skimmed.
            return None
        if self._whole is not None and self._is_whole(
            data["domain"], data["task"], data["outcome"], data["rules"]
        ):
            return None
        return self._skim(data)

    def _is_whole(self, domain: str, task: str, outcome: str, rules: object) -> bool:
        return self._whole is not None and self._whole(
            domain=domain, task=task, outcome=outcome, rules=rules
        )

    def _skim(self, data: Mapping[str, Any]) -> RunRecord:
        calls = data["calls"]
        # Each slot by itself: to call a constructor by keywords takes three times as long.
        run = _new(_OpenRun)
        run.domain = intern(data["domain"])
        run.task = intern(data["task"])
        run.trial = data["trial"]
        run.agent = intern(data["agent"])
        run.task_hash = intern(data["task_hash"])
        run.outcome = data["outcome"]
        run.expected = self._shared(data["expected"])
        run.mismatches = data["mismatches"]
        # A list first: a generator takes twice as long.
        seen = [(one["name"], one["bad"], one["error"] is not None) for one in calls]
        run.calls = self._named(seen) if seen else ()
        run.usage = self._used(data["usage"])
        run.duration_s = data["duration_s"]
        run.disagreement = data["disagreement"]
        run.only_published = data["only_published"]
        run.rules = data["rules"]
        run.contract = data["contract"]
        run.grounded = data["grounded"]
        run.unneeded = data["unneeded"]
        run.document = data.get("document")
        run.compared = ()
        run.ignored = data.get("ignored", ())
        # Those of `_NOT_READ`, each by itself as well.
        run.answer = run.problem = run.trajectory = None
        run.reason = run.answer_form = run.text = run.trace = ""
        run.notes = ()
        run.__class__ = RunRecord
        return cast("RunRecord", run)

    def _shared(self, expected: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        values = expected.values()
        # With the types, since 1 and true are the same key of a dictionary.
        key = (*expected, *values, *map(type, values))
        try:
            return self._expected.setdefault(key, expected)
        except TypeError:
            return expected

    def _named(self, calls: Sequence[tuple[str, bool, bool]]) -> tuple[CallRecord, ...]:
        """Return calls of which the name, whether each was bad, and whether it failed are told."""
        key = tuple(calls)
        found = self._calls.get(key)
        if found is None:
            found = self._calls[key] = tuple(
                CallRecord(name=name, arguments=None, bad=bad, error="" if failed else None)
                for name, bad, failed in key
            )
        return found

    def _used(self, usage: Mapping[str, Any]) -> Usage:
        key = (*usage, *usage.values())
        found = self._usage.get(key)
        if found is None:
            found = self._usage[key] = Usage(**usage)
        return found
