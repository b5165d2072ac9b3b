"""The options in the header of a saved session, each with its type.

On disk they stay an object of names, so that what an older or newer version wrote is kept as it
stands. Whoever asks for one asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_sopbench._core.dataclass import dataclass, field
from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._settings.values import Shard

AGENTS: Final = "agents"
SHARD: Final = "--sop-shard="
"""How the option of a shard begins, among what selected the tasks of a session."""

SELECTION: Final = "selection"
SCORING: Final = "scoring"
NOT_EVALUATED: Final = "not_evaluated"
FAILURES: Final = "failures"
COMPARE: Final = "compare"
BROKEN: Final = "broken"
SLIM: Final = "slim"
REPLAY: Final = "replay"
MISSES: Final = "replay_misses"
RECORDED: Final = "resumed"
ANYWAY: Final = "resumed_anyway"
DOUBTFUL: Final = "doubtful"
JUDGE: Final = "judge"
VARIANTS: Final = "variants"
"""What variants of tasks came to: outcomes by domain, agent, variant and task."""
PAST: Final = (RECORDED, ANYWAY)
"""What a session that is resumed goes back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What was asked of a session, and what it recorded beside its runs; empty is not recorded.

    `agents` are the specs of its agents by name, where it had several or the user named one.
    `selection` are the options that selected its tasks, as they are written, and `shard` is the
    part that one of them names. `compare` is its baseline. `not_evaluated` says what took selected
    tasks away. `failures` counts the tests that failed and that no gate forgives; it is `None`
    where the session did not come to its end, and where `records_failures` does not hold: older
    sessions did not record it. `quarantined` tasks might fail when it was run, `must_pass` ones
    had to pass, and of `expired` ones the entry was. `resumed` are the sessions that it goes back
    to, the last one last, and `resumed_anyway` the differences that were accepted then. `broken`
    says what tests or agents broke in their process, which counts among the failures. `replay` is
    how recorded model traffic was used, empty where it was not. `doubtful` says by domain and
    output field why no gate may rest on its judge.
    """

    agents: Mapping[str, str] = field(default_factory=dict[str, str])
    selection: tuple[str, ...] = ()
    shard: Shard | None = None
    gates: tuple[str, ...] = ()
    scoring: str = ""
    contract: str = ""
    compare: str = ""
    not_evaluated: str = ""
    failures: int | None = None
    records_failures: bool = False
    quarantined: tuple[TaskName, ...] = ()
    must_pass: tuple[TaskName, ...] = ()
    expired: tuple[TaskName, ...] = ()
    resumed: tuple[JsonValue, ...] = ()
    resumed_anyway: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    is_slim: bool = False
    replay: str = ""
    doubtful: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, "Mapping[str, str]"]
    )


def read_session_options(options: Mapping[str, JsonValue]) -> SessionOptions:
    """Read the options of a header; names that are not known are passed over.

    Raises:
        ValueError: what it says of a shard means nothing, so that a part might pass for the whole.
    """
    selection = _texts(options, SELECTION)
    shards = [one.removeprefix(SHARD) for one in selection if one.startswith(SHARD)]
    failures = options.get(FAILURES)
    agents = options.get(AGENTS)
    return SessionOptions(
        agents={name: str(spec) for name, spec in agents.items()}
        if isinstance(agents, dict)
        else {},
        selection=selection,
        shard=Shard.read(shards[0]) if shards else None,
        gates=_texts(options, "gates"),
        scoring=_text(options, SCORING),
        contract=_text(options, "contract"),
        compare=_text(options, COMPARE),
        not_evaluated=_text(options, NOT_EVALUATED),
        # A number that something else has put there says nothing.
        failures=failures if type(failures) is int and failures >= 0 else None,
        records_failures=FAILURES in options,
        quarantined=_names(options, "quarantined"),
        must_pass=_names(options, "must_pass"),
        expired=_names(options, "expired"),
        resumed=_values(options, RECORDED),
        resumed_anyway=_texts(options, ANYWAY),
        broken=_texts(options, BROKEN),
        is_slim=options.get(SLIM) is True,
        replay=_text(options, REPLAY),
        doubtful=doubtful_of(options),
    )


def doubtful_of(options: Mapping[str, JsonValue]) -> Mapping[str, Mapping[str, str]]:
    """Return the judges on which no gate of a session may rest, by domain and output field."""
    given = options.get(DOUBTFUL)
    domains = given.items() if isinstance(given, Mapping) else ()
    return {
        name: {field: str(why) for field, why in fields.items()}
        for name, fields in domains
        if isinstance(fields, Mapping)
    }


def _text(options: Mapping[str, JsonValue], name: str) -> str:
    return str(options.get(name) or "")


def _values(options: Mapping[str, JsonValue], name: str) -> tuple[JsonValue, ...]:
    given = options.get(name)
    return tuple(given) if isinstance(given, list) else ()


def _texts(options: Mapping[str, JsonValue], name: str) -> tuple[str, ...]:
    return tuple(map(str, _values(options, name)))


def _names(options: Mapping[str, JsonValue], name: str) -> tuple[TaskName, ...]:
    names = (text.partition("/") for text in _texts(options, name))
    return tuple(TaskName(domain, task) for domain, _, task in names)
