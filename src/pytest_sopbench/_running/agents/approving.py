"""The approver of one run: asks the user's own, and records what came of it."""

from __future__ import annotations

from typing import Literal

from pytest_sopbench._core.steps.approving import ApprovalDecision, ApprovalRequest, Approver
from pytest_sopbench._running.tools.facade import Tools
from pytest_sopbench.errors import AgentSpecError


class RunApprover:
    """What an agent is given as `approver`: asked for a step, it tells the decision.

    The agent cannot ask unseen: each decision is recorded in the run, so that rules of a contract
    can demand it.
    """

    __slots__ = ("_approver", "_domain", "_task_id", "_tools")

    def __init__(self, approver: Approver, tools: Tools, *, domain: str, task_id: str) -> None:
        self._approver = approver
        self._tools = tools
        self._domain = domain
        self._task_id = task_id

    def __call__(
        self,
        step: str,
        *,
        title: str = "",
        moment: Literal["before", "after"] = "after",
        summary: str = "",
    ) -> ApprovalDecision:
        """Ask for the approval of a step; it blocks until there is a decision.

        Args:
            step: the number of the step.
            title: its title.
            moment: whether the step is about to begin, or its work is done.
            summary: what somebody should know who decides.

        Returns:
            The decision, which is true in a condition where the step was approved.

        Raises:
            AgentSpecError: the user's approver returned something else than a decision.
        """
        request = ApprovalRequest(
            step=step,
            title=title,
            moment=moment,
            summary=summary,
            domain=self._domain,
            task_id=self._task_id,
        )
        decision = _decision(self._approver(request))
        self._tools.record_approval(
            step, decision.by, granted=decision.approved, reason=decision.reason
        )
        return decision


def _decision(given: object) -> ApprovalDecision:
    if isinstance(given, ApprovalDecision):
        return given
    if isinstance(given, bool):
        return ApprovalDecision(approved=given, by="sop_approver")
    # Whatever else is true in Python must not approve anything.
    msg = f"the approver returned a value of type {type(given).__name__}"
    hint = "it must return True, False or an ApprovalDecision"
    raise AgentSpecError(msg, hint=f"{hint}, and be no async function")
