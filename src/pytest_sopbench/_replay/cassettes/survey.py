"""What lies on disk, told by the lines about trials; exchanges are not read, but checksummed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_sopbench._replay.cassettes.lines.file import VERSION
from pytest_sopbench._replay.cassettes.lines.seals import Seal, seal_of
from pytest_sopbench._replay.tape.shape import IGNORED, MASKED
from pytest_sopbench.errors import CassetteError

from .places import TaskPlace
from .reading import read_file
from .store import DAMAGED


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSurvey:
    """What is told of one recording; `tokens` is `None` where the run told none.

    `keyed_by` is what its keys depend on beside its requests: see `Shaping.keyed_by`.
    """

    recorded: datetime
    requests: int
    models: tuple[str, ...]
    tokens: int | None = None
    cost_usd: float | None = None
    seal: Seal = Seal.NONE
    keyed_by: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What is told of one cassette."""

    path: Path
    place: TaskPlace
    trials: Mapping[int, TrialSurvey]
    size: int

    @property
    def seals(self) -> Mapping[int, Seal]:
        """What the checksums of its recordings say."""
        return {number: one.seal for number, one in self.trials.items()}


def survey(path: Path) -> Survey:
    """Look at a cassette.

    Raises:
        CassetteError: it cannot be read, or is not whole.
    """
    try:
        content = read_file(path)
        lines = content.splitlines()
        head: dict[str, Any] = json.loads(lines[0]) if lines else {}
        if head.get("cassette") != VERSION:
            msg = f"not a cassette of version {VERSION}"
            raise ValueError(msg)  # noqa: TRY301 - the path is added below
        trials: dict[int, TrialSurvey] = {}
        number = 1
        while number < len(lines):
            told: dict[str, Any] = json.loads(lines[number])
            behind = number + 1 + max(0, int(told["requests"]))
            seal = seal_of(told, lines[number + 1 : behind])
            trials[int(told["trial"])] = _trial(told, seal)
            number = behind
        if number != len(lines) or not content.endswith(b"\n"):
            msg = "the file ends before all requests that it announces"
            raise ValueError(msg)  # noqa: TRY301 - as above
        place = TaskPlace(str(head["agent"]), str(head["domain"]), str(head["task"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        msg = f"{path}: cannot be read: {fault}"
        raise CassetteError(msg, hint=DAMAGED) from fault
    return Survey(path=path, place=place, trials=trials, size=len(content))


def _trial(told: Mapping[str, Any], seal: Seal) -> TrialSurvey:
    usage: Mapping[str, Any] = told.get("usage", {})
    tokens = [usage[name] for name in ("input_tokens", "output_tokens") if name in usage]
    recorded = datetime.fromisoformat(told["recorded"])
    if recorded.tzinfo is None:
        msg = f"recorded {told['recorded']}: a time of no zone"
        raise ValueError(msg)
    return TrialSurvey(
        recorded=recorded,
        requests=int(told["requests"]),
        models=tuple(map(str, told["models"])),
        tokens=sum(tokens) if tokens else None,
        cost_usd=usage.get("cost_usd"),
        seal=seal,
        keyed_by={name: told[name] for name in (IGNORED, MASKED) if name in told},
    )
