"""The stepwise agent: the model is given one step of the SOP at a time.

The agent checks the plan, and walks through its steps: their order, jumps, approvals, and the
answer at the end. The work on one step is a dialogue of its own, in `work.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pytest_sopbench._core.steps import ApprovalDecision, ApprovalRequest, Procedure
from pytest_sopbench._core.steps import Step as SopStep
from pytest_sopbench.agents.conversation import (
    Message,
    Reply,
    StopReason,
    ToolResult,
)
from pytest_sopbench.agents.dialogue import (
    Dialogue,
    Finding,
    NativeProtocol,
    Step,
    Transcript,
    Turn,
    has_answer,
)
from pytest_sopbench.agents.driving import Asking, RunTools, adrive, drive, schema_of
from pytest_sopbench.agents.model_agent import ModelAgent
from pytest_sopbench.agents.settings import whole
from pytest_sopbench.agents.stepwise.work import (
    COMPLETE,
    END,
    Completion,
    StepWork,
    Turns,
    Worked,
)
from pytest_sopbench.errors import AgentSpecError


@dataclass(frozen=True, kw_only=True)
class Stepwise(ModelAgent):
    """An agent whose model is given one step of the SOP at a time.

    A step is carried out with its text, the text that applies to all steps, the inputs, the tools,
    and what earlier steps have found. The model ends it with a tool of the agent's own, and may go
    on at another step if the SOP orders that.
    """

    max_turns: int | str = 100

    name: ClassVar[str] = "stepwise"
    blocks: ClassVar[tuple[str, ...]] = ("system", "user", "remind", "answer", "again")

    def execute(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
        steps: Procedure,
        approver: Asking,
    ) -> object:
        """Run the agent on one task, as the session does."""
        walk = self._walk(sop, inputs, tools, output_fields, steps)
        return drive(walk, self._client(), tools, approver, max_context=self._max_context())

    async def aexecute(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
        steps: Procedure,
        approver: Asking,
    ) -> object:
        """As `execute`, for async code."""
        walk = self._walk(sop, inputs, tools, output_fields, steps)
        limit = self._max_context()
        return await adrive(walk, self._client(), tools, approver, max_context=limit)

    def _walk(
        self,
        sop: str,
        inputs: Mapping[str, Any],
        tools: RunTools,
        output_fields: Mapping[str, object],
        plan: Procedure,
    ) -> Generator[Step, Any, Finding]:
        specs = tuple(tools.json_schema())
        check_plan(plan, [str(one["name"]) for one in specs], model=self.model)
        prompt = self._prompt()
        values: dict[str, object] = {
            "sop": sop,
            "general": plan.general,
            "steps": plan.steps,
            "inputs": inputs,
            "tools": specs,
            "output_fields": output_fields,
            "output_schema": schema_of(tools),
            "step": None,
            "found": (),
            "text": "",
            "cut_off": False,
        }

        def render(block: str, **more: object) -> str:
            return prompt.render(block, {**values, **more})

        return _Walk(
            plan=plan.steps,
            tools=specs,
            output_fields=output_fields,
            max_turns=whole("max_turns", self.max_turns, least=1),
            render=render,
        ).steps()


# Steps that an agent is given, and whether they can be carried out.


def check_plan(
    plan: Procedure, tools: Collection[str], *, domain: str = "", model: str = "PROVIDER/MODEL"
) -> None:
    """Complain of an SOP that cannot be carried out step by step.

    Raises:
        AgentSpecError: it shows no steps, or one of the tools has the name of the agent's own.
    """
    where = f"domain {domain}" if domain else "the SOP"
    if not plan.steps:
        msg = f"{where} shows no steps: {plan.why_not}"
        asks = f"--propose {model or 'PROVIDER/MODEL'}"
        command = f"sopbench list {domain or 'DOMAIN'} --steps {asks}"
        hint = f"write them into its steps.json, or have a model propose them: {command}"
        raise AgentSpecError(msg, hint=hint)
    if COMPLETE in tools:
        msg = f"{where} has a tool {COMPLETE!r}, which the agent needs for itself"
        raise AgentSpecError(msg, hint="give the tool another name")


# The way through the steps of an SOP: their order, jumps, approvals, and the answer at the end.


@dataclass(kw_only=True)
class _Walk:
    """One run: step after step, each in a dialogue of its own.

    Attributes:
        plan: the steps.
        tools: their specs.
        output_fields: of the answer.
        max_turns: replies after which the run ends.
        render: returns a block of the prompt, with some values of its own.
    """

    plan: Sequence[SopStep]
    tools: tuple[Mapping[str, Any], ...]
    output_fields: Mapping[str, object]
    max_turns: int
    render: Callable[..., str]
    _found: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])
    _path: list[str] = field(default_factory=list[str])
    _notes: list[str] = field(default_factory=list[str])
    _messages: tuple[Message, ...] = ()
    _answer: str = ""

    def __post_init__(self) -> None:
        self._numbers = [step.number for step in self.plan]
        self._turns = Turns(self.max_turns)
        self._system = Message(role="system", text=self.render("system"))

    def steps(self) -> Generator[Step, Any, Finding]:
        """Yield what to do, and return how it ended."""
        place = 0
        while place < len(self._numbers):
            ended = yield from self._made(self.plan[place])
            if isinstance(ended, Finding):
                return ended
            place = self._place(ended.following, place + 1)
        return (yield from self._answered())

    def _place(self, following: str, otherwise: int) -> int:
        if following == END:
            return len(self._numbers)
        return self._numbers.index(following) if following else otherwise

    def _made(self, step: SopStep) -> Generator[Step, Any, Completion | Finding]:
        before = str(self._found[-1]["summary"]) if self._found else ""
        denied = yield from self._approved(step, "before", before)
        if denied:
            return self._finding(error=denied)
        self._path.append(step.number)
        worked: Worked = yield from self._work(step).steps()
        self._take(worked)
        yield Transcript(worked.messages)
        done = worked.completion
        if done is None:
            limit = f"passed its limit of {self.max_turns} turns in step {step.number}"
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

    def _work(self, step: SopStep) -> StepWork:
        text = self.render("user", step=step, found=self._found)
        return StepWork(
            turns=self._turns,
            number=step.number,
            opening=(self._system, Message(role="user", text=text)),
            reminder=self.render("remind", step=step),
            tools=self.tools,
            numbers=self._numbers,
            output_fields=self.output_fields,
        )

    def _take(self, worked: Worked) -> None:
        self._messages = worked.messages
        self._notes += worked.notes
        self._answer = worked.answer or self._answer

    def _approved(
        self, step: SopStep, moment: Literal["before", "after"], summary: str
    ) -> Generator[Step, Any, str]:
        """Ask for an approval that the step needs; return why the run may not go on."""
        if moment not in step.approvals:
            return ""
        answer: ApprovalDecision = yield ApprovalRequest(
            step=step.number, title=step.title, moment=moment, summary=summary
        )
        if answer.approved:
            return ""
        why = f": {answer.reason}" if answer.reason else ""
        return f"approval denied {moment} step {step.number} by {answer.by or 'nobody'}{why}"

    def _answered(self) -> Generator[Step, Any, Finding]:
        def again(reply: Reply) -> str:
            cut_off = reply.stop is StopReason.LENGTH
            return self.render("again", text=reply.message.text, cut_off=cut_off)

        if not self._turns.left:
            limit = f"passed its limit of {self.max_turns} turns before the answer"
            return self._finding(over_limit=limit)
        question = self.render("answer", found=self._found)
        finding = yield from Dialogue(
            _AllDone(()),
            opening=(self._system, Message(role="user", text=question)),
            again=again,
            output_fields=self.output_fields,
            max_turns=self._turns.left,
        ).steps()
        self._messages = finding.messages
        self._notes += finding.notes
        if finding.over_limit:
            limit = f"passed its limit of {self.max_turns} turns without an answer"
            return self._finding(over_limit=limit)
        text = finding.text
        if self._answer and not finding.error and not has_answer(text, self.output_fields):
            # What is said later may take the answer of a step back.
            said = [one.text for one in finding.messages if one.role == "assistant" and one.text]
            text = "\n\n".join((self._answer, *said))
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


class _AllDone(NativeProtocol):
    """Has no tool any more: to complete a step once again is no call of the domain's tools."""

    def read(self, reply: Reply) -> Turn:
        said = reply.message
        calls = tuple(one for one in said.requests if one.name != COMPLETE)
        if len(calls) == len(said.requests):
            return super().read(reply)
        # A call that has no result is not told to the model either.
        message = Message(role="assistant", text=said.text, requests=calls)
        return Turn(message=message, text=said.text, requests=calls)


def _counted(steps: int) -> str:
    return f"{steps} step" if steps == 1 else f"{steps} steps"


def _shown(result: ToolResult) -> Mapping[str, object]:
    request = result.request
    return {"name": request.name, "arguments": request.arguments, "result": result.content}
