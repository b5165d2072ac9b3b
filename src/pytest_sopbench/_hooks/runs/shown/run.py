"""The run that a test sees: what happened, what was decided, and assertions on both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from pytest_sopbench._core.contract.rules import Contract, RuleResult
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench._core.judging.procedure import breaches
from pytest_sopbench._core.model.answer import Answer
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.model.trajectory import CallForms, Trajectory, trajectory_of
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._core.trajectory.arguments import ArgumentMode
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome, Verdict
from pytest_sopbench._reports.failure.task import JUDGED_AS_WELL

from .assertions import Calls, names

if TYPE_CHECKING:
    from pytest_sopbench._core.contract.equal_values import Known
    from pytest_sopbench._core.trajectory.departure import MatchMode


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run and its verdict, with what else an assertion needs.

    `tools` are the names of the domain's tools, `fields` its output fields. `enforce` tells that
    every broken rule fails the run, and not only one that must hold.
    """

    task: Task
    trace: Trace
    verdict: Verdict
    contract: Contract | None = None
    enforce: bool = False
    redaction: Redaction = NOTHING_REDACTED
    tools: tuple[str, ...] = ()
    fields: tuple[OutputField, ...] = ()
    document: DocumentRules | None = None

    def known(self) -> Known:
        """Return what else than the calls the rules of a contract may ask for."""
        from pytest_sopbench._core.contract.equal_values import Known  # noqa: PLC0415 - only where there is a contract

        fields = {field.name: field for field in self.fields}
        return Known(task=self.task, answer=self.verdict.answer, fields=fields)

    @property
    def breaches(self) -> tuple[RuleResult, ...]:
        """The broken rules that fail the run, whatever its answer is."""
        rules = self.verdict.rules
        return breaches(rules, self.verdict.outcome, enforce=self.enforce) if rules else ()


