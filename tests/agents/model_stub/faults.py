"""What can go wrong with a model and with its provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .competent import COMPLETE, Move, completing, next_move
from .seen import Call, Seen

IN_TRANSPORT = frozenset({"429", "500", "401", "slow", "cut"})
"""Faults of the provider; all others are the model's."""


@dataclass
class Fault:
    """A fault, in which conversations, and in how many requests of each task it happens."""

    kind: str
    when: Callable[[Seen], bool]
    first: int | None = None
    happened: dict[str, int] = field(default_factory=dict)

    def strikes(self, seen: Seen) -> bool:
        if not self.when(seen):
            return False
        count = self.happened[seen.task] = self.happened.get(seen.task, 0) + 1
        return self.first is None or count <= self.first


def erring(kind: str, seen: Seen) -> Move:
    """What the model says with that fault."""
    if kind == "all_at_once":
        return Move(calls=tuple(expected_calls(seen)))
    return FAULTS[kind](next_move(seen))


def expected_calls(seen: Seen) -> list[Call]:
    """Return the scores that the procedure asks for, all of them at once."""
    first = next_move(seen).calls
    others = [name for name in seen.tools if "score" in name and name != first[0].name]
    return [*first, *(_call_of(seen, name) for name in others)]


def _call_of(seen: Seen, name: str) -> Call:
    return Call(name, {key: seen.inputs[key] for key in seen.tools[name]["properties"]})


def _malformed(move: Move) -> Move:
    calls = tuple(Call(call.name, '{"product_id": "P_1') for call in move.calls)
    return Move(text=move.text, calls=calls)


def _unknown_tool(move: Move) -> Move:
    return Move(text=move.text, calls=tuple(Call("look_it_up", {"q": 1}) for _ in move.calls))


def _bad_arguments(move: Move) -> Move:
    calls = tuple(Call(call.name, {"product": "P_1"}) for call in move.calls)
    return Move(text=move.text, calls=calls)


def _prose(move: Move) -> Move:
    return move if move.calls else Move(text="I am done with it.")


def _empty(move: Move) -> Move:
    return move if move.calls else Move()


def _truncated(move: Move) -> Move:
    return move if move.calls else Move(text=move.text[:25], stop="length")


def _refusal(_: Move) -> Move:
    return Move(text="I will not help with dangerous goods.", stop="refusal")


def _filtered(_: Move) -> Move:
    return Move(stop="filter")


def _wrong(move: Move) -> Move:
    told = '<final_output>{"hazard_class": "Hazard Class Z"}</final_output>'
    return move if move.calls else Move(text=told)


def _completes(move: Move) -> bool:
    return any(call.name == COMPLETE for call in move.calls)


def _never_completes(move: Move) -> Move:
    return Move(text="That was this step.") if _completes(move) else move


def _unknown_step(move: Move) -> Move:
    return completing("On to the annex.", "99") if _completes(move) else move


def _round_and_round(move: Move) -> Move:
    return completing("Once more from the beginning.", "4") if _completes(move) else move


def _early_answer(move: Move) -> Move:
    told = '<final_output>{"hazard_class": "Hazard Class B"}</final_output>'
    return Move(text=told) if _completes(move) else move


FAULTS: dict[str, Any] = {
    "malformed": _malformed,
    "unknown_tool": _unknown_tool,
    "bad_arguments": _bad_arguments,
    "prose": _prose,
    "empty": _empty,
    "truncated": _truncated,
    "refusal": _refusal,
    "filtered": _filtered,
    "wrong": _wrong,
    "never_completes": _never_completes,
    "unknown_step": _unknown_step,
    "round_and_round": _round_and_round,
    "early_answer": _early_answer,
}
