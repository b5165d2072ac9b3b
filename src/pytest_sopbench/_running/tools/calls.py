"""The record of the calls of a run, and what was wrong with each."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeAlias, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.model.trace import (
    NOT_ENDED,
    UNKNOWN_USAGE,
    Approval,
    Finding,
    FindingKind,
    ToolCall,
    Usage,
)
from pytest_sopbench._core.model.usage import (
    Prices,
    Reckoning,
    add_usage,
    fill_unknown,
    read_usage,
    server_of,
)
from pytest_sopbench._core.values.json import JsonValue, escape_surrogates, to_json_value
from pytest_sopbench.errors import ClosedToolboxError, RunOverError, ToolSpecError

if TYPE_CHECKING:
    import jsonschema_rs

# The record of one run's tool calls, and of whether there may be more of them.
#
# Calls stand in the order in which they began, since parallel ones end in any order, and each
# tells how many of those after it began before it ended. No clock has a say in that: two calls may
# well begin within one of its ticks. A call that still runs when the run ends stays in the record,
# as one that did not end.
#
# Threads take calls that one reply of a model asks for in any order, and end them in any. If
# the replies of a run are seen, that order is not told: such calls stand as the reply has them,
# and overlap, unless the program made them one after another.

REFUSALS: Final = 10
"""Calls that are refused as an error that an agent may catch; from the next one on it is ended."""

GIVEN_UP: Final = "the agent gave the call up before its tool was asked"


class Asking(Protocol):
    """One reply of a model."""

    @property
    def asked(self) -> Sequence[str]:
        """The names of the tools that it asks for, in its order."""
        ...


_REPLIES: ContextVar[Callable[[], Asking | None] | None] = ContextVar("sop_replies", default=None)
_LINE: ContextVar[tuple[CallLog, OpenCall | None] | None] = ContextVar("sop_line", default=None)
"""The last call that this line of the program has made: in this thread, in this task."""


@contextmanager
def replies_seen(last: Callable[[], Asking | None]) -> Generator[None]:
    """Have the calls of a run in this context know the last reply before each."""
    token = _REPLIES.set(last)
    try:
        yield
    finally:
        _REPLIES.reset(token)


@dataclass(slots=True, kw_only=True, eq=False)
class OpenCall:
    """One call while it is made; times in seconds from the start of the run.

    `number` counts the calls that began before it, `begun` those that had begun when it ended.
    `asked` and `answered` tell how far its tool is, `left` that whoever made it has given it up.
    `reply` is the last before it, and `after` the call that the same line of the program made.
    """

    number: int
    name: str
    arguments: JsonValue
    started: float
    begun: int = 0
    asked: bool = False
    answered: bool = False
    left: bool = False
    duration: float | None = None
    result: JsonValue = None
    error: str | None = None
    findings: tuple[Finding, ...] = field(default=())
    reply: Asking | None = None
    after: OpenCall | None = None

    def follows(self, other: OpenCall) -> bool:
        """Whether the program made this call when it had the result of the other one."""
        one = self.after
        while one is not None and one is not other and one.number > other.number:
            one = one.after
        return one is other

    def as_call(self, until: float, overlaps: int) -> ToolCall:
        running = self.duration is None
        return ToolCall(
            name=self.name,
            arguments=self.arguments,
            result=None if running else self.result,
            error=NOT_ENDED if running else self.error,
            findings=self.findings,
            started=self.started,
            duration=until - self.started if self.duration is None else self.duration,
            overlaps=overlaps,
        )


class CallLog:
    """Takes down calls until its limit or its end; safe to use from many threads."""

    __slots__ = (
        "_answered",
        "_at_work",
        "_clock",
        "_closed",
        "_ended",
        "_entries",
        "_lock",
        "_max_calls",
        "_refused",
        "_replies",
        "opened",
        "over_limit",
    )

    def __init__(self, *, max_calls: int, clock: Callable[[], float]) -> None:
        self._lock = Lock()
        self._ended = Condition(self._lock)
        self._clock = clock
        self._max_calls = max_calls
        self._entries: list[OpenCall] = []
        # How many of them have not ended.
        self._at_work = 0
        self._closed: tuple[ToolCall, ...] | None = None
        self._answered = False
        self._refused = 0
        self._replies: Callable[[], Asking | None] | None = None
        self.opened = clock()
        self.over_limit = False

    def enter(self) -> None:
        """Know the context of the run: calls from threads that lost it are in no line."""
        self._replies = _REPLIES.get()
        _LINE.set((self, None))

    def begin(self, name: str, arguments: JsonValue) -> OpenCall:
        """Take down a call that begins.

        Raises:
            ClosedToolboxError: the run is over, or this call is one too many. The first call that
                is one too many is recorded; the ones after it are not, as an agent may go on
                forever.
            RunOverError: the agent goes on asking; it is no `Exception`, so that agents which
                catch every error do not go on for ever with a model that is paid for.
        """
        with self._lock:
            if self._closed is not None or self._answered:
                self._refuse("the run is over: no tool can be called any more")
            limit_msg = f"the limit of {self._max_calls} tool calls is passed: the run is over"
            if self.over_limit:
                self._refuse(limit_msg)
            line = _LINE.get()
            entry = OpenCall(
                number=len(self._entries),
                name=name,
                arguments=arguments,
                started=self.now(),
                reply=None if self._replies is None else self._replies(),
                after=line[1] if line is not None and line[0] is self else None,
            )
            self._entries.append(entry)
            if len(self._entries) > self._max_calls:
                self.over_limit = True
                entry.error, entry.duration, entry.begun = limit_msg, 0.0, len(self._entries)
                self._refuse(limit_msg)
            self._at_work += 1
            return entry

    def ask(self, entry: OpenCall) -> bool:
        """Take down that the tool of a call is asked; false if the call was given up before."""
        with self._lock:
            entry.asked = not entry.left
            return entry.asked

    def answer(
        self, entry: OpenCall, *, result: JsonValue = None, error: str | None = None
    ) -> None:
        """Take down what came of a call, which ends when `end` says so, or `leave` has."""
        with self._lock:
            entry.result, entry.error, entry.answered = result, error, True
            if entry.left:
                self._end(entry)

    def end(self, entry: OpenCall) -> None:
        """Take down that a call has ended; nothing is changed once the log is closed."""
        with self._lock:
            self._end(entry)
        line = _LINE.get()
        if line is not None and line[0] is self:
            _LINE.set((self, entry))

    def leave(self, entry: OpenCall) -> None:
        """Take down that a call was given up by whoever made it: it ends with its tool."""
        with self._lock:
            entry.left = True
            if not entry.asked:
                entry.error = GIVEN_UP
            if entry.answered or not entry.asked:
                self._end(entry)

    @property
    def begun(self) -> int:
        """How many calls have begun so far."""
        with self._lock:
            return len(self._entries)

    def await_last(self, seconds: float) -> None:
        """Let no more calls begin, and wait until those that have begun have ended.

        Whoever closes the log ends the wait, and it takes no longer than `seconds`.
        """
        with self._ended:
            self._answered = True
            self._ended.wait_for(self._is_quiet, seconds)

    def _is_quiet(self) -> bool:
        return self._closed is not None or not self._at_work

    def close(self) -> None:
        with self._lock:
            if self._closed is None:
                self._closed = self._calls()
            self._ended.notify_all()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        with self._lock:
            return self._calls() if self._closed is None else self._closed

    @property
    def closed(self) -> bool:
        with self._lock:
            return self._closed is not None

    @property
    def steps(self) -> Mapping[int, int]:
        """The step of each call, from 1, by the number under which it began."""
        with self._lock:
            order, _ = self._laid_out()
        return {entry.number: step for step, entry in enumerate(order, start=1)}

    def results(self) -> Iterator[JsonValue]:
        """The results of the calls that have succeeded so far."""
        with self._lock:
            ended = [one for one in self._entries if one.duration is not None]
        return (one.result for one in ended if one.error is None)

    def _refuse(self, msg: str) -> NoReturn:
        self._refused += 1
        if self._refused > REFUSALS:
            raise RunOverError(msg)
        raise ClosedToolboxError(msg)

    def now(self) -> float:
        return self._clock() - self.opened

    def _calls(self) -> tuple[ToolCall, ...]:
        if not self._entries:
            return ()
        now = self.now()
        order, reach = self._laid_out()
        return tuple(
            entry.as_call(now, reach[entry.number] - place) for place, entry in enumerate(order)
        )

    def _laid_out(self) -> tuple[list[OpenCall], dict[int, int]]:
        """Return the calls in the order in which they stand, and how far each of them reaches."""
        order = [*self._entries]
        # The last call that began before each of them ended.
        reach = {
            one.number: (len(order) if one.duration is None else one.begun) - 1 for one in order
        }
        for together in _asked_together(order) if self._replies is not None else ():
            places = sorted(one.number for one in together)
            for place, one in zip(places, together, strict=True):
                order[place] = one
                reach[one.number] = max(reach[one.number], places[-1])
        return order, reach

    def _end(self, entry: OpenCall) -> None:
        if self._closed is None and entry.duration is None:
            entry.duration = self.now() - entry.started
            entry.begun = len(self._entries)
            self._at_work -= 1
            self._ended.notify_all()


def _asked_together(entries: Sequence[OpenCall]) -> Iterator[list[OpenCall]]:
    """Yield the calls that one reply asked for, in its order, if threads made it theirs."""
    of_reply: dict[int, list[OpenCall]] = {}
    for one in entries:
        if one.reply is not None:
            of_reply.setdefault(id(one.reply), []).append(one)
    for made in of_reply.values():
        # The program's own order is no matter of threads.
        if all(later.follows(one) for one, later in pairwise(made)):
            continue
        reply = made[0].reply
        together = [] if reply is None else _in_order_of(reply.asked, made)
        if any(
            not later.follows(one)
            for one, later in pairwise(sorted(together, key=lambda one: one.number))
        ):
            yield together


def _in_order_of(asked: Sequence[str], made: Sequence[OpenCall]) -> list[OpenCall]:
    """Return the calls that were asked for; those of one tool stand by their arguments."""
    waiting: dict[str, list[OpenCall]] = {}
    for one in made:
        calls = waiting.setdefault(one.name, [])
        if len(calls) < asked.count(one.name):
            calls.append(one)
    for calls in waiting.values():
        calls.sort(key=lambda one: json.dumps(one.arguments, sort_keys=True))
    return [waiting[name].pop(0) for name in asked if waiting.get(name)]


# What an agent tells of its run by itself: usage, messages and approvals.

MESSAGES_LIMIT: Final = 10_000
"""Messages that one run keeps; the rest is left out, and noted."""

NOTES_LIMIT: Final = 20
"""Notes of an agent that one run keeps; the rest is left out."""

NOTE_LIMIT: Final = 300
"""Characters of a note."""


class ReportedUsage:
    """Collects what is reported during a run; safe to use from many threads."""

    def __init__(self, log: CallLog, notes: list[str], prices: Prices | None) -> None:
        self._log = log
        self._notes = notes
        self._lock = Lock()
        self._closed = False
        self._told = 0
        self._messages: list[JsonValue] = []
        self.approvals: tuple[Approval, ...] = ()
        self._prices = prices
        self._reckoning: Reckoning | None = None
        self._usage = UNKNOWN_USAGE

    def consumed(self, returned: Usage = UNKNOWN_USAGE) -> Usage:
        """Return what the run has consumed, and what it cost if that can be reckoned.

        Args:
            returned: what was told by what the agent returned; it counts if no report told it.
        """
        with self._lock:
            reported, reckoning = self._usage, self._reckoning
        if reported is UNKNOWN_USAGE is returned:
            return returned
        told = fill_unknown(reported, returned)
        if reckoning is None or not reckoning.has_reports:
            reckoning = Reckoning(self._prices)
            reckoning.add(told)
        return reckoning.priced(told)

    def report(self, usage: object, messages: object, notes: object, model: object) -> None:
        read = read_usage(usage, model)
        server = server_of(usage)
        said: JsonValue = [] if messages is None else to_json_value(messages, self._notes)
        noted: JsonValue = [] if notes is None else to_json_value(notes)
        with self._lock:
            if self._closed:
                return
            self._usage = add_usage(self._usage, read)
            if self._reckoning is None:
                self._reckoning = Reckoning(self._prices)
            self._reckoning.add(read, server)
            self._messages += said if isinstance(said, list) else [said]
            # A note is a line of reports, so an agent may not fill them.
            told = noted if isinstance(noted, list) else [noted]
            room = max(0, NOTES_LIMIT - self._told)
            self._notes += [ready_to_cut(str(one))[:NOTE_LIMIT] for one in told[:room]]
            self._told += len(told)
            if len(self._messages) > MESSAGES_LIMIT:
                del self._messages[MESSAGES_LIMIT:]
                self._notes.append(f"only the first {MESSAGES_LIMIT:,} messages were kept")

    def approve(self, step: str, by: str, *, granted: bool, reason: str) -> None:
        approval = Approval(
            step=escape_surrogates(str(step), self._notes),
            by=escape_surrogates(str(by), self._notes),
            started=self._log.now(),
            calls=self._log.begun,
            granted=granted,
            reason=escape_surrogates(str(reason), self._notes),
        )
        with self._lock:
            if not self._closed:
                self.approvals = (*self.approvals, approval)

    def close(self) -> None:
        with self._lock:
            self._closed = True

    @property
    def messages(self) -> tuple[JsonValue, ...]:
        with self._lock:
            return tuple(self._messages)


# Check the arguments of a tool call against the tool's spec.
#
# Validators are compiled once per domain, and are safe to use from many threads.

Copied: TypeAlias = Callable[[JsonValue], bool]
"""Tells whether a value stands in the inputs or in an earlier result of the run."""

_SHOWN: Final = 200
_NESTED_ROOM: Final = 10  # findings of one call; a list of bad values would have thousands


class ArgumentCheck:
    """What one tool spec asks of the arguments."""

    __slots__ = ("_closed", "_properties", "_required", "_validator", "properties")

    def __init__(self, spec: ToolSpec, validator: jsonschema_rs.Validator) -> None:
        schema = spec.parameters
        self._validator = validator
        self.properties = cast("Mapping[str, JsonValue]", schema.get("properties", {}))
        self._properties = frozenset(self.properties)
        self._required = tuple(cast("Iterable[str]", schema.get("required", ())))
        # A parameter that the spec does not name is a mistake unless the spec invites more.
        self._closed = not schema.get("additionalProperties") and "patternProperties" not in schema

    def findings(self, arguments: JsonValue, copied: Copied) -> tuple[Finding, ...]:
        """Return every departure from the spec; `copied` is asked only about bad values."""
        if not isinstance(arguments, dict):
            return (_invalid("", f"arguments must be an object, not {_shown(arguments)}"),)
        unknown = arguments.keys() - self._properties if self._closed else frozenset[str]()
        if not unknown and self._validator.is_valid(arguments):
            return ()
        return (
            *self._missing(arguments),
            *self._unknown(name for name in arguments if name in unknown),
            *self._invalid_values(arguments, copied),
        )

    def _missing(self, arguments: Mapping[str, JsonValue]) -> Iterable[Finding]:
        return (
            Finding(
                kind=FindingKind.MISSING_PARAMETER,
                parameter=name,
                message=f"parameter {name!r} is missing",
            )
            for name in self._required
            if name not in arguments
        )

    def _unknown(self, names: Iterable[str]) -> Iterable[Finding]:
        known = ", ".join(self.properties) or "no parameters"
        return (
            Finding(
                kind=FindingKind.UNKNOWN_PARAMETER,
                parameter=name,
                message=f"parameter {name!r} is unknown; the tool takes {known}",
            )
            for name in names
        )

    def _invalid_values(self, arguments: dict[str, Any], copied: Copied) -> list[Finding]:
        found: list[Finding] = []
        for error in self._validator.iter_errors(arguments):
            path = list(error.instance_path)
            if not path and error.kind.name in ("required", "additionalProperties"):
                continue
            parameter = str(path[0]) if path else ""
            place = "".join(f"[{part!r}]" for part in path[1:])
            found.append(
                _invalid(
                    parameter,
                    f"parameter {parameter!r}{place}: {_cut(error.message)}"
                    if path
                    else _cut(error.message),
                    copied=bool(path) and any(map(copied, _values_at(arguments, path))),
                )
            )
            if len(found) == _NESTED_ROOM:
                break
        return found


def compile_checks(domain: Domain) -> dict[str, ArgumentCheck]:
    """Compile the argument schema of every tool of a domain.

    Raises:
        ToolSpecError: a schema is not a valid JSON schema, or points outside itself.
    """
    return {spec.name: ArgumentCheck(spec, _validator(domain, spec)) for spec in domain.tool_specs}


def _validator(domain: Domain, spec: ToolSpec) -> jsonschema_rs.Validator:
    try:
        import jsonschema_rs  # noqa: PLC0415 - only if it is asked for

        return jsonschema_rs.validator_for(
            cast("dict[str, Any]", spec.parameters), validate_formats=True, retriever=_refuse
        )
    except ValueError as fault:
        raise ToolSpecError(
            domain.folder,
            f"tool {spec.name!r}: its parameters are not a usable JSON schema: "
            f"{_cut(str(fault).partition(chr(10))[0])}",
            hint="correct the schema of this tool in toolspecs.json",
        ) from fault


def _refuse(uri: str) -> NoReturn:
    # A spec that comes with a domain must not make this machine ask another one.
    msg = f"a remote $ref is never fetched: {uri}"
    raise ValueError(msg)


def _values_at(arguments: JsonValue, path: list[str | int]) -> list[JsonValue]:
    """Return the offending value and every container on the way to it, parameter first."""
    values: list[JsonValue] = []
    here: Any = arguments
    for part in path:
        here = here[part]
        values.append(here)
    return values


def _invalid(parameter: str, message: str, *, copied: bool = False) -> Finding:
    return Finding(
        kind=FindingKind.INVALID_VALUE, parameter=parameter, message=message, copied=copied
    )


def _shown(value: JsonValue) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{ready_to_cut(text)[:_SHOWN]}..."
