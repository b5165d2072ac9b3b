"""Gates as they are written on a command line, and in the header of a saved session."""

from __future__ import annotations

import re

from .comparison_names import COMPARISON_GATES, LOST, P
from .field_gates import FIELD, is_field_gate, split_field
from .summary_gates import TSR, GateSpec, gate_names


def names() -> tuple[str, ...]:
    """Return every gate that can be asked for."""
    return (*gate_names(), *COMPARISON_GATES)


def read_gate(text: str) -> GateSpec:
    """Read `[DOMAIN:]NAME=VALUE[@AGENT]`.

    The agent stands last, since its name may hold any of the signs before it.

    Raises:
        ValueError: it is written otherwise, or the value is none that the gate takes.
    """
    asked, sign, rest = text.partition("=")
    bound, at, agent = rest.partition("@")
    domain, _, name = asked.rpartition(":")
    if name not in names() and (of_field := split_field(asked)):
        domain, name = of_field
    known = name in names() or is_field_gate(name)
    if not sign or not known or (at and not agent):
        every = ", ".join((*names(), f"{FIELD}FIELD"))
        msg = f"{text}: write [DOMAIN:]NAME=VALUE[@AGENT], NAME being one of {every}"
        raise ValueError(msg)
    if name == LOST:
        return GateSpec(name=name, value=_number(text, bound), domain=domain, agent=agent)
    value = _rate(text, bound)
    if name == P and not value:
        msg = f"{text}: a probability above 0 expected, such as 0.05"
        raise ValueError(msg)
    return GateSpec(name=name, value=value, domain=domain, agent=agent)


def read_fail_under(text: str) -> GateSpec:
    """Read a bound on TSR.

    Raises:
        ValueError: it is no rate.
    """
    return GateSpec(name=TSR, value=_rate(text, text))


def gate_text(spec: GateSpec) -> str:
    """Write a gate so that `read_gate` reads it back."""
    bound = f"{spec.value:.0f}" if spec.name == LOST else repr(spec.value)
    domain = f"{spec.domain}:" if spec.domain else ""
    return f"{domain}{spec.name}={bound}{f'@{spec.agent}' if spec.agent else ''}"


def _rate(text: str, bound: str) -> float:
    number = bound.removesuffix("%")
    try:
        # Python takes a "_" between digits, which is a slip of the finger here.
        rate = float(number.replace("_", " ")) / (100 if number != bound else 1)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        msg = f"{text}: a rate from 0 to 1 expected, such as 0.9 or 90%"
        raise ValueError(msg)
    return rate


def _number(text: str, bound: str) -> float:
    # The header of a session writes every bound as a float.
    if not re.fullmatch(r"[0-9]+(\.0)?", bound):
        msg = f"{text}: a number of tasks expected, such as 0 or 3"
        raise ValueError(msg)
    return float(bound)
