"""Every exception that pytest-sopbench raises.

::

    SopbenchError                 base; carries a hint, printed after the message
    ├── LoadingError              a domain's file cannot be used; carries path, row, column
    │   ├── DomainNotFoundError   lists the nearest names
    │   ├── RowError
    │   └── ToolSpecError
    ├── AgentSpecError            --agent cannot be resolved or called as an agent
    ├── ComparerError             what compares an output field cannot be found or used
    │   └── JudgeError            a model judge, or a table of labels, cannot be used
    │       └── NotJudgedError    a model judge was asked, and gave no judgement
    ├── ToolError                 what the agent asked of a tool is impossible
    │   ├── UnknownToolError
    │   ├── ToolArgumentError
    │   └── ClosedToolboxError    the run is over, or its limit of calls is passed
    ├── TurnLimitError            an agent stops itself at a limit of its own
    ├── ExtensionError            a metric or a report format of a package cannot be used, or fails
    ├── SessionFileError          a saved session cannot be read or compared
    ├── SnapshotFileError         a snapshot cannot be read or written
    └── CassetteError             recorded model traffic cannot be read or written

Three stand apart. `Unavailable` is raised by agents and tools, to say that what they ask could not
be reached. `RunOverError` is no `Exception`: it ends an agent that goes on when its run is over.
`MissingRecordingError` is none either: a model client would take an `Exception` for a failure of
the network, and send the request again after a while.
"""

from __future__ import annotations

from pathlib import Path


class SopbenchError(Exception):
    """Base of all errors of this package; `str()` is the message and then the hint.

    Attributes:
        message: what is wrong, and where.
        hint: what to do about it; may be empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class LoadingError(SopbenchError):
    """A file of a domain cannot be used.

    Args:
        path: the file, or the folder if no file is at fault.
        problem: what is wrong, without the place.
        row: the line of the file, counted as an editor does, from 1.
        column: the header of the column, or the key of the document.
        hint: what to do about it.
    """

    def __init__(
        self,
        path: Path | str,
        problem: str,
        *,
        row: int | None = None,
        column: str | None = None,
        hint: str = "",
    ) -> None:
        place = [str(path)]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {column!r}")
        super().__init__(f"{', '.join(place)}: {problem}", hint=hint)
        self.path = Path(path)
        self.problem = problem
        self.row = row
        self.column = column


class DomainNotFoundError(LoadingError):
    """No domain, or more than one, answers to the name that was asked for."""


class RowError(LoadingError):
    """One row of a data file cannot become a task."""


class ToolSpecError(LoadingError):
    """A tool spec, or a tool of `metadata.json`, cannot be used."""


class AgentSpecError(SopbenchError):
    """The agent that was asked for cannot be found, or cannot be called as an agent."""


class ComparerError(SopbenchError):
    """What is to compare an output field cannot be found, or cannot be used."""


class JudgeError(ComparerError):
    """A model judge, its calibration or a table of labels cannot be used."""


class NotJudgedError(JudgeError):
    """A model judge was asked, and gave no judgement; the answer is neither right nor wrong."""


class ToolError(SopbenchError):
    """What the agent asked of a tool is impossible; the agent may catch it and go on."""


class UnknownToolError(ToolError):
    """The domain has no tool of that name."""


class ToolArgumentError(ToolError):
    """The arguments do not fit the tool, or the record that the tool looks up."""


class ClosedToolboxError(ToolError):
    """No tool can be called any more; an agent that gets it should end."""


class TurnLimitError(SopbenchError):
    """Raised by an agent that has used up its turns: the run ends as `call_limit`."""


class ExtensionError(SopbenchError):
    """A metric or a report format of another package cannot be used, or fails."""


class SessionFileError(SopbenchError):
    """A saved session cannot be read, written or compared."""


class SnapshotFileError(SopbenchError):
    """A snapshot, or the record of its approval, cannot be read or written."""


class CassetteError(SopbenchError):
    """Recorded model traffic cannot be read or written."""


class Unavailable(Exception):  # noqa: N818 - the interface promises this name to agents
    """Raised by an agent or a tool that cannot reach what it asks: the run is `unavailable`."""


class RunOverError(BaseException):
    """An agent goes on calling tools, though it was told that its run is over."""


class MissingRecordingError(BaseException):
    """A request has no recording, and replay may send nothing: the run ends as `unavailable`."""
