"""The way through the steps of an SOP: their order, jumps, approvals, and the answer at the end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_sopbench.agents.conversation import (
    ApprovalAnswer,
    ApprovalQuestion,
    Message,
    Reply,
    StopReason,
    ToolResult,
)
from pytest_sopbench.agents.dialogue import Dialogue, Finding, Step, Transcript
from pytest_sopbench.agents.found_answer import has_answer
from pytest_sopbench.agents.function_calling import NativeProtocol
from pytest_sopbench.agents.stepwise.plan import END, Completion, PlannedStep
from pytest_sopbench.agents.stepwise.work import Brief, StepWork, Turns, Worked

Render = Callable[..., str]
"""Returns a block of the prompt, with some values of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What is to be done: steps, tools and output fields, and how the model is told of them."""

    steps: Sequence[PlannedStep]
    tools: tuple[Mapping[str, Any], ...]
    output_fields: Mapping[str, object]
    max_turns: int
    render: Render


class Walk:
    """One run: step after step, each in a dialogue of its own."""

    def __init__(self, errand: Errand) -> None:
        self._errand = errand
        self._numbers = [step.number for step in errand.steps]
        self._turns = Turns(errand.max_turns)
        self._system = Message(role="system", text=errand.render("system"))
        self._found: list[Mapping[str, object]] = []
        self._path: list[str] = []
        self._notes: list[str] = []
        self._messages: tuple[Message, ...] = ()
        self._answer = ""

    def steps(self) -> Generator[Step, Any, Finding]:
        """Yield what to do, and return how it ended."""
        place = 0
        while place < len(self._numbers):
            ended = yield from self._made(self._errand.steps[place])
            if isinstance(ended, Finding):
                return ended
            place = self._place(ended.following, place + 1)
        return (yield from self._answered())

    def _place(self, following: str, otherwise: int) -> int:
        if following == END:
            return len(self._numbers)
        return self._numbers.index(following) if following else otherwise

    def _made(self, step: PlannedStep) -> Generator[Step, Any, Completion | Finding]:
        before = str(self._found[-1]["summary"]) if self._found else ""
        denied = yield from self._approved(step, "before", before)
        if denied:
            return self._finding(error=denied)
        self._path.append(step.number)
        worked: Worked = yield from StepWork(self._brief(step), self._turns).steps()
        self._take(worked)
        yield Transcript(worked.messages)
        done = worked.completion
        if done is None:
            limit = f"passed its limit of {self._errand.max_turns} turns in step {step.number}"
            over = f"{limit}, after {_counted(len(self._path) - 1)}" if worked.is_over_limit else ""
            return self._finding(error=worked.error, over_limit=over)
        denied = yield from self._approved(step, "after", done.summary)
        if denied:
            return self._finding(error=denied)
        if worked.is_final:
            return self._finding(text=self._answer)
        self._found.append(
            {
                "number": step.number,
                "title": step.title,
                "summary": done.summary,
                "calls": [_shown(one) for one in worked.calls],
            }
        )
        return done

    def _brief(self, step: PlannedStep) -> Brief:
        text = self._errand.render("user", step=step, found=self._found)
        return Brief(
            number=step.number,
            opening=(self._system, Message(role="user", text=text)),
            reminder=self._errand.render("remind", step=step),
            tools=self._errand.tools,
            numbers=self._numbers,
            output_fields=self._errand.output_fields,
        )

    def _take(self, worked: Worked) -> None:
        self._messages = worked.messages
        self._notes += worked.notes
        self._answer = worked.answer or self._answer

    def _approved(
        self, step: PlannedStep, moment: Literal["before", "after"], summary: str
    ) -> Generator[Step, Any, str]:
        """Ask for an approval that the step needs; return why the run may not go on."""
        if moment not in step.approvals:
            return ""
        answer: ApprovalAnswer = yield ApprovalQuestion(
            step=step.number, title=step.title, moment=moment, summary=summary
        )
        if answer.approved:
            return ""
        why = f": {answer.reason}" if answer.reason else ""
        return f"approval denied {moment} step {step.number} by {answer.by or 'nobody'}{why}"

    def _answered(self) -> Generator[Step, Any, Finding]:
        def again(reply: Reply) -> str:
            cut_off = reply.stop is StopReason.LENGTH
            return self._errand.render("again", text=reply.message.text, cut_off=cut_off)

        if not self._turns.left:
            limit = f"passed its limit of {self._errand.max_turns} turns before the answer"
            return self._finding(over_limit=limit)
        question = self._errand.render("answer", found=self._found)
        finding = yield from Dialogue(
            NativeProtocol(()),
            opening=(self._system, Message(role="user", text=question)),
            again=again,
            output_fields=self._errand.output_fields,
            max_turns=self._turns.left,
        ).steps()
        self._messages = finding.messages
        self._notes += finding.notes
        if finding.over_limit:
            limit = f"passed its limit of {self._errand.max_turns} turns without an answer"
            return self._finding(over_limit=limit)
        text = finding.text
        if not finding.error and not has_answer(text, self._errand.output_fields):
            text = self._answer or text
        return replace(self._finding(text=text), error=finding.error)

    def _finding(self, *, text: str = "", error: str = "", over_limit: str = "") -> Finding:
        path = (f"steps: {' > '.join(self._path)}",) if self._path else ()
        return Finding(
            text=text,
            messages=self._messages,
            error=error,
            over_limit=over_limit,
            notes=(*path, *self._notes),
        )


def _counted(steps: int) -> str:
    return f"{steps} step" if steps == 1 else f"{steps} steps"


def _shown(result: ToolResult) -> Mapping[str, object]:
    request = result.request
    return {"name": request.name, "arguments": request.arguments, "result": result.content}
