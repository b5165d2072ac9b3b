"""The mutations, area by area; a name is given once, and begins with what the mutation is of."""

from __future__ import annotations

from typing import Final

from mutants.mutant import Mutant

from . import (
    answers,
    approvals,
    audits,
    gates,
    judges,
    judging,
    live,
    procedures,
    replays,
    secrets,
    sessions,
    statistics,
    values,
    wire,
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    *judging.MUTANTS,
    *values.MUTANTS,
    *answers.MUTANTS,
    *procedures.MUTANTS,
    *statistics.MUTANTS,
    *gates.MUTANTS,
    *sessions.MUTANTS,
    *secrets.MUTANTS,
    *live.MUTANTS,
    *wire.MUTANTS,
    *approvals.MUTANTS,
    *judges.MUTANTS,
    *replays.MUTANTS,
    *audits.MUTANTS,
)
"""All of them, in the order in which a run goes: from an answer to its saved session."""
