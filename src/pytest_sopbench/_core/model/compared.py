"""What was found of one field of an answer by what the judge must not call itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One comparison of one field with one right answer, made while the run was in flight.

    Attributes:
        field: the output field.
        place: which right answer it was compared with: 0 is the expected one, and `n` the n-th of
            the further acceptable ones.
        held: whether it is right; `None` where that could not be found out.
        why: what is wrong with the value, or why it could not be found out.
        score: how good it is, from 0 to 1; `None` where nobody says.
        quote: the passage of the answer that decides, as far as it is kept; empty where nobody
            gives one. Whoever reads the comparison looks for it in the answer again.
    """

    field: str
    place: int = 0
    held: bool | None = None
    why: str = ""
    score: float | None = None
    quote: str = ""
