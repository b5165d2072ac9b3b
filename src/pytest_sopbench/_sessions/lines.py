"""Single lines of a session."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from hashlib import sha256
from pathlib import Path
from sys import intern
from typing import Any, Final, NoReturn, TypeAlias, cast
from zlib import crc32

from pydantic_core import SchemaValidator, ValidationError, from_json
from pydantic_core import core_schema as cs

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.lines import (
    ANY,
    COUNT,
    FLAG,
    KEY,
    OBJECT,
    TEXT,
    TRIAL,
    Form,
    Keys,
    maybe,
    record_from_json,
    run_keys,
    typed,
    wrong_type,
)
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.values.json import JsonValue

# A short checksum at the end of each line, by which a reader tells that nothing changed it.
#
# It is a CRC-32 of the line before it, begun with the identity of the session, so that a line of
# another session does not pass for one of this. It finds what accidents do: a flipped bit, a block
# that a disk lost, a value that was edited by hand. Whoever means to deceive can compute it.

_MARK: Final = b',"crc":"'
_LENGTH: Final = len(b',"crc":"00000000"}')


def seed_of(identity: str) -> int:
    """Return what the checksums of a session begin with."""
    return crc32(identity.encode())


def sealed(line: str, seed: int = 0) -> bytes:
    """Return a line of JSON, an object with a member at least, with its checksum as last member."""
    data = line.encode()[:-1]
    return b'%b,"crc":"%08x"}' % (data, crc32(data, seed))


def is_sealed(line: bytes) -> bool:
    """Tell whether a line, given without its end, carries a checksum."""
    return line[-_LENGTH:].startswith(_MARK) and line.endswith(b'"}')


def is_intact(line: bytes, seed: int = 0) -> bool:
    """Tell whether a line, given without its end, carries the checksum of what it holds."""
    return line[-_LENGTH:] == b',"crc":"%08x"}' % crc32(line[:-_LENGTH], seed)


def seal_of(line: bytes) -> bytes:
    """Return the end of a sealed line, which is its checksum."""
    return line[-_LENGTH:]


def bare(line: bytes) -> bytes:
    """Return a line that `sealed` made as it was before."""
    return line[:-_LENGTH] + b"}"


def identity_from(parts: Iterable[str]) -> str:
    """Return the identity of a session that was made of others: the same for the same parts."""
    return sha256("\n".join(parts).encode()).hexdigest()[:16]


# Lines of a saved session that are not what was written, and what is said of them.

SHOWN: Final = 10
"""How many damaged lines are named; a file may have as many as it has lines."""

CHANGED: Final = "its checksum is of another content, or of another session"
UNSEALED: Final = "it has no checksum"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line that says nothing any more; `run` is whose it seems to have been, where that shows."""

    number: int
    why: str
    run: RunKey | None = None


def damage_lines(path: Path, damaged: Sequence[DamagedLine]) -> Iterator[str]:
    """Yield a sentence for each of the first damaged lines, and count the others."""
    for one in damaged[:SHOWN]:
        of = f" (the run of {run_name(one.run)})" if one.run is not None else ""
        yield f"{path}, line {one.number}: damaged, and left out{of}: {one.why}"
    if len(damaged) > SHOWN:
        yield f"{path}: {len(damaged) - SHOWN} more lines are damaged, and left out"


def run_name(key: RunKey) -> str:
    """Name a run as users do: `refunds/T1`, with its trial where that is not the first."""
    trial = f" (trial {key.trial})" if key.trial > 1 else ""
    return f"{key.domain}/{key.task}{trial}"


def some_runs(keys: Sequence[RunKey], shown: int = 3) -> str:
    """Name the first of some runs, and count the others."""
    more = f" and {len(keys) - shown} more" if len(keys) > shown else ""
    return f"{', '.join(map(run_name, keys[:shown]))}{more}"


# A line of JSON, read as fast as it can be.

# Taken at import: an agent may put another function into its place.
_loads = json.loads


