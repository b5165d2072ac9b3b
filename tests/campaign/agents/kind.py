"""One way in which an agent misbehaves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Harm(Enum):
    """What an agent does to its process, and so with whom it may share a session."""

    NONE = "none"
    """Its own run is lost, and nothing else."""
    HANGS = "hangs"
    """Its run ends by the time limit alone."""
    LASTS = "lasts"
    """What it changes in its process stays: the session may fail as a whole, if it says so."""
    BREAKS = "breaks"
    """It breaks what pytest and Python need themselves: a red session is owed that says why."""
    ANYWHERE = "anywhere"
    """It raises in whatever line of whatever thread: its traceback is that of who was there."""
    SABOTAGES = "sabotages"
    """It takes from pytest and Python what they need, as no mistake does: any red end will do."""
    KILLS = "kills"
    """Its process ends, and with it what runs there."""


@dataclass(frozen=True, slots=True)
class Kind:
    """An agent that misbehaves: the body of a function, which has `inputs` and `tools`."""

    name: str
    body: str
    harm: Harm = Harm.NONE

    def function(self, name: str) -> str:
        """The source of the agent, under a name."""
        body = textwrap.indent(textwrap.dedent(self.body).strip("\n"), "    ")
        return f"def {name}(inputs, tools):\n{body}\n"


def kinds(bodies: Mapping[str, str], harm: Harm = Harm.NONE) -> list[Kind]:
    """One kind for each name."""
    return [Kind(name, body, harm) for name, body in bodies.items()]
