"""The options in the header of a saved session: each named once, with its type and its form.

On disk they are an object of names. What an older or newer version wrote there, or something else
put into it, is kept as it stands when a session is written again: only what has changed is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple

from pytest_sopbench._core.dataclass import dataclass, field
from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._settings.values import Shard

SHARD: Final = "--sop-shard="
"""How the option of a shard begins, among what selected the tasks of a session."""


class _Form(NamedTuple):
    """How an option stands in JSON; what is `None` there, or of a wrong type, is read as empty."""

    read: Callable[[Any], Any]
    write: Callable[[Any], JsonValue]


def _texts(given: object) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _names(given: object) -> tuple[TaskName, ...]:
    names = (text.partition("/") for text in _texts(given))
    return tuple(TaskName(domain, task) for domain, _, task in names)


def _number(given: object) -> float | None:
    return given if isinstance(given, int | float) and not isinstance(given, bool) else None


def _count(given: object) -> int | None:
    # A number that something else has put there says nothing.
    return given if type(given) is int and given >= 0 else None


def _object(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _doubts(given: object) -> Mapping[str, Mapping[str, str]]:
    return {
        domain: {name: str(why) for name, why in told.items()}
        for domain, told in _object(given).items()
        if isinstance(told, Mapping)
    }


_TEXT: Final = _Form(read=lambda given: str(given or ""), write=str)
_TEXTS: Final = _Form(read=_texts, write=list)
_VALUES: Final = _Form(read=lambda given: tuple(given) if type(given) is list else (), write=list)
_NAMES: Final = _Form(read=_names, write=lambda names: [str(one) for one in names])
_COUNT: Final = _Form(read=_count, write=lambda count: count)
_NUMBER: Final = _Form(read=_number, write=lambda number: number)
_SHARE: Final = _Form(
    read=lambda given: given if isinstance(given, str) else _count(given), write=lambda share: share
)
_FLAG: Final = _Form(read=lambda given: given is True, write=bool)
_OBJECT: Final = _Form(read=_object, write=dict)
_MAYBE: Final = _Form(read=lambda given: _object(given) or None, write=dict)
_SPECS: Final = _Form(
    read=lambda given: {name: str(spec) for name, spec in _object(given).items()}, write=dict
)
_DOUBTS: Final = _Form(
    read=_doubts, write=lambda doubts: {domain: {**why} for domain, why in doubts.items()}
)


def _kept(form: _Form, *, always: bool = False, where: str = "") -> Any:
    """Make the field of an option.

    Args:
        form: how it stands in JSON.
        always: whether a new session writes it where it is empty too.
        where: the field that says whether it is written, whatever it is.
    """
    told = {"form": form, "always": always, "where": where}
    return field(default_factory=lambda: form.read(None), metadata=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What was asked of a session, and what it recorded beside its runs; empty is not recorded.

    A field is called as the option is on disk, and a new session writes them in this order.

    Attributes:
        selection: the options that selected its tasks, as they are written.
        agents: the specs of its agents by name, where it had several or the user named one.
        concurrency: runs in flight: a number, `auto`, or `None` for one in each process.
        replay: how recorded model traffic was used, empty where it was not.
        failures: the tests that failed and that no gate forgives; `None` where the session did not
            come to its end, and where `records_failures` does not hold.
        not_evaluated: what took selected tasks away.
        compare: its baseline.
        broken: what tests or agents broke in their process, which counts among the failures.
        judge: what its model judge consumed, and how far it can be relied on.
        doubtful: by domain and output field why no gate may rest on its judge.
        quarantined: tasks that might fail when it was run.
        must_pass: tasks that had to pass.
        expired: tasks whose entry in the tasks file was.
        prompts: the hashes of its agents' prompts, by the agents' names.
        setups: what its agents say of themselves, by the agents' names.
        resumed: the sessions that it goes back to, the last one last.
        resumed_anyway: the differences that were accepted then.
        prices: the prices by which costs were reckoned.
        replay_misses: in what requests differed that no recording had, by runs.
        variants: what variants of tasks came to: outcomes by domain, agent, variant and task.
        slim: whether it is a slim baseline.
        reason: why that was accepted.
        rescored: whose rules it was judged by before.
        records_failures: whether it counts failures; older sessions did not.
        stands: the object on disk that these were read from; `None` for a new session.
    """

    selection: tuple[str, ...] = _kept(_TEXTS, always=True)
    trials: int | None = _kept(_COUNT, always=True)
    agents: Mapping[str, str] = _kept(_SPECS)
    gates: tuple[str, ...] = _kept(_TEXTS, always=True)
    max_calls: int | None = _kept(_COUNT, always=True)
    concurrency: int | str | None = _kept(_SHARE, always=True)
    timeout: float | None = _kept(_NUMBER, always=True)
    retries: int | None = _kept(_COUNT, always=True)
    scoring: str = _kept(_TEXT, always=True)
    contract: str = _kept(_TEXT, always=True)
    approver: str = _kept(_TEXT, always=True)
    replay: str = _kept(_TEXT)
    failures: int | None = _kept(_COUNT, where="records_failures")
    not_evaluated: str = _kept(_TEXT)
    compare: str = _kept(_TEXT)
    broken: tuple[str, ...] = _kept(_TEXTS)
    judge: Mapping[str, JsonValue] | None = _kept(_MAYBE)
    doubtful: Mapping[str, Mapping[str, str]] = _kept(_DOUBTS)
    quarantined: tuple[TaskName, ...] = _kept(_NAMES)
    must_pass: tuple[TaskName, ...] = _kept(_NAMES)
    expired: tuple[TaskName, ...] = _kept(_NAMES)
    prompts: Mapping[str, JsonValue] = _kept(_OBJECT)
    setups: Mapping[str, JsonValue] = _kept(_OBJECT)
    resumed: tuple[JsonValue, ...] = _kept(_VALUES)
    resumed_anyway: tuple[str, ...] = _kept(_TEXTS)
    prices: str = _kept(_TEXT)
    replay_misses: Mapping[str, JsonValue] = _kept(_OBJECT)
    variants: Mapping[str, JsonValue] = _kept(_OBJECT)
    slim: bool = _kept(_FLAG)
    reason: str = _kept(_TEXT)
    rescored: str = _kept(_TEXT)
    records_failures: bool = False
    stands: Mapping[str, JsonValue] | None = field(default=None, compare=False, repr=False)

    @property
    def shard(self) -> Shard | None:
        """The part of a whole that this session is, or `None`.

        Raises:
            ValueError: what it says of a shard means nothing.
        """
        shards = [one.removeprefix(SHARD) for one in self.selection if one.startswith(SHARD)]
        return Shard.read(shards[0]) if shards else None