def read_json(line: bytes) -> object:
    """Read a line of JSON: by the parser of pydantic, which takes half the time, where it can.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        # It refuses what json takes, such as half of a surrogate pair; the reason is json's.
        return _loads(line, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    # Python's own extension of JSON, which no session is ever written with.
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


# What lines of a session or a journal must hold where they are read, by the type of each value.
#
# What runs and traces hold is described where they are read:
# `_core/records/lines/line_schemas.py`.
#
# A line without a checksum may hold anything, and so may one that another program has sealed. A
# number in the place of a name would end a command far from here, and say nothing of the file.

_TEXTS: Final = cs.list_schema(TEXT, strict=True)


def _by_name(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.dict_schema(TEXT, schema, strict=True)


class _Skimmed(Form):
    """Calls and usage stay as they are, since many runs have the same; no values of calls."""

    def part(
        self,
        made: type,
        keys: Keys,
        *,
        needed: Collection[str] = (),
        extra: cs.ExtraBehavior = "forbid",
    ) -> cs.CoreSchema:
        if made is Usage:
            return typed(keys, extra="forbid")
        if made is CallRecord:
            seen = {name: schema for name, schema in keys.items() if schema is not ANY}
            return typed(seen, needed=("name", "error", "bad"))
        return super().part(made, keys, needed=needed, extra=extra)


_UNREAD: Final = frozenset(
    ("reason", "answer", "answer_form", "text", "problem", "trajectory", "trace", "notes")
)
"""What is checked of a run that is skimmed, and not read; it may be missing."""

_OPTIONAL: Final = frozenset(("document", "compared", "ignored"))
"""What a run holds only where there is something to hold."""

_COUNTED: Final = {"runs": COUNT, "outcomes": _by_name(COUNT), "reruns": COUNT}
_PLANNED: Final = {
    "planned": _TEXTS,
    "trials": TRIAL,
    "some_trials": _by_name(cs.list_schema(TRIAL, strict=True)),
}
_DOMAIN: Final = {
    **_PLANNED,
    **dict.fromkeys(("sop", "specs", "tools", "data"), TEXT),
    "agents": _by_name(typed(_PLANNED)),
    "comparers": _by_name(TEXT),
    "share": maybe(typed({"tasks": COUNT, "digest": TEXT, "part": COUNT})),
}
_HEADER: Final = {
    "schema": COUNT,
    "agent_args": _by_name(TEXT),
    "options": OBJECT,
    "git": maybe(typed({"commit": TEXT, "dirty": FLAG})),
    "domains": _by_name(typed(_DOMAIN)),
}

_SHAPES: Final = {
    "header": SchemaValidator(typed(_HEADER)),
    "slim": SchemaValidator(typed({**KEY, "task_hash": TEXT, "outcome": TEXT, "calls": _TEXTS})),
    "start": SchemaValidator(typed(KEY)),
    "trace": SchemaValidator(typed({**KEY, "trace": OBJECT})),
    "events": SchemaValidator(typed({**KEY, "events": TEXT})),
    "summary": SchemaValidator(typed({"domains": _by_name(typed(_COUNTED))})),
}
"""Kinds of lines whose readers do not look at types themselves."""

_BEGIN: Final = b'{"type":"run",'
_RUN: Final = run_keys(_Skimmed())
_SKIM: Final = SchemaValidator(
    typed(
        {**_RUN, "type": cs.literal_schema(["run"])},
        needed={"type", *_RUN} - _UNREAD - _OPTIONAL,
    )
)


def read_run(line: bytes) -> dict[str, Any] | None:
    """Read the line of a run and check it in one step, which takes half the time of two.

    Returns:
        What the line holds of a run; `None` where it is for `read_json` and `check_shape` to say
        what it holds, or what is wrong with it.
    """
    if not line.startswith(_BEGIN) or _may_hold_constant(line):
        return None
    try:
        found: dict[str, Any] = _SKIM.validate_json(line)
    except ValidationError:
        return None
    return found


def _may_hold_constant(line: bytes) -> bool:
    """Tell whether a word of Python's own extension of JSON stands there, which the parser takes.

    One letter is looked for first, since that takes a tenth of the time.
    """
    return (b"N" in line and b"NaN" in line) or (b"I" in line and b"Infinity" in line)


def check_shape(kind: object, data: Mapping[str, Any]) -> None:
    """Check what a line of a kind holds; one of no known kind is for those who read it.

    Raises:
        ValueError: a value is of another type than it should be.
    """
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        return
    try:
        shape.validate_python(data)
    except ValidationError as fault:
        raise ValueError(wrong_type(fault)) from None


# Read of many runs what numbers are made of, so that a large session fits into little memory.
#
# What an agent said, answered and passed to its tools is left out, as are the results of tools;
# what many runs have in common is kept once.

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
