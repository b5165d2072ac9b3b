"""Read of many runs what numbers are made of, so that a large session fits into little memory.

What an agent said, answered and passed to its tools is left out, as are the results of tools; what
many runs have in common is kept once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, make_dataclass
from sys import intern
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.contract.ruling import RuleState
from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.document import document_from_json
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.records.rule_line import rule_from_json
from pytest_sopbench._core.records.run_line import record_from_json
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome

from .shapes import read_run

Wanted: TypeAlias = Callable[..., bool]
"""Tells whether a run is wanted in full, given its `domain`, `task`, `outcome` and `rules`."""

_OUTCOMES: Final = {one.value: one for one in Outcome}
_STATES: Final[Mapping[str | None, RuleState | None]] = {
    None: None,
    **{one.value: one for one in RuleState},
}


# A frozen dataclass sets each field by a call, which takes longer than all else that is done here.
# So a run is made open, with the slots of a record, and becomes one when it is complete.
_OpenRun: Final[Any] = make_dataclass(
    "_OpenRun", [(one.name, Any) for one in fields(RunRecord)], slots=True
)
_new: Final = object.__new__


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
        try:
            if self._is_whole(data["domain"], data["task"], data["outcome"], data["rules"]):
                return record_from_json(data)
            return self._skim(data)
        except (KeyError, TypeError, AttributeError) as fault:
            msg = f"a run's line with missing or unknown keys: {fault}"
            raise ValueError(msg) from fault

    def glance(self, line: bytes) -> RunRecord | None:
        """Return the run of a line that nothing is wrong with; it takes less than reading it.

        Returns:
            `None` where the line must be read: it is of no run, of one that is wanted in full, or
            not what it should be.
        """
        data = read_run(line)
        if data is None:
            return None
        if self._whole is not None and self._is_whole(
            data["domain"], data["task"], data["outcome"], data["rules"]
        ):
            return None
        try:
            return self._skim(data)
        except (KeyError, ValueError):
            # A word that is none of those known; whoever reads the line says so.
            return None

    def _is_whole(self, domain: str, task: str, outcome: str, rules: object) -> bool:
        return self._whole is not None and self._whole(
            domain=domain, task=task, outcome=outcome, rules=rules
        )

    def _skim(self, data: Mapping[str, Any]) -> RunRecord:
        mismatches, calls, rules = data["mismatches"], data["calls"], data["rules"]
        # Each slot by itself: to call a constructor by keywords takes three times as long.
        run = _new(_OpenRun)
        run.domain = intern(data["domain"])
        run.task = intern(data["task"])
        run.trial = data["trial"]
        run.agent = intern(data["agent"])
        run.task_hash = intern(data["task_hash"])
        run.outcome = _OUTCOMES[data["outcome"]]
        run.expected = self._shared(data["expected"])
        run.mismatches = tuple([Mismatch(**one) for one in mismatches]) if mismatches else ()
        run.calls = self._named(calls) if calls else ()
        run.usage = self._used(data["usage"])
        run.duration_s = data["duration_s"]
        run.disagreement = data["disagreement"]
        run.only_published = data["only_published"]
        run.rules = tuple([rule_from_json(one) for one in rules]) if rules else ()
        run.contract = _STATES[data["contract"]]
        run.grounded = data["grounded"]
        run.unneeded = data["unneeded"]
        run.document = document_from_json(data["document"]) if "document" in data else None
        compared, ignored = data.get("compared"), data.get("ignored")
        run.compared = tuple([Compared(**one) for one in compared]) if compared else ()
        run.ignored = tuple(ignored) if ignored else ()
        # What is not read.
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

    def _named(self, calls: Sequence[Mapping[str, Any]]) -> tuple[CallRecord, ...]:
        # A list first: a generator takes twice as long.
        key = tuple([(one["name"], one["bad"], one["error"] is not None) for one in calls])
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
