"""What the built-in test raises."""

from __future__ import annotations


class ContractBroken(AssertionError):  # noqa: N818 - as below
    """The run of a task broke a rule that fails it, whatever its answer is: no gate forgives it."""


class TaskFailed(AssertionError):  # noqa: N818 - pytest users read it as a failure, not an error
    """The run of a task is not correct: the one failure that a gate may forgive."""
