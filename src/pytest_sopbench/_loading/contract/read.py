"""The contract of a domain, from the JSON of its metadata to rules; every error names the rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import ValidationError, create_model

from pytest_sopbench._core.contract.rules import Contract, Rule, Severity
from pytest_sopbench._loading.domain.layout import Layout
from pytest_sopbench.errors import LoadingError

from .conditions import ConditionModel, Name, Strict, read_condition
from .context import RulePlace
from .faults import refuse_shape
from .readers import READERS, DemandReader, keys_of


class _Rule(Strict):
    id: Name
    clause: str = ""
    severity: Literal["must", "should"] = "should"
    when: ConditionModel | None = None


Readers: TypeAlias = tuple[tuple[str, DemandReader], ...]


@lru_cache(maxsize=4)
def _model_of(readers: Readers) -> type[_Rule]:
    """Return the shape of a rule: what every rule has, and one key for each kind of demand."""
    demands: dict[str, Any] = {str(kind): (reader.shape | None, None) for kind, reader in readers}
    return create_model("Rule", __base__=_Rule, **demands)


def _keys_of(model: type[_Rule]) -> frozenset[str]:
    """Return every key that may stand somewhere in a rule."""
    inside = (reader.keys for reader in READERS.values())
    return keys_of(model).union(keys_of(ConditionModel), *inside)


def read_contract(
    data: object,
    *,
    path: Path,
    tools: Collection[str],
    columns: Layout,
) -> Contract:
    """Read the value of the key `contract` of the metadata in `path`.

    Args:
        data: `{"rules": [...]}`, as JSON gives it.
        path: the file, for errors.
        tools: the names of the domain's tools.
        columns: the part of each column.

    Raises:
        LoadingError: a key or value that no rule has, a rule without a demand or with two, an
            id given twice, or the name of a tool or column that the domain does not have.
    """
    seen: set[str] = set()
    rules: list[Rule] = []
    for number, raw in enumerate(_rule_list(data, path), start=1):
        label = _label(raw, number)
        place = RulePlace(path=path, rule=label, tools=tools, columns=columns)
        rule = _read_rule(raw, place)
        if rule.id in seen:
            place.refuse("id", "given to two rules", "give every rule its own id")
        seen.add(rule.id)
        rules.append(rule)
    return Contract(rules=tuple(rules))


def _rule_list(data: object, path: Path) -> Sequence[object]:
    match data:
        case {"rules": list()} if len(cast("Mapping[str, object]", data)) == 1:
            return cast("Mapping[str, list[object]]", data)["rules"]
        case _:
            pass
    hint = 'write {"rules": [{"id": ..., "requires": {"all_of": [...]}}]}'
    problem = "must be an object with the one key 'rules', a list"
    raise LoadingError(path, problem, column="contract", hint=hint)


def _label(raw: object, number: int) -> str:
    name = cast("Mapping[str, object]", raw).get("id") if isinstance(raw, Mapping) else None
    return repr(name) if isinstance(name, str) and name else f"number {number}"


def _read_rule(raw: object, place: RulePlace) -> Rule:
    shape = _model_of(tuple(READERS.items()))
    try:
        model = shape.model_validate(raw)
    except ValidationError as fault:
        refuse_shape(fault, place, _keys_of(shape))
    given = {kind: value for kind in READERS if (value := getattr(model, kind)) is not None}
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "demands nothing"
        place.refuse("", found, f"a rule has exactly one of {', '.join(READERS)}")
    ((kind, value),) = given.items()
    return Rule(
        id=model.id,
        demand=READERS[kind].read(value, place),
        clause=model.clause,
        severity=Severity(model.severity),
        when=None if model.when is None else read_condition(model.when, "when", place),
    )
