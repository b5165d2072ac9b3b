"""Which gates nothing can be measured for, as the domains say before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.metrics.metric import METRICS

from .field_gates import EVERY, FIELD, is_field_gate
from .summary_gates import GateSpec

_NAMED: Final = 12
"""Fields that are named where another one is asked for."""


def why_unmeasurable(gate: GateSpec, domains: Sequence[Domain], *, contract: bool = True) -> str:
    """Say why a gate would stay inconclusive whatever the runs come to; nothing where it may not.

    Args:
        gate: what is asked.
        domains: those that are run, and no other.
        contract: whether runs are held against contracts.
    """
    asked = [one for one in domains if gate.domain in {"", one.name}]
    if is_field_gate(gate.name):
        return _without_field(gate.name.removeprefix(FIELD), asked)
    lacks = {
        "tier_score": not any(one.document is not None for one in asked),
        "contract": not (contract and any(one.contract is not None for one in asked)),
        "grounded_tsr": not (contract and any(one.contract is not None for one in asked)),
    }
    words = {one.gate: one.nothing for one in METRICS.values()}
    return words[gate.name] if asked and lacks.get(gate.name) else ""


def _without_field(name: str, domains: Sequence[Domain]) -> str:
    names = list(dict.fromkeys(field.name for one in domains for field in one.fields))
    if name in names or not domains or (name == EVERY and names):
        return ""
    if not names:
        return "the answers have no output fields"
    more = ", ..." if len(names) > _NAMED else ""
    return f"no output field has this name (fields: {', '.join(names[:_NAMED])}{more})"
