"""What happened to runs that no metric counts, and that must not go unsaid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_sopbench._core.model.run_notes import ATTEMPT, GOES_ON, HELD, LOOP_LOST, STOOD_STILL
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.text.layout import one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted

NAMED = 5
"""Tasks that are named; of the rest the number is told."""


@dataclass(slots=True)
class RunAlarms:
    """Runs whose agents go on, runs made again, and runs that ended before their tests came."""

    abandoned: list[str] = field(default_factory=list[str])
    again: int = 0
    stood: int = 0
    held: int = 0
    lost: int = 0
    unasked: int = 0

    def watch(self, record: RunRecord) -> None:
        """Look at one more run."""
        if not record.notes:
            return
        if GOES_ON in record.notes:
            trial = f"/t{record.trial}" if record.trial > 1 else ""
            self.abandoned.append(f"{record.domain}/{record.task}{trial}")
        self.again += any(note.startswith(ATTEMPT) for note in record.notes)
        self.stood += any(note.startswith(STOOD_STILL) for note in record.notes)
        self.held += any(HELD in note for note in record.notes)
        self.lost += any(note.startswith(LOOP_LOST) for note in record.notes)


def special_lines(special: RunAlarms) -> Iterator[str]:
    """Yield what there is to say, 80 columns wide."""
    if special.abandoned:
        runs = counted(len(special.abandoned), "timed-out agent")
        names = [one_line(name) for name in special.abandoned[:NAMED]]
        more = len(special.abandoned) - len(names)
        names += [f"{more} more"] if more else []
        yield from packed(
            f"alarm  {runs} may go on calling models:", with_commas(names), gap=" ", indent=7
        )
    if special.again:
        runs = counted(special.again, "run was", "runs were")
        yield f"note   {runs} made again, as the provider was not available before"
    if special.stood:
        runs = counted(special.stood, "run")
        yield f"note   the process stood still in {runs}, which no time limit counted"
    if special.held:
        runs = counted(special.held, "run was", "runs were")
        yield f"note   {runs} held up by an agent that blocks; no time limit counted that"
    if special.lost:
        runs = counted(special.lost, "run was", "runs were")
        yield f"note   {runs} made again, as another agent blocked their event loop"
    if special.unasked:
        one, several = "run ended before its test came", "runs ended before their tests came"
        were = "was" if special.unasked == 1 else "were"
        runs = counted(special.unasked, one, several)
        yield f"note   {runs}, which {were} not run; counted above"