class Run:
    """One agent on one task, once, as it was observed and judged.

    Asking for the fixture `sop_run` makes the run; nothing here runs the agent again. Tests that
    share a run are given one such object each, since what one of them looked at says nothing of
    the others. A test that never looks at the verdict fails with a run that is not correct.
    """

    def __init__(self, judged: JudgedRun, explain: Callable[[], str]) -> None:
        self._judged = judged
        self._explain = explain
        self._looked_at = False
        self._contract_asserted = False
        # The last assertion on the answer, or on the contract, that failed.
        self._failed_on: tuple[Literal["answer", "contract"], AssertionError] | None = None

    @cached_property
    def _calls(self) -> Calls:
        # Made when a test first demands anything of the calls, which most never do.
        judged = self._judged
        return Calls(
            judged.known,
            judged.trace,
            judged.verdict.outcome,
            judged.redaction,
            domain=judged.task.domain,
            tools=judged.tools,
        )

    def __repr__(self) -> str:
        task = self._judged.task
        # pytest shows it where an assertion fails, and anybody may have written the id.
        return harmless(f"<Run {task.domain}/{task.id}: {self.outcome}>").replace("\n", "\\n")

    @property
    def task(self) -> Task:
        """The task that the agent was given."""
        return self._judged.task

    @property
    def trace(self) -> Trace:
        """Everything observed: calls, messages, usage, duration, what was raised."""
        return self._judged.trace

    @property
    def trajectory(self) -> Trajectory:
        """The tool calls in order; their results and errors stand in `trace.calls`."""
        return trajectory_of(self._judged.trace)

    @property
    def verdict(self) -> Verdict:
        """The outcome with its reasons; a test that reads it decides about the answer itself."""
        self._looked_at = True
        return self._judged.verdict

    @property
    def outcome(self) -> Outcome:
        """How the run ended; reading it decides nothing, unlike `verdict`."""
        return self._judged.verdict.outcome

    @property
    def answer(self) -> Answer | None:
        """The answer: `sop_run.answer["refund"]` is the value of an output field.

        What the agent gave beside the output fields is read in the same way, such as `["reason"]`.
        `None` where the agent did not return.
        """
        return self._judged.verdict.answer

    @property
    def output(self) -> str:
        """What the agent wrote to stdout and stderr, as one text."""
        return self._judged.trace.output

    @property
    def breaches(self) -> tuple[RuleResult, ...]:
        """The broken rules that fail this run, whatever its answer is."""
        return self._judged.breaches

    @property
    def refusal(self) -> str:
        """Why this run may not be approved as a snapshot, or nothing."""
        from pytest_sopbench._core.records.approvable import refusal  # noqa: PLC0415 - only where it is asked for

        return refusal(self._judged.verdict.outcome, self._judged.verdict.rules)

    def assert_correct(self) -> None:
        """Fail unless an answer was found for every field and every field matches.

        Raises:
            AssertionError: with the task, the fields that differ, the trajectory and what the
                agent raised.
        """
        __tracebackhide__ = True
        if not self.verdict.correct:
            self._fail("answer", self.explain())

    def assert_trajectory(
        self,
        expected: CallForms,
        *,
        match: MatchMode = "exact",
        arguments: ArgumentMode = "exact",
        per_tool: Mapping[str, ArgumentMode] | None = None,
    ) -> None:
        """Fail unless the calls match: `"tool"`, or `("tool", {"argument": value})`, each.

        Args:
            expected: the calls; a bare name asks nothing of the arguments, and a list in the list
                is a group whose calls come in any order.
            match: `exact`, `in_order`, `any_order`, `subset` or `superset`.
            arguments: `exact`, `contains` or `ignore`.
            per_tool: another word than `arguments` for some tools.

        Raises:
            AssertionError: with both trajectories side by side, and the first departure.
            ValueError: a word is unknown.
        """
        __tracebackhide__ = True
        _fail(self._calls.match(expected, match, arguments, per_tool))

    def assert_called(
        self,
        name: str,
        *,
        before: str | Sequence[str] | None = None,
        after: str | Sequence[str] | None = None,
        times: int | None = None,
        arguments: Mapping[str, JsonValue] | None = None,
        succeeded: bool | None = None,
    ) -> None:
        """Fail unless a tool was called, at least once or exactly `times`.

        Args:
            name: the tool.
            before: tools that were called later, and only after a call of this one succeeded.
            after: tools that had succeeded before this one was called first.
            times: how many calls there are that fit.
            arguments: must be among those of the call; others may stand beside them.
            succeeded: true takes only calls without error, false only such with one.

        Raises:
            AssertionError: with the reason, and the calls that were made.
            ValueError: the domain has no tool of one of these names.
        """
        from pytest_sopbench._core.trajectory.calls import CallDemand  # noqa: PLC0415 - only where calls are compared

        __tracebackhide__ = True
        demand = CallDemand(
            name=name,
            before=names(before),
            after=names(after),
            times=times,
            arguments=arguments,
            succeeded=succeeded,
        )
        _fail(self._calls.called(demand))

    def assert_not_called(self, name: str) -> None:
        """Fail if a tool was called, also in vain.

        Raises:
            AssertionError: with the step, and the calls that were made.
            ValueError: the domain has no tool of this name, so that the test would always pass.
        """
        __tracebackhide__ = True
        _fail(self._calls.not_called(name))

    def assert_path(self, path: str, expected: JsonValue) -> None:
        """Fail unless the document that the agent gave has a value at a path.

        Values are compared as the domain compares answers; an ignored path may be asked for. The
        rest of the document decides nothing, so that a test which asserts on a path does not fail
        by what stands elsewhere.

        Args:
            path: keys and positions, such as `step` or `guests[0].name`.
            expected: what must stand there; `None` is met by an absent key as well.

        Raises:
            AssertionError: with what stands there instead, or why there is no document.
            ValueError: the answers of the domain are no documents, or it is no path.
        """
        from .document_paths import wrong_at  # noqa: PLC0415 - only where an answer is a document

        __tracebackhide__ = True
        self._looked_at = True
        why = wrong_at(self._judged.document, self._judged.verdict, path, expected)
        self._fail("answer", harmless(self._judged.redaction.text(why)))

    def assert_contract(self) -> None:
        """Fail if a rule of the domain's contract is broken, whatever its severity.

        Raises:
            AssertionError: with the broken rules; or the run was stopped before it called a tool,
                or the domain has no contract.
        """
        __tracebackhide__ = True
        self._contract_asserted = True
        self._fail("contract", self._calls.contract(self._judged.contract))

    def explain(self) -> str:
        """Say what happened on this task, as a failed task prints it."""
        return self._explain()

    def explain_failed_test(self) -> str:
        """Say the same where the body of the test held, and why the test fails all the same."""
        verdict = self._judged.verdict
        if verdict.correct or not verdict.completed:
            return self._explain()
        return "\n".join((self._explain(), *JUDGED_AS_WELL))

    def fails_test(self, *, answer_ignored: bool) -> bool:
        """Tell whether a test that passed must fail by its run, after the test's own body.

        A run that did not complete fails every test that asked for it. A wrong one does, unless
        the test ignores the answer or looked at the verdict. A broken rule that fails the run
        does, unless the test asserted the contract itself.
        """
        if not self._judged.verdict.completed:
            return True
        if self.breaches and not self._contract_asserted:
            return True
        return not (self._judged.verdict.correct or answer_ignored or self._looked_at)

    def failed_by(
        self, error: BaseException, *, by_run: bool, answer_ignored: bool
    ) -> tuple[Outcome, tuple[str, ...]] | None:
        """Return what of this run a test failed by: the outcome, and the rules that were broken.

        `None` where the test failed by anything else: an assertion of its own, a snapshot, its
        code. `by_run` tells that its body held, so that `fails_test` made it fail.
        """
        about = "run" if by_run else ""
        if self._failed_on is not None and self._failed_on[1] is error:
            about = self._failed_on[0]
        broken = [one for one in self._judged.verdict.rules if one.broken]
        if not about or (about == "contract" and not broken):
            # A contract that shows nothing is none that a rule has broken.
            return None
        outcome = self.outcome
        decided = answer_ignored or (by_run and self._looked_at)
        if about == "answer" and self._judged.verdict.correct:
            outcome = Outcome.WRONG
        elif about != "answer" and decided and self._judged.verdict.completed:
            outcome = Outcome.CORRECT
        return outcome, tuple(one.id for one in (broken if about == "contract" else self.breaches))

    def _fail(self, about: Literal["answer", "contract"], why: str) -> None:
        __tracebackhide__ = True
        if why:
            error = AssertionError(why)
            self._failed_on = about, error
            raise error


def _fail(why: str) -> None:
    __tracebackhide__ = True
    if why:
        raise AssertionError(why)
