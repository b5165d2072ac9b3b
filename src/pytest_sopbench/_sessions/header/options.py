"""The options in the header of a saved session: each named once, with its type and its form.

On disk they are an object of names. What an older or newer version wrote there, or something else
put into it, is kept as it stands when a session is written again: only what has changed is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._settings.values import Shard

SHARD: Final = "--sop-shard="
"""How the option of a shard begins, among what selected the tasks of a session."""


_Form: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], JsonValue]]
"""How an option is read from JSON, and written; `None` and a wrong type are read as empty."""


def _values(given: JsonValue) -> tuple[JsonValue, ...]:
    return tuple(given) if isinstance(given, list) else ()


def _texts(given: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, _values(given)))


def _names(given: JsonValue) -> tuple[TaskName, ...]:
    names = (text.partition("/") for text in _texts(given))
    return tuple(TaskName(domain, task) for domain, _, task in names)


def _number(given: JsonValue) -> float | None:
    return given if isinstance(given, int | float) and not isinstance(given, bool) else None


def _count(given: JsonValue) -> int | None:
    # A number that something else has put there says nothing.
    return given if type(given) is int and given >= 0 else None


def _object(given: JsonValue) -> Mapping[str, JsonValue]:
    return given if isinstance(given, Mapping) else {}


def _doubts(given: JsonValue) -> Mapping[str, Mapping[str, str]]:
    return {
        domain: {name: str(why) for name, why in told.items()}
        for domain, told in _object(given).items()
        if isinstance(told, Mapping)
    }


def _as_it_is(value: JsonValue) -> JsonValue:
    return value


_TEXT: Final[_Form] = (lambda given: str(given or ""), str)
_TEXTS: Final[_Form] = (_texts, list)
_VALUES: Final[_Form] = (_values, list)
_NAMES: Final[_Form] = (_names, lambda names: [str(one) for one in names])
_COUNT: Final[_Form] = (_count, _as_it_is)
_NUMBER: Final[_Form] = (_number, _as_it_is)
_SHARE: Final[_Form] = (
    lambda given: given if isinstance(given, str) else _count(given),
    _as_it_is,
)
_FLAG: Final[_Form] = (lambda given: given is True, bool)
_OBJECT: Final[_Form] = (_object, dict)
_RULES: Final[_Form] = (
    lambda given: {_names([name])[0]: _texts(ids) for name, ids in _object(given).items()},
    lambda rules: {str(name): [*ids] for name, ids in rules.items()},
)
_MAYBE: Final[_Form] = (lambda given: _object(given) or None, dict)
_SPECS: Final[_Form] = (
    lambda given: {name: str(spec) for name, spec in _object(given).items()},
    dict,
)
_DOUBTS: Final[_Form] = (
    _doubts,
    lambda doubts: {domain: {**why} for domain, why in doubts.items()},
)


def _kept(form: _Form, *, always: bool = False, where: str = "") -> Any:
    """Make the field of an option.

    Args:
        form: how it stands in JSON.
        always: whether a new session writes it where it is empty too.
        where: the field that says whether it is written, whatever it is.
    """
    told = {"form": form, "always": always, "where": where}
    empty = form[0](None)
    if isinstance(empty, Mapping):
        return field(default_factory=dict[str, Any], metadata=told)
    return field(default=empty, metadata=told)


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
        may_break: the rules that tasks might break when it was run, by the tasks.
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
    may_break: Mapping[TaskName, tuple[str, ...]] = _kept(_RULES)
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


_TABLE: Final = tuple(
    (one.name, *one.metadata["form"], one.metadata["always"], one.metadata["where"])
    for one in fields(SessionOptions)
    if one.metadata
)


def read_session_options(stands: Mapping[str, JsonValue]) -> SessionOptions:
    """Read the options of a header; what is missing or of a wrong type is empty."""
    known: dict[str, Any] = {}
    for name, read, *_, where in _TABLE:
        if name in stands:
            known[name] = read(stands[name])
        if where:
            known[where] = name in stands
    return SessionOptions(**known, stands=dict(stands))


def options_to_json(options: SessionOptions) -> dict[str, JsonValue]:
    """Return what `read_session_options` reads: as it stood, but for what has changed since."""
    found = dict(options.stands or {})
    for name, read, write, always, where in _TABLE:
        value = getattr(options, name)
        is_there = name in found
        is_kept = is_there and read(found[name]) == value
        is_told = value != read(None) or (always and (is_there or options.stands is None))
        if not (getattr(options, where) if where else is_told or is_kept):
            found.pop(name, None)
        elif not is_kept:
            found[name] = write(value)
    return found
