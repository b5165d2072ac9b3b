"""In which ways a session makes its runs."""

from __future__ import annotations

from dataclasses import dataclass

from campaign.agents.kind import Harm

TIME_LIMIT = 5
"""Seconds after which a run that hangs is ended; no other needs so long."""

GENEROUS = 100


@dataclass(frozen=True, slots=True)
class Mode:
    """The options of a session; `workers` tells that others live on where one process ends."""

    name: str
    args: tuple[str, ...]
    workers: bool = False

    def options(self, harm: Harm) -> tuple[str, ...]:
        """The options for agents that do this harm."""
        if harm is Harm.HANGS:
            if self.name == "main thread":
                # Without a limit an agent that hangs does so for good, as its user asked.
                return (f"--sop-timeout={TIME_LIMIT}",)
            return (*self.args, f"--sop-timeout={TIME_LIMIT}")
        limit = () if self.name == "main thread" else (f"--sop-timeout={GENEROUS}",)
        return (*self.args, *limit)


MODES = (
    Mode("one at a time", ()),
    Mode("two workers", ("-n2",), workers=True),
    Mode("eight in flight", ("--sop-concurrency=8",)),
    Mode("main thread", ("--sop-concurrency=1", "--sop-timeout=0")),
)