class _Option(NamedTuple):
    """What is known of an option beside its value."""

    name: str
    form: _Form
    always: bool
    where: str

    def is_told(self, options: SessionOptions, value: object) -> bool:
        """Whether the option stands in the JSON of these options, where it has this value."""
        if self.where:
            is_told: bool = getattr(options, self.where)
            return is_told
        stands = options.stands
        if stands is None or self.name not in stands:
            return value != self.form.read(None) or (self.always and stands is None)
        return self.always or value != self.form.read(None) or self.is_kept(stands, value)

    def is_kept(self, stands: Mapping[str, JsonValue], value: object) -> bool:
        """Whether what stands there says this value already."""
        return self.name in stands and bool(self.form.read(stands[self.name]) == value)


_TABLE: Final = tuple(
    _Option(name=one.name, **one.metadata) for one in fields(SessionOptions) if one.metadata
)


def read_session_options(stands: Mapping[str, JsonValue]) -> SessionOptions:
    """Read the options of a header; what is missing or of a wrong type is empty."""
    known: dict[str, Any] = {
        one.name: one.form.read(stands[one.name]) for one in _TABLE if one.name in stands
    }
    known |= {one.where: one.name in stands for one in _TABLE if one.where}
    return SessionOptions(**known, stands=dict(stands))


def options_to_json(options: SessionOptions) -> dict[str, JsonValue]:
    """Return what `read_session_options` reads: as it stood, but for what has changed since."""
    found = dict(options.stands or {})
    for one in _TABLE:
        value = getattr(options, one.name)
        if not one.is_told(options, value):
            found.pop(one.name, None)
        elif not one.is_kept(found, value):
            found[one.name] = one.form.write(value)
    return found
