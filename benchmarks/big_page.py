"""A large session as a page is made of it: trials, crashes, broken rules, hostile text, a baseline.

Nothing is run. The runs are invented, and look like those of a domain with four tools: inputs come
back as arguments, some calls fail and are made again, and some tasks were correct before.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pytest_sopbench._core.comparing import compare, leaderboard_of
from pytest_sopbench._core.comparison import ComparedSession
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.decide import SessionPage, TaskFacts
from pytest_sopbench._core.model.trace import Mismatch, Problem, Trace, Usage
from pytest_sopbench._core.records.record import CallRecord, RunRecord, TrajectoryCheck
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.saved import grouped, summarized

LABELS = ("Pay", "Refuse", "Ask again", "Send to a person")
TRIALS = 3
HOSTILE = (
    "</script><script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "../../etc/passwd",
    "a\x00b",
    "\ud800 alone",
    "\u202egnp.exe",
    "\x1b]8;;https://example.com\x07link\x1b]8;;\x07",
    "javascript:document.title='ran'",
    "'\" onclick=\"document.title='ran'",
    "<!--<script>",
    "{{ 7 * 7 }}",
    "\u2028document.title='ran'",
)
"""Texts that somebody may have put into a row, an answer or an id."""


class MadeSources:
    """What would come from a domain, from event logs and from the baseline."""

    def __init__(self, before: Sequence[RunRecord] = ()) -> None:
        self._before = before

    def facts(self, record: RunRecord) -> TaskFacts:
        inputs = inputs_of(record.task)
        return TaskFacts(
            inputs=inputs,
            expected_calls=[
                ExpectedCall(name=name, arguments=arguments)
                for name, arguments, _ in steps_of(record.task)
            ],
            clauses={"4.2": "4.2 Ask the register before a claim is decided, and once."},
            tags=("frequent",) if record.task[-1] in "02468" else ("rare", "new"),
            location="domains/claims/data.csv:7",
        )

    def again(self, record: RunRecord) -> str:
        return f"pytest --sop-domain={record.domain}::{record.task} --sop-agent=made:agent"

    def sop(self, domain: str) -> str:
        return f"# {domain}\n\n4.2 Ask the register before a claim is decided, and once.\n"

    def trace(self, _: RunRecord) -> Trace | None:
        return None

    def baseline(self) -> Sequence[RunRecord]:
        return self._before

    def masked(self, text: str) -> str:
        return text


def inputs_of(task: str) -> dict[str, object]:
    """Return what the agent is given."""
    return {
        "claim_id": task,
        "description": f"Claim {task}: a pipe burst below the sink, and the floor of two rooms.",
        "amount": len(task) * 100,
        "customer": f"CU-{task}",
        "received": "2025-07-12",
    }


def steps_of(task: str) -> list[tuple[str, dict[str, object], object]]:
    """Return the calls that are right: name, arguments, result."""
    inputs = inputs_of(task)
    return [
        ("open_claim", {"claim_id": task}, {"status": "open", "policy": f"PO-{task}"}),
        ("read_policy", {"policy": f"PO-{task}"}, {"covers": ["water"], "limit": 5000}),
        ("check_amount", {"amount": inputs["amount"], "limit": 5000}, {"within": True}),
        ("enter_decision", {"claim_id": task, "decision": "Pay"}, {"status": "entered"}),
    ]


def run_of(at: int, dice: random.Random, share: float, *, hostile: bool) -> RunRecord:
    """Return one run; `share` is that of the correct ones."""
    text = HOSTILE[at % len(HOSTILE)] if hostile else ""
    task = f"T_{at // TRIALS:05}{text}"
    right, expected = dice.random() < share, dice.choice(LABELS[: 1 + at % len(LABELS)])
    calls = [
        CallRecord(name=name, arguments=arguments, result=result)
        for name, arguments, result in steps_of(task)
    ]
    whole = RunRecord(
        domain="claims" if at % 5 else "complaints",
        task=task,
        trial=1 + at % TRIALS,
        agent="desk:agent",
        outcome=Outcome.CORRECT,
        expected={"decision": expected, "reason": "covered"},
        answer={"decision": expected, "reason": "covered"},
        answer_form="mapping",
        calls=tuple(calls),
        usage=Usage(input_tokens=900 + at % 700, output_tokens=80 + at % 60, cost_usd=0.002),
        duration_s=round(0.4 + dice.expovariate(0.7), 3),
        trajectory=TrajectoryCheck(held=True),
    )
    return whole if right else _wrong(whole, dice, text)


def _wrong(record: RunRecord, dice: random.Random, text: str) -> RunRecord:
    outcome = dice.choice([Outcome.WRONG] * 6 + [Outcome.NO_ANSWER, Outcome.ERROR, Outcome.CRASH])
    if outcome is Outcome.CRASH:
        lost = "the process of the run died"
        return replace(
            record, outcome=outcome, reason=lost, answer=None, calls=(), duration_s=None,
            trajectory=None, usage=Usage(),
        )  # fmt: skip
    failed = CallRecord(
        name="read_policy", arguments={"policy": text or "?"}, error=f"no such policy {text}"
    )
    calls = (record.calls[0], failed, *record.calls[1:3])
    broken = RuleResult(
        id="register-first", clause="4.2", severity=Severity.MUST, kind=DemandKind.BEFORE,
        state=RuleState.BROKEN, why=f"step 2 came before the register was asked {text}",
    )  # fmt: skip
    held = TrajectoryCheck(
        held=False, departure="step 2: read_policy was called with other arguments"
    )
    changed = replace(record, outcome=outcome, calls=calls, rules=(broken,), trajectory=held)
    if outcome is Outcome.WRONG:
        given = text or dice.choice(LABELS)
        why = "other known label"
        miss = Mismatch(
            field="decision", expected=record.expected["decision"], actual=given, why=why
        )
        return replace(changed, answer={"decision": given, "reason": "covered"}, mismatches=(miss,))
    problem = Problem(type="ValueError", message=f"cannot decide {text}", traceback="line 3")
    return replace(
        changed, answer=None, text=f"I cannot say. {text}", reason="no answer was found",
        problem=problem if outcome is Outcome.ERROR else None,
    )  # fmt: skip


def big_page(runs: int, *, hostile: bool = True, agents: int = 1) -> SessionPage:
    """Return a page on so many runs, compared with a baseline that was better."""
    names = [f"desk:agent{number or ''}" for number in range(agents)]
    before = _runs(runs, 1, 0.9, names, hostile=hostile)
    records = _runs(runs, 2, 0.8, names, hostile=hostile)
    gate = GateVerdict(asked="TSR >= 90%", got="80.0%", state=GateState.FAILS, why="2,400 of 3,000")
    return SessionPage(
        agent=", ".join(names),
        records=records,
        summaries=summarized(records),
        gates=(gate,),
        facts={"started": "2025-07-12T09:30:00+00:00", "commit": "0123456789ab"},
        comparison=compare(
            ComparedSession(name="main", records=before),
            ComparedSession(name="now", records=records),
        ),
        leaderboard=leaderboard_of(grouped(records), records),
        sources=MadeSources(before),
    )


def _runs(
    number: int, seed: int, share: float, names: Sequence[str], *, hostile: bool
) -> list[RunRecord]:
    dice = random.Random(seed)  # noqa: S311 - the same runs each time
    found: list[RunRecord] = []
    for at in range(number):
        run = run_of(at // len(names), dice, share, hostile=hostile and at % 7 == 0)
        found.append(replace(run, agent=names[at % len(names)]))
    return found
