"""What a draft will cost, roughly, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._drafting.asking import Spent
from pytest_sopbench._drafting.cases import TASKS

_LETTERS: Final = 4
"""Letters of a token, as a rule of thumb for English."""

_PROMPT: Final = 700
_WRITTEN: Final = {"1 outline": 1_200, "2 procedure": 2_500, "2 tools": 1_500}
_POLICY: Final = 1_200
_TURNS: Final = 3
_ANSWERED: Final = 120


def estimate(brief: str, sop: str | None, models: tuple[str, str], prices: Prices | None) -> str:
    """Say what a whole draft is going to take; where no price is known, tokens alone."""
    told = len(brief) // _LETTERS
    procedure = _WRITTEN["2 procedure"] if sop is None else len(sop) // _LETTERS
    outline, tools = _WRITTEN["1 outline"], _WRITTEN["2 tools"]
    first = [(_PROMPT + told + (0 if sop is None else procedure), outline)]
    first += [] if sop is not None else [(_PROMPT + told + outline, procedure)]
    first += [(_PROMPT + outline + procedure, tools)]
    policy = (_PROMPT + procedure + tools, _POLICY)
    turn = (_PROMPT + procedure + tools // 2, _ANSWERED)
    asked = {0: [*first, policy], 1: [policy, *[turn] * (TASKS * _TURNS)]}
    tokens = [sum(one[at] for some in asked.values() for one in some) for at in (0, 1)]
    requests = sum(map(len, asked.values()))
    costs = [_cost(models[at], some, prices) for at, some in asked.items()]
    known = [one for one in costs if one is not None]
    money = f"about ${sum(known):.2f}" if len(known) == len(costs) else "price not known"
    return (
        f"about {requests} requests, {tokens[0]:,} tokens in and {tokens[1]:,} out, {money}; most"
        " of it is the solver"
    )


def _cost(model: str, asked: Sequence[tuple[int, int]], prices: Prices | None) -> float | None:
    if prices is None:
        return None
    given, written = (sum(one[at] for one in asked) for at in (0, 1))
    usage = Usage(input_tokens=given, output_tokens=written, model_calls=len(asked), model=model)
    return prices.cost(usage, "")


def spent_lines(spent: Mapping[str, Spent]) -> Iterator[str]:
    """Say what each stage has cost so far, refused and unusable replies included."""
    for stage, one in sorted(spent.items()):
        usage = one.usage
        cost = "cost not known" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        yield (
            f"{stage}: {one.requests} requests, {_count(usage.input_tokens)} tokens in and"
            f" {_count(usage.output_tokens)} out, {cost}"
        )


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"
