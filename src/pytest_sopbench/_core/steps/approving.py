"""Who approves the steps of a run: what is asked, what is answered, and those who need no person.

An approver is a function of the user's: it is given an `ApprovalRequest`, and returns true, false,
or an `ApprovalDecision`. One approver serves all runs of a session, from many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A request to approve one step of one run.

    Attributes:
        step: the number of the step, as the SOP has it.
        title: its title.
        moment: `before` the step begins, or `after` its work is done.
        summary: what the agent says that it has found so far, or done in this step.
        domain: the name of the domain.
        task_id: the id of the task.
    """

    step: str
    title: str = ""
    moment: Literal["before", "after"] = "after"
    summary: str = ""
    domain: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecision:
    """What came of a request; true in a condition exactly where it was approved.

    Attributes:
        approved: whether the run may go on.
        by: who decided.
        reason: why, mostly of a denial.
    """

    approved: bool
    by: str = ""
    reason: str = ""

    def __bool__(self) -> bool:
        return self.approved


Approver: TypeAlias = Callable[[ApprovalRequest], "ApprovalDecision | bool"]

AUTO: Final = "auto"
DENY: Final = "deny"
SCRIPTED: Final = "scripted"
EVERY: Final = "*"
"""In a script: every step that it does not name."""

Decisions: TypeAlias = Mapping[str, "bool | str"]


def approve_all(_: ApprovalRequest) -> ApprovalDecision:
    """Approve every step."""
    return ApprovalDecision(approved=True, by=AUTO)


def deny_all(_: ApprovalRequest) -> ApprovalDecision:
    """Deny every step."""
    return ApprovalDecision(approved=False, by=DENY, reason="every approval is denied")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """Decides as a script says: by step, and for some tasks, called `DOMAIN/TASK`, otherwise.

    A decision is true, false, or a text: why it is denied. What the script does not decide is
    denied.
    """

    decisions: Decisions = field(default_factory=dict[str, "bool | str"])
    tasks: Mapping[str, Decisions] = field(default_factory=dict[str, Decisions])

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        task = self.tasks.get(f"{request.domain}/{request.task_id}", {})
        unsaid = f"the script does not decide about step {request.step}"
        places = ((task, request.step), (task, EVERY), (self.decisions, request.step))
        found = next((script[key] for script, key in places if key in script), None)
        decided = self.decisions.get(EVERY, unsaid) if found is None else found
        if isinstance(decided, str):
            return ApprovalDecision(approved=False, by=SCRIPTED, reason=decided)
        return ApprovalDecision(approved=decided, by=SCRIPTED)
